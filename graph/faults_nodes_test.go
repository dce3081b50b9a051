package graph_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
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
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 7, 0))
	if err != nil {
		return err
	}
	g, err := graph.New(k.c)
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
	m, err := addAfter(g, l, graph.Programmatic(n, graph.Node{}))
	if err != nil {
		return err
	}
	w, err := addAfter(g, write, graph.Edge{From: m})
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
	g, err := graph.New(k.c)
	if err != nil {
		return err
	}
	n, err := g.AddNode(fillParams(b, 9), nil, b.Ref())
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(setTagged(k, g, n, b), g.Close())
}

func setTagged(k *kit, g *graph.Graph, n graph.Node, b *driver.Buffer[uint32]) error {
	if err := n.SetParams(fillParams(b, 8), b.Ref()); err != nil {
		return err
	}
	if _, err := graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](n); err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	if err := x.SetParams(n, fillParams(b, 7), b.Ref()); err != nil {
		return errors.Join(err, x.Close())
	}
	return errors.Join(x.Run(background, k.s), x.Close())
}

func moveFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	child, err := graph.New(k.c)
	if err != nil {
		return err
	}
	g, err := graph.New(k.c)
	if err != nil {
		return errors.Join(err, child.Close())
	}
	// In this order: closing the child does nothing once it was handed over.
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
	l, err := k.plus.Prepare(c, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	plain, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graph.New(k.c)
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
	m, err := addAfter(g, l, graph.Programmatic(n, graph.Node{}))
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
	a, err := k.c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Height: rows, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1})
	if err != nil {
		return err
	}
	in, err := driver.Copy2D(driver.Region{Memory: a}, driver.Region{Memory: b, Pitch: rowBytes}, rowBytes, rows)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	g, err := graph.New(k.c)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	if _, err := g.Add(in); err != nil {
		return errors.Join(err, g.Close(), a.Close())
	}
	return errors.Join(replay(k, g), g.Close(), a.Close())
}
