package opt_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A 32-bit index must be extended and multiplied by the element size in one instruction. Shifts by
// 31, and products of operands that were extended differently, must not be changed.
func TestMultiplyWide(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(b *irtest.Builder, x *ir.Value) *ir.Value
		want  map[string]int
	}{
		{"signed shift", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpShl, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.I32(2))
		}, map[string]int{"mulwide.s": 1, "i32:4": 1, "sext": 0, "shl": 0}},
		{"unsigned shift", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpShl, ir.TI64, b.Op(ir.OpZExt32, ir.TI64, x), b.I32(3))
		}, map[string]int{"mulwide.u": 1, "i32:8": 1, "zext": 0, "shl": 0}},
		{"too far", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpShl, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.I32(31))
		}, map[string]int{"mulwide": 0, "shl": 1}},
		{"constant", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpMul, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.I64(-12))
		}, map[string]int{"mulwide.s": 1, "i32:-12": 1, "sext": 0}},
		{"too large", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpMul, ir.TI64, b.Op(ir.OpZExt32, ir.TI64, x), b.I64(-12))
		}, map[string]int{"mulwide": 0, "mul ": 1}},
		{"product", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			y := b.Op(ir.OpAdd, ir.TI32, x, b.I32(1))
			return b.Op(ir.OpMul, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.Op(ir.OpSExt32, ir.TI64, y))
		}, map[string]int{"mulwide.s": 1, "sext": 0}},
		{"a number in the range of 32 bits", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			y := b.Op(ir.OpAnd, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.I64(1<<30-1))
			return b.Op(ir.OpShl, ir.TI64, y, b.I32(3))
		}, map[string]int{"trunc": 1, "mulwide.s": 1, "shl": 0}},
		{"a number in the range of 33 bits", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			y := b.Op(ir.OpAnd, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.I64(1<<32-1))
			return b.Op(ir.OpShl, ir.TI64, y, b.I32(3))
		}, map[string]int{"mulwide": 0, "shl": 1}},
		{"mixed product", func(b *irtest.Builder, x *ir.Value) *ir.Value {
			return b.Op(ir.OpMul, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, x), b.Op(ir.OpZExt32, ir.TI64, x))
		}, map[string]int{"mulwide": 0, "mul ": 1}},
	} {
		t.Run(c.name, func(t *testing.T) { counts(t, evaluate(t, c.value), c.want) })
	}
}
