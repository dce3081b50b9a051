package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// What is added in 8 bytes. Unsigned integers of 8 bytes are added like signed ones.
const (
	Signed = iota
	Unsigned
	Floats
)

// Sums adds the elements of each row, which are floats of up to 4 bytes, in float32: see kernels.SumRows.
func Sums(t gpu.Thread, r Reduction, half Half) {
	with := func(a, b float32) float32 { return a + b }
	reduce(t, r, half.log(), operator[float32]{
		find: func(row uint64, n int, end uint64, s stride) float32 {
			if half == F32 {
				return sumOfThread[float32](row, n, end, s, func(w *pack) [8]float32 { return floats[float32](half, w) })
			}
			return sumOfThread[uint16](row, n, end, s, func(w *pack) [8]float32 { return floats[uint16](half, w) })
		},
		with:     with,
		over:     func(v float32) float32 { return overWarp(t, v, with) },
		leave:    leave[float32],
		fetch:    fetch[float32],
		conclude: func(row int, _, _ uint64, v float32) { *value[float32](r.Dst + uint64(row*4)) = v },
	})
}

// LongSums adds the elements of each row in 8 bytes. Integers and floats of one size share a kernel, which has a loop for
// each. A kernel with loops for several sizes would have too few registers to load four packs at once.
func LongSums[T int32 | int64](t gpu.Thread, r Reduction, of uint32) {
	with := func(a, b int64) int64 { return added(a, b, of) }
	reduce(t, r, uint32(shift[T]()), operator[int64]{
		find: func(row uint64, n int, end uint64, s stride) int64 {
			if of == Floats {
				return int64(math.Float64bits(sumOfThread[T](row, n, end, s, doubles[T])))
			}
			return sumOfThread[T](row, n, end, s, func(w *pack) [8]int64 { return integers[T](w, of) })
		},
		with:     with,
		over:     func(v int64) int64 { return overWarp(t, v, with) },
		leave:    leave[int64],
		fetch:    fetch[int64],
		conclude: func(row int, _, _ uint64, v int64) { *value[int64](r.Dst + uint64(row*8)) = v },
	})
}

// added returns a sum of 8 bytes.
func added(a, b int64, of uint32) int64 {
	if of == Floats {
		return int64(math.Float64bits(math.Float64frombits(uint64(a)) + math.Float64frombits(uint64(b))))
	}
	return a + b
}

// sumOfThread returns the sum of the elements of a thread.
func sumOfThread[T Element, N float32 | float64 | int64](row uint64, n int, end uint64, s stride, numbers func(w *pack) [8]N) (sum N) {
	p := spanOf[T](row, n, end, s)
	p.visit(s, Size[T]() == 2, func(w *pack, _ uint64, valid bool) {
		v := numbers(w)
		if part := sumOfPack[T](&v, all[T]()); valid {
			sum += part
		}
	})
	if p.own != 0 {
		v := numbers(&p.w)
		sum += sumOfPack[T](&v, p.own)
	}
	return sum
}

// sumOfPack returns the sum of the elements of a row in a pack. They are first added to each other. This makes the
// error smaller, and the loop has fewer additions that wait for each other.
func sumOfPack[T Element, N float32 | float64 | int64](v *[8]N, own only) N {
	within[T](v, own, 0)
	for d := perPack[T]() / 2; d > 0; d /= 2 {
		for i := range d {
			v[i] += v[i+d]
		}
	}
	return v[0]
}

// doubles returns the elements of a pack, which are floats of 4 or 8 bytes.
func doubles[T Element](w *pack) (v [8]float64) {
	if Size[T]() == 8 {
		v[0], v[1] = math.Float64frombits(long(w, 0)), math.Float64frombits(long(w, 2))
		return v
	}
	for i := range w {
		v[i] = float64(math.Float32frombits(w[i]))
	}
	return v
}

// integers returns the elements of a pack, which are integers.
func integers[T Element](w *pack, of uint32) (v [8]int64) {
	if Size[T]() == 8 {
		v[0], v[1] = int64(long(w, 0)), int64(long(w, 2))
		return v
	}
	for i := range w {
		v[i] = int64(int32(w[i]))
		if of == Unsigned {
			v[i] = int64(w[i])
		}
	}
	return v
}

func long(w *pack, i int) uint64 { return uint64(w[i]) | uint64(w[i+1])<<32 }

// leave stores a value for other blocks. It must not stay in a cache of this multiprocessor.
func leave[V gpu.AtomicValue](at uint64, v V) { gpu.StoreVolatile(value[V](at), v) }

// fetch loads a value that another block has left.
func fetch[V gpu.AtomicValue](at uint64) V { return gpu.LoadVolatile(value[V](at)) }
