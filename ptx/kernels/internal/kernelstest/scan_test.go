package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

func TestPrefixSums(t *testing.T) {
	each(t, func(k *kit) {
		prefixSums[uint32](k)
		prefixSums[int32](k)
		prefixSums[uint64](k)
		prefixSums[int64](k)
		prefixSums[float32](k)
		prefixSums[float64](k)
	})
}

func prefixSums[T kernels.Scalar](k *kit) {
	k.Helper()
	lengths := k.lengths()
	work := workspaceOf(k, kernels.ScanWorkspace[T](lengths[len(lengths)-1]))
	for i, n := range lengths {
		x := make([]T, n)
		for j := range x {
			x[j] = T(j*7%23) - 9 // small integers, so that sums of floats are exact
		}
		src, dst := device(k, i%3, x), device(k, i%2, make([]T, n))
		for _, exclusive := range []bool{false, true} {
			f := kernels.InclusiveSum[T]
			if exclusive {
				f = kernels.ExclusiveSum[T]
			}
			k.do(f(dst, src, work))
			var sum T
			for j, got := range host(k, dst) {
				want := sum
				if sum += x[j]; !exclusive {
					want = sum
				}
				if got != want {
					k.Fatalf("%T, %d elements, exclusive %v: sum %d is %v, want %v", sum, n, exclusive, j, got, want)
				}
			}
		}
	}
}

func TestPrefixSumsInPlace(t *testing.T) {
	each(t, func(k *kit) {
		const n = 10007
		x := device(k, 0, make([]float64, n))
		k.run(kernels.Fill(x, 1.0))
		k.do(kernels.InclusiveSum(x, x, workspaceOf(k, kernels.ScanWorkspace[float64](n))))
		for i, v := range host(k, x) {
			if v != float64(i+1) {
				k.Fatalf("sum %d is %v", i, v)
			}
		}
	})
}

func TestPrefixSumsOfNaNs(t *testing.T) {
	each(t, func(k *kit) {
		x := make([]float32, 10007)
		x[5000] = float32(math.NaN())
		d := device(k, 0, x)
		k.do(kernels.ExclusiveSum(d, d, workspaceOf(k, kernels.ScanWorkspace[float32](len(x)))))
		for i, v := range host(k, d) {
			if (v != v) != (i > 5000) {
				k.Fatalf("sum %d is %v", i, v)
			}
		}
	})
}

func TestWrongPrefixSums(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 100000)
		small := workspaceOf(k)
		big := workspaceOf(k, kernels.ScanWorkspace[float32](100000))
		check := func(dst, src driver.MemoryOf[float32], w *kernels.Workspace, words ...string) {
			k.Helper()
			_, err := kernels.InclusiveSum(dst, src, w)
			k.refused(err, append(words, "inclusive sum")...)
		}
		check(b.View(0, 9), b.View(10, 20), big, "9 elements", "10")
		check(b.View(0, 9), b.View(1, 10), big, "overlap")
		check(b, b, nil, "work is nil")
		check(b, b, small, "bytes", "NewWorkspace")
		check(nil, b, big, "dst is nil")
	})
}
