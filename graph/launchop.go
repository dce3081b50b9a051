package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// launchOp is the launch of an Exec as an operation.
type launchOp struct {
	x    *Exec
	refs [1]life.Ref
}

// Op returns the launch of x as an operation. The operation can run in a stream, be staged before
// the launch of another Exec, or be added to a graph. CUDA has no node that launches an executable
// graph, so in a graph the operation becomes a child graph: a copy of x's current graph. Adding it
// returns an error if x itself was changed (by Set, Enable, bindings or an update), because the
// copy would then differ from x.
func (x *Exec) Op() driver.Op {
	l := &launchOp{x: x}
	if x != nil {
		l.refs[0] = x
	}
	return l
}

// Enqueue implements driver.Op with Exec.Launch.
func (l *launchOp) Enqueue(s *driver.Stream) error { return l.x.Launch(s) }

// Context implements driver.Op.
func (l *launchOp) Context() *driver.Context { return l.x.Context() }

// Uses implements driver.Op. It does not list the accesses of the graph's nodes.
func (l *launchOp) Uses() uses.Set {
	if l.x == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: l.refs[:]}
}

// String implements driver.Op.
func (l *launchOp) String() string { return "launch of " + l.x.String() }

// child returns a graph whose copy, as a child graph, does the same work as the launch. It returns
// an error if there is none because the Exec was changed.
func (l *launchOp) child() (*Graph, error) {
	x := l.x
	if err := x.lock(); err != nil {
		return nil, err
	}
	defer x.keep.mu.Unlock()
	if x.changed {
		return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"it has changed since it was made from %v, and a child graph would be a copy of that graph: change the graph too and add it with AddChild", x.g)
	}
	return x.g, nil
}

func (l *launchOp) addTo(g *Graph, deps []Node) (Node, error) {
	child, err := l.child()
	if err != nil {
		return Node{}, g.addError(l, err)
	}
	n, err := g.AddChild(child, deps...)
	if err != nil {
		return Node{}, g.addError(l, err)
	}
	return n, nil
}

func (l *launchOp) setIn(x *Exec, n Node) error {
	child, err := l.child()
	if err != nil {
		return setError(n, x, l, err)
	}
	return x.SetChild(n, child)
}

// recordIn adds a child graph after the current dependencies of the scope, because captures reject
// graph launches.
func (l *launchOp) recordIn(sc *Scope) error {
	child, err := l.child()
	if err == nil {
		err = sc.addChild(child)
	}
	if err != nil {
		return fmt.Errorf("cannot record %v in the capture of %v: %w", l, sc.s, err)
	}
	return nil
}

// addChild adds the child graph. It locks the child and the graph that is being captured in the
// order of lockBoth.
func (sc *Scope) addChild(child *Graph) error {
	g, err := sc.Graph()
	if err != nil {
		return err
	}
	if g == child {
		return invalid("it is the graph that is captured")
	}
	first := child.lockSeq() < g.lockSeq()
	if first {
		if err := child.lock(); err != nil {
			return err
		}
		defer child.mu.Unlock()
	}
	_, err = sc.addPending(func(g *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error) {
		if !first {
			if err := child.lock(); err != nil {
				return Node{}, err
			}
			defer child.mu.Unlock()
		}
		return g.addChild(child, from, data, n)
	})
	return err
}
