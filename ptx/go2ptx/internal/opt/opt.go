// Package opt optimizes functions in the compiler's intermediate representation.
package opt

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Options select the passes.
type Options struct {
	Off    map[string]bool // names of passes to skip
	Verify bool            // verify the function after each pass
}

// Count is the number of changes that a pass has made.
type Count struct {
	Pass string
	N    int
}

// pass changes a function and returns the number of changes.
type pass struct {
	name string
	run  func(*ir.Func) int
}

// sequence lists the passes in the order in which they run. Some run several times because other
// passes create new opportunities for them.
var sequence = []pass{
	{"cfg", simplifyCFG},
	{"sroa", promoteSlots},
	{"simplify", simplify},
	{"cfg", simplifyCFG},
	{"nc", loadNonCoherent},
	{"gvn", numberValues},
	{"checks", removeChecks},
	{"simplify", simplify},
	{"cfg", simplifyCFG},
	{"funnel", joinShifts},
	{"unroll", unrollInner},
	{"sroa", promoteSlots},
	{"simplify", simplify},
	{"cfg", simplifyCFG},
	{"gvn", numberValues},
	{"unroll", unroll},
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
	{"nc", loadNonCoherent},
	{"vectors", joinAccesses},
	{"align", maskLowBits},
	{"licm", hoist},
	{"gvn", numberValues},
	{"checks", removeChecks},
	{"versions", versionByAlignment},
	{"narrow", narrowChecks},
	{"unrollpart", unrollPart},
	{"cfg", simplifyCFG},
	{"checks", removeChecks},
	{"early", moveChecks},
	{"gvn", numberValues},
	{"checks", removeChecks},
	{"licm", hoist},
	{"conditions", mergeConditions},
	{"cfg", simplifyCFG},
	{"select", convertIfs},
	{"divide", divideByConstants},
	{"differences", splitDifferences},
	{"extensions", splitExtensions},
	{"funnel", joinShifts},
	{"simplify", simplify},
	{"fma", contract},
	{"masks", removeMasks},
	{"wide", multiplyWide},
	{"cfg", simplifyCFG},
	{"gvn", numberValues},
	{"siblings", mergeSiblings},
	{"dce", removeDead},
}

// Passes returns the names of the passes in the order of their first run.
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

// Run optimizes a function. It returns an error if Options.Verify is set and a pass has produced
// invalid code.
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

// Module optimizes every function.
func Module(m *ir.Module, o Options) error {
	for _, f := range m.Funcs {
		if _, err := Run(f, o); err != nil {
			return err
		}
		markReadOnly(f)
		budgetRegisters(f)
	}
	return nil
}

// forward maps values to their replacements. A replacement may itself be replaced.
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

// apply replaces the values in all operands and removes them from their blocks.
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

// uses returns how often each value is used as an operand, indexed by value ID.
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

// removable reports whether v may be removed if its result is unused.
func removable(v *ir.Value) bool { return v.Effects()&^ir.Reads == 0 && v.Op != ir.OpFence }

// liveValues returns, for each value ID, whether the value has an effect or one that has depends on it.
func liveValues(f *ir.Func) []bool {
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
	return live
}

// removeDead removes instructions with unused results, and stores to slots that are never read.
func removeDead(f *ir.Func) int {
	n := removeDeadStores(f)
	live := liveValues(f)
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

// removeDeadStores removes stores to slots whose addresses have no other use.
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

// object returns the slot, variable or parameter that an address is derived from, or nil if
// unknown.
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
