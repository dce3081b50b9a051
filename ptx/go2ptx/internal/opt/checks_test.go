package opt_test

import (
	"fmt"
	"math"
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

// A check that moves before the branches around it must not test what follows from the rest: if i < n does not hold,
// i is not negative.
func TestConditionsOfChecks(t *testing.T) {
	const with0, joined = "the branch compares i with 0", "the check is i >= 0 && i < n"
	for _, c := range []struct {
		op   ir.Op   // joins the conditions of the branch, x < w and one of i and n
		cond ir.Cond // of i and n
		size int64   // n is at least this
		form string
		want map[string]int // one "not" if the check has the whole condition of the branch
	}{
		{ir.OpAnd, ir.SLt, 0, "", map[string]int{" = or ": 1, " = not ": 0}},
		{ir.OpAnd, ir.SLt, 3, "", map[string]int{" = or ": 1, " = not ": 0}},
		{ir.OpAnd, ir.SLe, 0, "", map[string]int{" = or ": 1, " = not ": 1}}, // i <= n does not imply i < n
		{ir.OpAnd, ir.SLt, -1, "", map[string]int{" = or ": 1, " = not ": 1}},
		{ir.OpAnd, ir.SLt, 0, joined, map[string]int{" = or ": 1, " = not ": 1}},
		{ir.OpOr, ir.SLt, 0, "", map[string]int{" = or ": 2, " = not ": 1}},
		{ir.OpOr, ir.SLt, 0, with0, map[string]int{" = or ": 2, " = not ": 1}},
	} {
		kernel := func(m *ir.Module) *ir.Func {
			b := irtest.Kernel(m, "k", ir.MPtr, ir.M64, ir.M64, ir.M64, ir.M64)
			p, x, w, i := b.Param(0), b.Param(1), b.Param(2), b.Param(3)
			n := b.Op(ir.OpSMax, ir.TI64, b.Param(4), b.I64(c.size))
			body, end := b.Block(), b.Block()
			bound := n
			if c.form == with0 {
				bound = b.I64(0)
			}
			b.B.If(b.Op(c.op, ir.TBool, b.Cmp(ir.SLt, x, w), b.Cmp(c.cond, i, bound)), body, end)
			b.Set(body)
			inside := b.Cmp(ir.ULt, i, n)
			if c.form == joined {
				inside = b.Op(ir.OpAnd, ir.TBool, b.Cmp(ir.SGe, i, b.I64(0)), b.Cmp(ir.SLt, i, n))
			}
			b.Check("index", inside, i, n)
			b.Store(ir.M64, p, 0, i)
			b.B.Jump(end)
			b.Set(end)
			b.B.Ret()
			return b.F
		}
		plain, m := &ir.Module{}, &ir.Module{}
		want, f := kernel(plain), kernel(m)
		text := optimised(t, f)
		c.want["check "] = 1
		counts(t, text, c.want)
		run := func(m *ir.Module, f *ir.Func, args ...int64) string {
			x := irtest.New(m)
			p := x.Alloc(8)
			_, err := x.Call(f, append([]int64{p}, args...))
			return fmt.Sprint(x.Memory[p:p+8], err)
		}
		for _, x := range []int64{0, 5} {
			for _, i := range []int64{math.MinInt64, -2, -1, 0, 1, 2, 3, 4, math.MaxInt64} {
				for _, n := range []int64{math.MinInt64, -1, 0, 1, 3, 4, math.MaxInt64} {
					if got, want := run(m, f, x, 3, i, n), run(plain, want, x, 3, i, n); got != want {
						t.Errorf("%s %s, n >= %d: x %d, i %d, n %d: %s, want %s\n%s", c.op, c.cond, c.size, x, i, n, got, want, text)
					}
				}
			}
		}
	}
}
