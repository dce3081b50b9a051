package ir

import "math/bits"

// Eval computes the result of an instruction that has no side effects. Operands and result are bits
// in the representation of constants. Eval returns false if it cannot evaluate the instruction.
func Eval(v *Value, args []int64) (result int64, ok bool) {
	switch {
	case v.Op == OpSelect:
		return choose(args[0] != 0, args[1], args[2]), true
	case v.Op == OpCopy || v.Op == OpPin:
		return args[0], true
	case v.Op == OpICmp:
		return fromBool(compareInts(Cond(v.Aux), v.Args[0].Type.Kind, args[0], args[1])), true
	case v.Op >= OpAdd && v.Op <= OpTrunc:
		result, ok = evalInt(v, args)
	case v.Op >= OpFAdd && v.Op <= OpBitcast || v.Op == OpFCmp:
		result, ok = evalFloat(v, args)
	case v.Op == OpPtrAdd:
		result, ok = args[0]+args[1], true
	}
	return Canonical(v.Type.Kind, result), ok
}

// Canonical returns bits in the representation that constants of kind k use: I32 is sign-extended,
// all other kinds are zero-extended.
func Canonical(k Kind, bits int64) int64 {
	switch k {
	case Bool:
		return bits & 1
	case I32:
		return int64(int32(bits))
	case F32:
		return int64(uint32(bits))
	case F16, BF16:
		return int64(uint16(bits))
	}
	return bits
}

func choose(c bool, a, b int64) int64 {
	if c {
		return a
	}
	return b
}

func fromBool(b bool) int64 { return choose(b, 1, 0) }

func compareInts(c Cond, k Kind, a, b int64) bool {
	ua, ub := uint64(a), uint64(b)
	if k == I32 {
		ua, ub = uint64(uint32(a)), uint64(uint32(b))
	}
	switch c {
	case Eq:
		return a == b
	case Ne:
		return a != b
	case SLt:
		return a < b
	case SLe:
		return a <= b
	case SGt:
		return a > b
	case SGe:
		return a >= b
	case ULt:
		return ua < ub
	case ULe:
		return ua <= ub
	case UGt:
		return ua > ub
	}
	return ua >= ub
}

func evalInt(v *Value, args []int64) (int64, bool) {
	a, b := args[0], int64(0)
	if len(args) > 1 {
		b = args[1]
	}
	narrow := v.Args[0].Type.Kind == I32
	ua, ub := uint64(a), uint64(b)
	if narrow {
		ua, ub = uint64(uint32(a)), uint64(uint32(b))
	}
	switch v.Op {
	case OpAdd:
		return a + b, true
	case OpSub:
		return a - b, true
	case OpMul:
		return a * b, true
	case OpSDiv, OpUDiv, OpSRem, OpURem:
		return divide(v.Op, a, b, ua, ub)
	case OpAnd:
		return a & b, true
	case OpOr:
		return a | b, true
	case OpXor:
		return a ^ b, true
	case OpShl, OpLShr, OpAShr:
		return shift(v.Op, a, ua, uint64(uint32(b)), narrow), true
	case OpSMin:
		return min(a, b), true
	case OpSMax:
		return max(a, b), true
	case OpUMin:
		return int64(min(ua, ub)), true
	case OpUMax:
		return int64(max(ua, ub)), true
	case OpFunnel:
		return funnel(ua, ub, uint(args[2]), narrow), true
	case OpLop3:
		return lookUp(v.Aux, uint32(a), uint32(b), uint32(args[2])), true
	case OpMulWideS:
		return a * b, true
	case OpMulWideU:
		return int64(ua * ub), true
	}
	return evalBits(v.Op, a, b, ua, ub, narrow)
}

func funnel(high, low uint64, n uint, narrow bool) int64 {
	if narrow {
		return int64((high<<32 | low) << (n & 31) >> 32)
	}
	return int64(high<<(n&63) | low>>(64-n&63))
}

// lookUp combines each three bits by a table.
func lookUp(table int64, a, b, c uint32) int64 {
	var r uint32
	for i := range 8 {
		if table>>i&1 != 0 {
			r |= (a ^ mask(i, 4)) & (b ^ mask(i, 2)) & (c ^ mask(i, 1))
		}
	}
	return int64(r)
}

// mask has all bits if i lacks the bit.
func mask(i, bit int) uint32 {
	if i&bit != 0 {
		return 0
	}
	return ^uint32(0)
}

func evalBits(op Op, a, b int64, ua, ub uint64, narrow bool) (int64, bool) {
	switch op {
	case OpMulHiS, OpMulHiU:
		return high(op, a, b, ua, ub, narrow), true
	case OpClz:
		if narrow {
			return int64(bits.LeadingZeros32(uint32(ua))), true
		}
		return int64(bits.LeadingZeros64(ua)), true
	case OpPopc:
		return int64(bits.OnesCount64(ua)), true
	case OpBrev:
		if narrow {
			return int64(bits.Reverse32(uint32(ua))), true
		}
		return int64(bits.Reverse64(ua)), true
	case OpBswap:
		return int64(bits.ReverseBytes32(uint32(ua))), true
	case OpNot:
		return ^a, true
	case OpSExt8:
		return int64(int8(a)), true
	case OpSExt16:
		return int64(int16(a)), true
	case OpZExt8:
		return int64(uint8(a)), true
	case OpZExt16:
		return int64(uint16(a)), true
	case OpSExt32, OpTrunc:
		return int64(int32(a)), true
	case OpZExt32:
		return int64(uint32(a)), true
	}
	return 0, false
}

func divide(op Op, a, b int64, ua, ub uint64) (int64, bool) {
	switch {
	case b == 0:
		return 0, false
	case op == OpUDiv:
		return int64(ua / ub), true
	case op == OpURem:
		return int64(ua % ub), true
	case op == OpSDiv && b == -1:
		return -a, true
	case op == OpSDiv:
		return a / b, true
	case b == -1:
		return 0, true
	}
	return a % b, true
}

func shift(op Op, a int64, ua, n uint64, narrow bool) int64 {
	width := uint64(64)
	if narrow {
		width = 32
	}
	switch {
	case op == OpAShr:
		return a >> min(n, width-1)
	case n >= width:
		return 0
	case op == OpShl:
		return a << n
	}
	return int64(ua >> n)
}

func high(op Op, a, b int64, ua, ub uint64, narrow bool) int64 {
	switch {
	case narrow && op == OpMulHiS:
		return a * b >> 32
	case narrow:
		return int64(ua * ub >> 32)
	}
	hi, _ := bits.Mul64(ua, ub)
	if op == OpMulHiS {
		hi -= uint64(a>>63&b) + uint64(b>>63&a)
	}
	return int64(hi)
}
