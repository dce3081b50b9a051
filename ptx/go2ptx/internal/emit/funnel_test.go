package emit_test

import (
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A 64-bit funnel shift must have the right result for each count, and for equal operands.
func TestFunnelShift64(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	const size = 2 + 2*63
	p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 8*size)
	x, y := b.Load(ir.M64, p, 0), b.Load(ir.M64, p, 8)
	for n := range 63 {
		b.Store(ir.M64, p, int64(16+16*n), b.Op(ir.OpFunnel, ir.TI64, x, y, b.I32(int32(n+1))))
		b.Store(ir.M64, p, int64(24+16*n), b.Op(ir.OpFunnel, ir.TI64, y, y, b.I32(int32(n+1))))
	}
	b.B.Ret()
	src := text(t, m, emit.Options{})
	const lanes = 32
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		words := make([]uint64, size*lanes)
		rnd := rand.New(rand.NewPCG(3, 5))
		for i := range words {
			words[i] = rnd.Uint64()
		}
		out := run(t, c, src, lanes, words)
		for i := range lanes {
			for n := 1; n < 64; n++ {
				x, y := words[size*i], words[size*i+1]
				if got, want := out[size*i+2*n], x<<n|y>>(64-n); got != want {
					t.Fatalf("%#x, %#x by %d: %#x, want %#x", x, y, n, got, want)
				}
				if got, want := out[size*i+2*n+1], y<<n|y>>(64-n); got != want {
					t.Fatalf("%#x by %d: %#x, want %#x", y, n, got, want)
				}
			}
		}
	})
}
