package lower

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// fold returns the constant result of an operation, or the operand that is its result, or nil. It
// only covers what lowering itself needs, such as constant indices. Optimization is left to package
// opt.
func (b *builder) fold(op ir.Op, t ir.Type, args []*ir.Value) *ir.Value {
	bits := make([]int64, 0, 3)
	for _, a := range args {
		if a.Op == ir.OpConst {
			bits = append(bits, a.Aux)
		}
	}
	if len(bits) == len(args) {
		if t.Kind == ir.Ptr || args[0].Type.Kind == ir.Ptr {
			return nil
		}
		if r, ok := ir.Eval(&ir.Value{Op: op, Type: t, Args: args}, bits); ok {
			return b.f.Const(t, r)
		}
		return nil
	}
	if len(args) != 2 || !t.Kind.IsInt() && t != ir.TBool {
		return nil
	}
	x, y := args[0], args[1]
	if op.Commutes() && x.Op == ir.OpConst {
		x, y = y, x
	}
	return b.identity(op, t, x, y)
}

func (b *builder) identity(op ir.Op, t ir.Type, x, y *ir.Value) *ir.Value {
	if y.Op != ir.OpConst {
		return nil
	}
	switch op {
	case ir.OpAdd, ir.OpSub, ir.OpXor, ir.OpShl, ir.OpLShr, ir.OpAShr:
		if y.Aux == 0 {
			return x
		}
	case ir.OpOr:
		if y.Aux == 0 {
			return x
		}
		if t == ir.TBool {
			return y
		}
	case ir.OpMul:
		switch y.Aux {
		case 0:
			return y
		case 1:
			return x
		}
	case ir.OpAnd:
		if y.Aux == 0 {
			return y
		}
		if t == ir.TBool {
			return x
		}
	}
	return nil
}

func foldCmp(c ir.Cond, x, y *ir.Value) (result, ok bool) {
	switch {
	case x.Op == ir.OpConst && y.Op == ir.OpConst:
		v := ir.Value{Op: ir.OpICmp, Type: ir.TBool, Aux: int64(c), Args: []*ir.Value{x, y}}
		r, ok := ir.Eval(&v, []int64{x.Aux, y.Aux})
		return r != 0, ok
	case x == y && x.Op != ir.OpUndef:
		switch c {
		case ir.Eq, ir.SLe, ir.SGe, ir.ULe, ir.UGe:
			return true, true
		}
		return false, true
	}
	return false, false
}
