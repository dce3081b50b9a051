package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/ptx/kernels"
)

// chain returns operations that depend on each other: y becomes (2·(0, 1, 2, …) + 1)², and z
// becomes the transpose of y.
func chain(k *kit, x, y, z *driver.Buffer[float32], half *driver.Buffer[kernels.F16]) []driver.Op {
	return []driver.Op{
		k.made(kernels.Iota(x, 0, 1)),
		k.made(kernels.Fill(y, 1)),
		k.made(kernels.Axpy(y, 2, x)),
		k.made(kernels.Cast(half, y)),
		k.made(kernels.Cast(x, half)),
		k.made(kernels.Mul(y, x, x)),
		k.made(kernels.Transpose(z, y, 1, 4, 8)),
	}
}

func (k *kit) chained(z *driver.Buffer[float32]) {
	k.Helper()
	compare(k, "chain", host(k, z), func(i int) float32 {
		v := float32(2*(i%4*8+i/4) + 1)
		return v * v
	})
	k.ok(z.Fill(0))
}

// Creating the first operation of its kind during a capture must load the code without
// ending the capture.
func TestOperationsAreMadeInACapture(t *testing.T) {
	each(t, func(k *kit) {
		x, y, z, half := alloc[float32](k, 32), alloc[float32](k, 32), alloc[float32](k, 32), alloc[kernels.F16](k, 32)
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			return sc.Do(chain(k, x, y, z, half)...)
		})
		k.ok(err)
		k.closeLater(g)
		e, err := g.Instantiate()
		k.ok(err)
		k.closeLater(e)
		for range 3 {
			k.ok(e.Run(t.Context(), k.s))
			k.chained(z)
		}
	})
}

// A flow must derive the edges from the declared accesses of the operations.
func TestAFlowOrdersOperations(t *testing.T) {
	each(t, func(k *kit) {
		x, y, z, half := alloc[float32](k, 32), alloc[float32](k, 32), alloc[float32](k, 32), alloc[kernels.F16](k, 32)
		f := dataflow.New(k.c)
		for _, op := range chain(k, x, y, z, half) {
			_, err := f.Add(op)
			k.ok(err)
		}
		g, err := f.Build()
		k.ok(err)
		k.closeLater(g)
		checked, err := g.Check()
		k.ok(err)
		k.ok(checked.Err())
		edges := 0
		for _, err := range g.Edges() {
			k.ok(err)
			edges++
		}
		if edges < 6 || edges > 8 { // two edges lead from iota and fill to axpy, and one leads from each later operation to the next
			t.Errorf("%d edges", edges)
		}
		e, err := g.Instantiate()
		k.ok(err)
		k.closeLater(e)
		k.ok(e.Run(t.Context(), k.s))
		k.chained(z)
	})
}
