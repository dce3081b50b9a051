package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Sum lists the types of sums. Unsigned integers are added like signed ones.
type Sum interface{ float32 | float64 | int64 }

// Sums adds the elements of each row: see kernels.SumRows. Elements of type int32 are signed, unless
// unsigned is set.
func Sums[S Sum, T Element](t gpu.Thread, r Reduction, half Half, unsigned bool) {
	with := func(a, b S) S { return a + b }
	reduce[T](t, r, operator[S]{
		find: func(row uint64, n int, end uint64, s stride) (sum S) {
			visit[T](row, n, end, s, func(w *pack, _ int, own only) {
				// The elements of a pack are first added to each other. This makes the error smaller,
				// and the loop has fewer additions that wait for each other.
				s := summands[S, T](w, half, unsigned)
				within[T](&s, own, 0)
				for d := perPack[T]() / 2; d > 0; d /= 2 {
					for i := range d {
						s[i] += s[i+d]
					}
				}
				sum += s[0]
			})
			return sum
		},
		with:     with,
		over:     func(v S) S { return overWarp(t, v, with) },
		leave:    func(at uint64, v S) { leave(at, v) },
		fetch:    func(at uint64) S { return fetch[S](at) },
		conclude: func(row int, v S) { *value[S](r.Dst + uint64(row*sizeOfSum[S]())) = v },
	})
}

func sizeOfSum[S Sum]() int {
	var s S
	if _, ok := any(s).(float32); ok {
		return 4
	}
	return 8
}

// summand converts an element.
func summand[S Sum, T Element](x T, half Half, unsigned bool) S {
	switch v := any(x).(type) {
	case uint16:
		return S(halfOf(half, v))
	case int32:
		if unsigned {
			return S(uint32(v))
		}
		return S(v)
	case int64:
		return S(v)
	case float32:
		return S(v)
	case float64:
		return S(v)
	}
	return 0
}

// summands converts the elements of a pack.
func summands[S Sum, T Element](w *pack, half Half, unsigned bool) (s [8]S) {
	if Size[T]() == 2 {
		v := floats[uint16](half, w)
		for i := range perPack[T]() {
			s[i] = S(v[i])
		}
		return s
	}
	v := elements[T](w)
	for i := range perPack[T]() {
		s[i] = summand[S](v[i], half, unsigned)
	}
	return s
}

// elements returns the elements of a pack, of which there are perPack.
func elements[T Element](w *pack) (v [8]T) {
	switch v := any(&v).(type) {
	case *[8]uint16:
		for i := range w {
			v[2*i], v[2*i+1] = uint16(w[i]), uint16(w[i]>>16)
		}
	case *[8]int32:
		for i := range w {
			v[i] = int32(w[i])
		}
	case *[8]float32:
		for i := range w {
			v[i] = math.Float32frombits(w[i])
		}
	case *[8]int64:
		v[0], v[1] = int64(long(w, 0)), int64(long(w, 2))
	case *[8]float64:
		v[0], v[1] = math.Float64frombits(long(w, 0)), math.Float64frombits(long(w, 2))
	}
	return v
}

func long(w *pack, i int) uint64 { return uint64(w[i]) | uint64(w[i+1])<<32 }

// leave stores a value for other blocks. It must not stay in a cache of this multiprocessor.
func leave[V gpu.AtomicValue](at uint64, v V) { gpu.StoreVolatile(value[V](at), v) }

// fetch loads a value that another block has left.
func fetch[V gpu.AtomicValue](at uint64) V { return gpu.LoadVolatile(value[V](at)) }
