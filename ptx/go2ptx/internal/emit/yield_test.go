package emit_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// Ptxas must not know the address of a shared variable that a loop with an atomic operation accesses, if
// the kernel contains a call.
func TestAddressesInLoopsWithAtomics(t *testing.T) {
	for _, c := range []struct {
		name                    string
		space                   ir.Space
		atomic, inLoop, divides bool
		want                    bool
	}{
		{"an atomic operation", ir.Shared, true, true, true, true},
		{"no call", ir.Shared, true, true, false, false},
		{"no atomic operation", ir.Shared, false, true, true, false},
		{"no loop", ir.Shared, true, false, true, false},
		{"global memory", ir.Global, true, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &ir.Module{Vars: []*ir.Var{{Name: "tile", Space: c.space, Size: 256, Align: 16}}}
			b := irtest.Kernel(m, "k", ir.MPtr)
			tile := b.Op(ir.OpGlobal, ir.PtrTo(c.space))
			tile.Var = m.Vars[0]
			p := b.Index(tile, b.Special("%tid.x", ir.TI64), 4)
			n := b.Load(ir.M32, b.Param(0), 0)
			access := func() {
				if !c.atomic {
					b.Store(ir.M32, p, 0, n)
					return
				}
				v := b.Op(ir.OpAtomic, ir.TI32, p, n)
				v.Mem, v.Atomic = ir.M32, ir.Atomic{Op: ir.RMWAdd}
			}
			head, body, end := b.Block(), b.Block(), b.Block()
			entry := b.B
			b.B.Jump(head)
			b.Set(head)
			i := b.Phi(head, ir.TI32)
			b.B.If(b.Cmp(ir.SLt, i, n), body, end)
			b.Set(body)
			if c.inLoop {
				access()
			}
			next := b.Op(ir.OpAdd, ir.TI32, i, b.I32(1))
			b.B.Jump(head)
			for _, p := range head.Preds {
				if p == entry {
					i.Args = append(i.Args, b.I32(0))
				} else {
					i.Args = append(i.Args, next)
				}
			}
			b.Set(end)
			if !c.inLoop {
				access()
			}
			if c.divides {
				x := b.Load(ir.M64, b.Param(0), 8)
				b.Store(ir.M64, b.Param(0), 16, b.Op(ir.OpURem, ir.TI64, x, b.Load(ir.M64, b.Param(0), 24)))
			}
			b.B.Ret()
			src := string(text(t, m, emit.Options{}))
			if got := strings.Contains(src, "%lanemask_eq"); got != c.want {
				t.Errorf("hidden: %t, want %t:\n%s", got, c.want, src)
			}
		})
	}
}
