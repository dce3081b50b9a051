package opt_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// branchChecks builds if x < n { before; check x <u m; store }; middle; check y <u m; store.
func branchChecks(before, middle func(b *irtest.Builder)) *ir.Func {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64, ir.M64, ir.M64, ir.M64)
	p, x, y, n, m := b.Param(0), b.Param(1), b.Param(2), b.Param(3), b.Param(4)
	side, join := b.Block(), b.Block()
	b.B.If(b.Cmp(ir.SLt, x, n), side, join)
	b.Set(side)
	before(b)
	b.Check("index", b.Cmp(ir.ULt, x, m), x, m)
	b.Store(ir.M64, b.Index(p, x, 8), 0, x)
	b.B.Jump(join)
	b.Set(join)
	middle(b)
	b.Check("index", b.Cmp(ir.ULt, y, m), y, m)
	b.Store(ir.M64, b.Index(p, y, 8), 0, b.Load(ir.M64, p, 64))
	b.B.Ret()
	return b.F
}

// Checks move to the branch before them, across loads and stores, but not across atomic operations
// and barriers.
func TestEarlyChecks(t *testing.T) {
	none := func(*irtest.Builder) {}
	store := func(b *irtest.Builder) { b.Store(ir.M64, b.Param(0), 8, b.Load(ir.M64, b.Param(0), 0)) }
	volatile := func(b *irtest.Builder) { b.Store(ir.M64, b.Param(0), 8, b.I64(1)).Hint = ir.HintVolatile }
	barrier := func(b *irtest.Builder) { b.Asm("bar.sync 0;", ir.Convergent|ir.Fences, ir.TNone) }
	atomic := func(b *irtest.Builder) { b.Op(ir.OpAtomic, ir.TI32, b.Param(0), b.I32(1)).Mem = ir.M32 }
	for _, c := range []struct {
		name           string
		before, middle func(*irtest.Builder)
		checks         int // in the first block
	}{
		{"nothing between", none, none, 2},
		{"stores", store, store, 2},
		{"a volatile store in the side", volatile, none, 0},
		{"an atomic operation in the side", atomic, none, 0},
		{"an atomic operation after the side", none, atomic, 1},
		{"a barrier after the side", none, barrier, 1},
	} {
		f := branchChecks(c.before, c.middle)
		text := optimised(t, f)
		n := 0
		for _, v := range f.Blocks[0].Values {
			if v.Op == ir.OpCheck {
				n++
			}
		}
		if n != c.checks || strings.Count(text, "check") != 2 {
			t.Errorf("%s: %d checks in the first block, want %d:\n%s", c.name, n, c.checks, text)
		}
	}
}

// A check in a loop does not move across the end of an iteration, even if the block at which both
// sides meet follows the next one.
func TestEarlyChecksStayInIteration(t *testing.T) {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64)
	p, n := b.Param(0), b.Param(1)
	head, again, next, end := b.Block(), b.Block(), b.Block(), b.Block()
	b.B.Jump(head)
	b.Set(head)
	i := b.Phi(head, ir.TI64)
	b.B.If(b.Cmp(ir.Ne, b.Load(ir.M64, p, 0), b.I64(0)), again, next)
	b.Set(again)
	i2 := b.Op(ir.OpAdd, ir.TI64, i, b.I64(2))
	b.Store(ir.M64, p, 0, i2)
	b.B.Jump(head)
	b.Set(next)
	b.Check("index", b.Cmp(ir.ULt, i, n), i, n)
	i1 := b.Op(ir.OpAdd, ir.TI64, i, b.I64(1))
	b.B.If(b.Cmp(ir.SLt, b.Load(ir.M64, p, 8), b.I64(9)), head, end)
	i.Args = []*ir.Value{b.I64(0), i2, i1}
	b.Set(end)
	b.B.Ret()
	optimised(t, b.F)
	for _, v := range head.Values {
		if v.Op == ir.OpCheck {
			t.Errorf("the check moved:\n%s", b.F)
		}
	}
}

// The comparison of a 32-bit index with a length becomes a 32-bit comparison, and the limit is
// computed once.
func TestNarrowChecks(t *testing.T) {
	for _, length := range []bool{true, false} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64, ir.M32, ir.M32)
		if length {
			b.F.Params[1].Parts[0].Len = ir.Capacity
		}
		p, n := b.Param(0), b.Param(1)
		for i := range 2 {
			x := b.Op(ir.OpSExt32, ir.TI64, b.Param(2+i))
			b.Check("index", b.Cmp(ir.ULt, x, n), x, n)
			b.Store(ir.M64, b.Index(p, x, 8), 0, x)
		}
		b.B.Ret()
		want := map[string]int{"umin": 1, "i64:2147483648": 1, "trunc": 1, "check": 2}
		if !length {
			want = map[string]int{"umin": 0, "check": 2} // n may be negative
		}
		counts(t, optimised(t, b.F), want)
	}
}

// If an index is below the length, its check compares it with 0 only.
func TestSignChecks(t *testing.T) {
	for _, cond := range []ir.Cond{ir.SLt, ir.SLe} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64, ir.M64)
		b.F.Params[1].Parts[0].Len = ir.Capacity
		p, n, x := b.Param(0), b.Param(1), b.Param(2)
		side, end := b.Block(), b.Block()
		b.B.If(b.Cmp(cond, x, n), side, end)
		b.Set(side)
		b.Check("index", b.Cmp(ir.ULt, x, n), x, n)
		b.Store(ir.M64, b.Index(p, x, 8), 0, x)
		b.B.Jump(end)
		b.Set(end)
		b.B.Ret()
		want := map[string]int{"icmp.sge bool v2 i64:0": 1, "icmp.ult": 0}
		if cond == ir.SLe {
			want = map[string]int{"icmp.sge bool v2 i64:0": 0, "icmp.ult": 1}
		}
		counts(t, optimised(t, b.F), want)
	}
}
