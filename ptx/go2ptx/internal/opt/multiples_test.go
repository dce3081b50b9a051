package opt_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A value that is another one times a constant whose lower word is 0 must be computed by one
// instruction, because ptxas combines several wrongly. Products by other constants stay as they are.
func TestMultiplesOfLargePowers(t *testing.T) {
	type build = func(b *irtest.Builder, x *ir.Value) *ir.Value
	shl := func(n int32, of build) build {
		return func(b *irtest.Builder, x *ir.Value) *ir.Value { return b.Op(ir.OpShl, ir.TI64, of(b, x), b.I32(n)) }
	}
	mul := func(c int64, of build) build {
		return func(b *irtest.Builder, x *ir.Value) *ir.Value { return b.Op(ir.OpMul, ir.TI64, of(b, x), b.I64(c)) }
	}
	pair := func(op ir.Op, p, q build) build {
		return func(b *irtest.Builder, x *ir.Value) *ir.Value { return b.Op(op, ir.TI64, p(b, x), q(b, x)) }
	}
	x := func(_ *irtest.Builder, x *ir.Value) *ir.Value { return x }
	other := func(b *irtest.Builder, _ *ir.Value) *ir.Value { return b.Load(ir.M64, b.Param(0), 8) }
	zero := func(b *irtest.Builder, _ *ir.Value) *ir.Value { return b.I64(0) }
	for _, c := range []struct {
		name  string
		value build
		want  string // the only instructions between the load and the store, of those named here
	}{
		{"two shifts", shl(28, shl(31, x)), "shl 59"},
		{"a shift and a product", mul(6, shl(31, x)), "mul 12884901888"},
		{"a product and a shift", shl(31, mul(6, x)), "mul 12884901888"},
		{"three steps, of which two are too small", mul(6, shl(28, shl(3, x))), "mul 12884901888"},
		{"two products", mul(3<<16, mul(5<<16, x)), "mul 64424509440"},
		{"a sum with itself", shl(31, pair(ir.OpAdd, x, x)), "shl 32"},
		{"a sum of multiples", shl(20, pair(ir.OpAdd, mul(3, shl(20, x)), shl(20, x))), "shl 42"},
		{"a difference of multiples", shl(20, pair(ir.OpSub, mul(3, shl(20, x)), shl(20, x))), "shl 41"},
		{"an opposite", shl(20, pair(ir.OpSub, zero, shl(20, x))), "mul -1099511627776"},
		{"a sum of large multiples", pair(ir.OpAdd, mul(5, shl(31, shl(28, x))), shl(31, shl(28, x))), "mul 3458764513820540928"},
		{"nothing is left", shl(40, shl(24, x)), ""},
		{"small shifts", shl(8, shl(8, x)), "shl 8 shl 8"},
		{"multiples of two values", shl(20, pair(ir.OpAdd, shl(20, x), shl(20, other))), "shl 20 shl 20 add shl 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
			v := b.Load(ir.M64, b.Param(0), 0)
			b.Store(ir.M64, b.Param(0), 16, c.value(b, v))
			b.B.Ret()
			text := optimised(t, b.F)
			var got []string
			for _, line := range strings.Split(text, "\n") {
				fields := strings.Fields(line)
				for i, f := range fields {
					switch f {
					case "shl", "mul":
						_, n, _ := strings.Cut(fields[len(fields)-1], ":")
						got = append(got, f, n)
					case "add", "sub":
						if i > 1 {
							got = append(got, f)
						}
					}
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%q, want %q:\n%s", s, c.want, text)
			}
		})
	}
}
