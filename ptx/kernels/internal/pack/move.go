package pack

// UnitOf returns the largest power of two, at most 16, of which all bits of a are a multiple. If a
// combines addresses and sizes with or, all of them are multiples of it.
func UnitOf(a uint64) int { return int((a | 16) & -(a | 16)) }

// Words holds a unit of up to 16 bytes, or the 4 or 8 elements of a pack of 16 bytes.
type Words [4]uint32

// LoadUnit loads a unit of 1, 2, 4, 8 or 16 bytes, whose address is a multiple of its size.
func LoadUnit(at uint64, unit int) (w Words) {
	switch unit {
	case 16:
		w = Words(*words(at))
	case 8:
		v := *words2(at)
		w[0], w[1] = v[0], v[1]
	case 4:
		w[0] = *Element[uint32](at)
	case 2:
		w[0] = uint32(*Element[uint16](at))
	default:
		w[0] = uint32(*Element[uint8](at))
	}
	return w
}

// StoreUnit stores a unit.
func StoreUnit(at uint64, unit int, w Words) {
	switch unit {
	case 16:
		*words(at) = w
	case 8:
		*words2(at) = [2]uint32{w[0], w[1]}
	case 4:
		*Element[uint32](at) = w[0]
	case 2:
		*Element[uint16](at) = uint16(w[0])
	default:
		*Element[uint8](at) = uint8(w[0])
	}
}

// Units is how many units LoadUnits and StoreUnits move at most.
const Units = 4

// LoadUnits loads n units at distances of step bytes.
func LoadUnits(at, step uint64, n, unit int) (w [Units]Words) {
	switch unit {
	case 16:
		eachUnit(at, step, n, func(k int, at uint64) { w[k] = Words(*words(at)) })
	case 8:
		eachUnit(at, step, n, func(k int, at uint64) {
			v := *words2(at)
			w[k][0], w[k][1] = v[0], v[1]
		})
	case 4:
		eachUnit(at, step, n, func(k int, at uint64) { w[k][0] = *Element[uint32](at) })
	case 2:
		eachUnit(at, step, n, func(k int, at uint64) { w[k][0] = uint32(*Element[uint16](at)) })
	default:
		eachUnit(at, step, n, func(k int, at uint64) { w[k][0] = uint32(*Element[uint8](at)) })
	}
	return w
}

// StoreUnits is the opposite of LoadUnits.
func StoreUnits(at, step uint64, n, unit int, w *[Units]Words) {
	switch unit {
	case 16:
		eachUnit(at, step, n, func(k int, at uint64) { *words(at) = w[k] })
	case 8:
		eachUnit(at, step, n, func(k int, at uint64) { *words2(at) = [2]uint32{w[k][0], w[k][1]} })
	case 4:
		eachUnit(at, step, n, func(k int, at uint64) { *Element[uint32](at) = w[k][0] })
	case 2:
		eachUnit(at, step, n, func(k int, at uint64) { *Element[uint16](at) = uint16(w[k][0]) })
	default:
		eachUnit(at, step, n, func(k int, at uint64) { *Element[uint8](at) = uint8(w[k][0]) })
	}
}

func eachUnit(at, step uint64, n int, do func(k int, at uint64)) {
	for k := range Units {
		if k < n {
			do(k, at)
		}
		at += step
	}
}

// Div returns a/b for numbers below 2^63, or 0 if b is 0. Small numbers are divided faster.
func Div(a, b uint64) uint64 {
	if (a|b)>>31 == 0 {
		if d := int32(b); d > 0 { // so the compiler adds no check
			return uint64(int32(a) / d)
		}
	}
	if d := int64(b); d > 0 {
		return uint64(int64(a) / d)
	}
	return 0
}
