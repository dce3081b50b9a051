package ir_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Constants must be divided as in Go: signed quotients are rounded towards zero, and unsigned operands of 32
// bits are not negative, although their representation is sign-extended.
func TestDivisionOfConstants(t *testing.T) {
	for _, a := range []int64{0, 1, 6, 7, -1, -6, -7, 1<<31 - 1, -1 << 31} {
		for _, b := range []int64{1, 2, 7, -1, -2, -7, 1<<31 - 1, -1 << 31} {
			x, y := int32(a), int32(b)
			ux, uy := uint32(a), uint32(b)
			for _, c := range []struct {
				op   ir.Op
				typ  ir.Type
				want int64
			}{
				{ir.OpSDiv, ir.TI32, int64(x / y)}, {ir.OpSRem, ir.TI32, int64(x % y)},
				{ir.OpUDiv, ir.TI32, int64(int32(ux / uy))}, {ir.OpURem, ir.TI32, int64(int32(ux % uy))},
				{ir.OpSDiv, ir.TI64, a / b}, {ir.OpSRem, ir.TI64, a % b},
				{ir.OpUDiv, ir.TI64, int64(uint64(a) / uint64(b))}, {ir.OpURem, ir.TI64, int64(uint64(a) % uint64(b))},
			} {
				operand := &ir.Value{Op: ir.OpConst, Type: c.typ}
				got, ok := ir.Eval(&ir.Value{Op: c.op, Type: c.typ, Args: []*ir.Value{operand, operand}}, []int64{a, b})
				if !ok || got != c.want {
					t.Errorf("%v of %v: %d and %d give %d, %v, want %d", c.op, c.typ, a, b, got, ok, c.want)
				}
			}
		}
	}
}
