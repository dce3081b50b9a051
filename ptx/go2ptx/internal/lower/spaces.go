package lower

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// unknown is the space of a pointer until it is determined. It remains if the pointer depends only
// on itself.
const unknown = ir.Space(255)

// spaces determines the state space of each pointer that is computed from other pointers. It then
// inserts casts where an operand is not in the required space.
func (b *builder) spaces() {
	var list []*ir.Value
	for _, x := range b.f.Blocks {
		for _, v := range x.Values {
			if v.Type.Kind == ir.Ptr && (v.Op == ir.OpPhi || v.Op == ir.OpSelect || v.Op == ir.OpPtrAdd) {
				v.Type.Space = unknown
				list = append(list, v)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, v := range list {
			if s := joined(v); s != v.Type.Space {
				v.Type.Space = s
				changed = true
			}
		}
	}
	for _, v := range list {
		if v.Type.Space == unknown {
			v.Type.Space = ir.Generic
		}
	}
	for _, x := range b.f.Blocks {
		b.castOperands(x)
	}
}

// joined returns the space of a pointer, computed from the spaces of its operands.
func joined(v *ir.Value) ir.Space {
	args := v.Args
	switch v.Op {
	case ir.OpPtrAdd:
		args = args[:1]
	case ir.OpSelect:
		args = args[1:]
	}
	s := unknown
	null := false
	for _, a := range args {
		switch {
		case a.Op == ir.OpUndef:
		case a.Op == ir.OpConst:
			null = true // nil is the address 0 only in the generic and the global space
		case a.Type.Space == unknown:
		case s == unknown:
			s = a.Type.Space
		case s != a.Type.Space:
			return ir.Generic
		}
	}
	if null && s != ir.Global && (s != unknown || v.Op == ir.OpPtrAdd || v.Op == ir.OpSelect || allConst(args)) {
		return ir.Generic
	}
	// A space can only become more general, so the iteration terminates.
	if v.Type.Space == ir.Generic {
		return ir.Generic
	}
	return s
}

func allConst(args []*ir.Value) bool {
	for _, a := range args {
		if a.Op != ir.OpConst && a.Op != ir.OpUndef {
			return false
		}
	}
	return true
}

func (b *builder) castOperands(x *ir.Block) {
	var out []*ir.Value
	b.casts = &out
	for _, v := range x.Values {
		switch v.Op {
		case ir.OpPhi:
			for i, a := range v.Args {
				if a.Type.Kind == ir.Ptr && a.Type != v.Type {
					v.Args[i] = b.castAtEnd(a, v.Type, x.Preds[i], x)
				}
			}
		case ir.OpSelect:
			b.castArgs(v, 1, v.Type)
		case ir.OpPtrAdd:
			b.castTo(v, 0, v.Type)
		case ir.OpICmp:
			if p, q := v.Args[0].Type, v.Args[1].Type; p.Kind == ir.Ptr && p != q {
				b.castCompare(v)
			}
		case ir.OpStore, ir.OpStoreV, ir.OpAtomic, ir.OpCAS:
			b.castArgs(v, 1, ir.TPtr)
		case ir.OpCall:
			b.castArgs(v, 0, ir.TPtr)
		case ir.OpSpaceCast:
			b.fixCast(v)
		}
		out = append(out, v)
	}
	for i, r := range x.Term.Results {
		if r.Type.Kind == ir.Ptr && r.Type.Space != ir.Generic {
			x.Term.Results[i] = b.cast(r, ir.TPtr, x, &out)
		}
	}
	x.Values = append(out, b.late...)
	b.late = nil
}

// fixCast completes a cast whose operand's space was determined after the cast was created.
func (b *builder) fixCast(v *ir.Value) {
	from, to := v.Args[0].Type.Space, v.Type.Space
	switch {
	case from == to:
		v.Op = ir.OpCopy
	case from != ir.Generic && to != ir.Generic:
		b.castTo(v, 0, ir.TPtr)
	}
}

// castCompare converts the operands of a comparison to generic addresses. The comparison of a
// global address with nil needs no conversion.
func (b *builder) castCompare(v *ir.Value) {
	for i := range v.Args {
		other := v.Args[1-i].Type
		if v.Args[i].Op == ir.OpConst && other.Space == ir.Global {
			b.castTo(v, i, other)
			return
		}
	}
	b.castArgs(v, 0, ir.TPtr)
}

func (b *builder) castArgs(v *ir.Value, from int, t ir.Type) {
	for i := from; i < len(v.Args); i++ {
		if v.Args[i].Type.Kind == ir.Ptr {
			b.castTo(v, i, t)
		}
	}
}

func (b *builder) castTo(v *ir.Value, i int, t ir.Type) {
	if a := v.Args[i]; a.Type != t {
		v.Args[i] = b.cast(a, t, v.Block, b.casts)
	}
}

// cast converts a pointer to another space. One of the two spaces must be Generic, or p must be
// nil.
func (b *builder) cast(p *ir.Value, t ir.Type, x *ir.Block, out *[]*ir.Value) *ir.Value {
	switch p.Op {
	case ir.OpConst:
		return b.f.Const(t, 0)
	case ir.OpUndef:
		return b.undef(t)
	}
	c := b.f.NewValue(ir.OpSpaceCast, t, p)
	c.Pos = p.Pos
	c.Block = x
	*out = append(*out, c)
	return c
}

// castAtEnd converts an operand of a phi at the end of the predecessor it comes from.
func (b *builder) castAtEnd(p *ir.Value, t ir.Type, pred, now *ir.Block) *ir.Value {
	if p.Op == ir.OpConst || p.Op == ir.OpUndef {
		return b.cast(p, t, pred, nil)
	}
	c := b.f.NewValue(ir.OpSpaceCast, t, p)
	c.Pos = p.Pos
	if pred == now {
		c.Block = now
		b.late = append(b.late, c)
		return c
	}
	return pred.Append(c)
}
