package emit_test

import (
	"bytes"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// meet ends both sides of a branch with a jump to the same block.
func meet(b *irtest.Builder, cond *ir.Value, side func(b *irtest.Builder)) *ir.Block {
	yes, no, to := b.Block(), b.Block(), b.Block()
	b.B.If(cond, yes, no)
	b.Set(yes)
	side(b)
	b.B.Jump(to)
	no.Jump(to)
	b.Set(to)
	return to
}

// A load or a store on one side of a branch, with a default value on the other side, has a predicate.
func TestShortSidesHaveNoBranches(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 4)
	x := b.Load(ir.M64, p, 0)
	var y *ir.Value
	to := meet(b, b.Cmp(ir.SGt, x, b.I64(5)), func(b *irtest.Builder) { y = b.Load(ir.M64, p, 8) })
	y = b.Phi(to, ir.TI64, y, b.I64(7))
	b.Store(ir.M64, p, 16, y)
	meet(b, b.Cmp(ir.SLe, x, b.I64(5)), func(b *irtest.Builder) { b.Store(ir.M64, p, 24, x) })
	b.B.Ret()
	if src := text(t, m, emit.Options{}); bytes.Contains(src, []byte("bra")) {
		t.Errorf("branches:\n%s", src)
	}
	expect(t, m, 2, []uint64{5, 1, 0, 0, 6, 2, 0, 0}, []uint64{5, 1, 7, 5, 6, 2, 2, 0})
}

// Two stores on one side of a branch have predicates. More have a branch.
func TestStoresUnderACondition(t *testing.T) {
	for n := int64(2); n <= 3; n++ {
		m := &ir.Module{}
		b, p := perThread(m, 4)
		x := b.Load(ir.M64, p, 0)
		meet(b, b.Cmp(ir.SGt, x, b.I64(5)), func(b *irtest.Builder) {
			for i := range n {
				b.Store(ir.M64, p, 8*(i+1), x)
			}
		})
		b.B.Ret()
		if src := text(t, m, emit.Options{}); bytes.Contains(src, []byte("bra")) != (n > 2) {
			t.Errorf("%d stores:\n%s", n, src)
		}
		expect(t, m, 2, []uint64{5, 1, 1, 1, 6, 2, 2, 2}, []uint64{5, 1, 1, 1, 6, 6, 6, []uint64{2, 6}[n-2]})
	}
}

// The default value cannot precede the branch, because it shares a register with a value that the other side
// reads.
func TestDefaultsOverwriteNothing(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 2)
	l := loopOf(b, p)
	x := l.phi(ir.TI64, b.I64(20))
	var y *ir.Value
	to := meet(b, b.Cmp(ir.Ne, l.i, b.I64(1)), func(b *irtest.Builder) {
		y = b.Op(ir.OpAdd, ir.TI64, x, l.i)
	})
	l.end(b.Phi(to, ir.TI64, y, b.I64(100)))
	b.Store(ir.M64, p, 8, x)
	b.B.Ret()
	expect(t, m, 5, []uint64{0, 0, 1, 0, 2, 0, 3, 0, 4, 0}, []uint64{0, 20, 1, 20, 2, 100, 3, 102, 4, 105})
}

// Empty inline PTX only prevents optimizations.
func TestEmptyBlocksHaveNoCode(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k")
	b.Asm("{ }", ir.Writes, ir.TNone)
	b.B.Ret()
	if src := text(t, m, emit.Options{}); bytes.Count(src, []byte("{")) != 1 {
		t.Errorf("an empty block:\n%s", src)
	}
}
