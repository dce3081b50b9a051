package opt_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// Two branches to one block become one branch if the second condition is cheap and the block has the same
// values in both cases. Each case must still store what it stored.
func TestMergeConditions(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second int // the successor of each branch that is the common block
		build         func(b *irtest.Builder)
		differ        bool // whether the common block has a phi with different values
		branches      int
	}{
		{"x && y", 1, 1, nil, false, 1},
		{"x && !y", 1, 0, nil, false, 1},
		{"!x && y", 0, 1, nil, false, 1},
		{"!x && !y", 0, 0, nil, false, 1},
		{"a load", 1, 1, func(b *irtest.Builder) { b.Store(ir.M32, b.Param(0), 40, b.Load(ir.M32, b.Param(0), 0)) }, false, 2},
		{"a division", 1, 1, func(b *irtest.Builder) {
			b.Op(ir.OpSDiv, ir.TI32, b.Param(1), b.Param(2))
		}, false, 2},
		{"different values", 1, 1, nil, true, 2},
	} {
		run := func(optimise bool, x, y int64) (int64, string) {
			m := &ir.Module{}
			b := irtest.Kernel(m, "k", ir.MPtr, ir.M32, ir.M32)
			p := b.Param(0)
			second, body, end := b.Block(), b.Block(), b.Block()
			branch := func(arg int64, to *ir.Block, common int) {
				cond := b.Cmp(ir.SGt, b.Param(int(arg)), b.I32(5))
				if common == 0 {
					b.B.If(cond, end, to)
				} else {
					b.B.If(cond, to, end)
				}
			}
			branch(1, second, c.first)
			b.Set(second)
			if c.build != nil {
				c.build(b)
			}
			branch(2, body, c.second)
			b.Set(body)
			b.Store(ir.M32, p, 0, b.I32(1))
			b.B.Jump(end)
			b.Set(end)
			two := b.I32(2)
			if c.differ {
				two = b.I32(4)
			}
			b.Store(ir.M32, p, 4, b.Phi(end, ir.TI32, b.I32(2), two, b.I32(3)))
			b.B.Ret()
			if optimise {
				if _, err := opt.Run(b.F, opt.Options{Verify: true}); err != nil {
					t.Fatal(c.name, err)
				}
			}
			machine := irtest.New(m)
			at := machine.Alloc(64)
			if _, err := machine.Call(b.F, []int64{at, x, y}); err != nil {
				t.Fatal(c.name, err)
			}
			return int64(binary.LittleEndian.Uint64(machine.Memory[at:])), b.F.String()
		}
		for i := range int64(4) {
			x, y := 5+i&1, 5+i>>1
			want, _ := run(false, x, y)
			got, text := run(true, x, y)
			if n := strings.Count(text, "if "); got != want || n != c.branches {
				t.Errorf("%s: %d branches, want %d, and the result of %d and %d is %#x, want %#x:\n%s", c.name, n, c.branches, x, y, got, want, text)
			}
		}
	}
}
