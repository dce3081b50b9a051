package graph_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// handed returns a graph that the test moves into another graph. The new owner closes it.
func (k *kit) handed(ops ...driver.Op) (*graph.Graph, []graph.Node) {
	k.Helper()
	c, err := graph.New(k.C)
	k.OK(err)
	nodes, err := c.AddBatch(nil, graph.Chain(ops))
	k.OK(err)
	return c, nodes
}

func TestAChildThatIsHandedOverBecomesAPart(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		child, inner := k.handed(k.Launch(k.Plus, b, 4), k.Launch(k.Times, b, 3))
		k.OK(inner[0].SetName("first"))
		g := k.Graph()
		n, err := g.AddChildMove(child)
		k.OK(err)
		k.Add(g, k.Launch(k.Plus, b, 1), n)
		part, err := n.ChildGraph()
		k.OK(err)
		if part != child || inner[0].Name() != "first" {
			k.Errorf("the node has %v, want the graph itself", part)
		}
		k.OK(child.Close()) // must do nothing
		k.Run(k.Exec(g))
		k.Expect(b, 16)
		k.OK(inner[0].Set(k.Launch(k.Plus, b, 10)))
		k.Add(child, k.Launch(k.Plus, b, 100), inner[1])
		k.Run(k.Exec(g))
		k.Expect(b, (16+10)*3+100+1)
		if count, err := child.Len(); count != 3 || err != nil {
			k.Errorf("%d nodes inside, %v", count, err)
		}
		k.OK(n.Destroy())
		if _, err := child.Len(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("after its node was destroyed: %v", err)
		}
	})
}

func TestAChildThatIsHandedOverKeepsItsMemory(t *testing.T) {
	each(t, func(k *kit) {
		out := k.Memory()
		a, c := k.MemoryOf(5), k.MemoryOf(7)
		op := func(b *driver.Buffer[uint32]) *driver.Launch {
			l, err := k.Sum.Prepare(config, out, out, b, uint32(elems))
			k.OK(err)
			return l
		}
		child, inner := k.handed(op(a))
		g := k.Graph()
		_, err := g.AddChildMove(child)
		k.OK(err)
		k.Add(child, op(c), inner[0]) // a node added to the moved child, retained by the outermost graph
		k.OK(a.Close())
		k.OK(c.Close())
		x := k.Exec(g)
		k.OK(g.Close())
		for range 3 {
			runtime.GC()
			k.CloseLater(k.MemoryOf(99999))
		}
		k.Run(x)
		k.Expect(out, 13)
	})
}

func TestPartsOfAChildThatIsHandedOverMoveWithIt(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		innermost := k.Graph()
		k.Add(innermost, k.Launch(k.Plus, b, 1))
		child, first := k.handed(k.Launch(k.Plus, b, 2))
		in, err := child.AddChild(innermost, first...)
		k.OK(err)
		deep, err := in.ChildGraph()
		k.OK(err)
		g := k.Graph()
		n, err := g.AddChildMove(child)
		k.OK(err)
		same, err := in.ChildGraph()
		k.OK(err)
		if same != deep {
			k.Error("the graph inside is another one now")
		}
		k.Add(deep, k.Launch(k.Plus, b, 10), k.Nodes(deep)...)
		k.Run(k.Exec(g))
		k.Expect(b, 14)
		k.OK(n.Destroy())
		if _, err := deep.Len(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("after the outermost node was destroyed: %v", err)
		}
	})
}

func TestChildrenThatCannotBeHandedOver(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		moved, _ := k.handed(k.Launch(k.Plus, b, 1))
		_, err := g.AddChildMove(moved)
		k.OK(err)
		closed, _ := k.handed()
		k.OK(closed.Close())
		whole, _ := k.handed(k.Launch(k.Plus, b, 1))
		k.CloseLater(whole)
		other := k.Graph()
		stranger := k.Add(other, k.Launch(k.Plus, b, 1))
		for name, c := range map[string]struct{ want, err error }{
			"itself":                 {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddChildMove(g))},
			"its own part":           {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddChildMove(moved))},
			"the part of another":    {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(other.AddChildMove(moved))},
			"its outermost graph":    {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(moved.AddChildMove(g))},
			"closed":                 {driver.ErrClosed, graphtest.Second(g.AddChildMove(closed))},
			"nil":                    {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddChildMove(nil))},
			"after another's node":   {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddChildMove(whole, stranger))},
			"instantiated by itself": {driver.CUDA_ERROR_NOT_SUPPORTED, graphtest.Second(moved.Instantiate())},
			"copied from its node":   {driver.CUDA_ERROR_NOT_SUPPORTED, graphtest.Second(other.AddChild(moved))},
			"taken for an update":    {driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(k.Exec(whole).Update(moved))},
		} {
			if !errors.Is(c.err, c.want) {
				k.Errorf("%s: %v", name, c.err)
			}
		}
		k.Run(k.Exec(whole)) // the graph must be unchanged
		k.Run(k.Exec(g))
		k.Expect(b, 3)
	})
}

func TestHandingOverAChildNeedsItsCUDA(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12080}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		child, _ := k.handed(k.Launch(k.Plus, k.Memory(), 1))
		k.CloseLater(child)
		if _, err := k.Graph().AddChildMove(child); !errors.Is(err, driver.ErrNotSupported) {
			k.Errorf("got %v", err)
		}
	})
}

// Goroutines that use the child while it is moved run either before or after the move.
func TestAChildIsHandedOverWhileOthersUseIt(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		for range 20 {
			child, inner := k.handed(k.Launch(k.Plus, b, 0))
			g := k.Graph()
			start, done := make(chan struct{}), make(chan error, 4)
			for range cap(done) {
				op := k.Launch(k.Plus, b, 0)
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
			k.OK(err)
			for range cap(done) {
				k.OK(<-done)
			}
			if n, err := child.Len(); n != 41 || err != nil {
				k.Errorf("%d nodes, %v", n, err)
			}
		}
	})
}

func TestLaunchOfAnExecIsAddedAsAChildGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		inner, g := k.Graph(), k.Graph()
		k.Add(inner, k.Launch(k.Plus, b, 4))
		n := k.Add(g, k.Exec(inner).Op())
		k.Add(g, k.Launch(k.Times, b, 3), n)
		part, err := n.ChildGraph()
		k.OK(err)
		if count, err := part.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes in the child graph, %v", count, err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, (1+4)*3)
	})
}

func TestSetChildOfANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		child := func(v uint32, n int) *graph.Graph {
			c := k.Graph()
			ops := make([]driver.Op, n)
			for i := range ops {
				ops[i] = k.Launch(k.Plus, b, v)
			}
			_, err := c.AddBatch(nil, graph.Chain(ops))
			k.OK(err)
			return c
		}
		g := k.Graph()
		n, err := g.AddChild(child(1, 1))
		k.OK(err)
		before, err := n.ChildGraph()
		k.OK(err)
		x := k.Exec(g)
		k.OK(n.SetChild(child(50, 2)))
		if _, err := before.Len(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("the graph that was in the node: %v", err)
		}
		after, err := n.ChildGraph()
		k.OK(err)
		if count, err := after.Len(); count != 2 || err != nil {
			k.Errorf("%d nodes, %v", count, err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 101)
		k.Run(x)
		k.Expect(b, 102)
		empty, err := g.AddEmpty()
		k.OK(err)
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
