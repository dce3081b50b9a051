package opt_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// Adjacent loads and stores become vector accesses, unless something between them may change or read
// the memory, or may end the thread before a load.
func TestJoinedAccesses(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(b *irtest.Builder, p, q *ir.Value)
		want    map[string]int
	}{
		{"nothing", func(b *irtest.Builder, p, q *ir.Value) {}, map[string]int{"loadv.f32x4": 1, "storev.f32x4": 1, "load.": 0}},
		{"a store", func(b *irtest.Builder, p, q *ir.Value) { b.Store(ir.M64, q, 64, b.I64(1)) }, map[string]int{"loadv.f32x2": 2, "storev.f32x2": 2}},
		{"a load", func(b *irtest.Builder, p, q *ir.Value) {
			b.Asm("use %0;", ir.Writes, ir.TNone, b.Load(ir.M64, q, 64))
		}, map[string]int{"loadv.f32x2": 2, "storev.f32x2": 2}},
		{"a check", func(b *irtest.Builder, p, q *ir.Value) {
			b.Check("index", b.Cmp(ir.ULt, b.Special("%clock", ir.TI64), b.I64(5)))
		}, map[string]int{"loadv.f32x2": 2, "storev.f32x4": 1}},
		{"a barrier", func(b *irtest.Builder, p, q *ir.Value) {
			b.Asm("bar.sync 0;", ir.Convergent|ir.Fences, ir.TNone)
		}, map[string]int{"loadv.f32x2": 2, "storev.f32x2": 2}},
		{"a shuffle", func(b *irtest.Builder, p, q *ir.Value) { b.Asm("shfl;", ir.Convergent, ir.TNone) }, map[string]int{"loadv.f32x4": 1, "storev.f32x4": 1}},
		{"a store to shared memory", func(b *irtest.Builder, p, q *ir.Value) {
			v := b.Op(ir.OpGlobal, ir.PtrTo(ir.Shared))
			v.Var = &ir.Var{Name: "tile", Space: ir.Shared, Size: 16, Align: 16}
			b.Store(ir.M64, v, 0, b.I64(1))
		}, map[string]int{"loadv.f32x4": 1, "storev.f32x4": 1}},
	} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.MPtr)
		p, q := b.Param(0), b.Param(1)
		var x []*ir.Value
		for i := range int64(4) {
			if i == 2 {
				c.between(b, p, q)
			}
			x = append(x, b.Load(ir.MF32, p, 4*i))
		}
		for i := range int64(4) {
			if i == 2 {
				c.between(b, p, q)
			}
			b.Store(ir.MF32, q, 4*i, x[3-i])
		}
		b.B.Ret()
		t.Run(c.name, func(t *testing.T) { counts(t, optimised(t, b.F), c.want) })
	}
}

// Which vectors are possible depends on the type of the elements and on what is known about their
// alignment. Values that differ between threads must not decide how a thread accesses memory.
func TestAlignmentOfVectors(t *testing.T) {
	lane := func(b *irtest.Builder, factor int64) *ir.Value {
		return b.Op(ir.OpMul, ir.TI64, b.Special("%laneid", ir.TI64), b.I64(factor))
	}
	shared := func(b *irtest.Builder, align int) *ir.Value {
		v := b.Op(ir.OpGlobal, ir.PtrTo(ir.Shared))
		v.Var = &ir.Var{Name: "tile", Space: ir.Shared, Size: 4096, Align: align}
		return v
	}
	for _, c := range []struct {
		name  string
		mem   ir.Mem
		n     int
		first int64
		at    func(b *irtest.Builder) *ir.Value
		want  map[string]int
	}{
		{"complex64", ir.MF32, 2, 0, func(b *irtest.Builder) *ir.Value {
			return b.Op(ir.OpPtrAdd, ir.PtrTo(ir.Global), b.Param(0), lane(b, 8))
		},
			map[string]int{"loadv.f32x2": 1, "and": 1, "i64:7": 1}},
		{"complex64 in shared memory", ir.MF32, 2, 0, func(b *irtest.Builder) *ir.Value {
			return b.Op(ir.OpPtrAdd, ir.PtrTo(ir.Shared), shared(b, 16), lane(b, 8))
		}, map[string]int{"loadv.f32x2": 1, "and": 0}},
		{"shared memory with little alignment", ir.MF32, 2, 0, func(b *irtest.Builder) *ir.Value {
			return b.Op(ir.OpPtrAdd, ir.PtrTo(ir.Shared), shared(b, 4), lane(b, 8))
		}, map[string]int{"loadv": 0}},
		{"an index that is not a multiple", ir.MF32, 2, 0, func(b *irtest.Builder) *ir.Value {
			return b.Op(ir.OpPtrAdd, ir.PtrTo(ir.Global), b.Param(0), lane(b, 4))
		},
			map[string]int{"loadv": 0}},
		{"an odd offset", ir.MF32, 2, 4, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv": 0}},
		{"an odd offset and more elements", ir.MF32, 4, 4, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv.f32x2": 1}},
		{"16 bytes", ir.MS8, 16, 32, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv.s8x16": 1, "i64:15": 1}},
		{"18 bytes", ir.MU8, 18, 0, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv.u8x16": 1, "load.u8": 2}},
		{"8 halves", ir.MF16, 8, 0, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv.f16x8": 1}},
		{"pointers", ir.MPtr, 2, 0, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv": 0}},
		{"bools", ir.MBool, 4, 0, func(b *irtest.Builder) *ir.Value { return b.Param(0) }, map[string]int{"loadv": 0}},
	} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
		p := c.at(b)
		for i := range int64(c.n) {
			b.Asm("use %0;", ir.Varies, ir.TNone, b.Load(c.mem, p, c.first+i*int64(c.mem.Size())))
		}
		b.B.Ret()
		// The uses are after the loads.
		entry := b.F.Blocks[0]
		var uses []*ir.Value
		out := entry.Values[:0]
		for _, v := range entry.Values {
			if v.Op == ir.OpAsm {
				uses = append(uses, v)
			} else {
				out = append(out, v)
			}
		}
		entry.Values = append(out, uses...)
		t.Run(c.name, func(t *testing.T) { counts(t, optimised(t, b.F), c.want) })
	}
}

// In a loop over the elements of a row, the alignment of the row decides for all of them, and it is
// determined before the loop. Without a loop, a row that differs between threads is not sufficient.
func TestAlignmentInLoops(t *testing.T) {
	for _, step := range []int64{4, 2, 0} { // 0: there is no loop
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64)
		n := b.Param(1)
		row := b.Op(ir.OpPtrAdd, ir.PtrTo(ir.Global), b.Param(0), b.Op(ir.OpMul, ir.TI64, b.Special("%laneid", ir.TI64), n))
		load := func(i *ir.Value) {
			p := b.Op(ir.OpPtrAdd, row.Type, row, i)
			var x []*ir.Value
			for k := range int64(4) {
				x = append(x, b.Load(ir.MS8, p, k))
			}
			b.Asm("use %0, %1, %2, %3;", ir.Varies, ir.TNone, x...)
		}
		want := map[string]int{"loadv": 0}
		if step == 0 {
			load(b.Op(ir.OpShl, ir.TI64, b.Special("%laneid", ir.TI64), b.I32(2)))
		} else {
			entry := b.B
			head, body, end := b.Block(), b.Block(), b.Block()
			entry.Jump(head)
			b.Set(head)
			i := b.Phi(head, ir.TI64)
			head.If(b.Cmp(ir.SLt, i, n), body, end)
			b.Set(body)
			load(i)
			i.Args = []*ir.Value{b.I64(8), b.Op(ir.OpAdd, ir.TI64, i, b.I64(step))}
			body.Jump(head)
			b.Set(end)
			if step == 4 {
				want = map[string]int{"loadv.s8x4": 1, "and i64": 1}
			}
		}
		b.B.Ret()
		text := optimised(t, b.F)
		counts(t, text, want)
	}
}

// The low bits of an address must not depend on terms that are multiples. The values are compared
// with those of the code before the pass by TestRandom.
func TestMaskLowBits(t *testing.T) {
	mul := func(b *irtest.Builder, x *ir.Value, c int64) *ir.Value {
		return b.Op(ir.OpMul, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.I64(c))
	}
	for _, c := range []struct {
		name  string
		value func(b *irtest.Builder, x *ir.Value) *ir.Value
		want  map[string]int
	}{
		{"a multiple", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpAnd, ir.TI64, mul(b, x, 48), b.I64(15))
		}, map[string]int{"i64:0": 1, "and": 0}},
		{"too small a multiple", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpAnd, ir.TI64, mul(b, x, 24), b.I64(15))
		}, map[string]int{"and": 1, "mul": 1}},
		{"a sum", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpAnd, ir.TI64, b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpZExt32, ir.TI64, x), mul(b, x, 12)), b.I64(3))
		}, map[string]int{"and": 1, "mul": 0, "add": 0}},
		{"a difference", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpAnd, ir.TI64, b.Op(ir.OpSub, ir.TI64, mul(b, x, 12), b.Op(ir.OpZExt32, ir.TI64, x)), b.I64(3))
		}, map[string]int{"and": 1, "sub": 1}},
		{"no mask", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpAnd, ir.TI64, b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpZExt32, ir.TI64, x), mul(b, x, 12)), b.I64(5))
		}, map[string]int{"and": 1, "add": 1}},
	} {
		t.Run(c.name, func(t *testing.T) { counts(t, evaluate(t, c.value), c.want) })
	}
}
