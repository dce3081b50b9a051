package opt_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A check under a condition is removed if an earlier check under a weaker condition has the same result.
func TestAlternativeChecks(t *testing.T) {
	type index func(b *irtest.Builder, block, thread *ir.Value) *ir.Value
	plus := func(c int64) index {
		return func(b *irtest.Builder, block, thread *ir.Value) *ir.Value {
			return b.Op(ir.OpAdd, ir.TI64, block, b.Op(ir.OpAdd, ir.TI64, thread, b.I64(c)))
		}
	}
	// The sum may overflow, and then be below the first index.
	overflow := func(b *irtest.Builder, block, thread *ir.Value) *ir.Value {
		return b.Op(ir.OpAdd, ir.TI64, block, b.Op(ir.OpSMax, ir.TI64, thread, b.Param(3)))
	}
	for _, c := range []struct {
		name          string
		first, second index
		cond          ir.Cond // of the second branch
		other         bool    // the second check has a condition of its own
		checks        int
	}{
		{"a greater index", plus(0), plus(256), ir.SLt, false, 1},
		{"the same index", plus(0), plus(0), ir.SLt, false, 1},
		{"the same index, at most n", plus(0), plus(0), ir.SLe, false, 2},
		{"a smaller index", plus(256), plus(255), ir.SLt, false, 2},
		{"an index that may overflow", plus(0), overflow, ir.SLt, false, 2},
		{"another condition", plus(0), plus(256), ir.SLt, true, 2},
		{"the opposite branch", plus(0), plus(256), ir.SGe, false, 2},
		{"the opposite branch of the same index", plus(0), plus(0), ir.SGe, false, 2},
	} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64, ir.M64, ir.M64)
		p, n, x, y := b.Param(0), b.Param(1), b.Param(2), b.Param(3)
		block, thread := b.Special("%ctaid.x", ir.TI64), b.Special("%tid.x", ir.TI64)
		for k, i := range []*ir.Value{c.first(b, block, thread), c.second(b, block, thread)} {
			side, join, cond := b.Block(), b.Block(), ir.SLt
			if k == 1 {
				cond = c.cond
			}
			b.B.If(b.Cmp(cond, i, n), side, join)
			b.Set(side)
			aligned := x
			if k == 1 && c.other {
				aligned = y
			}
			b.Check("align", b.Cmp(ir.Eq, aligned, b.I64(0)), i)
			b.Store(ir.M64, b.Index(p, i, 8), 0, i)
			b.B.Jump(join)
			b.Set(join)
		}
		last := c.second(b, block, thread) // unknown, because it is not known which sides were taken
		b.Check("index", b.Cmp(ir.SLt, last, n), last, n)
		b.B.Ret()
		t.Run(c.name, func(t *testing.T) { counts(t, optimised(t, b.F), map[string]int{"check ": c.checks + 1}) })
	}
}
