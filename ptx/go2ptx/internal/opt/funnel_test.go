package opt_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// Two shifts whose counts add up to the width become one instruction. If the counts are not constant, the
// operands must be equal, and the counts within the width.
func TestJoinShifts(t *testing.T) {
	load := func(b *irtest.Builder, m ir.Mem) *ir.Value { return b.Load(m, b.Param(0), 8) }
	pair := func(op ir.Op, m ir.Mem, left, right int32) func(*irtest.Builder, *ir.Value) *ir.Value {
		return func(b *irtest.Builder, _ *ir.Value) *ir.Value {
			x, y := load(b, m), b.Load(m, b.Param(0), 16)
			return b.Op(op, x.Type, b.Op(ir.OpLShr, x.Type, y, b.I32(right)), b.Op(ir.OpShl, x.Type, x, b.I32(left)))
		}
	}
	rotate := func(mask int32, from int64, same bool) func(*irtest.Builder, *ir.Value) *ir.Value {
		return func(b *irtest.Builder, n *ir.Value) *ir.Value {
			x := load(b, ir.M32)
			y := x
			if !same {
				y = b.Load(ir.M32, b.Param(0), 16)
			}
			n = b.Op(ir.OpZExt32, ir.TI64, b.Op(ir.OpAnd, ir.TI32, n, b.I32(mask)))
			back := b.Op(ir.OpSub, ir.TI64, b.I64(from), n)
			return b.Op(ir.OpOr, ir.TI32, b.Op(ir.OpShl, ir.TI32, x, b.Op(ir.OpTrunc, ir.TI32, n)), b.Op(ir.OpLShr, ir.TI32, y, b.Op(ir.OpTrunc, ir.TI32, back)))
		}
	}
	for _, c := range []struct {
		name  string
		value func(b *irtest.Builder, x *ir.Value) *ir.Value
		want  int
	}{
		{"or", pair(ir.OpOr, ir.M32, 7, 25), 1},
		{"xor", pair(ir.OpXor, ir.M32, 31, 1), 1},
		{"sum", pair(ir.OpAdd, ir.M32, 16, 16), 1},
		{"and", pair(ir.OpAnd, ir.M32, 7, 25), 0},
		{"difference", pair(ir.OpSub, ir.M32, 7, 25), 0},
		{"gap", pair(ir.OpOr, ir.M32, 7, 24), 0},
		{"64 bits", pair(ir.OpOr, ir.M64, 40, 24), 1},
		{"32 of 64 bits", pair(ir.OpOr, ir.M64, 7, 25), 0},
		{"by a variable", rotate(31, 32, true), 1},
		{"by a variable of 64 bits", rotate(63, 64, true), 0},
		{"by too much", rotate(63, 32, true), 0},
		{"of two values by a variable", rotate(31, 32, false), 0},
		{"by other counts", rotate(31, 31, true), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts(t, evaluate(t, c.value), map[string]int{"funnel": c.want, "shl": 1 - c.want, "lshr": 1 - c.want})
		})
	}
}
