package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// fillParams are the tagged parameters of a fill of all of b.
func fillParams(b *driver.Buffer[uint32], v uint32) *cu.CUgraphNodeParams {
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_MEMSET}
	m := p.Memset()
	m.Dst, m.Value, m.ElementSize, m.Width, m.Height = b.Ptr(), v, 4, elems, 1
	m.Pitch, m.Ctx = 4*elems, b.Context().Raw()
	return p
}

func TestNodesByTaggedParameters(t *testing.T) {
	each(t, func(k *kit) {
		b, c := k.memory(), k.memoryOf(1)
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		n, err := g.AddNode(fillParams(c, 9), []graph.Node{first}, c.Ref())
		k.ok(err)
		if typ, err := n.Type(); err != nil || typ != cu.CU_GRAPH_NODE_TYPE_MEMSET {
			k.Errorf("%v, %v", typ, err)
		}
		d := k.memoryOf(1)
		k.ok(d.Fill(1))
		x := k.exec(g)
		k.run(x)
		k.expect(c, 9)
		k.ok(x.SetParams(n, fillParams(d, 7), d.Ref()))
		k.ok(n.SetParams(fillParams(b, 5), b.Ref()))
		k.run(x)
		k.expect(d, 7)
		k.ok(c.Close()) // kept by nobody any more
		k.ok(d.Close()) // by the executable
		k.run(x)
		k.run(k.exec(g))
		k.expect(b, 5)
	})
}

func TestTaggedParametersThatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.memory(), k.memoryOf(1)
		ref := gone.Ref()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		k.ok(gone.Close())
		p := fillParams(b, 4)
		move := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_GRAPH}
		move.Graph().Ownership = cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
		for _, c := range []struct {
			name, says string
			want, err  error
		}{
			{"nil", "nil parameters", driver.CUDA_ERROR_INVALID_VALUE, second(g.AddNode(nil, nil))},
			{"nil set", "nil parameters", driver.CUDA_ERROR_INVALID_VALUE, n.SetParams(nil)},
			{"nil set in the executable", "nil parameters", driver.CUDA_ERROR_INVALID_VALUE, x.SetParams(n, nil)},
			{"nil reference", "reference 0", driver.CUDA_ERROR_INVALID_VALUE, second(g.AddNode(p, nil, nil))},
			{"closed reference", "closed", driver.ErrClosed, second(g.AddNode(p, nil, ref))},
			{"closed reference set", "closed", driver.ErrClosed, n.SetParams(p, ref)},
			{"another type", "it is of type", driver.CUDA_ERROR_INVALID_VALUE, n.SetParams(p)},
			{"another type in the executable", "it is of type", driver.CUDA_ERROR_INVALID_VALUE, x.SetParams(n, p)},
			{"child handed over", "AddChildMove", driver.CUDA_ERROR_INVALID_VALUE, second(g.AddNode(move, nil))},
		} {
			if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.says) {
				k.Errorf("%s: %v", c.name, c.err)
			}
		}
		if count, err := g.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.run(x)
		k.expect(b, 2)
	})
}

func TestTaggedParametersNeedTheirCUDA(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12010}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		for name, err := range map[string]error{
			"AddNode":        second(g.AddNode(fillParams(b, 4), nil)),
			"Node.SetParams": n.SetParams(fillParams(b, 4)),
			"Exec.SetParams": x.SetParams(n, fillParams(b, 4)),
		} {
			if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "12.2") {
				k.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Every sort of operation makes the same node by tagged parameters as by the
// function for its type.
func TestEveryOperationByTaggedParameters(t *testing.T) {
	each(t, func(k *kit) {
		b, to := k.memory(), k.memory()
		e, err := k.c.NewEvent()
		k.ok(err)
		k.closeLater(e)
		called := 0
		call, err := driver.NewHostFunc(k.c, func() { called++ })
		k.ok(err)
		fill, err := driver.Fill(b.All().View(0, 8), 4)
		k.ok(err)
		nothing, err := driver.Fill(b.All().View(0, 0), 4)
		k.ok(err)
		noCopy, err := driver.CopyDevice[uint32](to.All().View(0, 0), b.All().View(0, 0))
		k.ok(err)
		copied, err := driver.CopyDevice[uint32](to, b)
		k.ok(err)
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 9, 50, 0))
		k.ok(err)
		g := k.graph()
		last := k.add(g, k.launch(k.plus, b, 1))
		for _, op := range []driver.Op{fill, nothing, noCopy, write, driver.RecordOp(e), driver.WaitOp(e), call, copied, k.launch(k.times, b, 2)} {
			last, err = graph.AddTagged(g, op, last)
			k.ok(err)
		}
		k.run(k.exec(g))
		got, moved := make([]uint32, elems), make([]uint32, elems)
		k.ok(b.CopyTo(got))
		k.ok(to.CopyTo(moved))
		if called != 1 || moved[0] != 4 || moved[9] != 50 || moved[31] != 2 || got[0] != 8 || got[31] != 4 {
			k.Errorf("called %d, copied %v, left %v", called, moved, got)
		}
	})
}
