package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// inferSpaces replaces accesses through generic addresses with accesses to the specific space that
// the address was converted from.
func inferSpaces(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		out := make([]*ir.Value, 0, len(b.Values))
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpLoad, ir.OpStore, ir.OpLoadV, ir.OpStoreV, ir.OpAtomic, ir.OpCAS:
				if p := inSpace(f, v.Args[0], v, &out); p != nil {
					v.Args[0] = p
					n++
				}
			}
			out = append(out, v)
		}
		b.Values = out
	}
	return n
}

// inSpace returns the address in the space that generic address p was converted from, or nil if
// unknown.
func inSpace(f *ir.Func, p, user *ir.Value, out *[]*ir.Value) *ir.Value {
	if p.Type.Space != ir.Generic {
		return nil
	}
	switch p.Op {
	case ir.OpSpaceCast:
		return p.Args[0]
	case ir.OpPtrAdd:
		base := inSpace(f, p.Args[0], user, out)
		if base == nil {
			return nil
		}
		q := f.NewValue(ir.OpPtrAdd, base.Type, base, p.Args[1])
		q.Pos, q.Block = p.Pos, user.Block
		*out = append(*out, q)
		return q
	}
	return nil
}
