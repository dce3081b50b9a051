package lower

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// finish completes the function: it removes unreachable blocks and redundant phis, and determines
// the state space of each pointer.
func (b *builder) finish() {
	for _, blk := range b.f.Blocks {
		b.seal(blk)
	}
	b.prune()
	b.simplifyPhis()
	b.substitute()
	b.spaces()
	b.mergeBlocks()
}

// prune removes unreachable blocks.
func (b *builder) prune() {
	reached := map[*ir.Block]bool{b.entry: true}
	work := []*ir.Block{b.entry}
	for len(work) > 0 {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range x.Term.Succs {
			if !reached[s] {
				reached[s] = true
				work = append(work, s)
			}
		}
	}
	b.f.Blocks = slices.DeleteFunc(b.f.Blocks, func(x *ir.Block) bool { return !reached[x] })
	for _, x := range b.f.Blocks {
		keep := 0
		for i, p := range x.Preds {
			if !reached[p] {
				continue
			}
			x.Preds[keep] = p
			for _, v := range x.Values {
				if v.Op == ir.OpPhi {
					v.Args[keep] = v.Args[i]
				}
			}
			keep++
		}
		x.Preds = x.Preds[:keep]
		for _, v := range x.Values {
			if v.Op == ir.OpPhi {
				v.Args = v.Args[:keep]
			}
		}
	}
}

// simplifyPhis finds redundant phis until none are left.
func (b *builder) simplifyPhis() {
	for changed := true; changed; {
		changed = false
		for _, x := range b.f.Blocks {
			for _, v := range x.Values {
				if v.Op != ir.OpPhi {
					break
				}
				if _, done := b.repl[v]; !done {
					b.trivial(v)
					_, done = b.repl[v]
					changed = changed || done
				}
			}
		}
	}
}

// substitute replaces redundant phis in operands and removes unused phis.
func (b *builder) substitute() {
	used := map[*ir.Value]bool{}
	var work []*ir.Value
	use := func(v *ir.Value) *ir.Value {
		v = b.resolve(v)
		if v.Op == ir.OpPhi && !used[v] {
			used[v] = true
			work = append(work, v)
		}
		return v
	}
	for _, x := range b.f.Blocks {
		for _, v := range x.Values {
			if v.Op != ir.OpPhi {
				for i, a := range v.Args {
					v.Args[i] = use(a)
				}
			}
		}
		if x.Term.Cond != nil {
			x.Term.Cond = use(x.Term.Cond)
		}
		for i, r := range x.Term.Results {
			x.Term.Results[i] = use(r)
		}
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for i, a := range v.Args {
			v.Args[i] = use(a)
		}
	}
	for _, x := range b.f.Blocks {
		x.Values = slices.DeleteFunc(x.Values, func(v *ir.Value) bool {
			_, replaced := b.repl[v]
			return v.Op == ir.OpPhi && (replaced || !used[v])
		})
	}
}

// mergeBlocks merges a block with its successor if there is no other edge from the block or to the
// successor.
func (b *builder) mergeBlocks() {
	gone := map[*ir.Block]bool{}
	for _, x := range b.f.Blocks {
		for !gone[x] && x.Term.Kind == ir.TermJump {
			s := x.Term.Succs[0]
			if len(s.Preds) != 1 || s == b.entry || s == x {
				break
			}
			for _, v := range s.Values { // s has no phis: those with a single operand have been replaced
				x.Append(v)
			}
			x.Term = s.Term
			for _, next := range s.Term.Succs {
				for i, p := range next.Preds {
					if p == s {
						next.Preds[i] = x
					}
				}
			}
			gone[s] = true
		}
	}
	b.f.Blocks = slices.DeleteFunc(b.f.Blocks, func(x *ir.Block) bool { return gone[x] })
}

// layoutVars removes functions and variables that only abandoned attempts used, and sorts the
// variables that the compiler has named.
func (l *lowerer) layoutVars() {
	funcs, vars := map[*ir.Func]bool{}, map[*ir.Var]bool{}
	var visit func(f *ir.Func)
	visit = func(f *ir.Func) {
		if funcs[f] {
			return
		}
		funcs[f] = true
		for _, x := range f.Blocks {
			for _, v := range x.Values {
				if v.Var != nil {
					vars[v.Var] = true
				}
				if v.Callee != nil {
					visit(v.Callee)
				}
			}
		}
	}
	for i, f := range l.mod.Funcs {
		if f.Kernel || i == 0 {
			visit(f)
		}
	}
	l.mod.Funcs = slices.DeleteFunc(l.mod.Funcs, func(f *ir.Func) bool { return !funcs[f] })
	l.mod.Externs = slices.DeleteFunc(l.mod.Externs, func(f *ir.Func) bool { return !funcs[f] })
	slices.SortFunc(l.mod.Externs, func(a, b *ir.Func) int { return strings.Compare(a.Name, b.Name) })
	l.mod.Vars = slices.DeleteFunc(l.mod.Vars, func(v *ir.Var) bool { return !vars[v] && !v.Visible })
	slices.SortStableFunc(l.mod.Vars, func(a, b *ir.Var) int { return strings.Compare(a.Name, b.Name) })
}
