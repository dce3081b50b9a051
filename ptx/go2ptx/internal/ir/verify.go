package ir

import "fmt"

// VerifyPasses makes package go2ptx verify modules after lowering and after each pass. Tests set it
// before they compile anything.
var VerifyPasses = false

// Verify checks that every function is well-formed.
func (m *Module) Verify() error {
	for _, f := range m.Funcs {
		if err := f.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// Verify checks that the function is well-formed: its control-flow graph is consistent, its
// instructions have correct types, and each value is defined before it is used.
func (f *Func) Verify() error {
	v := &verifier{f: f, seen: make([]bool, f.values), index: make([]int, f.values)}
	v.graph()
	if v.err != nil {
		return v.err
	}
	for _, b := range f.Blocks {
		for i, x := range b.Values {
			v.number(b, i, x)
		}
	}
	if v.err != nil {
		return v.err
	}
	v.dom = f.Dominators()
	for _, b := range f.Blocks {
		v.block(b)
	}
	return v.err
}

type verifier struct {
	f     *Func
	dom   *Tree
	seen  []bool
	index []int // index of each value within its block
	err   error
}

func (v *verifier) fail(b *Block, x *Value, format string, args ...any) {
	if v.err != nil {
		return
	}
	where := v.f.Name
	if b != nil {
		where += " " + b.String()
	}
	if x != nil {
		where += ": " + x.Text()
	}
	v.err = fmt.Errorf("ir: %s: %s", where, fmt.Sprintf(format, args...))
}

func (v *verifier) graph() {
	f := v.f
	if len(f.Blocks) == 0 {
		v.fail(nil, nil, "no blocks")
		return
	}
	ids := make([]bool, f.blocks)
	type edge struct{ from, to *Block }
	edges := map[edge]int{}
	for _, b := range f.Blocks {
		if b.Func != f || b.ID < 0 || b.ID >= f.blocks || ids[b.ID] {
			v.fail(b, nil, "a block of another function, or a number used twice")
			return
		}
		ids[b.ID] = true
		if want := [...]int{TermJump: 1, TermIf: 2, TermRet: 0, TermExit: 0}; b.Term.Kind > TermExit || len(b.Term.Succs) != want[b.Term.Kind] {
			v.fail(b, nil, "a terminator %d with %d successors", b.Term.Kind, len(b.Term.Succs))
			return
		}
		if b.Term.Kind == TermNone {
			v.fail(b, nil, "no terminator")
			return
		}
		for _, s := range b.Term.Succs {
			edges[edge{b, s}]++
		}
	}
	for _, b := range f.Blocks {
		for _, p := range b.Preds {
			edges[edge{p, b}]--
			if p.ID >= f.blocks || !ids[p.ID] {
				v.fail(b, nil, "the predecessor %s is not in the function", p)
			}
		}
		for _, s := range b.Term.Succs {
			if s.ID >= f.blocks || !ids[s.ID] || s.Func != f {
				v.fail(b, nil, "the successor %s is not in the function", s)
			}
		}
	}
	for _, b := range f.Blocks {
		for _, s := range b.Term.Succs {
			if edges[edge{b, s}] != 0 {
				v.fail(b, nil, "%s does not list it as a predecessor as often as it is", s)
			}
		}
		for _, p := range b.Preds {
			if edges[edge{p, b}] != 0 {
				v.fail(b, nil, "the predecessor %s does not lead here as often as it is listed", p)
			}
		}
	}
	if len(f.Blocks[0].Preds) > 0 {
		v.fail(f.Blocks[0], nil, "the entry has predecessors")
	}
}

func (v *verifier) number(b *Block, i int, x *Value) {
	switch {
	case x == nil:
		v.fail(b, nil, "a nil instruction")
	case x.ID < 0 || x.ID >= v.f.values:
		v.fail(b, x, "a value of another function")
	case v.seen[x.ID]:
		v.fail(b, x, "in the function twice")
	case x.Block != b:
		v.fail(b, x, "its Block is %v", x.Block)
	case x.Op == OpPhi && i > 0 && b.Values[i-1].Op != OpPhi:
		v.fail(b, x, "a phi after another instruction")
	case x.Op == OpConst:
		v.fail(b, x, "a constant in a block")
	default:
		v.seen[x.ID], v.index[x.ID] = true, i
	}
}

func (v *verifier) block(b *Block) {
	for i, x := range b.Values {
		if x.Op == OpPhi {
			v.phi(b, x)
			continue
		}
		for _, a := range x.Args {
			v.use(b, i, x, a)
		}
		if v.err == nil {
			if msg := check(v.f, x); msg != "" {
				v.fail(b, x, "%s", msg)
			}
		}
	}
	end := len(b.Values)
	switch t := b.Term; t.Kind {
	case TermIf:
		v.use(b, end, nil, t.Cond)
		if v.err == nil && t.Cond.Type != TBool {
			v.fail(b, nil, "the condition is %s", t.Cond.Type)
		}
	case TermRet:
		v.results(b, t.Results)
	}
}

func (v *verifier) results(b *Block, results []*Value) {
	want := v.f.Results
	if len(results) != len(want) || v.f.Kernel && len(results) > 0 {
		v.fail(b, nil, "%d results, not %d", len(results), len(want))
		return
	}
	for i, r := range results {
		v.use(b, len(b.Values), nil, r)
		if v.err == nil && r.Type != want[i] {
			v.fail(b, nil, "result %d is %s, not %s", i, r.Type, want[i])
		}
	}
}

func (v *verifier) phi(b *Block, x *Value) {
	if len(x.Args) != len(b.Preds) || len(x.Args) == 0 {
		v.fail(b, x, "%d operands for %d predecessors", len(x.Args), len(b.Preds))
		return
	}
	if x.Type.Kind == None || x.Type.Kind == Tuple {
		v.fail(b, x, "a phi of this type")
	}
	for i, a := range x.Args {
		if a == nil {
			v.fail(b, x, "operand %d is nil", i)
			return
		}
		if a.Type != x.Type {
			v.fail(b, x, "operand %d is %s", i, a.Type)
		}
		p := b.Preds[i]
		v.use(p, len(p.Values), x, a)
	}
}

// use checks that a, an operand of x, is available before instruction i of block b.
func (v *verifier) use(b *Block, i int, x, a *Value) {
	if a == nil {
		v.fail(b, x, "a nil operand")
		return
	}
	if a.Block == nil {
		if a.Op != OpConst && a.Op != OpUndef {
			v.fail(b, x, "%s is in no block", a)
		}
		return
	}
	switch {
	case a.ID >= len(v.seen) || !v.seen[a.ID] || a.Block.Func != v.f:
		v.fail(b, x, "%s is not in the function", a)
	case a.Type.Kind == None:
		v.fail(b, x, "%s has no result", a)
	case !v.dom.Has(b):
	case a.Block == b && v.index[a.ID] >= i:
		v.fail(b, x, "%s is used before it is defined", a)
	case a.Block != b && !v.dom.Dominates(a.Block, b):
		v.fail(b, x, "%s in %s does not dominate its use in %s", a, a.Block, b)
	}
}
