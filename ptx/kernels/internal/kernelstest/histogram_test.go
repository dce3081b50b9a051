package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

func TestHistogram(t *testing.T) {
	each(t, func(k *kit) {
		histograms[uint8](k)
		histograms[int32](k)
		histograms[uint32](k)
		histograms[int64](k)
	})
}

func histograms[T uint8 | int32 | uint32 | int64](k *kit) {
	k.Helper()
	for i, n := range k.lengths() {
		for _, bins := range []int{0, 1, 7, 256, 1000, 13000} {
			x := make([]T, n)
			for j := range x {
				x[j] = T(j*j%331) - 5
			}
			if i%2 != 0 {
				for j := range x {
					x[j] = 3
				}
			}
			want := make([]uint32, bins)
			for _, v := range x {
				if v >= 0 && uint64(v) < uint64(bins) {
					want[v] += 2
				}
			}
			counts, src := alloc[uint32](k, max(bins, 1)).View(0, bins), device(k, i%3, x)
			k.run(kernels.Fill(counts, 0))
			k.run(kernels.Histogram(counts, src))
			k.run(kernels.Histogram(counts, src)) // adds
			for j, got := range host(k, counts) {
				if got != want[j] {
					k.Fatalf("%d elements of type %T: counter %d of %d is %d, want %d", n, T(0), j, bins, got, want[j])
				}
			}
		}
	}
}

func TestWrongHistograms(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[uint32](k, 100)
		_, err := kernels.Histogram(b.View(0, 50), b.View(49, 60))
		k.refused(err, "histogram", "overlap")
		_, err = kernels.Histogram[int64](b, nil)
		k.refused(err, "histogram", "src is nil")
	})
}
