package irtest

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func compute(v *ir.Value, a func(int) int64) int64 {
	switch op := v.Op; {
	case v.Type == ir.TBool:
		return boolean(v, a)
	case op >= ir.OpSExt8 && op <= ir.OpTrunc:
		return width(op, a(0))
	case op == ir.OpMulWideS:
		return a(0) * a(1)
	case op == ir.OpMulWideU:
		return int64(uint64(uint32(a(0))) * uint64(uint32(a(1))))
	case op >= ir.OpAdd && op <= ir.OpLop3:
		if v.Args[0].Type == ir.TI32 {
			return int64(integer32(v, a))
		}
		return integer64(v, a)
	}
	return float(v, a)
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func boolean(v *ir.Value, a func(int) int64) int64 {
	switch v.Op {
	case ir.OpAnd:
		return a(0) & a(1)
	case ir.OpOr:
		return a(0) | a(1)
	case ir.OpXor:
		return a(0) ^ a(1)
	case ir.OpNot:
		return a(0) ^ 1
	case ir.OpICmp:
		return truth(icmp(v, a(0), a(1)))
	case ir.OpFCmp:
		x, y := toFloat(v.Args[0].Type, a(0)), toFloat(v.Args[1].Type, a(1))
		switch ir.Cond(v.Aux) {
		case ir.Eq:
			return truth(x == y)
		case ir.Ne:
			return truth(x != y)
		case ir.FLt:
			return truth(x < y)
		case ir.FLe:
			return truth(x <= y)
		case ir.FGt:
			return truth(x > y)
		}
		return truth(x >= y)
	}
	panic("irtest: " + v.Text())
}

func icmp(v *ir.Value, x, y int64) bool {
	u, w := uint64(x), uint64(y)
	if v.Args[0].Type == ir.TI32 {
		x, y = int64(int32(x)), int64(int32(y))
		u, w = uint64(uint32(x)), uint64(uint32(y))
	}
	switch ir.Cond(v.Aux) {
	case ir.Eq:
		return x == y
	case ir.Ne:
		return x != y
	case ir.SLt:
		return x < y
	case ir.SLe:
		return x <= y
	case ir.SGt:
		return x > y
	case ir.SGe:
		return x >= y
	case ir.ULt:
		return u < w
	case ir.ULe:
		return u <= w
	case ir.UGt:
		return u > w
	}
	return u >= w
}

func width(op ir.Op, x int64) int64 {
	switch op {
	case ir.OpSExt8:
		return int64(int8(x))
	case ir.OpSExt16:
		return int64(int16(x))
	case ir.OpZExt8:
		return int64(uint8(x))
	case ir.OpZExt16:
		return int64(uint16(x))
	case ir.OpZExt32:
		return int64(uint32(x))
	}
	return int64(int32(x)) // SExt32 and Trunc
}

func integer32(v *ir.Value, a func(int) int64) int32 {
	x := int32(a(0))
	switch v.Op {
	case ir.OpClz:
		return int32(bits.LeadingZeros32(uint32(x)))
	case ir.OpPopc:
		return int32(bits.OnesCount32(uint32(x)))
	case ir.OpBrev:
		return int32(bits.Reverse32(uint32(x)))
	case ir.OpFunnel:
		n := uint(a(2) & 31)
		return x<<n | int32(uint32(a(1))>>(32-n))
	case ir.OpLop3:
		var r int32
		for bit := range 32 {
			i := a(0)>>bit&1<<2 | a(1)>>bit&1<<1 | a(2)>>bit&1
			r |= int32(v.Aux>>i&1) << bit
		}
		return r
	case ir.OpBswap:
		return int32(bits.ReverseBytes32(uint32(x)))
	case ir.OpNot:
		return ^x
	}
	y := int32(a(1))
	switch v.Op {
	case ir.OpAdd:
		return x + y
	case ir.OpSub:
		return x - y
	case ir.OpMul:
		return x * y
	case ir.OpSDiv:
		return x / y
	case ir.OpUDiv:
		return int32(uint32(x) / uint32(y))
	case ir.OpSRem:
		return x % y
	case ir.OpURem:
		return int32(uint32(x) % uint32(y))
	case ir.OpShl:
		return x << uint32(y)
	case ir.OpLShr:
		return int32(uint32(x) >> uint32(y))
	case ir.OpAShr:
		return x >> uint32(y)
	case ir.OpMulHiS:
		return int32(int64(x) * int64(y) >> 32)
	case ir.OpMulHiU:
		return int32(uint64(uint32(x)) * uint64(uint32(y)) >> 32)
	case ir.OpUMin:
		return int32(min(uint32(x), uint32(y)))
	case ir.OpUMax:
		return int32(max(uint32(x), uint32(y)))
	}
	return int32(common(v, int64(x), int64(y)))
}

func common(v *ir.Value, x, y int64) int64 {
	switch v.Op {
	case ir.OpAnd:
		return x & y
	case ir.OpOr:
		return x | y
	case ir.OpXor:
		return x ^ y
	case ir.OpSMin:
		return min(x, y)
	case ir.OpSMax:
		return max(x, y)
	}
	panic("irtest: " + v.Text())
}

func integer64(v *ir.Value, a func(int) int64) int64 {
	x := a(0)
	switch v.Op {
	case ir.OpClz:
		return int64(bits.LeadingZeros64(uint64(x)))
	case ir.OpPopc:
		return int64(bits.OnesCount64(uint64(x)))
	case ir.OpBrev:
		return int64(bits.Reverse64(uint64(x)))
	case ir.OpFunnel:
		return x<<uint(a(2)) | int64(uint64(a(1))>>uint(64-a(2)))
	case ir.OpNot:
		return ^x
	}
	y := a(1)
	switch v.Op {
	case ir.OpAdd:
		return x + y
	case ir.OpSub:
		return x - y
	case ir.OpMul:
		return x * y
	case ir.OpSDiv:
		return x / y
	case ir.OpUDiv:
		return int64(uint64(x) / uint64(y))
	case ir.OpSRem:
		return x % y
	case ir.OpURem:
		return int64(uint64(x) % uint64(y))
	case ir.OpShl:
		return x << uint32(y)
	case ir.OpLShr:
		return int64(uint64(x) >> uint32(y))
	case ir.OpAShr:
		return x >> uint32(y)
	case ir.OpMulHiS, ir.OpMulHiU:
		hi, _ := bits.Mul64(uint64(x), uint64(y))
		if v.Op == ir.OpMulHiS {
			hi -= uint64(x>>63&y) + uint64(y>>63&x)
		}
		return int64(hi)
	case ir.OpUMin:
		return int64(min(uint64(x), uint64(y)))
	case ir.OpUMax:
		return int64(max(uint64(x), uint64(y)))
	}
	return common(v, x, y)
}

// toFloat decodes a floating-point value of type t.
func toFloat(t ir.Type, b int64) float64 {
	switch t {
	case ir.TF32:
		return float64(math.Float32frombits(uint32(b)))
	case ir.TF64:
		return math.Float64frombits(uint64(b))
	case ir.TBF16:
		return float64(math.Float32frombits(uint32(b) << 16))
	}
	return half(uint16(b))
}

func half(b uint16) float64 {
	exp, mant := int(b>>10&31), float64(b&1023)
	x := math.Ldexp(mant, -24)
	switch {
	case exp == 31 && mant != 0:
		return math.NaN()
	case exp == 31:
		x = math.Inf(1)
	case exp > 0:
		x = math.Ldexp(1024+mant, exp-25)
	}
	if b>>15 != 0 {
		return -x
	}
	return x
}

// toBits encodes x in type t, rounded to nearest even.
func toBits(t ir.Type, x float64) int64 {
	switch t {
	case ir.TF32:
		return int64(math.Float32bits(float32(x)))
	case ir.TF64:
		return int64(math.Float64bits(x))
	}
	panic("irtest: 16-bit floating-point results")
}

func float(v *ir.Value, a func(int) int64) int64 {
	t := v.Type
	if t == ir.TF16 || t == ir.TBF16 {
		bits := make([]int64, len(v.Args))
		for i := range bits {
			bits[i] = a(i)
		}
		if r, ok := ir.Eval(v, bits); ok {
			return r
		}
	}
	f := func(i int) float64 { return toFloat(v.Args[i].Type, a(i)) }
	if t == ir.TF32 && len(v.Args) == 2 {
		return int64(math.Float32bits(float32Op(v, float32(f(0)), float32(f(1)))))
	}
	switch v.Op {
	case ir.OpFAdd:
		return toBits(t, f(0)+f(1))
	case ir.OpFSub:
		return toBits(t, f(0)-f(1))
	case ir.OpFMul:
		return toBits(t, f(0)*f(1))
	case ir.OpFDiv:
		return toBits(t, f(0)/f(1))
	case ir.OpFMin:
		return toBits(t, min(f(0), f(1)))
	case ir.OpFMax:
		return toBits(t, max(f(0), f(1)))
	case ir.OpFMA:
		if t == ir.TF64 {
			return toBits(t, math.FMA(f(0), f(1), f(2)))
		}
	case ir.OpFNeg:
		return toBits(t, -f(0))
	case ir.OpFAbs:
		return toBits(t, math.Abs(f(0)))
	case ir.OpFSqrt:
		return toBits(t, math.Sqrt(f(0)))
	case ir.OpFInt:
		return toBits(t, roundInt(ir.Round(v.Aux), f(0)))
	case ir.OpFConv:
		return toBits(t, f(0))
	case ir.OpSToF:
		if t == ir.TF32 {
			return int64(math.Float32bits(float32(a(0))))
		}
		return toBits(t, float64(a(0)))
	case ir.OpUToF:
		u := uint64(a(0))
		if v.Args[0].Type == ir.TI32 {
			u = uint64(uint32(u))
		}
		if t == ir.TF32 {
			return int64(math.Float32bits(float32(u)))
		}
		return toBits(t, float64(u))
	case ir.OpFToS, ir.OpFToU:
		return toInt(v, roundInt(ir.Round(v.Aux), f(0)))
	case ir.OpBitcast:
		switch t {
		case ir.TI32:
			return int64(int32(a(0)))
		case ir.TF32:
			return int64(uint32(a(0)))
		case ir.TF16, ir.TBF16:
			return int64(uint16(a(0)))
		}
		return a(0)
	}
	panic(fmt.Sprintf("irtest: %s", v.Text()))
}

func float32Op(v *ir.Value, x, y float32) float32 {
	switch v.Op {
	case ir.OpFAdd:
		return x + y
	case ir.OpFSub:
		return x - y
	case ir.OpFMul:
		return x * y
	case ir.OpFDiv:
		return x / y
	case ir.OpFMin:
		return min(x, y)
	case ir.OpFMax:
		return max(x, y)
	}
	panic("irtest: " + v.Text())
}

func roundInt(r ir.Round, x float64) float64 {
	switch r {
	case ir.RZ:
		return math.Trunc(x)
	case ir.RM:
		return math.Floor(x)
	case ir.RP:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

func toInt(v *ir.Value, x float64) int64 {
	low, high := -0x1p63, 0x1p63
	switch {
	case x != x:
		return 0
	case v.Op == ir.OpFToU && v.Type == ir.TI32:
		return int64(int32(uint32(max(0, min(x, math.MaxUint32)))))
	case v.Type == ir.TI32:
		return int64(max(math.MinInt32, min(x, math.MaxInt32)))
	case v.Op == ir.OpFToU:
		if x >= 0x1p64 {
			return -1
		}
		return int64(uint64(max(0, x)))
	case x >= high:
		return math.MaxInt64
	case x <= low:
		return math.MinInt64
	}
	return int64(x)
}

func modify(v *ir.Value, old, x int64) (int64, bool) {
	switch v.Atomic.Op {
	case ir.RMWAdd:
		if t := v.Mem.Type(); t.Kind.IsFloat() {
			return toBits(t, toFloat(t, old)+toFloat(t, x)), true
		}
		return old + x, true
	case ir.RMWSMin:
		return min(old, x), true
	case ir.RMWSMax:
		return max(old, x), true
	case ir.RMWUMin:
		return int64(min(uint64(old), uint64(x))), true
	case ir.RMWUMax:
		return int64(max(uint64(old), uint64(x))), true
	case ir.RMWAnd:
		return old & x, true
	case ir.RMWOr:
		return old | x, true
	case ir.RMWXor:
		return old ^ x, true
	case ir.RMWXchg, ir.RMWStore:
		return x, true
	}
	return 0, false
}
