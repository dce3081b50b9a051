package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Add is Do, and returns the recorded node, for [Bind], [Node.SetName] and [Exec.Set]. It is a node
// of the graph that the capture returns, or of the body that is being recorded. Operations on
// events do not record a node, so they return CUDA_ERROR_NOT_SUPPORTED.
func (sc *Scope) Add(op driver.Op) (Node, error) {
	if !sc.exists() {
		return Node{}, aScope.Error(sc == nil)
	}
	n, err := sc.add(op)
	runtime.KeepAlive(op)
	if err != nil {
		return Node{}, fmt.Errorf("cannot record a node in the capture of %v: %w", sc.s, err)
	}
	return n, nil
}

func (sc *Scope) add(op driver.Op) (Node, error) {
	if err := refusal.Operation(sc.s.Context(), op); err != nil {
		return Node{}, err
	}
	switch {
	case aboutEvent(op):
		return Node{}, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "%v orders streams of the capture and makes no node, use Scope.Do", op)
	case noBytes(op):
		return sc.addEmpty()
	}
	r, err := sc.lockUsable()
	if err != nil {
		return Node{}, err
	}
	defer r.mu.Unlock()
	g, err := r.graph()
	if err != nil {
		return Node{}, err
	}
	g.lockLatch()
	defer g.mu.Unlock()
	o := g.changeRefs()
	defer o.Flush()
	if err := o.Retain(op.Refs()); err != nil {
		return Node{}, fmt.Errorf("%v: %w", op, err)
	}
	if err := sc.s.Do(op); err != nil {
		o.Abandon()
		return Node{}, r.note(op, err)
	}
	sc.b.open = true
	n, err := r.latest(sc.s)
	if err != nil {
		o.CommitLoose()
		return Node{}, r.doom(err)
	}
	o.Commit(n.i)
	g.accesses.Set(n.i, op)
	return n, nil
}

// latest returns the node that was recorded last on a stream. The graph is locked.
func (r *recording) latest(s *driver.Stream) (Node, error) {
	i, err := r.info(s)
	if err != nil {
		return Node{}, err
	}
	if err := i.active(r); err != nil {
		return Node{}, err
	}
	if i.n != 1 {
		return Node{}, refuse(driver.CUDA_ERROR_UNKNOWN, "%d nodes are the latest, where one was recorded", i.n)
	}
	return r.g.node(*i.nodes), nil
}

// addEmpty records an empty node.
func (sc *Scope) addEmpty() (Node, error) {
	return sc.addPending(func(g *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error) {
		var raw cu.CUgraphNode
		var err error
		if data == nil {
			err = g.d.CuGraphAddEmptyNode(&raw, g.raw, from, n)
		} else {
			err = g.addGeneric(&raw, from, data, n, &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY})
		}
		if err != nil {
			return Node{}, err
		}
		g.commitNew(g.changeRefs())
		return g.added(raw), nil
	})
}

// aboutEvent reports whether op records or waits for an event. A capture takes such operations for
// orders between its streams, so they create no nodes.
func aboutEvent(op driver.Op) bool {
	switch op.(type) {
	case *driver.EventOp:
		return true
	}
	return false
}
