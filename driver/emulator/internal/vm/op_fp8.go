package vm

import (
	"math"

	"github.com/purecuda/cuda/ptx"
)

// Conversions of the 8-bit formats. e5m2 is a format like f16; e4m3 has no
// infinities and one NaN pattern.

func isFP8(t ptx.Type) bool {
	switch t {
	case ptx.E4M3, ptx.E5M2, ptx.E4M3x2, ptx.E5M2x2:
		return true
	}
	return false
}

var (
	formatE5M2 = format{2, 5}
	formatE4M3 = format{3, 4}
)

// fp8Encode rounds to nearest with .satfinite, the only mode that exists.
func fp8Encode(x float64, e4m3, relu bool) uint32 {
	if relu && x <= 0 {
		x = 0
	}
	if !e4m3 {
		if x != x {
			return 0x7f
		}
		r := formatE5M2.encode(x, roundRN)
		if r&0x7f >= 0x7c {
			r = r&0x80 | 0x7b
		}
		return r
	}
	if x != x {
		return 0x7f
	}
	sign := uint32(0)
	if math.Signbit(x) {
		sign = 0x80
	}
	// The exponent that is special in other formats stands for numbers here. Encode in a wider
	// exponent range, then limit.
	v := math.Abs(x)
	if v >= 464 { // halfway between 448 and the next, to even
		return sign | 0x7e
	}
	if v >= 256 {
		q := uint32(math.RoundToEven(v / 32)) // 8 to 14
		return sign | min(0x78+q-8, 0x7e)
	}
	return sign | formatE4M3.encode(v, roundRN)
}

func fp8Decode(x uint32, e4m3 bool) float64 {
	if !e4m3 {
		return formatE5M2.decode(x & 0xff)
	}
	if x&0x7f == 0x7f {
		return math.NaN()
	}
	if x&0x78 == 0x78 {
		return math.Copysign(float64(8+x&7)*32, 1) * (1 - 2*float64(x>>7&1))
	}
	return formatE4M3.decode(x & 0xff)
}

// cvtFP8 lowers conversions between pairs of 8-bit formats and f32 or f16x2.
func (l *lowerer) cvtFP8(i *ptx.Instr, f *form) {
	dt, st := f.types[0], f.types[1]
	relu := f.has(flagRelu)
	if !f.only(flagRelu | flagSatFinite) {
		l.unsupported()
		return
	}
	e4m3 := dt == ptx.E4M3x2 || st == ptx.E4M3x2
	l.looseWidth = true
	switch {
	case len(i.Args) == 3 && st == ptx.F32 && isPacked(dt):
		a, b := l.src(i.Args[1], st), l.src(i.Args[2], st)
		l.emit(lane2(func(a, b float32) uint32 {
			return fp8Encode(float64(a), e4m3, relu)<<8 | fp8Encode(float64(b), e4m3, relu)
		}), l.dst(i.Args[0], ptx.B16), a, b)
	case len(i.Args) == 2 && (st == ptx.F16x2 || st == ptx.BF16x2):
		h := halfOf(st, &form{})
		a := l.src(i.Args[1], st)
		l.emit(lane1(func(a uint32) uint32 {
			return fp8Encode(h.in(a>>16), e4m3, relu)<<8 | fp8Encode(h.in(a&0xffff), e4m3, relu)
		}), l.dst(i.Args[0], ptx.B16), a)
	case len(i.Args) == 2 && (dt == ptx.F16x2 || dt == ptx.BF16x2):
		h := halfOf(dt, &form{})
		h.relu = relu
		a := l.src(i.Args[1], ptx.B16)
		l.emit(lane1(func(a uint32) uint32 {
			return h.out(fp8Decode(a>>8, e4m3))<<16 | h.out(fp8Decode(a, e4m3))
		}), l.dst(i.Args[0], dt), a)
	default:
		l.unsupported()
	}
}
