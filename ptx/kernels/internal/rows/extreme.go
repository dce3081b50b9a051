package rows

import (
	"math"
	mathbits "math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

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
// kernels.ArgmaxRows. Elements of several types share PTX and its loop over packs.
//
// The smallest element is found as the largest of elements with the opposite sign. The opposite of an
// integer has all bits inverted.
//
// With newer, elements are floats of 16 or 32 bits, and are compared with instructions that require sm_80. These find NaNs,
// and compare two elements of 16 bits.
func Extremes[K key](t gpu.Thread, r Reduction, half Half, of uint32, newer bool) {
	if newer {
		of |= OfFloats
	}
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
	least := leastElements(half, of, wide)
	reduce(t, r, log, operator[place[K]]{
		none: place[K]{leastKey[K](), nowhere},
		find: func(p *span, s stride) place[K] {
			found := place[K]{leastKey[K](), nowhere}
			if p.at < p.after {
				found.at = p.at
			}
			p.visit(s, func(w *[4]pack, at uint64, distances *[4]uint32, _ uint32) {
				keys := largest[K](w, len(w), half, of, flip, newer)
				most, distance := keys[0], uint32(0)
				for k := 1; k < len(w); k++ {
					if keys[k] > most {
						distance = distances[k]
					}
					most = max(most, keys[k])
				}
				if most > found.key {
					found.at = at + uint64(distance)
				}
				found.key = max(found.key, most)
			})
			if p.edge != 0 {
				found = better(found, place[K]{largest[K](&[4]pack{p.own(least ^ flip)}, 1, half, of, flip, newer)[0], p.edge})
			}
			return found
		},
		with: better[K],
		over: func(p place[K]) place[K] {
			return overLanes(widthOf(t), p, func(p place[K], d int) place[K] {
				return better(p, place[K]{gpu.ShuffleXor(t, p.key, d), gpu.ShuffleXor(t, p.at, d)})
			})
		},
		leave: func(at uint64, p place[K]) {
			leave(at, p.key)
			leave(at+8, p.at)
		},
		fetch: func(at uint64) place[K] { return place[K]{fetch[K](at), fetch[uint64](at + 8)} },
		conclude: func(row int, at, end uint64, p place[K]) {
			i := -1
			if p.at != nowhere {
				w := flipped(loadUpTo(p.at, end), flip)
				before := uint32(max(int64(at-p.at), 0)) // bytes of the pack that are not of the row
				i = int(positionOf(&w, before, p.key, half, of))
				i += int(p.at-at) >> log
			}
			from, to := at+uint64(i)<<log, r.Dst+uint64(row)<<log
			switch {
			case of&OfIndex != 0:
				*value[int](r.Dst + uint64(row*8)) = i
			case i < 0:
				set(to, log, least^flip)
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

// better returns the place with the larger key, and of equal ones that with the lower address.
func better[K key](a, b place[K]) place[K] {
	if b.key == a.key {
		a.at = min(a.at, b.at)
	} else if b.key > a.key {
		a = b
	}
	return a
}

// positionOf returns the position of the first element in a pack that has a key, except for a number of bytes that are
// before the row. Elements after those of the row need not be excluded, because they are not the first one.
func positionOf[K key](w *pack, before uint32, k K, half Half, of uint32) int32 {
	floats := of&(OfFloats|OfHalves) != 0
	nan := floats && k >= nanKey[K]()
	if sizeOfKey[K]() == 8 {
		// The element is the first or the second one.
		v := long(w, 0)
		b, number := uint64(k), math.Float64frombits(v)
		is := v == b
		if floats {
			is = number == math.Float64frombits(b^uint64(int64(k)>>63)&math.MaxInt64) || nan && number != number
		}
		if is && before == 0 {
			return 0
		}
		return 1
	}
	// The words have one or two elements.
	signs, bits, infinite := uint32(0x80000000), uint32(k), uint32(0x7f800000)
	if floats {
		bits ^= uint32(int32(k)>>31) & math.MaxInt32
	}
	halves := of&OfHalves != 0
	if halves {
		signs, bits, infinite = 0x8000_8000, gpu.BytePermute(bits, 0, 0x3232), half.infinities()
	}
	mask := ^uint32(0)
	if floats && bits == 0 {
		mask = ^signs // 0 has two signs
	}
	var found pack // the signs of the elements. No sum has a carry to the next element.
	if nan {
		for i, v := range w {
			found[i] = (v&^signs + (^signs - infinite)) & signs
		}
	} else {
		for i, v := range w {
			v = (v ^ bits) & mask
			found[i] = ^(v&^signs + ^signs | v) & signs
		}
	}
	if before != 0 {
		low, high := long(&found, 0)&(^uint64(0)<<(8*before)), long(&found, 2)&(^uint64(0)<<(8*max(before, 8)-64))
		found = pack{uint32(low), uint32(low >> 32), uint32(high), uint32(high >> 32)}
	}
	all := found[0]>>3 | found[1]>>2 | found[2]>>1 | found[3]
	i := int32(mathbits.TrailingZeros32(all>>16|1<<16)) - 12 // of upper halves
	if halves {
		i = min(2*i+1, 2*(int32(mathbits.TrailingZeros32(all|1<<16))-12))
	}
	return i
}

// infinities returns two infinities without a sign.
func (h Half) infinities() uint32 {
	if h == BF16 {
		return 0x7f80_7f80
	}
	return 0x7c00_7c00
}

func flipped(w pack, flip uint64) pack {
	for i := range w {
		w[i] ^= uint32(flip >> (i % 2 * 32))
	}
	return w
}

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

// leastKey returns the smallest key.
func leastKey[K key]() K { return ^mostKey[K]() }

// mostKey returns the largest key.
func mostKey[K key]() (k K) {
	switch k := any(&k).(type) {
	case *int32:
		*k = math.MaxInt32
	case *int64:
		*k = math.MaxInt64
	}
	return k
}

// leastElements returns 8 bytes with the bits of the smallest element.
func leastElements(half Half, of uint32, wide bool) uint64 {
	switch {
	case of&OfHalves != 0 && half == BF16:
		return 0xff80_ff80_ff80_ff80
	case of&OfHalves != 0:
		return 0xfc00_fc00_fc00_fc00
	case of&OfFloats != 0 && wide:
		return 0xfff0_0000_0000_0000
	case of&OfFloats != 0:
		return 0xff800000_ff800000
	case wide:
		return 1 << 63
	}
	return 0x80000000_80000000
}

// nanKey returns the smallest key of NaNs. Keys of elements of 16 bits have lower bits of any value.
func nanKey[K key]() (k K) {
	switch k := any(&k).(type) {
	case *int32:
		*k = math.MaxInt32 &^ 0xffff
	case *int64:
		*k = math.MaxInt64
	}
	return k
}

func sizeOfKey[K key]() int {
	if k := K(math.MaxInt32); k+1 < 0 {
		return 4
	}
	return 8
}

// largest returns the keys of the largest elements of n packs.
func largest[K key](w *[4]pack, n int, half Half, of uint32, flip uint64, newer bool) (keys [4]K) {
	var x [4]pack
	for k := range n {
		x[k] = flipped(w[k], flip)
	}
	// Each type has its own code for all packs.
	switch {
	case newer && of&OfHalves != 0 && half == BF16:
		var zeros, ones uint32
		gpu.PurePTX("mov.b32 %0, 0;", gpu.Out(&zeros))
		gpu.PurePTX("mov.b32 %0, 0x3f803f80;", gpu.Out(&ones))
		for k := range n {
			keys[k] = K(keyOfPairs(&x[k], func(a, b uint32) (c uint32) {
				gpu.PurePTX("max.NaN.bf16x2 %0, %1, %2;", gpu.Out(&c), gpu.In(a), gpu.In(b))
				return c
			}, func(a uint32) (c uint32) {
				gpu.PurePTX("fma.rn.bf16x2 %0, %1, %2, %3;", gpu.Out(&c), gpu.In(a), gpu.In(ones), gpu.In(zeros))
				return c
			}))
		}
	case newer && of&OfHalves != 0:
		var zeros uint32
		gpu.PurePTX("mov.b32 %0, 0;", gpu.Out(&zeros))
		for k := range n {
			keys[k] = K(keyOfPairs(&x[k], func(a, b uint32) (c uint32) {
				gpu.PurePTX("max.NaN.f16x2 %0, %1, %2;", gpu.Out(&c), gpu.In(a), gpu.In(b))
				return c
			}, func(a uint32) (c uint32) {
				gpu.PurePTX("add.rn.f16x2 %0, %1, %2;", gpu.Out(&c), gpu.In(a), gpu.In(zeros))
				return c
			}))
		}
	case newer:
		for k := range n {
			v := floats[float32](BF16, &x[k])
			keys[k] = K(keyOf(largerOrNaN(largerOrNaN(v[0], v[1]), largerOrNaN(v[2], v[3])), false))
		}
	case sizeOfKey[K]() == 8 && of&OfFloats != 0:
		for k := range n {
			v := x[k]
			keys[k] = K(keyOfDoubles(math.Float64frombits(long(&v, 0)), math.Float64frombits(long(&v, 2))))
		}
	case sizeOfKey[K]() == 8:
		for k := range n {
			v := x[k]
			keys[k] = K(max(int64(long(&v, 0)), int64(long(&v, 2))))
		}
	case of&OfHalves != 0:
		for k := range n {
			// The bits of an element are the upper ones of a float32. For F16, its value is not that of the element, but
			// the order is the same.
			w := x[k]
			v := floats[uint16](BF16, &w)
			keys[k] = K(keyOf(mostOf8(&v, 8), hasNaN(&w, half)))
		}
	case of&OfFloats != 0:
		for k := range n {
			w := x[k]
			v := floats[float32](BF16, &w)
			nan1, nan2 := unordered(v[0], v[1]), unordered(v[2], v[3])
			keys[k] = K(keyOf(mostOf8(&v, 4), nan1 || nan2))
		}
	default:
		for k := range n {
			v := x[k]
			keys[k] = K(max(max(int32(v[0]), int32(v[2])), max(int32(v[1]), int32(v[3]))))
		}
	}
	return keys
}

// keyOfPairs returns the key of the largest of 8 elements of 16 bits, or that of NaNs. The lower half of the bits that it
// is made of is equal to the upper one. The function larger returns the larger elements of two pairs, or a NaN, and plus0
// changes the sign of each -0.
func keyOfPairs(w *pack, larger func(a, b uint32) uint32, plus0 func(a uint32) uint32) int32 {
	m := larger(larger(w[0], w[1]), larger(w[2], w[3]))
	m = plus0(larger(m, gpu.BytePermute(m, 0, 0x1032)))
	return int32(m ^ uint32(int32(m)>>31)&math.MaxInt32)
}

// largerOrNaN returns the larger number. If one is a NaN, it returns the NaN with the largest key.
func largerOrNaN(a, b float32) (c float32) {
	gpu.PurePTX("max.NaN.f32 %0, %1, %2;", gpu.Out(&c), gpu.In(a), gpu.In(b))
	return c
}

// mostOf8 returns the largest of n numbers that is not a NaN.
func mostOf8(v *[8]float32, n int) float32 {
	x := *v
	for d := n / 2; d > 0; d /= 2 {
		for i := range d {
			x[i] = num.Max(x[i], x[i+d])
		}
	}
	return x[0]
}

// keyOf returns the key of a number, or that of NaNs. Adding 0 changes the sign of -0.
func keyOf(v float32, nan bool) int32 {
	b := int32(math.Float32bits(v + 0))
	b ^= b >> 31 & math.MaxInt32
	if nan {
		b = math.MaxInt32
	}
	return b
}

// keyOfDoubles returns the key of the larger number, or that of NaNs if one is a NaN.
func keyOfDoubles(v, w float64) int64 {
	b := int64(math.Float64bits(num.Max(v, w) + 0))
	b ^= b >> 63 & math.MaxInt64
	if v != v || w != w {
		b = math.MaxInt64
	}
	return b
}

// hasNaN reports whether an element of type Half is a NaN. Without its sign, a NaN is larger than infinity.
func hasNaN(w *pack, half Half) bool {
	var sums uint32
	for _, v := range w {
		sums |= v&0x7fff_7fff + (0x7fff_7fff - half.infinities())
	}
	return sums&0x8000_8000 != 0
}

// unordered reports whether one of two floats is a NaN.
func unordered(a, b float32) (nan bool) {
	if gpu.Device() {
		gpu.PurePTX("setp.nan.f32 %0, %1, %2;", gpu.Out(&nan), gpu.In(a), gpu.In(b))
		return nan
	}
	return a != a || b != b
}
