package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func init() {
	flows = append(flows,
		flow{"memory operations and edges with data", edgeFlow},
		flow{"tagged parameters and getters", taggedFlow},
		flow{"a child that is handed over", moveFlow},
		flow{"launch attributes", attributeFlow},
		flow{"arrays", arrayFlow},
	)
}

func edgeFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 0, 7, 0))
	if err != nil {
		return err
	}
	g, err := graph.New(k.C)
	if err != nil {
		return err
	}
	return errors.Join(edges(k, g, l, write), g.Close())
}

func edges(k *kit, g *graph.Graph, l *driver.Launch, write *driver.MemOp) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	m, err := graphtest.AddAfter(g, l, graph.Programmatic(n, graph.Node{}))
	if err != nil {
		return err
	}
	w, err := graphtest.AddAfter(g, write, graph.Edge{From: m})
	if err != nil {
		return err
	}
	e := graph.Edge{From: n, To: m, Data: graph.Programmatic(n, graph.Node{}).Data}
	if err := g.RemoveEdges(e); err != nil {
		return err
	}
	if err := g.AddEdges(e); err != nil {
		return err
	}
	if _, err := m.Incoming(); err != nil {
		return err
	}
	if err := w.Set(write); err != nil {
		return err
	}
	return replay(k, g)
}

func taggedFlow(k *kit, b *driver.Buffer[uint32]) error {
	g, err := graph.New(k.C)
	if err != nil {
		return err
	}
	n, err := g.AddNode(graphtest.FillParams(b, 9), nil, b.Ref())
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(setTagged(k, g, n, b), g.Close())
}

func setTagged(k *kit, g *graph.Graph, n graph.Node, b *driver.Buffer[uint32]) error {
	if err := n.SetParams(graphtest.FillParams(b, 8), b.Ref()); err != nil {
		return err
	}
	if _, err := graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](n); err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	if err := x.SetParams(n, graphtest.FillParams(b, 7), b.Ref()); err != nil {
		return errors.Join(err, x.Close())
	}
	return errors.Join(x.Run(background, k.S), x.Close())
}

func moveFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	child, err := graph.New(k.C)
	if err != nil {
		return err
	}
	g, err := graph.New(k.C)
	if err != nil {
		return errors.Join(err, child.Close())
	}
	// Close the child first: once the child has been moved, its Close does nothing.
	return errors.Join(move(k, g, child, l), child.Close(), g.Close())
}

func move(k *kit, g, child *graph.Graph, l *driver.Launch) error {
	n, err := child.Add(l)
	if err != nil {
		return err
	}
	if _, err := g.AddChildMove(child); err != nil {
		return err
	}
	if _, err := child.Add(l, n); err != nil {
		return err
	}
	return replay(k, g)
}

func attributeFlow(k *kit, b *driver.Buffer[uint32]) error {
	c := config
	c.Cooperative, c.Priority = true, -1
	l, err := k.Plus.Prepare(c, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	plain, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graph.New(k.C)
	if err != nil {
		return err
	}
	return errors.Join(retune(k, g, l, plain), g.Close())
}

func retune(k *kit, g *graph.Graph, l, plain *driver.Launch) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	m, err := graphtest.AddAfter(g, l, graph.Programmatic(n, graph.Node{}))
	if err != nil {
		return err
	}
	if err := n.Set(plain); err != nil {
		return err
	}
	if err := m.CopyAttributes(n); err != nil {
		return err
	}
	return replay(k, g)
}

func arrayFlow(k *kit, b *driver.Buffer[uint32]) error {
	a, err := k.C.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Height: 4, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1})
	if err != nil {
		return err
	}
	in, err := driver.Copy2D(driver.Region{Memory: a}, driver.Region{Memory: b, Pitch: 32}, 32, 4)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	g, err := graph.New(k.C)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	if _, err := g.Add(in); err != nil {
		return errors.Join(err, g.Close(), a.Close())
	}
	return errors.Join(replay(k, g), g.Close(), a.Close())
}

func init() {
	flows = append(flows,
		flow{"bound parameters", boundFlow},
		flow{"burst, update, launch", burstFlow},
		flow{"stage across streams", stageFlow},
		flow{"device launch and upload", deviceLaunchFlow})
}

func boundFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graph.New(k.C)
	if err != nil {
		return err
	}
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{l, l, l}))
	if err != nil {
		return errors.Join(err, g.Close())
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	buffers, err := setBound(k, x, nodes, l)
	errs := []error{err, x.Close(), g.Close()}
	for _, b := range buffers { // from now on, only the graph refers to the buffers
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

func setBound(k *kit, x *graph.Exec, nodes []graph.Node, l *driver.Launch) (buffers []*driver.Buffer[uint32], err error) {
	bs := x.Bindings()
	for i, n := range nodes {
		v, err := graph.Bind[uint32](bs, n, l, 2)
		if err != nil {
			return buffers, err
		}
		p, err := graph.Bind[*driver.Buffer[uint32]](bs, n, l, 0)
		if err != nil {
			return buffers, err
		}
		b, err := driver.Alloc[uint32](k.C, elems)
		if err != nil {
			return buffers, err
		}
		buffers = append(buffers, b)
		if err := errors.Join(v.Set(uint32(i)), p.Set(b), bs.Launch(k.S)); err != nil {
			return buffers, errors.Join(err, x.Wait(context.Background()))
		}
	}
	return buffers, x.Wait(context.Background())
}

func burstFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 3)
	if err != nil {
		return err
	}
	capture := func(ops ...driver.Op) (*graph.Graph, error) {
		return graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(ops...) })
	}
	g, err := capture(l, l, fill, l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	err = func() error {
		again, err := capture(l, l, fill, l)
		if err != nil {
			return err
		}
		if _, err := x.Update(again); err != nil {
			return errors.Join(err, again.Close())
		}
		return errors.Join(again.Close(), x.Run(context.Background(), k.S))
	}()
	return errors.Join(err, x.Close(), g.Close())
}

func stageFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 3)
	if err != nil {
		return err
	}
	g, err := graphtest.Recorded(k.S, l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	other, err := k.C.NewStream()
	if err != nil {
		return errors.Join(err, x.Close(), g.Close())
	}
	err = func() error {
		for range 2 {
			if err := x.Stage(other, fill); err != nil {
				return err
			}
			if err := x.Launch(k.S); err != nil {
				return err
			}
		}
		return x.Wait(context.Background())
	}()
	return errors.Join(err, x.Close(), g.Close(), other.Close())
}

func deviceLaunchFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graphtest.Recorded(k.S, l, l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate(graph.WithDeviceLaunch(), graph.WithUpload(k.S))
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(x.Run(context.Background(), k.S), x.Close(), g.Close())
}

func init() {
	flows = append(flows,
		flow{"a flow, named and with declarations", runFlow},
		flow{"check of a captured and changed graph", checkCaptured},
		flow{"check of nested graphs", checkNested},
	)
}

func runFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, driver.InOut(b), uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	f := dataflow.New(k.C)
	for i := range 4 {
		s, err := f.Add(l, driver.In(b.View(i, i+1)))
		if err != nil {
			return err
		}
		s.SetName(fmt.Sprint("step ", i))
	}
	g, err := f.Build()
	if err != nil {
		return err
	}
	c, err := g.Check()
	return errors.Join(err, c.Err(), replay(k, g), g.Close())
}

func checkCaptured(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 1)
	if err != nil {
		return err
	}
	g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return errors.Join(sc.Do(l), sc.Do(fill))
	})
	if err != nil {
		return err
	}
	return errors.Join(expectConflicts(g, 0), addStranger(g, l), g.Close())
}

func addStranger(g *graph.Graph, l *driver.Launch) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	return errors.Join(n.Set(l), expectConflicts(g, 2))
}

func expectConflicts(g *graph.Graph, n int) error {
	c, err := g.Check()
	if err == nil && len(c.Conflicts) != n {
		err = fmt.Errorf("want %d conflicts, got %v", n, c)
	}
	return err
}

func checkNested(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graphtest.Recorded(k.S, l, l)
	if err != nil {
		return err
	}
	c, err := g.Clone()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(checkChild(k, c, g), c.Close(), g.Close())
}

func checkChild(k *kit, c, g *graph.Graph) error {
	if _, err := c.AddChild(g); err != nil {
		return err
	}
	if err := expectConflicts(c, 4); err != nil {
		return err
	}
	x, err := c.Instantiate()
	if err != nil {
		return err
	}
	return errors.Join(x.Run(context.Background(), k.S), x.Close())
}

// An iteration that cannot list everything must end with the driver's error. Otherwise a program
// would mistake a part of the graph for the whole.
func TestIterationsEndWithTheDriversError(t *testing.T) {
	// On another thread, a walk would first make the context current, which is one more call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	g := k.Graph()
	first := k.Add(g, k.Launch(k.Plus, b, 1))
	last := k.Add(g, k.Launch(k.Times, b, 1), first)
	walks := map[string]func() (int, error){
		"Nodes": func() (n int, first error) {
			for _, err := range g.Nodes() {
				n, first = n+1, errors.Join(first, err)
			}
			return n, first
		},
		"Roots": func() (n int, first error) {
			for _, err := range g.Roots() {
				n, first = n+1, errors.Join(first, err)
			}
			return n, first
		},
		"Edges": func() (n int, first error) {
			for _, err := range g.Edges() {
				n, first = n+1, errors.Join(first, err)
			}
			return n, first
		},
		"Len":          g.Len,
		"Dependencies": func() (int, error) { d, err := last.Dependencies(); return len(d), err },
		"Dependents":   func() (int, error) { d, err := first.Dependents(); return len(d), err },
	}
	want := map[string]int{"Nodes": 2, "Roots": 1, "Edges": 1, "Len": 2, "Dependencies": 1, "Dependents": 1}
	for name, walk := range walks {
		lib.Count()
		n, err := walk()
		calls := lib.Stop()
		if err != nil || n != want[name] || len(calls) == 0 {
			t.Fatalf("%s: %d, %v, in %d calls", name, n, err, len(calls))
		}
		for i, c := range calls {
			lib.FailNth(i+1, uint32(graphtest.Injected))
			_, err := walk()
			lib.Stop()
			if !errors.Is(err, graphtest.Injected) {
				t.Errorf("%s: call %d (%s) failed, got %v", name, i+1, c.Symbol, err)
			}
		}
	}
	var none *graph.Graph
	for _, err := range none.Nodes() {
		if err == nil {
			t.Error("a nil graph has nodes")
		}
	}
}
