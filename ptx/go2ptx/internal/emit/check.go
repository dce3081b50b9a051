package emit

import (
	"slices"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// failure is a check, or several adjacent ones, whose failure path is emitted after the rest of the
// function.
type failure struct {
	checks []*ir.Value // in one block
	label  build.Label
}

// mostMerged limits the checks that have one branch. The failure path needs their conditions, and a thread has seven
// predicates. With more checks, ptxas moves predicates to registers and back, even in loops.
const mostMerged = 5

// check remembers a check. Flush emits it together with the checks that follow it, before the next
// instruction that has effects.
func (x *fn) check(v *ir.Value) {
	if cond, not := strip(v.Args[0]); cond.Op == ir.OpConst && (cond.Aux != 0) != not {
		return
	}
	if len(x.checks) == mostMerged {
		x.flush()
	}
	x.checks = append(x.checks, v)
}

// flush emits one branch for the remembered checks.
func (x *fn) flush() {
	if len(x.checks) == 0 {
		return
	}
	f := failure{x.checks, x.b.NewLabel("fault")}
	x.checks = nil
	x.fails = append(x.fails, f)
	x.loc(f.checks[0].Pos)
	x.branch(f.checks, false, f.label)
}

// failing removes the blocks that begin with a check that fails from the order, and returns these checks. Branches to
// such a block lead to the failure path.
func (x *fn) failing(order []*ir.Block) (rest []*ir.Block, failing []*ir.Value) {
	for i, b := range order {
		k := slices.IndexFunc(b.Values, func(v *ir.Value) bool { return v.Op != ir.OpPhi && x.kept(v) })
		if i > 0 && k >= 0 && b.Values[k].Op == ir.OpCheck {
			if cond, not := strip(b.Values[k].Args[0]); cond.Op == ir.OpConst && (cond.Aux != 0) == not {
				failing = append(failing, b.Values[k])
				continue
			}
		}
		rest = append(rest, b)
	}
	return rest, failing
}

// branch emits a branch that is taken if all of several checks hold, or if one of them fails.
func (x *fn) branch(checks []*ir.Value, hold bool, to build.Label) {
	var all build.Reg
	for i, v := range checks {
		cond, not := strip(v.Args[0])
		if len(checks) == 1 && cond.Op == ir.OpConst { // it fails
			if !hold {
				x.b.Bra(to)
			}
			return
		}
		p := x.reg(cond)
		switch {
		case not && len(checks) == 1:
			hold = !hold
		case not:
			p = x.temp(ir.Bool)
			x.op("not.pred", p, x.reg(cond))
		}
		if i > 0 {
			both := x.temp(ir.Bool)
			x.op("and.pred", both, all, p)
			p = both
		}
		all = p
	}
	if hold {
		x.b.When(all).Bra(to)
	} else {
		x.b.Unless(all).Bra(to)
	}
}

// failures emits the failure paths of all checks.
func (x *fn) failures() {
	switch {
	case len(x.fails) == 0:
	case !x.f.Options.Trap:
		x.report()
	case x.m.options.Lines == NoLines:
		for _, f := range x.fails {
			x.b.Place(f.label)
		}
		x.trap()
	default: // tools report the line of the trap
		for _, f := range x.fails {
			x.b.Place(f.label)
			x.dispatch(f.checks)
		}
	}
}

// dispatch emits a trap for each of several merged checks. The first check that fails counts.
func (x *fn) dispatch(checks []*ir.Value) {
	labels := make([]build.Label, len(checks)-1)
	for i, v := range checks[:len(labels)] {
		labels[i] = x.b.NewLabel("fault")
		x.loc(v.Pos)
		x.branch(checks[i:i+1], false, labels[i])
	}
	x.loc(checks[len(labels)].Pos)
	x.trap()
	for i, l := range labels {
		x.b.Place(l)
		x.loc(checks[i].Pos)
		x.trap()
	}
}

func (x *fn) trap() {
	x.op("trap")
	x.op("exit")
}
