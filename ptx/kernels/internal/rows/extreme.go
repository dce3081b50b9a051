package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Comparable lists the types in which elements are compared. They have all values of the elements.
type Comparable interface {
	int32 | int64 | float32 | float64
}

// Extremes finds the largest element of each row, or the smallest: see kernels.MaxRows. T is compared
// as V.
//
// The smallest element is found as the largest of elements with the opposite sign. The opposite of an
// integer has all bits inverted.
func Extremes[T Element, V Comparable](t gpu.Thread, r Reduction, half Half, smallest bool) {
	var flip uint64
	if smallest {
		flip = opposite[T]()
	}
	with := func(a, b V) V {
		if b != b || !(a >= b) && a == a {
			return b
		}
		return a
	}
	reduce[T](t, r, operator[V]{
		none: least[V](),
		find: func(row uint64, n int, end uint64, s stride) V {
			most, nan := least[V](), false
			visit[T](row, n, end, s, func(w *pack, _ int, own only) {
				x := *w
				for i := range x {
					x[i] ^= uint32(flip >> (i % 2 * 32))
				}
				v := allCompared[V, T](&x, half)
				within[T](&v, own, least[V]())
				m, isNaN := largest(&v, perPack[T]())
				most = larger(most, m)
				nan = nan || isNaN
			})
			if nan {
				return notANumber[V]()
			}
			return most
		},
		with:  with,
		over:  func(v V) V { return overWarp(t, v, with) },
		leave: func(at uint64, v V) { leave(at, v) },
		fetch: func(at uint64) V { return fetch[V](at) },
		conclude: func(row int, v V) {
			*value[T](r.Dst + uint64(row*Size[T]())) = flipped(elementOf[T](v, half), flip)
		},
	})
}

// opposite returns 8 bytes with the bits that change the sign of elements.
func opposite[T Element]() uint64 {
	var v T
	switch any(v).(type) {
	case uint16:
		return 0x8000_8000_8000_8000
	case float32:
		return 0x80000000_80000000
	case float64:
		return 1 << 63
	}
	return 1<<64 - 1
}

// flipped inverts bits of an element.
func flipped[T Element](x T, flip uint64) T {
	switch v := any(&x).(type) {
	case *uint16:
		*v ^= uint16(flip)
	case *int32:
		*v ^= int32(uint32(flip))
	case *int64:
		*v ^= int64(flip)
	case *float32:
		*v = math.Float32frombits(math.Float32bits(*v) ^ uint32(flip))
	case *float64:
		*v = math.Float64frombits(math.Float64bits(*v) ^ flip)
	}
	return x
}

// compared converts an element to the type in which it is compared.
func compared[V Comparable, T Element](x T, half Half) (v V) {
	switch v := any(&v).(type) {
	case *float32:
		if h, ok := any(x).(uint16); ok {
			*v = halfOf(half, h)
		} else {
			*v = any(x).(float32)
		}
	case *float64:
		*v = any(x).(float64)
	case *int32:
		*v = any(x).(int32)
	case *int64:
		*v = any(x).(int64)
	}
	return v
}

// allCompared is compared for the elements of a pack.
func allCompared[V Comparable, T Element](w *pack, half Half) (c [8]V) {
	if c, ok := any(&c).(*[8]float32); ok && Size[T]() == 2 {
		*c = floats[uint16](half, w)
		return any(*c).([8]V)
	}
	v := elements[T](w)
	for i := range perPack[T]() {
		c[i] = compared[V](v[i], half)
	}
	return c
}

// largest returns the largest of n values that are not NaN, and whether one is NaN.
func largest[V Comparable](v *[8]V, n int) (most V, nan bool) {
	most, nan = v[0], v[0] != v[0]
	for i := 1; i < n; i++ {
		most = larger(most, v[i])
		nan = nan || v[i] != v[i]
	}
	return most, nan
}

// elementOf converts a compared value back.
func elementOf[T Element, V Comparable](v V, half Half) (x T) {
	switch x := any(&x).(type) {
	case *uint16:
		f := any(v).(float32)
		if half == BF16 {
			*x = num.ToBF16(f).Bits()
		} else {
			*x = num.ToF16(f).Bits()
		}
	case *V:
		*x = v
	}
	return x
}

// larger returns the larger value, or the other one if one is a NaN.
func larger[V Comparable](a, b V) V {
	switch a := any(&a).(type) {
	case *float32:
		*a = num.Max(*a, any(b).(float32))
	case *float64:
		*a = num.Max(*a, any(b).(float64))
	case *int32:
		*a = max(*a, any(b).(int32))
	case *int64:
		*a = max(*a, any(b).(int64))
	}
	return a
}

// least returns the smallest value.
func least[V Comparable]() (v V) {
	switch v := any(&v).(type) {
	case *float32:
		*v = -math32.Inf(1)
	case *float64:
		*v = math.Inf(-1)
	case *int32:
		*v = math.MinInt32
	case *int64:
		*v = math.MinInt64
	}
	return v
}

// notANumber returns a NaN. Integers have none.
func notANumber[V Comparable]() (v V) {
	switch v := any(&v).(type) {
	case *float32:
		*v = math.Float32frombits(0x7fffffff)
	case *float64:
		*v = math.Float64frombits(0x7fffffffffffffff)
	}
	return v
}
