package ir

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// number decodes a floating-point value of any kind. A float64 represents all of them exactly.
func number(k Kind, bits int64) float64 {
	switch k {
	case F16:
		return num.F16FromBits(uint16(bits)).Float64()
	case BF16:
		return num.BF16FromBits(uint16(bits)).Float64()
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(uint64(bits))
}

// rounded encodes x in kind k, rounded to nearest even.
func rounded(k Kind, x float64) int64 {
	switch k {
	case F16:
		return int64(num.F16FromFloat64(x).Bits())
	case BF16:
		return int64(num.BF16FromFloat64(x).Bits())
	case F32:
		return int64(math.Float32bits(float32(x)))
	}
	return int64(math.Float64bits(x))
}

func evalFloat(v *Value, args []int64) (int64, bool) {
	from, to := v.Args[0].Type.Kind, v.Type.Kind
	switch v.Op {
	case OpBitcast:
		return args[0], true
	case OpFCmp:
		return fromBool(compareFloats(Cond(v.Aux), number(from, args[0]), number(from, args[1]))), true
	case OpFToS, OpFToU:
		return toInt(v.Op, to, integral(Round(v.Aux), number(from, args[0]))), true
	case OpFInt:
		return rounded(to, integral(Round(v.Aux), number(from, args[0]))), true
	case OpFNeg:
		return args[0] ^ int64(uint64(1)<<(to.Bits()-1)), true
	case OpFAbs:
		return args[0] &^ int64(uint64(1)<<(to.Bits()-1)), true
	}
	if v.Round != RN {
		return 0, false
	}
	switch v.Op {
	case OpSToF:
		return fromInt(to, args[0], false)
	case OpUToF:
		return fromInt(to, choose(from == I32, int64(uint32(args[0])), args[0]), true)
	case OpFConv:
		return rounded(to, number(from, args[0])), true
	}
	var x [3]float64
	for i, a := range args {
		x[i] = number(to, a)
	}
	return arithmetic(v.Op, to, x)
}

// arithmetic computes in float64 and then rounds to kind k. The double rounding is harmless for the
// narrower kinds, whose significands are less than half as long.
func arithmetic(op Op, k Kind, x [3]float64) (int64, bool) {
	var r float64
	switch op {
	case OpFAdd:
		r = x[0] + x[1]
	case OpFSub:
		r = x[0] - x[1]
	case OpFMul:
		r = float64(x[0] * x[1])
	case OpFDiv:
		r = x[0] / x[1]
	case OpFSqrt:
		r = math.Sqrt(x[0])
	case OpFMin:
		r = min(x[0], x[1])
	case OpFMax:
		r = max(x[0], x[1])
	case OpFMA:
		if r = math.FMA(x[0], x[1], x[2]); k != F64 {
			r = addOdd(float64(x[0]*x[1]), x[2])
		}
	default:
		return 0, false
	}
	return rounded(k, r), true
}

// addOdd adds with rounding to odd: if the sum is inexact, its last bit is set. The sum can then be
// rounded to a narrower kind without a double-rounding error.
func addOdd(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	t := s - a
	e := (a - (s - t)) + (b - t)
	if e == 0 || math.Float64bits(s)&1 != 0 {
		return s
	}
	if (e > 0) == (s > 0) {
		return math.Float64frombits(math.Float64bits(s) + 1)
	}
	return math.Float64frombits(math.Float64bits(s) - 1)
}

func compareFloats(c Cond, a, b float64) bool {
	switch c {
	case Eq:
		return a == b
	case Ne:
		return a != b
	case FLt:
		return a < b
	case FLe:
		return a <= b
	case FGt:
		return a > b
	}
	return a >= b
}

func integral(r Round, x float64) float64 {
	switch r {
	case RN:
		return math.RoundToEven(x)
	case RZ:
		return math.Trunc(x)
	case RM:
		return math.Floor(x)
	}
	return math.Ceil(x)
}

// toInt converts a floating-point value that is an integer. It saturates, and converts NaN to 0.
func toInt(op Op, k Kind, x float64) int64 {
	lo, hi := -0x1p63, 0x1p63
	switch {
	case k == I32 && op == OpFToS:
		lo, hi = -0x1p31, 0x1p31
	case k == I32:
		lo, hi = 0, 0x1p32
	case op == OpFToU:
		lo, hi = 0, 0x1p64
	}
	switch {
	case x != x:
		return 0
	case x < lo:
		x = lo
	case x >= hi && lo == 0:
		return -1
	case x >= hi && k == I32:
		return math.MaxInt32
	case x >= hi:
		return math.MaxInt64
	}
	if x >= 0x1p63 {
		return int64(uint64(x-0x1p63)) | math.MinInt64
	}
	return int64(x)
}

func fromInt(k Kind, x int64, unsigned bool) (int64, bool) {
	if unsigned {
		u := uint64(x)
		switch k {
		case F16:
			return int64(num.To[num.F16](u).Bits()), true
		case BF16:
			return int64(num.To[num.BF16](u).Bits()), true
		case F32:
			return int64(math.Float32bits(float32(u))), true
		}
		return int64(math.Float64bits(float64(u))), true
	}
	switch k {
	case F16:
		return int64(num.To[num.F16](x).Bits()), true
	case BF16:
		return int64(num.To[num.BF16](x).Bits()), true
	case F32:
		return int64(math.Float32bits(float32(x))), true
	}
	return int64(math.Float64bits(float64(x))), true
}
