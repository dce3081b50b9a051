package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// Two shifts that ptxas would take for a rotation, although they are none, must not both be shifts.
func TestShiftsThatLookLikeRotations(t *testing.T) {
	for _, c := range []struct {
		op, right ir.Op
		n, m      int32
		swap      bool
		want      string // the instruction for the shift to the left
	}{
		{ir.OpAdd, ir.OpAShr, 58, 6, false, "mul.lo.s64 %rd3, %rd2, 288230376151711744;"},
		{ir.OpAdd, ir.OpAShr, 58, 6, true, "mul.lo.s64 %rd4, %rd2, 288230376151711744;"},
		{ir.OpSub, ir.OpAShr, 1, 63, false, "mul.lo.s64 %rd3, %rd2, 2;"},
		{ir.OpSub, ir.OpLShr, 32, 32, true, "mul.lo.s64 %rd4, %rd2, 4294967296;"},
		{ir.OpSub, ir.OpLShr, 63, 1, false, "mul.lo.s64 %rd3, %rd2, -9223372036854775807-1;"},
		{ir.OpAdd, ir.OpLShr, 58, 6, false, "shl.b64 %rd3, %rd2, 58;"},
		{ir.OpAdd, ir.OpAShr, 58, 7, false, "shl.b64 %rd3, %rd2, 58;"},
		{ir.OpOr, ir.OpAShr, 58, 6, false, "shl.b64 %rd3, %rd2, 58;"},
	} {
		t.Run(fmt.Sprintf("%s %d %s %d", c.op, c.n, c.right, c.m), func(t *testing.T) {
			m := &ir.Module{}
			b := irtest.Kernel(m, "k", ir.MPtr)
			x := b.Load(ir.M64, b.Param(0), 0)
			var sides [2]*ir.Value
			for _, first := range []bool{!c.swap, c.swap} {
				if first {
					sides[0] = b.Op(ir.OpShl, ir.TI64, x, b.I32(c.n))
				} else {
					sides[1] = b.Op(c.right, ir.TI64, x, b.I32(c.m))
				}
			}
			if c.swap {
				sides[0], sides[1] = sides[1], sides[0]
			}
			b.Store(ir.M64, b.Param(0), 8, b.Op(c.op, ir.TI64, sides[0], sides[1]))
			b.B.Ret()
			if src := string(text(t, m, emit.Options{})); !strings.Contains(src, c.want) {
				t.Errorf("there is no %q:\n%s", c.want, src)
			}
		})
	}
}

// The failure path of a check in a loop computes shifts again, and must not make a rotation of them either.
func TestShiftsOfFailurePaths(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr, ir.M64, ir.M64)
	x, n := b.Param(1), b.Param(2)
	v := b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpShl, ir.TI64, x, b.I32(58)), b.Op(ir.OpAShr, ir.TI64, x, b.I32(6)))
	entry, loop, end := b.B, b.Block(), b.Block()
	b.B.Jump(loop)
	b.Set(loop)
	i := b.Phi(loop, ir.TI64)
	b.Check("index", b.Cmp(ir.ULt, b.Op(ir.OpAdd, ir.TI64, v, i), n), v, n)
	b.Store(ir.M64, b.Index(b.Param(0), i, 8), 0, v)
	next := b.Op(ir.OpAdd, ir.TI64, i, b.I64(1))
	b.B.If(b.Cmp(ir.SLt, next, n), loop, end)
	for _, p := range loop.Preds {
		if p == entry {
			i.Args = append(i.Args, b.I64(0))
		} else {
			i.Args = append(i.Args, next)
		}
	}
	b.Set(end)
	b.B.Ret()
	src := string(text(t, m, emit.Options{}))
	if n := strings.Count(src, "288230376151711744;"); n != 2 || strings.Contains(src, ", 58;") {
		t.Errorf("%d products, want 2:\n%s", n, src)
	}
}

// Narrow elements that ptxas would join in the register of the first one must be joined before.
func TestNarrowElementsAreStoredAsWords(t *testing.T) {
	for _, c := range []struct {
		m    ir.Mem
		n    int
		want string
	}{
		{ir.MS16, 2, "st.global.b32 "}, {ir.MU16, 4, "st.global.v2.b32 "}, {ir.MS8, 2, "st.global.u16 "}, {ir.MU8, 4, "st.global.b32 "},
		{ir.MF16, 2, "st.global.b32 "}, {ir.MBF16, 4, "st.global.v2.b32 "}, {ir.MF32, 2, "st.global.v2.f32 "},
	} {
		t.Run(fmt.Sprintf("%s %d", c.m, c.n), func(t *testing.T) {
			m := &ir.Module{}
			b := irtest.Kernel(m, "k", ir.MPtr)
			args := []*ir.Value{b.Param(0)}
			for i := range c.n {
				args = append(args, b.Load(c.m, b.Param(0), int64(64+8*i)))
			}
			s := b.Aux(ir.OpStoreV, ir.TNone, 0, args...)
			s.Mem, s.N = c.m, c.n
			b.B.Ret()
			if src := string(text(t, m, emit.Options{})); !strings.Contains(src, c.want) || strings.Contains(src, "v2.s16") {
				t.Errorf("there is no %q:\n%s", c.want, src)
			}
		})
	}
}
