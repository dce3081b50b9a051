package graph

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// AddAlloc adds a node that allocates device memory (CUDA 11.4), and returns the buffer. The
// buffer's address is known immediately, so other nodes can refer to it. When the node runs, it
// allocates the memory. The memory is later freed by one of these:
//
//   - a free node of the same graph ([Graph.AddFree]). Only nodes between the two may use the
//     memory.
//   - a free node of another graph, when that graph is launched.
//   - [driver.Stream.FreeGraphMemory], which frees the memory that a launch left allocated.
//   - the next launch, if the Exec was instantiated WithAutoFree. The output is valid until then.
//   - the library, once the buffer, the graph and its Execs are closed. So a program that frees
//     nothing does not leak memory.
//
// A graph whose memory has not been freed cannot be launched again. The memory comes from the
// device's graph memory pool, which [driver.Device.GraphMemStats] reports on. The operation must
// not name a pool. An allocation of zero elements becomes an empty node.
//
// A graph with allocations cannot be cloned. It can be moved, but not copied, into another graph.
// The graph can have only one Exec at a time, and its nodes and dependencies cannot be removed.
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
	p := *op.Uses().Node.(*cu.CUDA_MEM_ALLOC_NODE_PARAMS)
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

// allocation is a *driver.AllocOp of any element type.
type allocation interface {
	fmt.Stringer
	Context() *driver.Context
	Uses() uses.Set
}

func (g *Graph) acceptsAlloc(isNil bool, op allocation) error {
	if isNil {
		return invalid("nil allocation")
	}
	if pool := op.Uses().Refs; len(pool) > 0 {
		return invalid("%v names %v, but graphs allocate only from the device's memory for graphs", op, pool[0])
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

// AddFree adds a node that frees the memory of an allocation node (CUDA 11.4). The allocation node
// may be in this graph or in another graph that is launched earlier. The buffer stays open, because
// nodes between the allocation and the free use its address. Nothing may use the memory after the
// free node. Memory that the graph frees must not be freed in any other way.
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
	if err := o.Retain(op.Uses().Refs); err != nil {
		return Node{}, err
	}
	ptr := *op.Uses().Node.(*driver.CUdeviceptr)
	raw, err := g.addFreeRaw(from, uintptr(len(deps)), ptr)
	if err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, g.freeError(op, err)
	}
	if m, ok := freedBy(op); ok && ptr != 0 {
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
		return invalid("%v: it is not memory of an allocation node; a graph cannot free it", op)
	}
	if mem := g.keep.refs.Mem; mem != nil && slices.Contains(mem.Frees, m) {
		return invalid("%v: a node of the graph already frees it", op)
	}
	return nil
}

func (g *Graph) addFreeRaw(from *cu.CUgraphNode, n uintptr, p driver.CUdeviceptr) (raw cu.CUgraphNode, err error) {
	if p == 0 { // the buffer has no elements
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
	return fmt.Errorf("%v: a node of another graph frees it, or it was already freed outside graphs: %w", op, err)
}

// freedBy returns the graph memory that an operation frees. It returns false if the memory does not
// belong to a graph.
func freedBy(op *driver.FreeOp) (life.GraphMemory, bool) {
	if refs := op.Uses().Refs; len(refs) > 0 {
		return life.GraphMemoryOf(refs[0])
	}
	return nil, false
}

// memoryError adds the reason why a graph with memory nodes was not launched. The driver does not
// report it.
func (x *Exec) memoryError(err error) error {
	x.keep.mu.Lock()
	l := x.keep.Mem
	x.keep.mu.Unlock()
	if l == nil || resultOf(err) != driver.CUDA_ERROR_INVALID_VALUE {
		return err
	}
	for _, m := range l.Left {
		if m.IsAllocated() && !l.Auto {
			return fmt.Errorf("the previous launch left %v allocated: free it by Stream.FreeGraphMemory or a free node, or instantiate WithAutoFree: %w", m, err)
		}
	}
	for _, m := range l.Freed {
		if !m.IsAllocated() {
			return fmt.Errorf("it frees %v, which no launch has allocated, or which was already freed: %w", m, err)
		}
	}
	return err
}

// Reasons that memoryLimit adds to errors.
const (
	noClone   = "it allocates or frees memory, and such graphs cannot be cloned: their addresses cannot be shared"
	noCopy    = "it allocates or frees memory, and such graphs cannot be copied into a node; move it there (CUDA 12.9)"
	noRemoval = "it allocates or frees memory, and no node or dependency can be removed from such graphs"
	oneExec   = "it allocates or frees memory, and such graphs can have only one executable graph at a time: close the other first"
)

// memoryLimit adds the reason to err if CUDA rejected a call because g has memory nodes. The caller
// must hold g's lock.
func (g *Graph) memoryLimit(err error, reason string) error {
	if resultOf(err) != driver.CUDA_ERROR_NOT_SUPPORTED || !g.hasMemory() {
		return err
	}
	return fmt.Errorf("%s: %w", reason, err)
}

// hasMemory reports whether g has memory nodes. It also queries the driver, because the graph does
// not know the nodes that other libraries captured.
func (g *Graph) hasMemory() bool {
	if g.keep.refs.Mem != nil {
		return true
	}
	raws, err := g.handles()
	return err == nil && slices.ContainsFunc(raws, g.isMemory)
}

func (g *Graph) isMemory(raw cu.CUgraphNode) bool {
	var t Type
	err := g.d.CuGraphNodeGetType(raw, &t)
	return err == nil && isMemoryNode(t)
}

func isMemoryNode(t Type) bool {
	return t == cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC || t == cu.CU_GRAPH_NODE_TYPE_MEM_FREE
}

// RetainUserObject makes the graph retain u with n references (CUDA 11.3). Clones, and Execs
// instantiated from now on, also retain u. [driver.UserObject] explains when u is destroyed.
func (g *Graph) RetainUserObject(u *driver.UserObject, n int) error {
	return g.changeUsers("retain", u, n, func() error {
		return g.d.CuGraphRetainUserObject(g.raw, u.Raw(), uint32(n), 0)
	}, n)
}

// MoveUserObject transfers the program's reference to the graph and closes u. From then on, the
// graph, its clones and its Execs own the object.
func (g *Graph) MoveUserObject(u *driver.UserObject) error {
	return g.changeUsers("take over", u, 1, func() error {
		err := g.d.CuGraphRetainUserObject(g.raw, u.Raw(), 1, uint32(cu.CU_GRAPH_USER_OBJECT_MOVE))
		if err == nil {
			u.Lifetime().Disown() // the graph destroys u
		}
		return err
	}, 1)
}

// ReleaseUserObject releases n of the graph's references to u. Clones and Execs keep their own
// references.
func (g *Graph) ReleaseUserObject(u *driver.UserObject, n int) error {
	return g.changeUsers("release", u, n, func() error {
		if held := g.users[u.Raw()]; n > held {
			return invalid("%d references, it holds %d", n, held)
		}
		return g.ctx.Guarded().CuGraphReleaseUserObject(g.raw, u.Raw(), uint32(n))
	}, -n)
}

// changeUsers calls the function call. If that function succeeds, changeUsers adds change to the
// number of references that the graph has to u.
func (g *Graph) changeUsers(verb string, u *driver.UserObject, n int, call func() error, change int) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	err := g.acceptsUser(u, n)
	if err == nil {
		err = call()
	}
	runtime.KeepAlive(u)
	if err != nil {
		return fmt.Errorf("%v cannot %s %v: %w", g, verb, u, err)
	}
	if g.users == nil {
		g.users = make(map[cu.CUuserObject]int)
	}
	g.users[u.Raw()] += change
	return nil
}

func (g *Graph) acceptsUser(u *driver.UserObject, n int) error {
	if err := u.Lifetime().Check(); err != nil {
		return err
	}
	if err := sameDriver(g.ctx, "it", u.Context()); err != nil {
		return err
	}
	if n < 1 || n > math.MaxInt32 {
		return invalid("%d references", n)
	}
	return nil
}

// takeUsers takes over the user object references of a graph that has become part of g.
func (g *Graph) takeUsers(child *Graph) {
	for u, n := range child.users {
		if g.users == nil {
			g.users = make(map[cu.CUuserObject]int)
		}
		g.users[u] += n
	}
	child.users = nil
}
