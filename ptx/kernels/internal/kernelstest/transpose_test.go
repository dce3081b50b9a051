package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

func TestTransposeOfMatrices(t *testing.T) {
	each(t, func(k *kit) {
		transposes[uint8](k)
		transposes[kernels.BF16](k)
		transposes[float32](k)
		transposes[int64](k)
	})
}

func transposes[T kernels.Element](k *kit) {
	k.Helper()
	shapes := [][3]int{{1, 1, 1}, {1, 32, 32}, {2, 33, 31}, {3, 1, 70}, {3, 70, 1}, {0, 4, 5}, {4, 0, 5}, {1, 65, 97}}
	if !k.emulated() {
		shapes = append(shapes, [3]int{3, 1001, 997}, [3]int{1, 100003, 17})
	}
	for _, s := range shapes {
		batches, rows, columns := s[0], s[1], s[2]
		values := make([]T, batches*rows*columns)
		for i := range values {
			values[i] = fromWord[T](uint64(i))
		}
		dst, src := device(k, 3, make([]T, len(values))), device(k, 1, values)
		k.run(kernels.Transpose(dst, src, batches, rows, columns))
		compare(k, "transpose", host(k, dst), func(i int) T {
			b, j, at := i/(rows*columns), i/rows%columns, i%rows
			return values[(b*rows+at)*columns+j]
		})
	}
}

func TestTransposeRefusesWhatDoesNotFit(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 24)
		_, err := kernels.Transpose(b.View(0, 12), b.View(12, 24), 1, 3, 5)
		k.refused(err, "transpose", "1 × 3 × 5", "12")
		_, err = kernels.Transpose(b.View(0, 12), b.View(12, 24), -1, -3, 4)
		k.refused(err, "transpose")
		_, err = kernels.Transpose(b.View(0, 12), b.View(0, 12), 1, 3, 4)
		k.refused(err, "overlap")
	})
}
