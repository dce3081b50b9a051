package graph

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostcall"
)

// Set sets the parameters of an Exec's node to those of op, from the next launch on. n is a node of
// the graph that the Exec was instantiated from, or of a nested graph such as the body of a loop.
// The graph must still be open. Set does not change it. op must match the node's type. The node's
// previous references are released once the launches that use them have ended. For a node of a
// nested graph, they are released when the Exec is updated as a whole or closed.
//
// The driver cannot change the context and the launch attributes of a kernel. It cannot change a
// copy between host and device memory, or between memory of a pool or arena and other memory.
// Update with WithReinstantiate can.
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

// setLocked sets a node that was already checked. The caller must hold the lock of the node's
// graph.
func (x *Exec) setLocked(n Node, op driver.Op) error {
	x.uploaded, x.changed = false, true
	if n.g.part {
		return x.setInside(n, op)
	}
	if l, ok := op.(*driver.Launch); ok && l.Context() == n.g.ctx {
		if err := l.CheckRestrict(); err != nil {
			return err
		}
		if len(l.Block().Attributes()) > 0 {
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
	refs := op.Uses().Refs
	if o.RefersTo(int(n.i), refs) {
		if err := x.setRaw(n.handle(), op); err != nil {
			return x.explainSet(n, op, err)
		}
		return nil
	}
	if err := o.Retain(refs); err != nil {
		return err
	}
	x.keep.turns |= memoryChanged
	if err := x.setRaw(n.handle(), op); err != nil {
		o.Abandon()
		x.keep.ReleaseDropped(o)
		return x.explainSet(n, op, err)
	}
	o.Commit(n.i)
	x.keep.ReleaseDropped(o)
	return nil
}

// has returns an error unless the node belongs to the Exec's graph or to a nested graph. If it
// returns nil, the node's graph is locked.
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
	return invalid("node %d belongs to %v, but it was made from %v", n.i, n.g, x.g)
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
		return d.CuGraphExecMemcpyNodeSetParams(raw, n, op.Uses().Node.(*cu.CUDA_MEMCPY3D), op.Context().Raw())
	case *driver.FillOp:
		return d.CuGraphExecMemsetNodeSetParams(raw, n, op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS), op.Context().Raw())
	case *driver.HostFunc:
		p := op.Uses().Node.(*hostcall.Call).NodeParams()
		return d.CuGraphExecHostNodeSetParams(raw, n, &p)
	case *driver.EventOp:
		event, wait := eventOf(op)
		if wait {
			return d.CuGraphExecEventWaitNodeSetEvent(raw, n, event)
		}
		return d.CuGraphExecEventRecordNodeSetEvent(raw, n, event)
	}
	return x.setRare(n, op)
}

// setKernel calls the newest ABI that the driver has.
func (x *Exec) setKernel(n cu.CUgraphNode, l *driver.Launch) error {
	raw := x.keep.raw
	if !x.g.v2 {
		return x.d.CuGraphExecKernelNodeSetParams_v10010(raw, n, v1(&l.Block().Node))
	}
	return x.d.CuGraphExecKernelNodeSetParams(raw, n, &l.Block().Node)
}

// Set sets the parameters of a graph's node to those of op, for Execs that are later instantiated
// or updated from the graph. In a kernel node, op's launch attributes replace those of the previous
// operation. Set keeps attributes that come from a capture, such as the stream's priority, or from
// a copied node.
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
	refs := op.Uses().Refs
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
		return d.CuGraphMemcpyNodeSetParams(n, op.Uses().Node.(*cu.CUDA_MEMCPY3D))
	case *driver.FillOp:
		return d.CuGraphMemsetNodeSetParams(n, op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS))
	case *driver.HostFunc:
		p := op.Uses().Node.(*hostcall.Call).NodeParams()
		return d.CuGraphHostNodeSetParams(n, &p)
	case *driver.EventOp:
		event, wait := eventOf(op)
		if wait {
			return d.CuGraphEventWaitNodeSetEvent(n, event)
		}
		return d.CuGraphEventRecordNodeSetEvent(n, event)
	}
	return g.setRare(n, op)
}

func (g *Graph) setKernel(n cu.CUgraphNode, l *driver.Launch) error {
	var err error
	if len(g.attributes) > 0 {
		if err := g.resetAttributes(n, l); err != nil {
			return err
		}
	}
	if g.v2 {
		err = g.d.CuGraphKernelNodeSetParams(n, &l.Block().Node)
	} else {
		err = g.d.CuGraphKernelNodeSetParams_v10000(n, v1(&l.Block().Node))
	}
	for i := range l.Block().Attributes() {
		if err != nil {
			return err
		}
		a := &l.Block().Attributes()[i]
		g.noteAttributes(n, attributeBit(a.Id))
		err = g.d.CuGraphKernelNodeSetAttribute(n, a.Id, &a.Value)
	}
	return err
}

// hasInside does the work of has for a node outside the Exec's outermost graph. The node may belong
// to a nested graph, whose nodes the driver can also set.
func (x *Exec) hasInside(n Node) error {
	if n.g == nil {
		return errNoNode
	}
	if err := n.lock(); err != nil {
		return err
	}
	if n.g.outermost() == x.g {
		return nil
	}
	n.g.mu.Unlock()
	return x.foreignNode(n)
}

// setInside sets a node of a nested graph. Its references are retained for the Exec as a whole,
// because the Exec does not number the nodes of nested graphs.
func (x *Exec) setInside(n Node, op driver.Op) error {
	if err := n.g.accepts(op); err != nil {
		return err
	}
	if noBytes(op) {
		return errNoBytes
	}
	if l, ok := op.(*driver.Launch); ok && len(l.Block().Attributes()) > 0 {
		if err := n.g.checkAttributes(n, l); err != nil {
			return err
		}
	}
	o := x.changeRefs()
	if err := o.Retain(op.Uses().Refs); err != nil {
		return err
	}
	x.keep.turns |= memoryChanged
	if err := x.setRaw(n.handle(), op); err != nil {
		o.Abandon()
		x.keep.ReleaseDropped(o)
		return x.explainSet(n, op, err)
	}
	o.CommitLoose()
	x.keep.ReleaseDropped(o)
	return nil
}

// Change is a new operation for a node of an Exec.
type Change struct {
	Node Node
	Op   driver.Op
}

// SetBatch sets many nodes. For kernel nodes in the Exec's outermost graph it batches launches that
// have no launch attributes and refer to the same objects as before. Each batch is one native call,
// at about the cost of the same calls in C. SetBatch reads all operations before it returns.
// Several changes may share an operation only if its arguments are the same for each. On failure,
// the error names the change. The changes before it took effect.
func (x *Exec) SetBatch(changes []Change) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	x.g.lockLatch()
	defer x.g.mu.Unlock()
	if err := x.g.life.Check(); err != nil {
		return err
	}
	b := setter{x: x, changes: changes, batch: batches.get(x.d)}
	err := b.run()
	batches.put(b.batch)
	runtime.KeepAlive(changes) // the batch holds addresses within the operations
	return err
}

type setter struct {
	x       *Exec
	changes []Change
	batch   *cu.Batch
	first   int // index of the change of the first call in the batch

	last    *driver.Launch // launch of the previous change, if the batch contains it
	lastSet uint32         // reference set of that change's node
}

func (b *setter) run() error {
	b.x.uploaded, b.x.changed = false, true
	for i := range b.changes {
		if err := b.set(i); err != nil {
			return err
		}
	}
	return b.flush(len(b.changes))
}

// set adds a change to the batch. If the change cannot be batched, set first flushes the batch and
// then makes the change directly.
func (b *setter) set(i int) error {
	x, c := b.x, &b.changes[i]
	if c.Node.g != x.g {
		return b.setInside(i)
	}
	if err := x.g.check(c.Node); err != nil {
		return b.error(i, err)
	}
	if l, ok := c.Op.(*driver.Launch); ok && (l == b.last && x.keep.refs.SetOf(c.Node.i) == b.lastSet || b.keeps(c.Node, l)) {
		b.batch.GraphExecKernelNodeSetParams(x.keep.raw, x.g.raws[c.Node.i], &l.Block().Node)
		return nil
	}
	if err := b.flush(i); err != nil {
		return err
	}
	b.first, b.last = i+1, nil
	if err := x.setLocked(c.Node, c.Op); err != nil {
		return b.error(i, err)
	}
	return nil
}

// setInside sets a node of a nested graph. It unlocks the Exec's graph for the call, because x.set
// locks the node's graph.
func (b *setter) setInside(i int) error {
	if err := b.flush(i); err != nil {
		return err
	}
	b.first, b.last = i+1, nil
	x, c := b.x, &b.changes[i]
	x.g.mu.Unlock()
	err := x.set(c.Node, c.Op)
	x.g.lockLatch()
	if err == nil {
		err = x.g.life.Check()
	}
	if err != nil {
		return b.error(i, err)
	}
	return nil
}

// keeps reports whether setting n to l can be batched: l has no attributes, and the Exec already
// retains what l refers to for n. It stores l in b.last, because the next change probably has the
// same launch and a node with the same reference set.
func (b *setter) keeps(n Node, l *driver.Launch) bool {
	if l.Context() != b.x.ctx || len(l.Block().Attributes()) > 0 || l.CheckRestrict() != nil {
		return false
	}
	o := b.x.changeRefs()
	if !o.RefersTo(int(n.i), l.Uses().Refs) {
		return false
	}
	b.last, b.lastSet = l, o.SetOf(n.i)
	return true
}

// flush makes the calls of the batch, which belong to changes before the one with index next.
func (b *setter) flush(next int) error {
	done, err := b.batch.Run()
	b.batch.Reset(&b.x.d.Driver)
	if err != nil {
		return b.error(b.first+done, err)
	}
	b.first = next
	return nil
}

func (b *setter) error(i int, err error) error {
	c := &b.changes[i]
	return fmt.Errorf("change %d: %w", i, setError(c.Node, b.x, c.Op, err))
}

// If op changes a property of n that the driver cannot change in an Exec, explainSet adds that
// reason to err.
func (x *Exec) explainSet(n Node, op driver.Op, err error) error {
	if typed := n.g.explainOp(n, op, err); typed != err {
		return typed
	}
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		return err
	}
	why := ""
	switch op := op.(type) {
	case *driver.CopyOp:
		return explainCopy(op.Uses().Node.(*cu.CUDA_MEMCPY3D), err)
	case *driver.FillOp:
		why = "only the address and the value of a fill can be set in an executable graph, not the number of rows"
	case *driver.MemOp:
		why = "only the addresses and values of memory operations can be set in an executable graph, not the number of steps or what they do"
	case *driver.SemaphoreOp:
		why = "how many semaphores a node is about cannot be set in an executable graph"
	}
	if why == "" {
		return err
	}
	return fmt.Errorf("%s: %w", why, err)
}

// explainCopy adds the probable reason why the driver did not set a node of an Exec to p.
func explainCopy(p *cu.CUDA_MEMCPY3D, err error) error {
	switch {
	case !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE):
		return err
	case p.Height > 1 || p.Depth > 1 || p.DstMemoryType == cu.CU_MEMORYTYPE_ARRAY || p.SrcMemoryType == cu.CU_MEMORYTYPE_ARRAY:
		return fmt.Errorf("only copies of one row of linear memory can be set in an executable graph; for others, update it from the graph: %w", err)
	}
	return fmt.Errorf("a copy in an executable graph cannot change between host and device memory, or between memory of a pool or arena "+
		"and other memory; for such changes, update it from a graph (Exec.Update with WithReinstantiate): %w", err)
}

// If the node's type does not match the operation, explainOp adds that reason to err.
func (g *Graph) explainOp(n Node, op driver.Op, err error) error {
	if err == nil {
		return nil
	}
	p, unknown := tagged(op)
	if unknown != nil {
		return err
	}
	return g.explainType(n, p.Type, err)
}

// errNoBytes is the error for setting a node to a copy or fill of no bytes, for which CUDA has no
// node. Graph.Add adds an empty node instead.
var errNoBytes = invalid("a node cannot become a copy or fill of no bytes; switch it off (Exec.Enable)")

func noBytes(op driver.Op) bool {
	switch op := op.(type) {
	case *driver.CopyOp:
		return op.Bytes() == 0
	case *driver.FillOp:
		return op.Bytes() == 0
	}
	return false
}
