package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Ordered lists the types of elements that are compared: the bits of a Half, and words that are integers or floats.
type Ordered interface{ uint16 | int32 | int64 }

// Comparable lists the types in which elements are compared.
type Comparable interface {
	int32 | int64 | float32 | float64
}

// key lists the types of keys, which have the order of elements. Integers are their own keys. The keys of floats have
// the bits of the floats, but for negative ones, of which the larger have the smaller bits, and NaNs, which have the
// largest key.
type key interface{ int32 | int64 }

// Extremes finds the largest element of each row, or the smallest: see kernels.MaxRows. Integers and floats of one size
// share a kernel. It has a loop for each, and combines their keys.
//
// The smallest element is found as the largest of elements with the opposite sign. The opposite of an
// integer has all bits inverted.
func Extremes[T Ordered, K key](t gpu.Thread, r Reduction, half Half, floats, smallest bool) {
	floats = floats || Size[T]() == 2
	var flip uint64
	if smallest {
		flip = opposite[T](floats)
	}
	none := leastKey[K](floats)
	with := func(a, b K) K { return max(a, b) }
	reduce[T](t, r, operator[K]{
		none: none,
		find: func(row uint64, n int, end uint64, s stride) K {
			switch {
			case !floats:
				return findExtreme[T, K, K](row, n, end, s, half, flip)
			case Size[T]() == 8:
				return findExtreme[T, float64, K](row, n, end, s, half, flip)
			}
			return findExtreme[T, float32, K](row, n, end, s, half, flip)
		},
		with:  with,
		over:  func(v K) K { return overWarp(t, v, with) },
		leave: func(at uint64, v K) { leave(at, v) },
		fetch: func(at uint64) K { return fetch[K](at) },
		conclude: func(row int, k K) {
			*value[T](r.Dst + uint64(row*Size[T]())) = elementOf[T](k, half, floats) ^ T(flip)
		},
	})
}

// findExtreme returns the key of the largest element of a thread. T is compared as V.
func findExtreme[T Ordered, V Comparable, K key](row uint64, n int, end uint64, s stride, half Half, flip uint64) K {
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
	if isFloat[V]() && nan {
		most = notANumber[V]()
	}
	return keyOf[K](most)
}

func isFloat[V Comparable]() bool { return V(1)/2 != 0 }

// opposite returns 8 bytes with the bits that change the sign of elements.
func opposite[T Ordered](floats bool) uint64 {
	switch {
	case !floats:
		return 1<<64 - 1
	case Size[T]() == 2:
		return 0x8000_8000_8000_8000
	case Size[T]() == 4:
		return 0x80000000_80000000
	}
	return 1 << 63
}

// keyOf returns the key of a value.
func keyOf[K key, V Comparable](v V) (k K) {
	switch v := any(v).(type) {
	case float32:
		b := int32(math.Float32bits(v))
		if v != v {
			b = math.MaxInt32
		}
		return K(b ^ b>>31&math.MaxInt32)
	case float64:
		b := int64(math.Float64bits(v))
		if v != v {
			b = math.MaxInt64
		}
		return any(b ^ b>>63&math.MaxInt64).(K)
	case int32:
		return K(v)
	case int64:
		return any(v).(K)
	}
	return k
}

// leastKey returns the key of the smallest element.
func leastKey[K key](floats bool) (k K) {
	switch k := any(&k).(type) {
	case *int32:
		if *k = math.MinInt32; floats {
			*k = keyOf[int32](-math32.Inf(1))
		}
	case *int64:
		if *k = math.MinInt64; floats {
			*k = keyOf[int64](math.Inf(-1))
		}
	}
	return k
}

// elementOf returns the element with a key. That of the largest key is a NaN.
func elementOf[T Ordered, K key](k K, half Half, floats bool) T {
	switch k := any(k).(type) {
	case int32:
		if floats {
			k ^= k >> 31 & math.MaxInt32
		}
		switch f := math.Float32frombits(uint32(k)); {
		case Size[T]() == 4:
			return T(k)
		case half == BF16:
			return T(num.ToBF16(f).Bits())
		default:
			return T(num.ToF16(f).Bits())
		}
	case int64:
		if floats {
			k ^= k >> 63 & math.MaxInt64
		}
		return T(k)
	}
	return 0
}

// allCompared returns the elements of a pack in the type in which they are compared.
func allCompared[V Comparable, T Ordered](w *pack, half Half) (c [8]V) {
	switch c := any(&c).(type) {
	case *[8]float32:
		if Size[T]() == 2 {
			*c = floats[uint16](half, w)
		} else {
			*c = floats[float32](half, w)
		}
	case *[8]float64:
		c[0], c[1] = math.Float64frombits(long(w, 0)), math.Float64frombits(long(w, 2))
	case *[8]int32:
		for i := range w {
			c[i] = int32(w[i])
		}
	case *[8]int64:
		c[0], c[1] = int64(long(w, 0)), int64(long(w, 2))
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
