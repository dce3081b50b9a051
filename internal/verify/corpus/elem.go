package corpus

import (
	"encoding/binary"
	"math"
)

// Elem is the type of a number or of a buffer's elements.
type Elem struct {
	Name string
	Size int
	kind elemKind
}

type elemKind uint8

const (
	signed elemKind = iota
	unsigned
	float
	half
	bfloat
)

var elems = []Elem{
	{"i8", 1, signed}, {"i16", 2, signed}, {"i32", 4, signed}, {"i64", 8, signed},
	{"u8", 1, unsigned}, {"u16", 2, unsigned}, {"u32", 4, unsigned}, {"u64", 8, unsigned},
	{"f16", 2, half}, {"bf16", 2, bfloat}, {"f32", 4, float}, {"f64", 8, float},
}

func elemByName(name string) (Elem, bool) {
	for _, e := range elems {
		if e.Name == name {
			return e, true
		}
	}
	return Elem{}, false
}

// IsFloat reports whether elements are floating-point numbers.
func (e Elem) IsFloat() bool { return e.kind >= float }

// put stores a number at dst, rounded to the type.
func (e Elem) put(dst []byte, v float64) {
	switch {
	case e.kind == half:
		binary.LittleEndian.PutUint16(dst, halfBits(v))
	case e.kind == bfloat:
		binary.LittleEndian.PutUint16(dst, bfloatBits(v))
	case e.kind == float && e.Size == 4:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(v)))
	case e.kind == float:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(v))
	case v < 0:
		e.putBits(dst, uint64(int64(v)))
	default:
		e.putBits(dst, uint64(v))
	}
}

func (e Elem) putBits(dst []byte, v uint64) {
	for i := range e.Size {
		dst[i] = byte(v >> (8 * i))
	}
}

func (e Elem) bits(src []byte) (v uint64) {
	for i := range e.Size {
		v |= uint64(src[i]) << (8 * i)
	}
	return v
}

// float returns the floating-point element at src as a float64.
func (e Elem) float(src []byte) float64 {
	b := e.bits(src)
	switch {
	case e.kind == half:
		return halfValue(uint16(b))
	case e.kind == bfloat:
		return float64(math.Float32frombits(uint32(b) << 16))
	case e.Size == 4:
		return float64(math.Float32frombits(uint32(b)))
	}
	return math.Float64frombits(b)
}

func bfloatBits(v float64) uint16 {
	b := math.Float32bits(float32(v))
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// halfBits returns the bits of v rounded to the nearest half, ties to even. It scales v so that the
// last place of the half is worth 1, and rounds to an integer.
func halfBits(v float64) uint16 {
	sign := uint16(math.Float64bits(v) >> 48 & 0x8000)
	if v == 0 {
		return sign
	}
	_, e := math.Frexp(v)
	e = max(e-1, -14) // subnormal numbers share the smallest exponent
	n := int(math.RoundToEven(math.Ldexp(math.Abs(v), 10-e)))
	return sign | uint16(min((e+14)<<10+n, 0x7c00))
}

func halfValue(b uint16) float64 {
	sign := math.Copysign(1, float64(int16(b)))
	e, m := int(b>>10&31), float64(b&1023)
	switch e {
	case 0:
		return sign * math.Ldexp(m, -24)
	case 31:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(m+1024, e-25)
}
