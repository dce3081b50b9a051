package emulator

import (
	"log/slog"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// allocNode is an allocation node. Its address is reserved when the node is created and never
// changes. Memory is mapped there from when the node runs until the memory is freed.
type allocNode struct {
	graph        *graph
	ctx          *cudaContext
	addr         uint64
	size         uint64
	props        cu.CUmemPoolProps
	descs        []cu.CUmemAccessDesc
	reach        *vm.Reach // the access rights that descs grant
	buf          []byte    // the memory to map, kept between launches
	freed        *graph    // the graph that contains the free node, or nil
	freedOutside bool      // freed by cuMemFree or cuMemFreeAsync after a launch
	live         bool      // whether the memory is allocated once all submitted work has ended
	mapped       bool      // whether memory is mapped now
	orphan       bool      // the node's graph was destroyed
	execs        int
	pending      int // number of unfinished launches
}

func (*allocNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC }

func (n *allocNode) run(x *execution) result {
	e := x.e
	e.mu.Lock()
	defer e.unlock()
	if n.mapped { // a launch with AUTO_FREE_ON_LAUNCH left the memory mapped
		n.unmap(e, "the next launch of its graph")
	}
	a := &allocation{addr: n.addr, size: n.size, kind: graphMemoryKind, ctx: nil, dev: n.ctx.dev, node: n, id: e.id(), by: "a graph's allocation node"}
	err := e.mem.Map(n.addr, n.buf, vm.AllocOptions{Device: n.ctx.dev.ordinal, Kind: vm.RegionMapped, Tag: a.by, User: a, Reach: n.reach})
	if err != nil {
		return errOutOfMemory
	}
	n.mapped = true
	n.ctx.dev.graphs.Use(int64(n.size))
	return success
}

func (n *allocNode) unmap(e *Emulator, by string) {
	if !n.mapped {
		return
	}
	if a := e.allocationAt(n.addr); a != nil {
		e.release(a, by)
	}
}

// unmapped updates the node after release has unmapped its memory.
func (n *allocNode) unmapped(d *device) {
	n.mapped = false
	d.graphs.Use(-int64(n.size))
	n.collect(d.e)
}

// collect releases the node's address when nothing can use it any more.
func (n *allocNode) collect(e *Emulator) {
	if !n.orphan || n.execs > 0 || n.mapped || n.live || n.pending > 0 {
		return
	}
	n.dropBuffer()
	delete(e.graphAllocs, n.addr)
	if err := e.mem.Unreserve(n.addr); err != nil {
		e.log(slog.LevelError, "graph memory", "error", err)
	}
}

func (n *allocNode) dropBuffer() {
	if n.buf != nil && !n.mapped && n.pending == 0 {
		n.buf = nil
		n.ctx.dev.Refund(n.size)
		n.ctx.dev.graphs.Reserve(-int64(n.size))
	}
}

// reserveBuffer allocates memory for the next launch if the node has none.
func (n *allocNode) reserveBuffer() result {
	if n.buf != nil {
		return success
	}
	d := n.ctx.dev
	if !d.Charge(n.size) {
		return errOutOfMemory
	}
	buf, err := vm.NewBuffer(n.size)
	if err != nil {
		d.Refund(n.size)
		return errOutOfMemory
	}
	n.buf = buf
	d.graphs.Reserve(int64(n.size))
	return success
}

func (n *allocNode) dropped(e *Emulator) {
	n.orphan = true
	n.collect(e)
}

func (n *allocNode) execDestroyed(e *Emulator) {
	n.execs--
	n.collect(e)
}

func (c call) newAllocNode(ctx *cudaContext, props *cu.CUmemPoolProps, size uint64, descs []cu.CUmemAccessDesc) (*allocNode, result) {
	d, r := c.e.poolDevice(props)
	if r == success {
		r = c.e.checkAccess(d, descs)
	}
	switch {
	case r != success:
		return nil, r
	case size == 0:
		return nil, errInvalidValue
	}
	if ctx == nil || ctx.dev != d {
		ctx = d.primary
	}
	addr, err := c.e.mem.Reserve(d.ordinal, size, 0, 0)
	if err != nil {
		return nil, errOutOfMemory
	}
	n := &allocNode{ctx: ctx, addr: addr, size: size, props: *props, descs: slices.Clone(descs), reach: new(vm.Reach)}
	n.reach.Set(d.ordinal, true, true)
	setAccess(n.reach, descs)
	c.e.graphAllocs[addr] = n
	return n, success
}

func (c call) allocFrom(props *cu.CUmemPoolProps, descs []cu.CUmemAccessDesc, size uintptr, dptr *cu.CUdeviceptr) (*allocNode, result) {
	n, r := c.newAllocNode(c.ctx, props, uint64(size), descs)
	if r != success {
		return nil, r
	}
	*dptr = cu.CUdeviceptr(n.addr)
	return n, success
}

type freeNode struct{ alloc *allocNode }

func (*freeNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_MEM_FREE }

func (n *freeNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.unlock()
	n.alloc.unmap(x.e, "a graph's free node")
	return success
}

// freeFrom creates a free node for an allocation node's memory. The allocation node may be in
// another graph. freeFrom fails if g already frees the memory, or if both the allocation's graph
// and another graph would free it.
func (c call) freeFrom(g *graph, dptr cu.CUdeviceptr) (*freeNode, result) {
	a := c.e.graphAllocs[uint64(dptr)]
	if a == nil || a.freedOutside || (a.freed != nil && (a.freed == g || a.freed == a.graph || g == a.graph)) {
		return nil, errInvalidValue
	}
	a.freed = g
	return &freeNode{a}, success
}

func captureFree(c call, s *stream, dptr cu.CUdeviceptr) result {
	if r := s.capturable(); r != success {
		return r
	}
	n, r := c.freeFrom(s.cap.graph, dptr)
	if r != success {
		return r
	}
	return s.record(n)
}

// unmapOp frees an allocation node's memory in stream order.
type unmapOp allocNode

func (*unmapOp) runsAfterFault() {}

func (op *unmapOp) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.unlock()
	(*allocNode)(op).unmap(x.e, "cuMemFreeAsync")
	return success
}

func (p *plan) eachAlloc(f func(*allocNode)) {
	p.each(func(n nodeParams) {
		if a, ok := n.(*allocNode); ok {
			f(a)
		}
	})
}

// each calls f with the parameters of all steps, including the steps of nested plans.
func (p *plan) each(f func(nodeParams)) {
	for i := range p.steps {
		f(p.steps[i].params)
		for _, inner := range p.steps[i].inner {
			inner.each(f)
		}
	}
}

// prepareMemory checks that a launch can perform its allocations and frees. It allocates the memory
// and records which memory will still be allocated after the launch.
func (p *plan) prepareMemory(autoFree bool) result {
	r := success
	p.each(func(n nodeParams) {
		switch n := n.(type) {
		case *allocNode:
			if n.live && !autoFree {
				r = errInvalidValue
			} else if r == success {
				r = n.reserveBuffer()
			}
		case *freeNode:
			if !n.alloc.live && n.alloc.graph != nil && !p.allocates(n.alloc) {
				r = errInvalidValue
			}
		}
	})
	if r != success {
		return r
	}
	p.eachAlloc(func(a *allocNode) { a.live = true })
	p.each(func(n nodeParams) {
		if f, ok := n.(*freeNode); ok {
			f.alloc.live = false
		}
	})
	return success
}

// launched keeps the launch's memory from being released until the launch has ended.
func (p *plan) launched() { p.eachAlloc(func(a *allocNode) { a.pending++ }) }

func (p *plan) ended(e *Emulator) {
	p.eachAlloc(func(a *allocNode) {
		a.pending--
		a.collect(e)
	})
}

func (p *plan) allocates(a *allocNode) bool {
	found := false
	p.eachAlloc(func(b *allocNode) { found = found || a == b })
	return found
}

// known reports whether a range is mapped now or will be mapped by an allocation node when its
// graph runs.
func (e *Emulator) known(addr, size uint64) bool {
	if e.mem.Spans(addr, size, func([]byte) {}) == nil {
		return true
	}
	for base, n := range e.graphAllocs {
		if addr >= base && addr-base < n.size && size <= n.size-(addr-base) {
			return true
		}
	}
	return false
}

var graphMemFunctions = functions{
	"cuGraphAddMemAllocNode":       {cuGraphAddMemAllocNode, afterInit},
	"cuGraphMemAllocNodeGetParams": {getNode((*allocNode).fields), afterInit},
	"cuGraphAddMemFreeNode":        {cuGraphAddMemFreeNode, afterInit},
	"cuGraphMemFreeNodeGetParams":  {getNode(func(n *freeNode) cu.CUdeviceptr { return cu.CUdeviceptr(n.alloc.addr) }), afterInit},
	"cuDeviceGraphMemTrim":         {cuDeviceGraphMemTrim, afterInit},
	"cuDeviceGetGraphMemAttribute": {cuDeviceGetGraphMemAttribute, afterInit},
	"cuDeviceSetGraphMemAttribute": {cuDeviceSetGraphMemAttribute, afterInit},
}

func cuGraphAddMemAllocNode(c call) result {
	p := at[cu.CUDA_MEM_ALLOC_NODE_PARAMS](c, 4)
	if p == nil {
		return errInvalidValue
	}
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) {
		n, r := c.allocFrom(&p.PoolProps, accessDescs(p.AccessDescs, p.AccessDescCount), p.Bytesize, &p.Dptr)
		if r != success {
			return nil, r
		}
		n.graph = g
		return n, success
	})
}

func (n *allocNode) fields() cu.CUDA_MEM_ALLOC_NODE_PARAMS {
	return cu.CUDA_MEM_ALLOC_NODE_PARAMS{
		PoolProps: n.props, Bytesize: uintptr(n.size), Dptr: cu.CUdeviceptr(n.addr),
		AccessDescs: unsafe.SliceData(n.descs), AccessDescCount: uintptr(len(n.descs)),
	}
}

func cuGraphAddMemFreeNode(c call) result {
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) {
		return checked(c.freeFrom(g, cu.CUdeviceptr(c.Uint64(4))))
	})
}

// cuDeviceGraphMemTrim releases the buffers of those allocation nodes on the device whose memory is
// not allocated.
func cuDeviceGraphMemTrim(c call) result {
	d := deviceAt(c, 0)
	if d == nil {
		return errInvalidDevice
	}
	for _, n := range c.e.graphAllocs {
		if n.ctx.dev == d && !n.live {
			n.dropBuffer()
		}
	}
	return success
}

func cuDeviceGetGraphMemAttribute(c call) result {
	d := deviceAt(c, 0)
	if d == nil {
		return errInvalidDevice
	}
	v, ok := d.graphs.Get(cu.CUgraphMem_attribute(c.Uint32(1)))
	if !ok {
		return errInvalidValue
	}
	return put(c, 2, v)
}

// cuDeviceSetGraphMemAttribute accepts only the reset of a high-water mark.
func cuDeviceSetGraphMemAttribute(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case c.Ptr(2) == nil || *at[uint64](c, 2) != 0 || !d.graphs.Reset(cu.CUgraphMem_attribute(c.Uint32(1))):
		return errInvalidValue
	}
	return success
}
