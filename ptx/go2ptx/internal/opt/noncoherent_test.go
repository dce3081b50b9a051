package opt_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A load becomes a load of constant memory if the kernel does not write to the parameter's memory,
// if restrict separates that memory from the memory the kernel writes to, and if the kernel cannot
// wait for another writer.
func TestNonCoherentLoads(t *testing.T) {
	store := func(b *irtest.Builder) { b.Store(ir.M64, b.Param(1), 0, b.I64(1)) }
	for _, c := range []struct {
		name     string
		restrict []int
		code     func(b *irtest.Builder)
		want     int
	}{
		{"the loaded parameter is restrict", []int{0}, store, 1},
		{"the written parameter is restrict", []int{1}, store, 1},
		{"nothing is restrict", nil, store, 0},
		{"another parameter is restrict", []int{2}, store, 0},
		{"only one of the written parameters is restrict", []int{1}, func(b *irtest.Builder) {
			store(b)
			b.Store(ir.M64, b.Param(2), 0, b.I64(1))
		}, 0},
		{"nothing is written", nil, func(b *irtest.Builder) {}, 1},
		{"the parameter is written", []int{0, 1}, func(b *irtest.Builder) { b.Store(ir.M64, b.Param(0), 64, b.I64(1)) }, 0},
		{"an atomic operation writes", []int{0}, func(b *irtest.Builder) {
			b.Op(ir.OpAtomic, ir.TI32, b.Param(0), b.I32(1)).Mem = ir.M32
		}, 0},
		{"a barrier", []int{0}, func(b *irtest.Builder) {
			store(b)
			b.Asm("bar.sync 0;", ir.Convergent|ir.Fences|ir.Writes, ir.TNone)
		}, 1},
		{"other instructions that write", []int{0}, func(b *irtest.Builder) { b.Asm("st.u32 [%0], 0;", ir.Writes, ir.TNone, b.Param(1)) }, 0},
		{"a fence", []int{0}, func(b *irtest.Builder) { b.Op(ir.OpFence, ir.TNone).Aux = int64(ir.ScopeDevice) }, 0},
		{"a fence in the block", []int{0}, func(b *irtest.Builder) { b.Op(ir.OpFence, ir.TNone).Aux = int64(ir.ScopeBlock) }, 1},
		{"an atomic load", []int{0, 1}, func(b *irtest.Builder) {
			v := b.Op(ir.OpAtomic, ir.TI32, b.Param(1))
			v.Mem, v.Atomic.Op = ir.M32, ir.RMWLoad
		}, 0},
		{"a volatile load", []int{0, 1}, func(b *irtest.Builder) { b.Load(ir.M64, b.Param(1), 0).Hint = ir.HintVolatile }, 0},
		{"a store through a loaded pointer", []int{0}, func(b *irtest.Builder) {
			b.Store(ir.M64, b.Op(ir.OpSpaceCast, ir.PtrTo(ir.Global), b.Load(ir.MPtr, b.Param(2), 0)), 0, b.I64(1))
		}, 0},
		{"a store through one of two parameters", []int{0}, func(b *irtest.Builder) {
			p := b.Op(ir.OpSelect, ir.PtrTo(ir.Global), b.Cmp(ir.Eq, b.Special("%tid.x", ir.TI64), b.I64(0)), b.Param(0), b.Param(1))
			b.Store(ir.M64, p, 0, b.I64(1))
		}, 0},
	} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.MPtr, ir.MPtr)
		for _, i := range c.restrict {
			b.F.Params[i].Restrict = true
		}
		c.code(b)
		b.Asm("use %0;", ir.Varies, ir.TNone, b.Load(ir.M64, b.Param(0), 8))
		b.B.Ret()
		if text := optimised(t, b.F); strings.Count(text, "load.b64.nc") != c.want {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}
