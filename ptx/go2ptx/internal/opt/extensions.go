package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// splitExtensions extends the operand of an addition instead of the sum, if the sum cannot overflow:
//
//	sext(x+c)  becomes  sext(x)+c
//
// Simplify then adds the constant last, where the access absorbs it, and accesses with indices that differ by
// constants share one address. For the same reason it extends the operand of a multiplication by a constant,
// and merges two successive multiplications by constants into one.
//
// The pass changes only what addresses are computed from. It runs after the passes for checks, which
// compare the sums themselves.
func splitExtensions(f *ir.Func) int {
	n := 0
	for range 4 {
		s := &splitter{simplifier: simplifier{f: f, to: forward{}}, count: liveUses(f), address: addressParts(f)}
		for _, b := range f.ReversePostorder() {
			s.block(b)
		}
		s.to.apply(f)
		if s.n == 0 {
			break
		}
		n += s.n
	}
	return n
}

type splitter struct {
	simplifier
	count   []int  // how often each value is used by values that matter
	address []bool // whether an address is computed from the value
}

// liveUses is like uses, but does not count what removeDead will remove, such as conditions of checks that are
// gone.
func liveUses(f *ir.Func) []int {
	n, live := uses(f), liveValues(f)
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for _, a := range v.Args {
				if !live[v.ID] {
					n[a.ID]--
				}
			}
		}
	}
	return n
}

// addressParts returns, for each value ID, whether the value is a term or factor of an offset that is added to
// an address.
func addressParts(f *ir.Func) []bool {
	part := make([]bool, f.NumValues())
	for _, b := range slices.Backward(f.ReversePostorder()) {
		for _, v := range slices.Backward(b.Values) {
			switch {
			case v.Op == ir.OpPtrAdd:
				part[v.Args[1].ID] = true
			case part[v.ID] && (v.Op == ir.OpAdd || v.Op == ir.OpSub || v.Op == ir.OpMul || v.Op == ir.OpShl):
				part[v.Args[0].ID], part[v.Args[1].ID] = true, true
			}
		}
	}
	return part
}

func (s *splitter) block(b *ir.Block) {
	s.out = make([]*ir.Value, 0, len(b.Values))
	for _, v := range b.Values {
		s.at = v
		s.to.operands(v)
		if v.ID < len(s.address) && s.address[v.ID] {
			if r := s.split(v); r != nil {
				s.to[v] = r
				s.n++
				continue
			}
		}
		s.out = append(s.out, v)
	}
	b.Values = s.out
	s.to.term(b)
}

// split returns a replacement for v, or nil.
func (s *splitter) split(v *ir.Value) *ir.Value {
	if len(v.Args) == 0 {
		return nil
	}
	a := v.Args[0]
	switch v.Op {
	case ir.OpSExt32, ir.OpZExt32:
		if !s.exact(v) {
			return nil
		}
		extended := func(x *ir.Value) *ir.Value { return s.op(v.Op, ir.TI64, 0, x) }
		switch a.Op {
		case ir.OpAdd, ir.OpMul:
			if isConst(a.Args[1]) && (a.Op == ir.OpAdd || s.once(a)) {
				return s.op(a.Op, ir.TI64, 0, extended(a.Args[0]), s.constant(ir.TI64, a.Args[1].Aux))
			}
		case ir.OpShl:
			if s.once(a) {
				return s.op(ir.OpShl, ir.TI64, 0, extended(a.Args[0]), a.Args[1])
			}
		}
	case ir.OpMul, ir.OpShl:
		k, ok := factor(v)
		l, ok2 := factor(a)
		if ok && ok2 && s.once(a) && k < 1<<31 && l < 1<<31 {
			return s.op(ir.OpMul, v.Type, 0, a.Args[0], s.constant(v.Type, k*l))
		}
	}
	return nil
}

// once reports whether v has only one use, so that no work is repeated if the use computes v itself.
func (s *splitter) once(v *ir.Value) bool { return v.ID < len(s.count) && s.count[v.ID] == 1 }

// factor returns the constant by which v multiplies its first operand.
func factor(v *ir.Value) (k int64, ok bool) {
	switch {
	case v.Op == ir.OpMul && isConst(v.Args[1]):
		return v.Args[1].Aux, v.Args[1].Aux > 0
	case v.Op == ir.OpShl && isConst(v.Args[1]) && v.Args[1].Aux >= 0 && v.Args[1].Aux < 31:
		return 1 << v.Args[1].Aux, true
	}
	return 0, false
}

// exact reports whether the operand of an extension, which is a sum or product of a value and a constant,
// is in the range of its type and has the same sign as the value.
func (s *splitter) exact(v *ir.Value) bool {
	a := v.Args[0]
	op := a.Op
	if op != ir.OpAdd && op != ir.OpMul && op != ir.OpShl || !isConst(a.Args[1]) {
		return false
	}
	x, c := rangeOf(a.Args[0], 6), interval{a.Args[1].Aux, a.Args[1].Aux}
	if op == ir.OpShl {
		k, ok := factor(a)
		if !ok {
			return false
		}
		op, c = ir.OpMul, interval{k, k}
	}
	r, all := arith(op, x, c), full(ir.I32)
	return r.within(all.lo, all.hi) && (v.Op == ir.OpSExt32 || x.lo >= 0 && r.lo >= 0)
}
