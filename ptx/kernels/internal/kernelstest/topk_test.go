package kernelstest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

func TestTopK(t *testing.T) {
	each(t, func(k *kit) {
		topK(k, func(v float32) int { return int(total32(v)) })
		topK(k, func(v int32) int { return int(v) })
		topK(k, func(v uint32) int { return int(v) })
		half := func(bits uint16) int { return int(int16(bits) ^ int16(bits)>>15&math.MaxInt16) }
		topK(k, func(v kernels.F16) int { return half(v.Bits()) })
		topK(k, func(v kernels.BF16) int { return half(v.Bits()) })
	})
}

// topK compares with the order of ranks. Rows have random, equal, ascending and descending elements.
func topK[T float32 | kernels.F16 | kernels.BF16 | int32 | uint32](k *kit, rank func(T) int) {
	k.Helper()
	for i, shape := range [][3]int{{0, 5, 2}, {3, 1, 1}, {2, 7, 0}, {4, 33, 33}, {3, 1000, 50}, {1, 5000, 1000}, {2, 9001, 3}, {1, 40000, 16}} {
		rows, cols, n := shape[0], shape[1], shape[2]
		pitch := cols + i%3
		x := make([]T, rows*pitch)
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for row := range rows {
			for c := range cols {
				x[row*pitch+c] = elementOf[T](r, row%4, c, cols)
			}
		}
		src := kernels.Matrix[T]{Mem: device(k, i%2*3, x), Rows: rows, Cols: cols, Pitch: pitch}
		values := kernels.Matrix[T]{Mem: alloc[T](k, rows*(n+1)+1), Rows: rows, Cols: n, Pitch: n + 1}
		index := kernels.MatrixOf(alloc[int64](k, rows*n+1), rows, n)
		for _, work := range []*kernels.Workspace{nil, workspaceOf(k, kernels.TopKWorkspace(rows, n))} {
			largest := i%2 == 0
			k.do(kernels.TopK(values, index, src, largest, work))
			gotValues, gotIndex := host(k, values.Mem), host(k, index.Mem)
			for row := range rows {
				order := make([]int, cols)
				for c := range order {
					order[c] = c
				}
				all := x[row*pitch:][:cols]
				slices.SortStableFunc(order, func(a, b int) int {
					if largest {
						a, b = b, a
					}
					return cmp.Compare(rank(all[a]), rank(all[b]))
				})
				if largest { // equal elements are in the order of columns
					slices.SortStableFunc(order, func(a, b int) int {
						return cmp.Or(cmp.Compare(rank(all[b]), rank(all[a])), cmp.Compare(a, b))
					})
				}
				for j, c := range order[:n] {
					if got := gotIndex[row*n+j]; got != int64(c) {
						k.Fatalf("%T, %v, workspace %v: row %d, index %d is %d, want %d", x[0], shape, work != nil, row, j, got, c)
					}
					if got := gotValues[row*(n+1)+j]; rank(got) != rank(all[c]) {
						k.Fatalf("%T, %v: row %d, value %d is %v, want %v", x[0], shape, row, j, got, all[c])
					}
				}
			}
		}
	}
}

// elementOf returns an element of a row: random, equal, ascending, or descending.
func elementOf[T float32 | kernels.F16 | kernels.BF16 | int32 | uint32](r *rand.Rand, kind, column, columns int) T {
	v := r.NormFloat64() * 100
	switch kind {
	case 1:
		v = 7
	case 2:
		v = float64(column)
	case 3:
		v = float64(columns - column)
	}
	if kind == 0 && r.IntN(50) == 0 {
		v = [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
	}
	var x T
	switch p := any(&x).(type) {
	case *float32:
		*p = float32(v)
	case *kernels.F16:
		*p = num.ToF16(float32(v))
	case *kernels.BF16:
		*p = num.ToBF16(float32(v))
	case *int32:
		*p = int32(max(min(v, 1e9), -1e9))
	case *uint32:
		*p = uint32(int32(max(min(v, 1e9), -1e9)))
	}
	return x
}

func TestWrongTopK(t *testing.T) {
	each(t, func(k *kit) {
		b, index := alloc[float32](k, 4000), alloc[int64](k, 4000)
		check := func(rows, cols, n int, words ...string) {
			k.Helper()
			_, err := kernels.TopK(kernels.MatrixOf(b, rows, n), kernels.MatrixOf(index, 2, n), kernels.MatrixOf(alloc[float32](k, 4000), 2, cols), true, nil)
			k.refused(err, append(words, "top k")...)
		}
		check(2, 10, 11, "11 elements", "10")
		check(2, 1500, 1025, "1024")
		check(3, 10, 5, "same rows")
		_, err := kernels.TopK(kernels.MatrixOf(b, 1, 2), kernels.MatrixOf(index, 1, 2), kernels.MatrixOf(b, 1, 20), true, nil)
		k.refused(err, "overlap")
		_, err = kernels.TopK(kernels.MatrixOf(b, 1, 2), kernels.MatrixOf(index, 1, 2), kernels.MatrixOf(alloc[float32](k, 100000), 1, 100000), true, workspaceOf(k))
		k.refused(err, "NewWorkspace")
	})
}
