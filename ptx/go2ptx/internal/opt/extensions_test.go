package opt_test

import (
	"math"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// indexed builds a kernel that loads elements of 4 bytes at two indices, of which index returns the one with
// the given displacement.
func indexed(m *ir.Module, index func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value) *ir.Func {
	b := irtest.Kernel(m, "k", ir.MPtr, ir.M32, ir.M32)
	p, x := b.Param(0), b.Param(1)
	i, j := index(b, x, 0), index(b, x, 3)
	b.Store(ir.M32, p, 0, b.Op(ir.OpAdd, ir.TI32, b.Load(ir.M32, b.Index(p, i, 4), 0), b.Load(ir.M32, b.Index(p, j, 4), 0)))
	b.B.Ret()
	return b.F
}

// Two indices that differ by a constant must share one address if the sums cannot overflow.
func TestSplitExtensions(t *testing.T) {
	and := func(b *irtest.Builder, x *ir.Value, m int32) *ir.Value {
		return b.Op(ir.OpAnd, ir.TI32, x, b.I32(m))
	}
	add := func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
		return b.Op(ir.OpAdd, ir.TI32, x, b.I32(d))
	}
	sext := func(b *irtest.Builder, x *ir.Value) *ir.Value { return b.Op(ir.OpSExt32, ir.TI64, x) }
	zext := func(b *irtest.Builder, x *ir.Value) *ir.Value { return b.Op(ir.OpZExt32, ir.TI64, x) }
	for _, c := range []struct {
		name  string
		index func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value
		want  int // addresses
	}{
		{"a small signed sum", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value { return sext(b, add(b, and(b, x, 15), d)) }, 1},
		{"a small unsigned sum", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value { return zext(b, add(b, and(b, x, 15), d)) }, 1},
		{"a product of a sum", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			return sext(b, b.Op(ir.OpMul, ir.TI32, add(b, and(b, x, 3), d), b.I32(5)))
		}, 1},
		{"a difference that is negative", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value { return sext(b, add(b, and(b, x, 1), -d)) }, 1},
		{"any signed sum", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value { return sext(b, add(b, x, d)) }, 2},
		{"the largest sum", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			return sext(b, add(b, b.Op(ir.OpSMin, ir.TI32, x, b.I32(math.MaxInt32-3)), d))
		}, 1},
		{"a sum that is too large", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			return sext(b, add(b, b.Op(ir.OpSMin, ir.TI32, x, b.I32(math.MaxInt32-2)), d))
		}, 2},
		{"any unsigned sum", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value { return zext(b, add(b, x, d)) }, 2},
		{"an unsigned sum of a negative number", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			return zext(b, add(b, b.Op(ir.OpSExt16, ir.TI32, x), d+1<<20))
		}, 2},
		{"an unsigned difference that may be negative", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			return zext(b, add(b, and(b, x, 15), -d))
		}, 2},
		{"a difference of a number and some of its bits", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			y := and(b, x, 7)
			return zext(b, add(b, b.Op(ir.OpSub, ir.TI32, b.Op(ir.OpShl, ir.TI32, y, b.I32(1)), b.Op(ir.OpAnd, ir.TI32, b.Param(2), y)), d))
		}, 1},
		{"a difference of a number and other bits", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			y := b.Op(ir.OpSub, ir.TI32, b.Op(ir.OpShl, ir.TI32, and(b, x, 7), b.I32(1)), b.Op(ir.OpAnd, ir.TI32, b.Param(2), b.I32(15)))
			return zext(b, add(b, y, d))
		}, 2},
		{"a difference of a negative number and some of its bits", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			y := b.Op(ir.OpSExt16, ir.TI32, x)
			return zext(b, add(b, b.Op(ir.OpSub, ir.TI32, y, b.Op(ir.OpAnd, ir.TI32, b.Param(2), y)), d))
		}, 2},
		{"a difference of a product that overflows", func(b *irtest.Builder, x *ir.Value, d int32) *ir.Value {
			y := and(b, x, 1<<30-1)
			y = b.Op(ir.OpSub, ir.TI32, b.Op(ir.OpShl, ir.TI32, y, b.I32(2)), b.Op(ir.OpAnd, ir.TI32, b.Param(2), y))
			return zext(b, add(b, b.Op(ir.OpSMin, ir.TI32, y, b.I32(1000)), d))
		}, 2},
	} {
		text := optimised(t, indexed(&ir.Module{}, c.index))
		if n := strings.Count(text, "ptradd"); n != c.want {
			t.Errorf("%s: %d addresses, want %d:\n%s", c.name, n, c.want, text)
		}
	}
}

// Successive multiplications by constants must become one, unless the first product is used elsewhere, too. The
// condition of a check that was removed does not count.
func TestMergedFactors(t *testing.T) {
	for _, again := range []bool{false, true} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M32)
		p := b.Param(0)
		x := b.Op(ir.OpSExt32, ir.TI64, b.Param(1))
		y := b.Op(ir.OpShl, ir.TI64, b.Op(ir.OpMul, ir.TI64, x, b.I64(12)), b.I32(1))
		b.Check("index", b.Op(ir.OpOr, ir.TBool, b.Cmp(ir.SLt, y, b.I64(100)), b.Bool(true)))
		b.Store(ir.M32, b.Index(p, y, 4), 0, b.I32(1))
		want := map[string]int{"i32:96": 1, "shl": 0, "mul ": 0}
		if again {
			b.Store(ir.M64, p, 0, y)
			want = map[string]int{"i32:24": 1, "shl": 1, "mul ": 0}
		}
		b.B.Ret()
		counts(t, optimised(t, b.F), want)
	}
}
