package opt_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// A cheap computation on both sides of a branch moves before the branch, unless a side is a loop, its operand is
// computed there, or the other side computes something else.
func TestMergeSiblings(t *testing.T) {
	for _, c := range []struct {
		name string
		side func(b *irtest.Builder, first bool) *ir.Value
		want int // multiplications
	}{
		{"equal", func(b *irtest.Builder, first bool) *ir.Value {
			return b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(2))
		}, 1},
		{"swapped", func(b *irtest.Builder, first bool) *ir.Value {
			if first {
				return b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(2))
			}
			return b.Op(ir.OpMul, ir.TI32, b.Param(2), b.Param(1))
		}, 1},
		{"a chain", func(b *irtest.Builder, first bool) *ir.Value {
			return b.Op(ir.OpMul, ir.TI32, b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(2)), b.Param(1))
		}, 2},
		{"different", func(b *irtest.Builder, first bool) *ir.Value {
			if first {
				return b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(2))
			}
			return b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(1))
		}, 2},
		{"a load", func(b *irtest.Builder, first bool) *ir.Value {
			x := b.Load(ir.M32, b.Param(0), 8)
			return b.Op(ir.OpMul, ir.TI32, x, b.Param(2))
		}, 2},
		{"a division", func(b *irtest.Builder, first bool) *ir.Value {
			return b.Op(ir.OpMul, ir.TI32, b.Op(ir.OpSDiv, ir.TI32, b.Param(1), b.Param(2)), b.Param(2))
		}, 2},
		{"a loop", func(b *irtest.Builder, first bool) *ir.Value {
			if !first {
				return b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(2))
			}
			head, end := b.Block(), b.Block()
			b.B.Jump(head)
			b.Set(head)
			i := b.Phi(head, ir.TI32)
			x := b.Op(ir.OpMul, ir.TI32, b.Param(1), b.Param(2))
			next := b.Op(ir.OpAdd, ir.TI32, i, b.I32(1))
			b.B.If(b.Cmp(ir.SLt, i, b.Load(ir.M32, b.Param(0), 12)), head, end)
			i.Args = []*ir.Value{b.I32(0), next}
			b.Set(end)
			return x
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(optimise bool, x int64) (int64, *ir.Func) {
				m := &ir.Module{}
				b := irtest.Kernel(m, "k", ir.MPtr, ir.M32, ir.M32)
				yes, no, end := b.Block(), b.Block(), b.Block()
				b.B.If(b.Cmp(ir.SGt, b.Param(1), b.I32(5)), yes, no)
				b.Set(yes)
				b.Store(ir.M32, b.Param(0), 0, c.side(b, true))
				b.B.Jump(end)
				b.Set(no)
				b.Store(ir.M32, b.Param(0), 4, c.side(b, false))
				b.B.Jump(end)
				b.Set(end)
				b.B.Ret()
				if optimise {
					optimised(t, b.F, slices.DeleteFunc(opt.Passes(), func(p string) bool { return p == "siblings" || p == "dce" })...)
				}
				machine := irtest.New(m)
				at := machine.Alloc(64)
				binary.LittleEndian.PutUint32(machine.Memory[at+8:], 11)
				if _, err := machine.Call(b.F, []int64{at, x, 4}); err != nil {
					t.Fatal(err)
				}
				return int64(binary.LittleEndian.Uint64(machine.Memory[at:])), b.F
			}
			for _, x := range []int64{3, 7} {
				want, _ := run(false, x)
				got, f := run(true, x)
				if n := strings.Count(f.String(), "= mul"); got != want || n != c.want {
					t.Errorf("for %d the result is %#x, want %#x, with %d multiplications, want %d:\n%s", x, got, want, n, c.want, f)
				}
			}
		})
	}
}
