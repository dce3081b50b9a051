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
		find: func(p *span, s stride) (sum float32) {
			step := s.step * 16
			p.visit(s, func(w *[4]pack, _ uint64, _ *[4]uint32, left uint32) {
				for k, v := range w {
					if part := half.sum(&v); k == 0 || uint32(k)*step < left {
						sum += part
					}
				}
			})
			if p.edge != 0 {
				w := p.own(0)
				sum += half.sum(&w)
			}
			return sum
		},
		with:     with,
		over:     func(v float32) float32 { return overWarp(t, v, with) },
		leave:    leave[float32],
		fetch:    fetch[float32],
		conclude: func(row int, _, _ uint64, v float32) { *value[float32](r.Dst + uint64(row*4)) = v },
	})
}

// LongSums adds the elements of each row in 8 bytes. Integers and floats of one size share PTX.
func LongSums[T int32 | int64](t gpu.Thread, r Reduction, of uint32) {
	with := func(a, b int64) int64 { return added(a, b, of) }
	reduce(t, r, uint32(2+Size[T]()/8), operator[int64]{
		find: func(p *span, s stride) (sum int64) {
			step := s.step * 16
			p.visit(s, func(w *[4]pack, _ uint64, _ *[4]uint32, left uint32) {
				for k, v := range w {
					if part := sumOfLong[T](&v, of); k == 0 || uint32(k)*step < left {
						sum = added(sum, part, of)
					}
				}
			})
			if p.edge != 0 {
				w := p.own(0)
				sum = added(sum, sumOfLong[T](&w, of), of)
			}
			return sum
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

// sum returns the sum of the elements of a pack.
func (h Half) sum(w *pack) float32 {
	if h == F32 {
		return sumOf8(floats[float32](h, w), 4)
	}
	return sumOf8(floats[uint16](h, w), 8)
}

// sumOf8 returns the sum of n elements of a pack. They are first added to each other, and not one after the other to the sum
// of the thread. This makes the error smaller, and the loop has fewer additions that wait for each other.
func sumOf8(v [8]float32, n int) float32 {
	for d := n / 2; d > 0; d /= 2 {
		for i := range d {
			v[i] += v[i+d]
		}
	}
	return v[0]
}

// sumOfLong returns the sum of the elements of a pack, in 8 bytes.
func sumOfLong[T Element](w *pack, of uint32) int64 {
	if of == Floats {
		return int64(math.Float64bits(sumOfDoubles[T](w)))
	}
	return sumOfIntegers[T](w, of)
}

// sumOfDoubles returns the sum of the elements of a pack, which are floats of 4 or 8 bytes.
func sumOfDoubles[T Element](w *pack) float64 {
	if Size[T]() == 8 {
		return math.Float64frombits(long(w, 0)) + math.Float64frombits(long(w, 2))
	}
	var v [4]float64
	for i := range w {
		v[i] = float64(math.Float32frombits(w[i]))
	}
	return v[0] + v[2] + (v[1] + v[3])
}

// sumOfIntegers returns the sum of the elements of a pack, which are integers.
func sumOfIntegers[T Element](w *pack, of uint32) int64 {
	if Size[T]() == 8 {
		return int64(long(w, 0)) + int64(long(w, 2))
	}
	// Signed integers are added like unsigned ones, plus 1<<31 each.
	sign, sum := uint32(1<<31), int64(-4<<31)
	if of == Unsigned {
		sign, sum = 0, 0
	}
	for _, v := range w {
		sum += int64(v ^ sign)
	}
	return sum
}

func long(w *pack, i int) uint64 { return uint64(w[i]) | uint64(w[i+1])<<32 }

// leave stores a value for other blocks. It must not stay in a cache of this multiprocessor.
func leave[V gpu.AtomicValue](at uint64, v V) { gpu.StoreVolatile(value[V](at), v) }

// fetch loads a value that another block has left.
func fetch[V gpu.AtomicValue](at uint64) V { return gpu.LoadVolatile(value[V](at)) }
