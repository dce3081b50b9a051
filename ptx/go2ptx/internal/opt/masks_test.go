package opt_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// An element of 16 bits moves through two phis of a loop. Next returns the value after an iteration.
func TestMasksOfPhis(t *testing.T) {
	for _, c := range []struct {
		name string
		next func(b *irtest.Builder, x, y *ir.Value) *ir.Value
		want int // masks that remain
	}{
		{"moved", func(b *irtest.Builder, x, y *ir.Value) *ir.Value { return y }, 0},
		{"moved in parts", func(b *irtest.Builder, x, y *ir.Value) *ir.Value {
			low := b.Op(ir.OpAnd, ir.TI32, x, b.I32(255))
			return b.Op(ir.OpOr, ir.TI32, b.Op(ir.OpShl, ir.TI32, low, b.I32(8)), b.Op(ir.OpLShr, ir.TI32, y, b.I32(8)))
		}, 0},
		{"chosen", func(b *irtest.Builder, x, y *ir.Value) *ir.Value {
			return b.Op(ir.OpSelect, ir.TI32, b.Cmp(ir.SLt, x, y), y, b.Op(ir.OpXor, ir.TI32, x, y))
		}, 0},
		{"added", func(b *irtest.Builder, x, y *ir.Value) *ir.Value { return b.Op(ir.OpAdd, ir.TI32, y, b.I32(1)) }, 1},
		{"shifted", func(b *irtest.Builder, x, y *ir.Value) *ir.Value { return b.Op(ir.OpShl, ir.TI32, y, b.I32(1)) }, 1},
		{"loaded with its sign", func(b *irtest.Builder, x, y *ir.Value) *ir.Value { return b.Load(ir.MS16, b.Param(0), 8) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M32)
			p, n := b.Param(0), b.Param(1)
			first, second := b.Load(ir.MU16, p, 0), b.Load(ir.MU16, p, 2)
			loop, end := b.Block(), b.Block()
			b.B.Jump(loop)
			b.Set(loop)
			x, y, i := b.Phi(loop, ir.TI32, first), b.Phi(loop, ir.TI32, second), b.Phi(loop, ir.TI32, b.I32(0))
			b.Asm("{ }", ir.Writes, ir.TNone)
			z := c.next(b, x, y)
			next := b.Op(ir.OpAdd, ir.TI32, i, b.I32(1))
			x.Args, y.Args, i.Args = append(x.Args, y), append(y.Args, z), append(i.Args, next)
			b.B.If(b.Cmp(ir.SLt, next, n), loop, end)
			b.Set(end)
			b.Store(ir.M32, p, 4, b.Op(ir.OpZExt16, ir.TI32, x))
			b.B.Ret()
			counts(t, optimised(t, b.F, "vectors", "unrollpart"), map[string]int{"zext16": c.want})
		})
	}
}

// A conversion to 16 bits ignores the upper half of its operand.
func TestMasksOfNarrowFloats(t *testing.T) {
	for _, c := range []struct {
		mask int32
		want int
	}{{0xffff, 0}, {0x7ffff, 0}, {0x7fff, 1}} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
		p := b.Param(0)
		x := b.Op(ir.OpAnd, ir.TI32, b.Load(ir.M32, p, 0), b.I32(c.mask))
		b.Store(ir.MF16, p, 4, b.Op(ir.OpBitcast, ir.TF16, x))
		b.Store(ir.MF16, p, 6, b.Op(ir.OpBitcast, ir.TF16, b.Op(ir.OpZExt16, ir.TI32, b.Load(ir.M32, p, 8))))
		b.B.Ret()
		counts(t, optimised(t, b.F), map[string]int{"and ": c.want, "zext16": 0})
	}
}

// A bf16 is the upper half of the same f32, and a shift removes what a mask removes.
func TestUpperHalves(t *testing.T) {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
	p := b.Param(0)
	x, y := b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4)
	bf16 := func(v *ir.Value) *ir.Value { return b.Op(ir.OpFConv, ir.TF32, b.Op(ir.OpBitcast, ir.TBF16, v)) }
	b.Store(ir.MF32, p, 8, bf16(x))
	b.Store(ir.MF32, p, 12, bf16(b.Op(ir.OpLShr, ir.TI32, x, b.I32(16))))
	b.Store(ir.M32, p, 16, b.Op(ir.OpShl, ir.TI32, b.Op(ir.OpZExt16, ir.TI32, y), b.I32(16)))
	b.Store(ir.M32, p, 20, b.Op(ir.OpShl, ir.TI32, b.Op(ir.OpZExt16, ir.TI32, y), b.I32(15)))
	b.Store(ir.M32, p, 24, b.Op(ir.OpShl, ir.TI32, b.Op(ir.OpLShr, ir.TI32, y, b.I32(9)), b.I32(8)))
	b.B.Ret()
	counts(t, optimised(t, b.F, "vectors"), map[string]int{"fconv": 0, "lshr": 1, "zext16": 1, "shl": 4, "and ": 1})
}

// A store writes the low bits of a number, so masks of other bits are removed.
func TestMasksBeforeStores(t *testing.T) {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
	p := b.Param(0)
	x := b.Load(ir.M32, p, 0)
	masked := func(n int32) *ir.Value { return b.Op(ir.OpAnd, ir.TI32, x, b.I32(n)) }
	b.Store(ir.MU8, p, 4, masked(0xff))
	b.Store(ir.MU8, p, 5, b.Op(ir.OpZExt16, ir.TI32, b.Op(ir.OpSExt8, ir.TI32, x)))
	b.Store(ir.MU8, p, 7, masked(0xfe))
	b.Store(ir.MU16, p, 8, b.Op(ir.OpZExt16, ir.TI32, x))
	b.Store(ir.MS16, p, 12, b.Op(ir.OpZExt8, ir.TI32, x))
	b.Store(ir.MU16, p, 16, masked(0x1ffff))
	b.Store(ir.M32, p, 20, masked(0xffff))
	b.B.Ret()
	counts(t, optimised(t, b.F, "vectors"), map[string]int{"and ": 2, "zext16": 0, "sext8": 0, "zext8": 1})
}
