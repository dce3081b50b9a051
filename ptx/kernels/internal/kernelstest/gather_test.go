package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

func TestGatherTakesRowsOfEveryWidth(t *testing.T) {
	each(t, func(k *kit) {
		gathers[uint8, int32](k)
		gathers[kernels.F16, int64](k)
		gathers[float32, int32](k)
		gathers[float64, int64](k)
	})
}

func gathers[T kernels.Element, I kernels.Index](k *kit) {
	k.Helper()
	const rows = 9
	index := []I{8, 0, 3, 3, -1, 9, 1, 1 << 30, 7, -1 << 31, 2}
	for _, width := range []int{1, 2, 3, 8, 16, 100, 513} {
		values := elements[T](random(rows*width, 9))
		for i := range values { // uses bit patterns that are not NaNs, because NaNs would not compare equal
			values[i] = fromWord[T](uint64(i%100 + 1))
		}
		for _, skip := range []int{0, 1} {
			src := device(k, skip, values)
			for _, n := range []int{len(index), 0, 1} {
				dst := device(k, skip, make([]T, n*width))
				k.run(kernels.Gather(dst, src, device(k, 0, index[:n]), width))
				compare(k, "gather", host(k, dst), func(i int) T {
					row := int(index[i/width])
					if row < 0 || row >= rows {
						return fromWord[T](0)
					}
					return values[row*width+i%width]
				})
			}
		}
	}
}

func TestGatherFromNothingGivesZeros(t *testing.T) {
	each(t, func(k *kit) {
		dst, src := device(k, 0, []float32{1, 2, 3, 4}), alloc[float32](k, 0)
		k.run(kernels.Gather(dst, src, device(k, 0, []int32{0, 1}), 2))
		compare(k, "gather", host(k, dst), func(int) float32 { return 0 })
	})
}

func TestGatherRefusesWhatDoesNotFit(t *testing.T) {
	each(t, func(k *kit) {
		b, index := alloc[float32](k, 30), alloc[int32](k, 2)
		for _, c := range []struct {
			to, from, width int
			word            string
		}{{8, 20, 0, "rows of 0"}, {8, 19, 4, "whole number of rows"}, {12, 16, 4, "2 rows of 4"}, {7, 20, 4, "2 rows of 4"}} {
			_, err := kernels.Gather(b.View(0, c.to), b.View(10, 10+c.from), index, c.width)
			k.refused(err, "gather", c.word)
		}
		_, err := kernels.Gather(b.View(0, 8), b.View(4, 24), index, 4)
		k.refused(err, "overlap")
	})
}
