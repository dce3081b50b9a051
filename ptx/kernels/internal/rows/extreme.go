package rows

import (
	"math"
	"math/bits"

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

// place is the key of an element and the address of the pack that contains the element. Without an element, it is the
// smallest key and nowhere.
type place[K key] struct {
	key K
	at  uint64
}

const nowhere = math.MaxUint64

// What Extremes stores, and the types of elements.
const (
	OfSmallest = 1 // the smallest element instead of the largest one
	OfIndex    = 2 // the index of the element instead of the element
	OfFloats   = 4 // elements are floats of 32 or 64 bits
	OfHalves   = 8 // elements have 16 bits
)

// Extremes finds the largest element of each row, or the smallest, and stores it or its index: see kernels.MaxRows and
// kernels.ArgmaxRows. Elements of several types share a kernel, which has a loop for each.
//
// The smallest element is found as the largest of elements with the opposite sign. The opposite of an
// integer has all bits inverted.
func Extremes[K key](t gpu.Thread, r Reduction, half Half, of uint32) {
	wide := sizeOfKey[K]() == 8
	log := uint32(2)
	switch {
	case wide:
		log = 3
	case of&OfHalves != 0:
		log = 1
	}
	var flip uint64
	if of&OfSmallest != 0 {
		flip = opposite(of, wide)
	}
	reduce(t, r, log, operator[place[K]]{
		none: place[K]{leastKey[K](), nowhere},
		find: func(row uint64, n int, end uint64, s stride) place[K] {
			switch {
			case wide && of&OfFloats != 0:
				return findExtreme[int64, float64, K](row, n, end, s, half, flip)
			case wide:
				return findExtreme[int64, int64, K](row, n, end, s, half, flip)
			case of&OfHalves != 0:
				return findExtreme[uint16, float32, K](row, n, end, s, half, flip)
			case of&OfFloats != 0:
				return findExtreme[int32, float32, K](row, n, end, s, half, flip)
			}
			return findExtreme[int32, int32, K](row, n, end, s, half, flip)
		},
		with: better[K],
		over: func(p place[K]) place[K] {
			most := overWarp(t, p.key, func(a, b K) K { return max(a, b) })
			if p.key != most {
				p.at = nowhere
			}
			return place[K]{most, overWarp(t, p.at, func(a, b uint64) uint64 { return min(a, b) })}
		},
		leave: func(at uint64, p place[K]) {
			leave(at, p.key)
			leave(at+8, p.at)
		},
		fetch: func(at uint64) place[K] { return place[K]{fetch[K](at), fetch[uint64](at + 8)} },
		conclude: func(row int, at, end uint64, p place[K]) {
			i := -1
			if p.at != nowhere {
				w := flipped(loadUpTo[uint16](p.at, end), flip)
				before := uint32(0) // elements of the pack that are not of the row
				if p.at < at {
					before = uint32(at-p.at) >> log
				}
				switch {
				case wide && of&OfFloats != 0:
					i = positionOf[int64, float64](&w, before, p.key, half)
				case wide:
					i = positionOf[int64, int64](&w, before, p.key, half)
				case of&OfHalves != 0:
					i = positionOf[uint16, float32](&w, before, p.key, half)
				case of&OfFloats != 0:
					i = positionOf[int32, float32](&w, before, p.key, half)
				default:
					i = positionOf[int32, int32](&w, before, p.key, half)
				}
				i += int(p.at-at) >> log
			}
			from, to := at+uint64(i)<<log, r.Dst+uint64(row)<<log
			switch {
			case of&OfIndex != 0:
				*value[int](r.Dst + uint64(row*8)) = i
			case i < 0:
				set(to, log, leastElement(half, of, wide)^flip)
			case wide:
				*value[int64](to) = *value[int64](from)
			case of&OfHalves != 0:
				*value[uint16](to) = *value[uint16](from)
			default:
				*value[int32](to) = *value[int32](from)
			}
		},
	})
}

// set stores the low 1 << log bytes of v.
func set(at uint64, log uint32, v uint64) {
	for range 1 << log >> 1 {
		asIs()
		*value[uint16](at) = uint16(v)
		v >>= 16
		at += 2
	}
}

// findExtreme returns the place of the largest element of a thread. T is compared as V. Adding 0 changes the sign of -0.
func findExtreme[T Ordered, V Comparable, K key](row uint64, n int, end uint64, s stride, half Half, flip uint64) place[K] {
	p := spanOf[T](row, n, end, s)
	most, from := least[V](), uint64(nowhere)
	if p.at < p.after {
		from = p.at
	}
	p.visit(s, false, func(w *pack, at uint64, _ bool) {
		if m := largest[T, V](flipped(*w, flip), all[T](), half); !(m <= most) && most == most {
			most, from = m, at
		}
	})
	found := place[K]{leastKey[K](), from}
	if from != nowhere {
		found.key = keyOf[K](most + 0)
	}
	if p.own != 0 {
		found = better(found, place[K]{keyOf[K](largest[T, V](flipped(p.w, flip), p.own, half) + 0), p.edge})
	}
	return found
}

// better returns the place with the larger key, and of equal ones that with the lower address.
func better[K key](a, b place[K]) place[K] {
	if b.key > a.key || b.key == a.key && b.at < a.at {
		return b
	}
	return a
}

// positionOf returns the position of the first element in a pack that has a key, except for a number of elements that are
// before the row. Elements after those of the row need not be excluded, because they are not the first one.
func positionOf[T Ordered, V Comparable, K key](w *pack, before uint32, k K, half Half) int {
	v := allCompared[V, T](w)
	most := valueOf[V](k)
	var equal only
	for i := range perPack[T]() {
		if v[i] == most {
			equal |= 1 << i
		}
	}
	if most != most {
		for i := range perPack[T]() {
			if nan := v[i] != v[i]; nan || Size[T]() == 2 && isNaN(any(v[i]).(float32), half) {
				equal |= 1 << i
			}
		}
	}
	return bits.TrailingZeros32(uint32(equal >> before << before))
}

// valueOf returns the value with a key.
func valueOf[V Comparable, K key](k K) (v V) {
	switch v := any(&v).(type) {
	case *float32:
		k := int32(k)
		*v = math.Float32frombits(uint32(k ^ k>>31&math.MaxInt32))
	case *float64:
		k := int64(k)
		*v = math.Float64frombits(uint64(k ^ k>>63&math.MaxInt64))
	case *int32:
		*v = int32(k)
	case *int64:
		*v = int64(k)
	}
	return v
}

func flipped(w pack, flip uint64) pack {
	for i := range w {
		w[i] ^= uint32(flip >> (i % 2 * 32))
	}
	return w
}

func isFloat[V Comparable]() bool { return V(1)/2 != 0 }

// opposite returns 8 bytes with the bits that change the sign of elements.
func opposite(of uint32, wide bool) uint64 {
	switch {
	case of&OfHalves != 0:
		return 0x8000_8000_8000_8000
	case of&OfFloats == 0:
		return 1<<64 - 1
	case wide:
		return 1 << 63
	}
	return 0x80000000_80000000
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

// leastKey returns the smallest key.
func leastKey[K key]() (k K) {
	switch k := any(&k).(type) {
	case *int32:
		*k = math.MinInt32
	case *int64:
		*k = math.MinInt64
	}
	return k
}

// leastElement returns the bits of the smallest element.
func leastElement(half Half, of uint32, wide bool) uint64 {
	least := int64(math.MinInt64)
	switch {
	case of&OfHalves != 0 && half == BF16:
		least = -0x80
	case of&OfHalves != 0:
		least = -0x400
	case of&OfFloats != 0 && wide:
		least = -1 << 52
	case of&OfFloats != 0:
		least = -0x800000
	case !wide:
		least = math.MinInt32
	}
	return uint64(least)
}

func sizeOfKey[K key]() int {
	if k := K(math.MaxInt32); k+1 < 0 {
		return 4
	}
	return 8
}

// allCompared returns the elements of a pack in the type in which they are compared. The bits of a Half are the upper
// ones of a float32. For F16, its value is not that of the element, but the order is the same.
func allCompared[V Comparable, T Ordered](w *pack) (c [8]V) {
	switch c := any(&c).(type) {
	case *[8]float32:
		if Size[T]() == 2 {
			*c = floats[uint16](BF16, w)
		} else {
			*c = floats[float32](BF16, w)
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

// largest returns the largest element of a set in a pack, which is a NaN if one of them is.
func largest[T Ordered, V Comparable](w pack, own only, half Half) V {
	v := allCompared[V, T](&w)
	none := least[V]()
	if f, ok := any(&none).(*float32); ok && Size[T]() == 2 {
		*f = -infinity(half)
	}
	within[T](&v, own, none)
	nan := false
	for i := 0; isFloat[V]() && i < perPack[T](); i++ {
		switch {
		case Size[T]() == 2:
			nan = nan || isNaN(any(v[i]).(float32), half)
		case i%2 == 0:
			nan = nan || unordered(v[i], v[i+1])
		}
	}
	for d := perPack[T]() / 2; d > 0; d /= 2 {
		for i := range d {
			v[i] = larger(v[i], v[i+d])
		}
	}
	if nan {
		return notANumber[V]()
	}
	return v[0]
}

// isNaN reports whether an element of type Half is a NaN.
func isNaN(v float32, half Half) bool { return !(num.Abs(v) <= infinity(half)) }

// infinity returns the float32 that has the bits of an infinity of type Half.
func infinity(half Half) float32 {
	if half == BF16 {
		return math32.Inf(1)
	}
	return math.Float32frombits(0x7c00 << 16)
}

// unordered reports whether one of two floats is a NaN.
func unordered[V Comparable](a, b V) (nan bool) {
	if v, ok := any(a).(float32); ok && gpu.Device() {
		gpu.PurePTX("setp.nan.f32 %0, %1, %2;", gpu.Out(&nan), gpu.In(v), gpu.In(any(b).(float32)))
		return nan
	}
	return a != a || b != b
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
