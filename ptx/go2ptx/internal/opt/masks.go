package opt

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// removeMasks removes operations that clear the upper bits of 32-bit numbers in which these bits are 0 already.
//
// Unlike rangeOf, it knows the phis of loops: it assumes that all bits are 0 until an instruction may set one.
// An element of 16 bits, for example, is loaded, shifted from register to register in a loop, and stored.
func removeMasks(f *ir.Func) int {
	w := widthsOf(f)
	to := forward{}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Type != ir.TI32 || len(v.Args) == 0 {
				continue
			}
			n := w.of(v.Args[0])
			keeps := false
			switch v.Op {
			case ir.OpZExt8:
				keeps = n <= 8
			case ir.OpZExt16:
				keeps = n <= 16
			case ir.OpSExt8:
				keeps = n < 8
			case ir.OpSExt16:
				keeps = n < 16
			case ir.OpAnd:
				keeps = isConst(v.Args[1]) && uint32(v.Args[1].Aux)&(1<<n-1) == 1<<n-1
			}
			if keeps {
				to[v] = v.Args[0]
			}
		}
	}
	to.apply(f)
	return len(to)
}

// widths are, by value ID, how many bits of 32-bit numbers may be 1, counted from the lowest one.
type widths []uint8

func widthsOf(f *ir.Func) widths {
	w := make(widths, f.NumValues())
	order := f.ReversePostorder()
	for changed := true; changed; {
		changed = false
		for _, b := range order {
			for _, v := range b.Values {
				if v.Type != ir.TI32 {
					continue
				}
				if n := max(w.compute(v), w[v.ID]); n != w[v.ID] {
					w[v.ID], changed = n, true
				}
			}
		}
	}
	return w
}

func (w widths) of(v *ir.Value) uint8 {
	switch {
	case v.Type != ir.TI32:
		return 32
	case isConst(v):
		return uint8(bits.Len32(uint32(v.Aux)))
	case v.Op == ir.OpUndef:
		return 32
	}
	return w[v.ID]
}

// compute returns the width of a value from those of its operands. It does not decrease if they grow.
func (w widths) compute(v *ir.Value) uint8 {
	arg := func(i int) uint8 { return w.of(v.Args[i]) }
	switch v.Op {
	case ir.OpPhi:
		n := uint8(0)
		for i := range v.Args {
			n = max(n, arg(i))
		}
		return n
	case ir.OpSelect:
		return max(arg(1), arg(2))
	case ir.OpZExt8:
		return min(8, arg(0))
	case ir.OpZExt16:
		return min(16, arg(0))
	case ir.OpSExt8:
		return signed(arg(0), 8)
	case ir.OpSExt16:
		return signed(arg(0), 16)
	case ir.OpAnd, ir.OpUMin:
		return min(arg(0), arg(1))
	case ir.OpOr, ir.OpXor, ir.OpUMax:
		return max(arg(0), arg(1))
	case ir.OpLShr, ir.OpShl:
		return w.shift(v)
	case ir.OpCopy:
		return arg(0)
	}
	if hi := rangeOf(v, 2); hi.lo >= 0 && v.Op != ir.OpAdd && v.Op != ir.OpSub && v.Op != ir.OpMul {
		return uint8(bits.Len32(uint32(hi.hi)))
	}
	return 32
}

// signed returns the width of a number of n bits, of which the lowest to bits are extended with their sign.
func signed(n, to uint8) uint8 {
	if n < to {
		return n
	}
	return 32
}

func (w widths) shift(v *ir.Value) uint8 {
	n, by := w.of(v.Args[0]), v.Args[1]
	switch {
	case v.Op == ir.OpLShr && !isConst(by):
		return n
	case !isConst(by) || uint64(by.Aux) > 31:
		return 32
	case v.Op == ir.OpLShr:
		return n - min(n, uint8(by.Aux))
	case n == 0:
		return 0
	}
	return min(32, n+uint8(by.Aux))
}
