package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Set sets the parameters of an Exec's node to those of op, from the next launch on. n is a node of
// the graph that the Exec was instantiated from, which must be open, or of a graph nested in it,
// such as the body of a loop. op must match the node's type. The graph does not change. What the
// node referred to before is released once the launches that use it have ended. For a node of a
// nested graph, it is released when the Exec is updated as a whole or closed.
//
// The driver limits what can change: not the context and the launch attributes of a kernel, and not
// the kinds of memory of a copy.
func (x *Exec) Set(n Node, op driver.Op) error {
	if l, ok := op.(*launchOp); ok {
		return l.setIn(x, n)
	}
	if err := x.lock(); err != nil {
		return err
	}
	err := x.set(n, op)
	x.keep.mu.Unlock()
	runtime.KeepAlive(op)
	runtime.KeepAlive(x)
	if err != nil {
		return setError(n, x, op, err)
	}
	return nil
}

func (x *Exec) set(n Node, op driver.Op) error {
	if err := x.has(n); err != nil {
		return err
	}
	err := x.setLocked(n, op)
	n.g.mu.Unlock()
	return err
}

// setLocked is set for a node that was found to be of the exec's graph, which
// is locked.
func (x *Exec) setLocked(n Node, op driver.Op) error {
	x.uploaded, x.changed = false, true
	if n.g.part {
		return x.setInside(n, op)
	}
	if l, ok := op.(*driver.Launch); ok && l.Context() == n.g.ctx {
		if len(l.Attributes()) > 0 {
			if err := n.g.checkAttributes(n, l); err != nil {
				return err
			}
		}
		if x.changeRefs().RefersToLaunch(int(n.i), l) {
			if err := x.setKernel(n.handle(), l); err != nil {
				return x.explainSet(n, op, err)
			}
			return nil
		}
	} else if err := n.g.accepts(op); err != nil {
		return err
	} else if noBytes(op) {
		return errNoBytes
	}
	o := x.changeRefs()
	refs := op.Refs()
	if o.RefersTo(int(n.i), refs) {
		if err := x.setRaw(n.handle(), op); err != nil {
			return x.explainSet(n, op, err)
		}
		return nil
	}
	if err := o.Retain(refs); err != nil {
		return err
	}
	if err := x.setRaw(n.handle(), op); err != nil {
		o.Abandon()
		x.keep.ReleaseDropped(o)
		return x.explainSet(n, op, err)
	}
	o.Commit(n.i)
	x.keep.ReleaseDropped(o)
	return nil
}

// has takes the lock of the exec's graph if n is a node of it.
func (x *Exec) has(n Node) error {
	if n.g != x.g {
		return x.hasInside(n)
	}
	return n.lock()
}

func (x *Exec) foreignNode(n Node) error {
	if n.g == nil {
		return errNoNode
	}
	return invalid("node %d is of %v, but it was made from %v", n.i, n.g, x.g)
}

func setError(n Node, what fmt.Stringer, op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot set %v of %v: %w", n, what, err)
	}
	return fmt.Errorf("cannot set %v of %v to %v: %w", n, what, op, err)
}

func (x *Exec) setRaw(n cu.CUgraphNode, op driver.Op) error {
	d, raw := x.d, x.keep.raw
	switch op := op.(type) {
	case *driver.Launch:
		return x.setKernel(n, op)
	case *driver.CopyOp:
		return d.CuGraphExecMemcpyNodeSetParams(raw, n, op.Memcpy3D(), op.Context().Raw())
	case *driver.FillOp:
		return d.CuGraphExecMemsetNodeSetParams(raw, n, op.MemsetParams(), op.Context().Raw())
	case *driver.HostFunc:
		p := op.NodeParams()
		return d.CuGraphExecHostNodeSetParams(raw, n, &p)
	case *driver.EventOp:
		if op.IsWait() {
			return d.CuGraphExecEventWaitNodeSetEvent(raw, n, op.Event().Raw())
		}
		return d.CuGraphExecEventRecordNodeSetEvent(raw, n, op.Event().Raw())
	}
	return x.setRare(n, op)
}

// setKernel picks the ABI.
func (x *Exec) setKernel(n cu.CUgraphNode, l *driver.Launch) error {
	raw := x.keep.raw
	if !x.g.v2 {
		return x.d.CuGraphExecKernelNodeSetParams_v10010(raw, n, v1(&l.Block().Node))
	}
	return x.d.CuGraphExecKernelNodeSetParams(raw, n, &l.Block().Node)
}

// Set sets the parameters of a graph's node to those of op, for Execs that are instantiated or
// updated from the graph afterwards. A kernel node gets op's launch attributes instead of those of
// its previous operation. It keeps those from a capture, such as the stream's priority, or from a
// node that it was copied from.
func (n Node) Set(op driver.Op) error {
	if err := n.lock(); err != nil {
		return fmt.Errorf("cannot set %v: %w", n, err)
	}
	err := n.g.set(n, op)
	if err == nil {
		n.g.accesses.Set(n.i, op)
	}
	n.g.mu.Unlock()
	runtime.KeepAlive(op)
	if err != nil {
		return setError(n, n.g, op, err)
	}
	return nil
}

func (g *Graph) set(n Node, op driver.Op) error {
	if err := g.accepts(op); err != nil {
		return err
	}
	if noBytes(op) {
		return errNoBytes
	}
	o := g.changeRefs()
	refs := op.Refs()
	if !g.part && o.RefersTo(int(n.i), refs) {
		return g.explainOp(n, op, g.setRaw(n.handle(), op))
	}
	if err := o.Retain(refs); err != nil {
		return err
	}
	err := g.setRaw(n.handle(), op)
	if err != nil {
		err = g.explainOp(n, op, err)
		o.Abandon()
	} else {
		g.commit(o, n)
	}
	o.Flush()
	return err
}

func (g *Graph) setRaw(n cu.CUgraphNode, op driver.Op) error {
	d := g.d
	if g.outermost().mixed {
		if done, err := g.setElsewhere(n, op); done {
			return err
		}
	}
	switch op := op.(type) {
	case *driver.Launch:
		return g.setKernel(n, op)
	case *driver.CopyOp:
		return d.CuGraphMemcpyNodeSetParams(n, op.Memcpy3D())
	case *driver.FillOp:
		return d.CuGraphMemsetNodeSetParams(n, op.MemsetParams())
	case *driver.HostFunc:
		p := op.NodeParams()
		return d.CuGraphHostNodeSetParams(n, &p)
	case *driver.EventOp:
		if op.IsWait() {
			return d.CuGraphEventWaitNodeSetEvent(n, op.Event().Raw())
		}
		return d.CuGraphEventRecordNodeSetEvent(n, op.Event().Raw())
	}
	return g.setRare(n, op)
}

func (g *Graph) setKernel(n cu.CUgraphNode, l *driver.Launch) error {
	var err error
	if len(g.tuned) > 0 {
		if err := g.retune(n, l); err != nil {
			return err
		}
	}
	if g.v2 {
		err = g.d.CuGraphKernelNodeSetParams(n, &l.Block().Node)
	} else {
		err = g.d.CuGraphKernelNodeSetParams_v10000(n, v1(&l.Block().Node))
	}
	for i := range l.Attributes() {
		if err != nil {
			return err
		}
		a := &l.Attributes()[i]
		g.tune(n, attributeBit(a.Id))
		err = g.d.CuGraphKernelNodeSetAttribute(n, a.Id, &a.Value)
	}
	return err
}
