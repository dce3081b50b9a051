package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

// A loop on the device must end as soon as a value computed by its kernels reaches the limit.
func TestALoopEndsByWhatAKernelComputed(t *testing.T) {
	each(t, func(k *kit) {
		g, err := graph.New(k.c)
		k.ok(err)
		k.closeLater(g)
		more, err := g.NewCond()
		k.ok(err)
		x := device(k, 0, []float32{100, 1})
		begin := k.made(kernels.SetCondWhen(more, x, graph.Greater, 3))
		halve := k.made(kernels.MulScalar(x, x, 0.5))
		again := k.made(kernels.SetCondWhen(more, x, graph.Greater, 3))
		start, err := g.Add(begin)
		k.ok(err)
		_, body, err := g.AddWhile(more, start)
		k.ok(err)
		_, err = body.AddBatch(nil, graph.Chain([]driver.Op{halve, again}))
		k.ok(err)
		e, err := g.Instantiate()
		k.ok(err)
		k.closeLater(e)
		k.ok(e.Run(t.Context(), k.s))
		if got := host(k, x); got[0] != 100.0/64 || got[1] != 1.0/64 {
			t.Errorf("the loop left %v", got)
		}
	})
}

func TestASwitchTakesItsNumberFromTheDevice(t *testing.T) {
	each(t, func(k *kit) {
		g, err := graph.New(k.c)
		k.ok(err)
		k.closeLater(g)
		which, err := g.NewCond()
		k.ok(err)
		number, out := device(k, 0, []uint32{1}), alloc[uint32](k, 1)
		start, err := g.Add(k.made(kernels.SetCond(which, number)))
		k.ok(err)
		_, bodies, err := g.AddSwitch(which, 3, start)
		k.ok(err)
		for i, b := range bodies {
			_, err := b.Add(k.made(kernels.Fill(out, uint32(10*i+1))))
			k.ok(err)
		}
		e, err := g.Instantiate()
		k.ok(err)
		k.closeLater(e)
		for _, v := range []uint32{1, 2, 0} {
			k.ok(number.CopyFrom([]uint32{v}))
			k.ok(e.Run(t.Context(), k.s))
			if got := host(k, out); got[0] != 10*v+1 {
				t.Errorf("body %d of the switch left %d", v, got[0])
			}
		}
	})
}
