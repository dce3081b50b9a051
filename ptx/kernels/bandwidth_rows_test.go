package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// Like TestBandwidthOfElementwiseOperations, for operations on rows.
func TestBandwidthOfOperationsOnRows(t *testing.T) {
	if os.Getenv("PURECUDA_BENCH") != "1" {
		t.Skip("PURECUDA_BENCH is not 1")
	}
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		a, b := alloc[uint8](k, enough+16), alloc[uint8](k, enough)
		k.varied(a)
		k.ok(b.Fill(0))
		op, err := driver.CopyDevice(b, a.View(0, enough))
		k.ok(err)
		copied := k.bandwidth(measured{"copy", op, 2 * enough, false})
		t.Logf("%-32s %8.0f GB/s", "copy of 1 GiB", copied)
		w := workspace(k)
		var list []measured
		list = append(list, rowsOf[float32](k, "f32", a, b, w)...)
		list = append(list, rowsOf[kernels.F16](k, "f16", a, b, w)...)
		list = append(list, rowsOf[kernels.BF16](k, "bf16", a, b, w)...)
		list = append(list, sumsInto(k, a, w)...)
		list = append(list, vectors[float32, float32](k, "f32, f32", a, b)...)
		list = append(list, vectors[kernels.F16, kernels.F16](k, "f16, f16", a, b)...)
		list = append(list, vectors[kernels.F16, float32](k, "f16, f32", a, b)...)
		list = append(list, vectors[kernels.BF16, kernels.BF16](k, "bf16, bf16", a, b)...)
		list = append(list, vectors[kernels.BF16, float32](k, "bf16, f32", a, b)...)
		for _, m := range list {
			speed := k.bandwidth(m)
			t.Logf("%-32s %8.0f GB/s  %5.1f %%", m.name, speed, 100*speed/copied)
			if m.held && speed < bar*copied {
				t.Errorf("%s: %.1f %% of the bandwidth of a copy, want %.0f %%", m.name, 100*speed/copied, 100*bar)
			}
		}
	})
}

// varied fills memory with numbers that are of ordinary size and either sign as any of
// the float types. Constant data costs a device less power, which makes it faster.
func (k *kit) varied(m driver.MemoryOf[uint8]) {
	k.Helper()
	const part = 1 << 26
	words := make([]uint64, part/8)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		words[i] = r.Uint64()&0x807f807f807f807f | 0x3f803f803f803f80
	}
	k.ok(m.All().Fill(0x3c))
	all, err := driver.ViewAs[uint64](m.All().View(0, enough))
	k.ok(err)
	for at := 0; at < all.Len(); at += len(words) {
		k.ok(all.View(at, at+len(words)).CopyFrom(words))
	}
}

// seen returns the memory, without its first skip bytes, as elements.
func seen[T kernels.Element](k *kit, m driver.MemoryOf[uint8], skip int) driver.View[T] {
	k.Helper()
	v, err := driver.ViewAs[T](m.All().View(skip, skip+enough))
	k.ok(err)
	return v
}

// rowsOf returns the operations that work on rows of floats.
func rowsOf[T kernels.NetFloat](k *kit, name string, a, b driver.MemoryOf[uint8], w *kernels.Workspace) []measured {
	k.Helper()
	src, dst := seen[T](k, a, 0), seen[T](k, b, 0)
	n := src.Len()
	sum, one, place := alloc[float32](k, n/32), alloc[T](k, 1), alloc[int64](k, n/32)
	list := []measured{
		{"sum " + name, k.made(kernels.Sum(sum.View(0, 1), src, w)), enough, true},
		{"max " + name, k.made(kernels.Max(one, src, w)), enough, true},
		{"min " + name, k.made(kernels.Min(one, src, w)), enough, true},
		{"argmax " + name, k.made(kernels.Argmax(place.View(0, 1), src, w)), enough, true},
	}
	for _, cols := range []int{32, 64, 256, 1024, 4096, 8192, 16384, 1 << 15, 1 << 16, 1 << 17} {
		rows, size := n/cols, fmt.Sprintf(" of %d %s", cols, name)
		from, to := kernels.MatrixOf(src, rows, cols), kernels.MatrixOf(dst, rows, cols)
		weight, held := src.View(0, cols), cols >= 64 // shorter rows have no bar yet: they are only shown
		list = append(list,
			measured{"sums" + size, k.made(kernels.SumRows(sum.View(0, rows), from, w)), enough, held},
			measured{"argmax" + size, k.made(kernels.ArgmaxRows(place.View(0, rows), from, w)), enough, held},
			measured{"softmax" + size, k.made(kernels.Softmax(to, from, 1)), 2 * enough, held},
			measured{"RMS norm" + size, k.made(kernels.RMSNorm(to, from, weight, eps)), 2 * enough, held},
			measured{"layer norm" + size, k.made(kernels.LayerNorm(to, from, weight, weight, eps)), 2 * enough, held},
		)
	}
	for _, cols := range []int{1003, 20001, 90000, 1 << 20} { // rows that are not whole packs, an odd share for each block, and rows too long for registers
		rows, size := n/cols, fmt.Sprintf(" of %d %s", cols, name)
		from := kernels.MatrixOf(src.View(0, rows*cols), rows, cols)
		to := kernels.MatrixOf(dst.View(0, rows*cols), rows, cols)
		list = append(list,
			measured{"sums" + size, k.made(kernels.SumRows(sum.View(0, rows), from, w)), enough, false},
			measured{"softmax" + size, k.made(kernels.Softmax(to, from, 1)), 2 * enough, false},
			measured{"RMS norm" + size, k.made(kernels.RMSNorm(to, from, nil, eps)), 2 * enough, false},
			measured{"layer norm" + size, k.made(kernels.LayerNorm(to, from, nil, nil, eps)), 2 * enough, false},
		)
	}
	return list
}

// sumsInto returns sums of other types.
func sumsInto(k *kit, a driver.MemoryOf[uint8], w *kernels.Workspace) []measured {
	k.Helper()
	f, i, u := alloc[float64](k, 1), alloc[int64](k, 1), alloc[uint64](k, 1)
	odd := seen[float32](k, a, 4)
	return []measured{
		{"sum f32 in f64", k.made(kernels.Sum(f, seen[float32](k, a, 0), w)), enough, true},
		{"sum f32 in f64, odd place", k.made(kernels.Sum(f, odd, w)), enough, false},
		{"sum f64", k.made(kernels.Sum(f, seen[float64](k, a, 0), w)), enough, true},
		{"sum i32 in i64", k.made(kernels.Sum(i, seen[int32](k, a, 0), w)), enough, true},
		{"sum u64", k.made(kernels.Sum(u, seen[uint64](k, a, 0), w)), enough, true},
		{"max f64", k.made(kernels.Max(f, seen[float64](k, a, 0), w)), enough, true},
		{"argmax i64", k.made(kernels.Argmax(i, seen[int64](k, a, 0), w)), enough, true},
		{"sum f32, no workspace", k.made(kernels.Sum(f, odd.View(0, 1<<20), nil)), 1 << 22, false},
	}
}

// vectors returns matrix-vector products of several shapes.
func vectors[A, X kernels.NetFloat](k *kit, name string, a, b driver.MemoryOf[uint8]) []measured {
	k.Helper()
	m, x := seen[A](k, a, 0), alloc[X](k, 1<<20)
	k.ok(x.Fill(0))
	y := seen[X](k, b, 0)
	var list []measured
	for _, cols := range []int{1024, 4096, 16384, 1 << 20} {
		rows := m.Len() / cols
		op := k.made(kernels.Gemv(y.View(0, rows), kernels.MatrixOf(m, rows, cols), x.View(0, cols)))
		list = append(list, measured{fmt.Sprintf("GEMV %d × %d %s", rows, cols, name), op, enough, cols == 4096 || cols == 16384})
	}
	return list
}
