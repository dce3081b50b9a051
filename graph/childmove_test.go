package graph_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// handed makes a graph, for a test to hand over. It is closed by whoever gets it.
func (k *kit) handed(ops ...driver.Op) (*graph.Graph, []graph.Node) {
	k.Helper()
	c, err := graph.New(k.c)
	k.ok(err)
	nodes, err := c.AddBatch(nil, graph.Chain(ops))
	k.ok(err)
	return c, nodes
}

// nodes are those that a graph has now.
func (k *kit) nodes(g *graph.Graph) (all []graph.Node) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.ok(err)
		all = append(all, n)
	}
	return all
}

func TestAChildThatIsHandedOverBecomesAPart(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		child, inner := k.handed(k.launch(k.plus, b, 4), k.launch(k.times, b, 3))
		k.ok(inner[0].SetName("first"))
		g := k.graph()
		n, err := g.AddChildMove(child)
		k.ok(err)
		k.add(g, k.launch(k.plus, b, 1), n)
		part, err := n.ChildGraph()
		k.ok(err)
		if part != child || inner[0].Name() != "first" {
			k.Errorf("the node has %v, want the graph itself", part)
		}
		k.ok(child.Close()) // does nothing
		k.run(k.exec(g))
		k.expect(b, 16)
		k.ok(inner[0].Set(k.launch(k.plus, b, 10)))
		k.add(child, k.launch(k.plus, b, 100), inner[1])
		k.run(k.exec(g))
		k.expect(b, (16+10)*3+100+1)
		if count, err := child.Len(); count != 3 || err != nil {
			k.Errorf("%d nodes inside, %v", count, err)
		}
		k.ok(n.Destroy())
		if _, err := child.Len(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("after its node was destroyed: %v", err)
		}
	})
}

func TestAChildThatIsHandedOverKeepsItsMemory(t *testing.T) {
	each(t, func(k *kit) {
		out := k.memory()
		a, c := k.memoryOf(5), k.memoryOf(7)
		op := func(b *driver.Buffer[uint32]) *driver.Launch {
			l, err := k.sum.Prepare(config, out, out, b, uint32(elems))
			k.ok(err)
			return l
		}
		child, inner := k.handed(op(a))
		g := k.graph()
		_, err := g.AddChildMove(child)
		k.ok(err)
		k.add(child, op(c), inner[0]) // the part's, kept by the outermost graph
		k.ok(a.Close())
		k.ok(c.Close())
		x := k.exec(g)
		k.ok(g.Close())
		for range 3 {
			runtime.GC()
			k.closeLater(k.memoryOf(99999))
		}
		k.run(x)
		k.expect(out, 13)
	})
}

func TestPartsOfAChildThatIsHandedOverMoveWithIt(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		innermost := k.graph()
		k.add(innermost, k.launch(k.plus, b, 1))
		child, first := k.handed(k.launch(k.plus, b, 2))
		in, err := child.AddChild(innermost, first...)
		k.ok(err)
		deep, err := in.ChildGraph()
		k.ok(err)
		g := k.graph()
		n, err := g.AddChildMove(child)
		k.ok(err)
		same, err := in.ChildGraph()
		k.ok(err)
		if same != deep {
			k.Error("the graph inside is another one now")
		}
		k.add(deep, k.launch(k.plus, b, 10), k.nodes(deep)...)
		k.run(k.exec(g))
		k.expect(b, 14)
		k.ok(n.Destroy())
		if _, err := deep.Len(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("after the outermost node was destroyed: %v", err)
		}
	})
}

func TestChildrenThatCannotBeHandedOver(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		moved, _ := k.handed(k.launch(k.plus, b, 1))
		_, err := g.AddChildMove(moved)
		k.ok(err)
		closed, _ := k.handed()
		k.ok(closed.Close())
		whole, _ := k.handed(k.launch(k.plus, b, 1))
		k.closeLater(whole)
		other := k.graph()
		stranger := k.add(other, k.launch(k.plus, b, 1))
		for name, c := range map[string]struct{ want, err error }{
			"itself":                 {driver.CUDA_ERROR_INVALID_VALUE, second(g.AddChildMove(g))},
			"its own part":           {driver.CUDA_ERROR_INVALID_VALUE, second(g.AddChildMove(moved))},
			"the part of another":    {driver.CUDA_ERROR_INVALID_VALUE, second(other.AddChildMove(moved))},
			"its outermost graph":    {driver.CUDA_ERROR_INVALID_VALUE, second(moved.AddChildMove(g))},
			"closed":                 {driver.ErrClosed, second(g.AddChildMove(closed))},
			"nil":                    {driver.CUDA_ERROR_INVALID_VALUE, second(g.AddChildMove(nil))},
			"after another's node":   {driver.CUDA_ERROR_INVALID_VALUE, second(g.AddChildMove(whole, stranger))},
			"instantiated by itself": {driver.CUDA_ERROR_NOT_SUPPORTED, second(moved.Instantiate())},
			"copied from its node":   {driver.CUDA_ERROR_NOT_SUPPORTED, second(other.AddChild(moved))},
			"taken for an update":    {driver.CUDA_ERROR_INVALID_VALUE, second(k.exec(whole).Update(moved))},
		} {
			if !errors.Is(c.err, c.want) {
				k.Errorf("%s: %v", name, c.err)
			}
		}
		k.run(k.exec(whole)) // as it was
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}

func TestHandingOverAChildNeedsItsCUDA(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12080}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		child, _ := k.handed(k.launch(k.plus, k.memory(), 1))
		k.closeLater(child)
		if _, err := k.graph().AddChildMove(child); !errors.Is(err, driver.ErrNotSupported) {
			k.Errorf("got %v", err)
		}
	})
}

// Goroutines that use the child while it is handed over get their turn on one
// side of it or the other.
func TestAChildIsHandedOverWhileOthersUseIt(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		for range 20 {
			child, inner := k.handed(k.launch(k.plus, b, 0))
			g := k.graph()
			start, done := make(chan struct{}), make(chan error, 4)
			for range cap(done) {
				op := k.launch(k.plus, b, 0)
				go func() {
					<-start
					var err error
					for i := 0; i < 10 && err == nil; i++ {
						_, err = child.Add(op)
						if err == nil {
							err = inner[0].Set(op)
						}
						if err == nil {
							_, err = g.AddEmpty()
						}
					}
					done <- err
				}()
			}
			close(start)
			_, err := g.AddChildMove(child)
			k.ok(err)
			for range cap(done) {
				k.ok(<-done)
			}
			if n, err := child.Len(); n != 41 || err != nil {
				k.Errorf("%d nodes, %v", n, err)
			}
		}
	})
}

func TestSetChildOfANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		child := func(v uint32, n int) *graph.Graph {
			c := k.graph()
			ops := make([]driver.Op, n)
			for i := range ops {
				ops[i] = k.launch(k.plus, b, v)
			}
			_, err := c.AddBatch(nil, graph.Chain(ops))
			k.ok(err)
			return c
		}
		g := k.graph()
		n, err := g.AddChild(child(1, 1))
		k.ok(err)
		before, err := n.ChildGraph()
		k.ok(err)
		x := k.exec(g)
		k.ok(n.SetChild(child(50, 2)))
		if _, err := before.Len(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("the graph that was in the node: %v", err)
		}
		after, err := n.ChildGraph()
		k.ok(err)
		if count, err := after.Len(); count != 2 || err != nil {
			k.Errorf("%d nodes, %v", count, err)
		}
		k.run(k.exec(g))
		k.expect(b, 101)
		k.run(x)
		k.expect(b, 102)
		empty, err := g.AddEmpty()
		k.ok(err)
		for name, c := range map[string]struct{ want, err error }{
			"not a child":  {driver.CUDA_ERROR_INVALID_VALUE, empty.SetChild(child(1, 1))},
			"zero node":    {driver.CUDA_ERROR_INVALID_VALUE, graph.Node{}.SetChild(child(1, 1))},
			"nil graph":    {driver.CUDA_ERROR_INVALID_VALUE, n.SetChild(nil)},
			"itself":       {driver.CUDA_ERROR_INVALID_VALUE, n.SetChild(g)},
			"its own part": {driver.CUDA_ERROR_INVALID_VALUE, n.SetChild(after)},
		} {
			if !errors.Is(c.err, c.want) {
				k.Errorf("%s: %v", name, c.err)
			}
		}
	})
}
