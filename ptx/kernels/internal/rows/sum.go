package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Sum lists the types of sums. An int64 has the bits of a sum of 8 bytes.
type Sum interface{ float32 | int64 }

// What is added in 8 bytes: words, or with Long elements of 8 bytes. Unsigned integers of 8 bytes are added like signed
// ones.
const (
	Signed = iota
	Unsigned
	Floats
	Long = 4
)

// Sums adds the elements of each row: see kernels.SumRows. Elements of several types share a kernel, which has a loop for
// each size.
func Sums[S Sum](t gpu.Thread, r Reduction, of uint32) {
	log := Half(of).log()
	if sizeOfSum[S]() == 8 {
		log = 2 + of/Long
	}
	with := func(a, b S) S { return added(a, b, of) }
	reduce(t, r, log, operator[S]{
		find: func(row uint64, n int, end uint64, s stride) (sum S) {
			switch sum := any(&sum).(type) {
			case *float32:
				if Half(of) == F32 {
					*sum = sumOfThread[float32](row, n, end, s, func(w *pack) [8]float32 { return floats[float32](0, w) })
				} else {
					*sum = sumOfThread[uint16](row, n, end, s, func(w *pack) [8]float32 { return floats[uint16](Half(of), w) })
				}
			case *int64:
				switch {
				case of == Floats:
					*sum = int64(math.Float64bits(sumOfThread[int32](row, n, end, s, doubles[int32])))
				case of == Floats|Long:
					*sum = int64(math.Float64bits(sumOfThread[int64](row, n, end, s, doubles[int64])))
				case of < Long:
					*sum = sumOfThread[int32](row, n, end, s, func(w *pack) [8]int64 { return integers[int32](w, of) })
				default:
					*sum = sumOfThread[int64](row, n, end, s, func(w *pack) [8]int64 { return integers[int64](w, of) })
				}
			}
			return sum
		},
		with:     with,
		over:     func(v S) S { return overWarp(t, v, with) },
		leave:    func(at uint64, v S) { leave(at, v) },
		fetch:    func(at uint64) S { return fetch[S](at) },
		conclude: func(row int, _, _ uint64, v S) { *value[S](r.Dst + uint64(row*sizeOfSum[S]())) = v },
	})
}

// added returns a sum.
func added[S Sum](a, b S, of uint32) S {
	if a, ok := any(&a).(*int64); ok && of&^Long == Floats {
		*a = int64(math.Float64bits(math.Float64frombits(uint64(*a)) + math.Float64frombits(uint64(any(b).(int64)))))
		return any(*a).(S)
	}
	return a + b
}

// sumOfThread returns the sum of the elements of a thread.
func sumOfThread[T Element, N float32 | float64 | int64](row uint64, n int, end uint64, s stride, numbers func(w *pack) [8]N) (sum N) {
	p := spanOf[T](row, n, end, s)
	p.visit(s, func(w *pack, _ uint64, valid bool) {
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

func sizeOfSum[S Sum]() int {
	var s S
	if _, ok := any(s).(float32); ok {
		return 4
	}
	return 8
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
