package vm

import (
	"math"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx/num"
)

// format describes a binary floating-point format with infinities.
type format struct{ mant, exp uint }

var (
	formatF16  = format{10, 5}
	formatBF16 = format{7, 8}
	formatF32  = format{23, 8}
)

func (f format) nan() uint32 { return 1<<(f.mant+f.exp) - 1 }

func (f format) smallest() float64 { return math.Ldexp(1, 2-1<<(f.exp-1)) }

// limit replaces an infinity with the largest number of the same sign.
func (f format) limit(x uint32) uint32 {
	if inf := uint32(1<<f.exp-1) << f.mant; x&(1<<(f.mant+f.exp)-1) == inf {
		return x - 1
	}
	return x
}

func (f format) decode(x uint32) float64 {
	e := x >> f.mant & (1<<f.exp - 1)
	m := x & (1<<f.mant - 1)
	bias := 1<<(f.exp-1) - 1
	var v float64
	switch {
	case e == 1<<f.exp-1 && m != 0:
		return math.NaN()
	case e == 1<<f.exp-1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-bias-int(f.mant))
	default:
		v = math.Float64frombits(uint64(int(e)-bias+1023)<<52 | uint64(m)<<(52-f.mant))
	}
	if x>>(f.mant+f.exp)&1 != 0 {
		return -v
	}
	return v
}

// halfFromFloat64 and bf16FromFloat64 round x to nearest. x must be exact or rounded to odd.
func halfFromFloat64(x float64) uint32 { return uint32(num.F16FromFloat64(x).Bits()) }
func bf16FromFloat64(x float64) uint32 { return uint32(num.BF16FromFloat64(x).Bits()) }

// flush replaces a subnormal number with a zero of the same sign.
func flush(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return x
}

func saturate(x float32) float32 {
	switch {
	case x >= 1:
		return 1
	case x > 0:
		return x
	}
	return 0
}

func saturate64(x float64) float64 {
	switch {
	case x >= 1:
		return 1
	case x > 0:
		return x
	}
	return 0
}

// encode rounds x to the format. x must be exact or rounded to odd.
func (f format) encode(x float64, r rounding) uint32 { return softfloat.Encode(x, f.mant, f.exp, r) }

// finite reports whether all numbers are finite.
func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsInf(x, 0) || x != x {
			return false
		}
	}
	return true
}
