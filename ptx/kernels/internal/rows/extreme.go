package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Ordered lists the types of elements that are compared: the bits of a Half, and words that are integers or floats.
type Ordered interface{ uint16 | int32 | int64 }

// Comparable lists the types in which elements are compared: the numbers of a Half, and the keys of words.
type Comparable interface{ float32 | key }

// key lists the types of keys, which have the order of elements. Integers are their own keys. The keys of floats have
// the bits of the floats, but for negative ones, of which the larger have the smaller bits, and NaNs, which have the
// largest key.
type key interface{ int32 | int64 }

// order describes the elements of a matrix. Integers and floats of one size share their kernels.
type order[T Ordered] struct {
	half     Half // the type of elements of 16 bits
	negative T    // the bits that are inverted in the key of a negative element
	infinite T    // the largest element that is no NaN
	zero     T    // an element that has the key of 0 if zeros are equal
}

func orderOf[T Ordered](half Half, floats bool) order[T] {
	largest := uint64(1)<<(8*Size[T]()-1) - 1
	o := order[T]{half: half, infinite: T(largest)}
	if floats {
		infinite := uint64(0x7f800000)
		if Size[T]() == 8 {
			infinite = 0x7ff << 52
		}
		o.negative, o.infinite, o.zero = T(largest), T(infinite), ^T(largest)
	}
	return o
}

// keyOf returns the key of a word.
func keyOf[K key](x, negative, infinite K) K {
	largest := ^(K(1) << (8*sizeOfKey[K]() - 1))
	if x&largest > infinite {
		return largest
	}
	return x ^ x>>(8*sizeOfKey[K]()-1)&negative
}

func sizeOfKey[K key]() int {
	var k K
	if _, ok := any(k).(int32); ok {
		return 4
	}
	return 8
}

// Extremes finds the largest element of each row, or the smallest: see kernels.MaxRows. T is compared
// as V.
//
// The smallest element is found as the largest of elements with the opposite sign. The opposite of an
// integer has all bits inverted.
func Extremes[T Ordered, V Comparable](t gpu.Thread, r Reduction, half Half, floats, smallest bool) {
	o := orderOf[T](half, floats)
	var flip uint64
	if smallest {
		flip = opposite(&o)
	}
	with := func(a, b V) V {
		if b != b || !(a >= b) && a == a {
			return b
		}
		return a
	}
	none := least[V](&o)
	reduce[T](t, r, operator[V]{
		none: none,
		find: func(row uint64, n int, end uint64, s stride) V {
			most, nan := none, false
			visit[T](row, n, end, s, func(w *pack, _ int, own only) {
				x := *w
				for i := range x {
					x[i] ^= uint32(flip >> (i % 2 * 32))
				}
				v := allCompared[V](&o, &x, false)
				within[T](&v, own, none)
				m, isNaN := largest(&v, perPack[T]())
				most = larger(most, m)
				nan = nan || isNaN
			})
			if _, numbers := any(most).(float32); numbers && nan {
				return notANumber[V]()
			}
			return most
		},
		with:  with,
		over:  func(v V) V { return overWarp(t, v, with) },
		leave: func(at uint64, v V) { leave(at, v) },
		fetch: func(at uint64) V { return fetch[V](at) },
		conclude: func(row int, v V) {
			*value[T](r.Dst + uint64(row*Size[T]())) = elementOf(&o, v) ^ T(flip)
		},
	})
}

// opposite returns 8 bytes with the bits that change the sign of elements.
func opposite[T Ordered](o *order[T]) uint64 {
	switch flip := ^o.negative; Size[T]() {
	case 2:
		return 0x8000_8000_8000_8000
	case 4:
		return uint64(uint32(flip)) * (1<<32 + 1)
	default:
		return uint64(flip)
	}
}

// allCompared converts the elements of a pack to the type in which they are compared. With equalZeros, zeros of both
// signs have the same key.
func allCompared[V Comparable, T Ordered](o *order[T], w *pack, equalZeros bool) (c [8]V) {
	if c, ok := any(&c).(*[8]float32); ok {
		*c = floats[uint16](o.half, w)
		return any(*c).([8]V)
	}
	v := elements[T](w)
	for i := range perPack[T]() {
		if equalZeros && v[i] == o.zero {
			v[i] = 0
		}
		switch k := any(&c[i]).(type) {
		case *int32:
			*k = keyOf(int32(v[i]), int32(o.negative), int32(o.infinite))
		case *int64:
			*k = keyOf(int64(v[i]), int64(o.negative), int64(o.infinite))
		}
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

// elementOf converts a compared value back. That of a NaN is a NaN.
func elementOf[T Ordered, V Comparable](o *order[T], v V) T {
	switch v := any(v).(type) {
	case float32:
		if o.half == BF16 {
			return T(num.ToBF16(v).Bits())
		}
		return T(num.ToF16(v).Bits())
	case int32:
		return T(v ^ v>>31&int32(o.negative))
	case int64:
		return T(v ^ v>>63&int64(o.negative))
	}
	return 0
}

// larger returns the larger value, or the other one if one is a NaN.
func larger[V Comparable](a, b V) V {
	switch a := any(&a).(type) {
	case *float32:
		*a = num.Max(*a, any(b).(float32))
	case *int32:
		*a = max(*a, any(b).(int32))
	case *int64:
		*a = max(*a, any(b).(int64))
	}
	return a
}

// least returns the smallest value.
func least[V Comparable, T Ordered](o *order[T]) (v V) {
	switch v := any(&v).(type) {
	case *float32:
		*v = -math32.Inf(1)
	case *int32:
		*v = int32(^o.infinite)
	case *int64:
		*v = int64(^o.infinite)
	}
	return v
}

// notANumber returns a NaN. Keys have none.
func notANumber[V Comparable]() (v V) {
	if v, ok := any(&v).(*float32); ok {
		*v = math.Float32frombits(0x7fffffff)
	}
	return v
}
