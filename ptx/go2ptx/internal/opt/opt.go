// Package opt improves functions of the compiler's intermediate form.
package opt

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Options choose passes.
type Options struct {
	Off    map[string]bool // passes, by name, that do not run
	Verify bool            // check the form after each pass
}

// Count is how many changes a pass made.
type Count struct {
	Pass string
	N    int
}

// pass changes a function and returns the number of changes.
type pass struct {
	name string
	run  func(*ir.Func) int
}

// sequence is the order in which the passes run. Those that make work for each other run again.
var sequence = []pass{
	{"cfg", simplifyCFG},
	{"sroa", promoteSlots},
	{"simplify", simplify},
	{"cfg", simplifyCFG},
	{"gvn", numberValues},
	{"checks", removeChecks},
	{"simplify", simplify},
	{"cfg", simplifyCFG},
	{"select", convertIfs},
	{"sroa", promoteSlots},
	{"spaces", inferSpaces},
	{"licm", hoist},
	{"gvn", numberValues},
	{"checks", removeChecks},
	{"divide", divideByConstants},
	{"simplify", simplify},
	{"fma", contract},
	{"cfg", simplifyCFG},
	{"gvn", numberValues},
	{"dce", removeDead},
}

// Passes returns the names of the passes, in the order of their first run.
func Passes() []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range sequence {
		if !seen[p.name] {
			seen[p.name] = true
			names = append(names, p.name)
		}
	}
	return names
}

// Run improves one function. The error says that a pass broke the form.
func Run(f *ir.Func, o Options) ([]Count, error) {
	var counts []Count
	index := map[string]int{}
	for i, name := range Passes() {
		index[name] = i
		counts = append(counts, Count{Pass: name})
	}
	for _, p := range sequence {
		if o.Off[p.name] {
			continue
		}
		counts[index[p.name]].N += p.run(f)
		if o.Verify {
			if err := f.Verify(); err != nil {
				return counts, fmt.Errorf("after pass %s: %w\n%s", p.name, err, f)
			}
		}
	}
	return counts, nil
}

// Module improves every function.
func Module(m *ir.Module, o Options) error {
	for _, f := range m.Funcs {
		if _, err := Run(f, o); err != nil {
			return err
		}
		markReadOnly(f)
	}
	return nil
}

// forward holds replacements of values. Chains are followed.
type forward map[*ir.Value]*ir.Value

func (w forward) get(v *ir.Value) *ir.Value {
	to, ok := w[v]
	if !ok {
		return v
	}
	to = w.get(to)
	w[v] = to
	return to
}

// apply replaces the values wherever they are used and removes them from their blocks.
func (w forward) apply(f *ir.Func) {
	if len(w) == 0 {
		return
	}
	for _, b := range f.Blocks {
		out := b.Values[:0]
		for _, v := range b.Values {
			if _, gone := w[v]; gone {
				continue
			}
			w.operands(v)
			out = append(out, v)
		}
		b.Values = out
		w.term(b)
	}
}

func (w forward) operands(v *ir.Value) {
	for i, a := range v.Args {
		v.Args[i] = w.get(a)
	}
}

func (w forward) term(b *ir.Block) {
	if b.Term.Cond != nil {
		b.Term.Cond = w.get(b.Term.Cond)
	}
	for i, r := range b.Term.Results {
		b.Term.Results[i] = w.get(r)
	}
}

// uses counts how often each value is an operand, by ID.
func uses(f *ir.Func) []int {
	n := make([]int, f.NumValues())
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for _, a := range v.Args {
				n[a.ID]++
			}
		}
		if b.Term.Cond != nil {
			n[b.Term.Cond.ID]++
		}
		for _, r := range b.Term.Results {
			n[r.ID]++
		}
	}
	return n
}

func isConst(v *ir.Value) bool { return v.Op == ir.OpConst }

// removable reports whether an instruction without uses can go.
func removable(v *ir.Value) bool { return v.Effects()&^ir.Reads == 0 && v.Op != ir.OpFence }

// removeDead removes instructions whose results nothing needs, and stores to slots that nothing
// reads.
func removeDead(f *ir.Func) int {
	n := removeDeadStores(f)
	live := make([]bool, f.NumValues())
	var work []*ir.Value
	mark := func(v *ir.Value) {
		if !live[v.ID] {
			live[v.ID] = true
			work = append(work, v)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if !removable(v) {
				mark(v)
			}
		}
		if b.Term.Cond != nil {
			mark(b.Term.Cond)
		}
		for _, r := range b.Term.Results {
			mark(r)
		}
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for _, a := range v.Args {
			mark(a)
		}
	}
	for _, b := range f.Blocks {
		out := b.Values[:0]
		for _, v := range b.Values {
			if live[v.ID] {
				out = append(out, v)
			} else {
				n++
			}
		}
		b.Values = out
	}
	return n
}

// removeDeadStores removes the stores to slots whose addresses have no other use.
func removeDeadStores(f *ir.Func) int {
	n := 0
	read := make([]bool, len(f.Slots))
	stores := func(v *ir.Value) (slot int, ok bool) {
		if (v.Op != ir.OpStore && v.Op != ir.OpStoreV) || v.Hint == ir.HintVolatile {
			return 0, false
		}
		s := object(v.Args[0])
		if s == nil || s.Op != ir.OpSlot {
			return 0, false
		}
		return int(s.Aux), true
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			args := v.Args
			if _, ok := stores(v); ok {
				args = args[1:]
			} else if v.Op == ir.OpPtrAdd {
				continue
			}
			for _, a := range args {
				if s := object(a); s != nil && s.Op == ir.OpSlot {
					read[s.Aux] = true
				}
			}
		}
		for _, r := range b.Term.Results {
			if s := object(r); s != nil && s.Op == ir.OpSlot {
				read[s.Aux] = true
			}
		}
	}
	for _, b := range f.Blocks {
		out := b.Values[:0]
		for _, v := range b.Values {
			if slot, ok := stores(v); ok && !read[slot] {
				n++
				continue
			}
			out = append(out, v)
		}
		b.Values = out
	}
	return n
}

// object returns what an address is computed from: a slot, a variable or a parameter, or nil.
func object(p *ir.Value) *ir.Value {
	for {
		switch p.Op {
		case ir.OpPtrAdd, ir.OpCopy:
			p = p.Args[0]
		case ir.OpSlot, ir.OpGlobal, ir.OpParam:
			return p
		default:
			return nil
		}
	}
}
