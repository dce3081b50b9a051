package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// AddAlloc adds a node that allocates device memory (CUDA 11.4), and returns the buffer. The
// buffer's address is fixed at once, so other nodes can refer to it. The memory exists from the
// node's run until one of these frees it:
//
//   - a free node of the same graph ([Graph.AddFree]): then only the nodes between the two may use
//     it,
//   - a free node of another graph, when that is launched,
//   - [driver.Stream.FreeGraphMemory], which frees the output of a launch,
//   - the next launch, if the Exec was created WithAutoFree: the output is valid until then,
//   - the last reference to the buffer: closing it when the graph and its Execs are closed. So a
//     program that frees nothing does not leak.
//
// A graph whose memory has not been freed cannot be launched again. The memory comes from the
// device's memory for graphs, which [driver.Device.GraphMemStats] reports. The operation must not
// name a pool. For no elements the node is empty.
//
// A graph with allocations cannot be cloned, and can only be moved into another graph. It can have
// one Exec at a time, and its nodes and dependencies cannot be removed.
func AddAlloc[T any](g *Graph, op *driver.AllocOp[T], deps ...Node) (*driver.Buffer[T], Node, error) {
	if err := g.lock(); err != nil {
		return nil, Node{}, err
	}
	b, n, err := addAlloc(g, op, deps)
	g.mu.Unlock()
	runtime.KeepAlive(op)
	g.alive()
	if err != nil {
		return nil, Node{}, fmt.Errorf("cannot add an allocation node to %v: %w", g, err)
	}
	return b, n, nil
}

func addAlloc[T any](g *Graph, op *driver.AllocOp[T], deps []Node) (*driver.Buffer[T], Node, error) {
	if err := g.acceptsAlloc(op == nil, op); err != nil {
		return nil, Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return nil, Node{}, err
	}
	buf, err := op.PendGraphBuffer()
	if err != nil {
		return nil, Node{}, err
	}
	o := g.changeRefs()
	if err := o.Retain([]life.Ref{buf}); err != nil {
		return nil, Node{}, buf.Abandon(err)
	}
	p := *op.MemAllocNodeParams()
	raw, err := g.addAllocRaw(from, uintptr(len(deps)), &p)
	if err != nil {
		o.Abandon()
		o.Flush()
		return nil, Node{}, buf.Abandon(err)
	}
	b := buf.At(p.Dptr, g)
	if m, ok := life.OpenGraphMemoryOf(b.Ref()); ok && p.Dptr != 0 {
		o.Memory().Allocs = append(o.Memory().Allocs, m)
	}
	g.commitNew(o)
	return b, g.added(raw), nil
}

// allocating is the part of an AllocOp that does not depend on its type.
type allocating interface {
	driver.AllocatingOp
	Pool() *driver.MemPool
}

func (g *Graph) acceptsAlloc(isNil bool, op allocating) error {
	if isNil {
		return invalid("nil allocation")
	}
	if op.Pool() != nil {
		return invalid("%v names %v, but graphs allocate from the device's memory for graphs only", op, op.Pool())
	}
	return sameContext(g.ctx, op, op.Context())
}

func (g *Graph) addAllocRaw(from *cu.CUgraphNode, n uintptr, p *cu.CUDA_MEM_ALLOC_NODE_PARAMS) (raw cu.CUgraphNode, err error) {
	if p.Bytesize == 0 {
		err = g.d.CuGraphAddEmptyNode(&raw, g.raw, from, n)
	} else {
		err = g.d.CuGraphAddMemAllocNode(&raw, g.raw, from, n, p)
	}
	return raw, err
}

// AddFree adds a node that frees the memory of an allocation node (CUDA 11.4), either of this graph
// or of another one that is launched before. The buffer stays open, because nodes between the two
// use its address. Nothing may use the memory after the free node.
//
// Memory that the graph frees cannot be freed in any other way, or by a second node.
func (g *Graph) AddFree(op *driver.FreeOp, deps ...Node) (Node, error) {
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	n, err := g.addFree(op, deps)
	g.mu.Unlock()
	runtime.KeepAlive(op)
	g.alive()
	if err != nil {
		return Node{}, fmt.Errorf("cannot add a free node to %v: %w", g, err)
	}
	return n, nil
}

func (g *Graph) addFree(op *driver.FreeOp, deps []Node) (Node, error) {
	if err := g.acceptsFree(op); err != nil {
		return Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	if err := o.Retain(op.Refs()); err != nil {
		return Node{}, err
	}
	raw, err := g.addFreeRaw(from, uintptr(len(deps)), op.Ptr())
	if err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, g.freeError(op, err)
	}
	if m, ok := freedBy(op); ok && op.Ptr() != 0 {
		o.Memory().Frees = append(o.Memory().Frees, m)
	}
	g.commitNew(o)
	return g.added(raw), nil
}

func (g *Graph) acceptsFree(op *driver.FreeOp) error {
	if op == nil {
		return invalid("nil operation")
	}
	if err := sameContext(g.ctx, op, op.Context()); err != nil {
		return err
	}
	m, ok := freedBy(op)
	if !ok {
		return invalid("%v: it is not memory of an allocation node, a graph cannot free it", op)
	}
	if mem := g.keep.refs.Mem; mem != nil && slices.Contains(mem.Frees, m) {
		return invalid("%v: a node of the graph frees it already", op)
	}
	return nil
}

func (g *Graph) addFreeRaw(from *cu.CUgraphNode, n uintptr, p driver.CUdeviceptr) (raw cu.CUgraphNode, err error) {
	if p == 0 { // of no elements
		err = g.d.CuGraphAddEmptyNode(&raw, g.raw, from, n)
	} else {
		err = g.d.CuGraphAddMemFreeNode(&raw, g.raw, from, n, p)
	}
	return raw, err
}

func (g *Graph) freeError(op *driver.FreeOp, err error) error {
	if resultOf(err) != driver.CUDA_ERROR_INVALID_VALUE {
		return err
	}
	return fmt.Errorf("%v: a node of another graph frees it, or it was freed outside of graphs before: %w", op, err)
}

// freedBy returns the graph memory that an operation frees, or false if the memory does not belong
// to a graph.
func freedBy(op *driver.FreeOp) (life.GraphMemory, bool) {
	if refs := op.Refs(); len(refs) > 0 {
		return life.GraphMemoryOf(refs[0])
	}
	return nil, false
}
