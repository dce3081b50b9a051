package driver

import (
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// Batch is a list of graph calls that are made in one crossing, in order, until
// one fails. It exists because building a graph of a thousand nodes is a
// thousand short calls. Package graph uses it (Graph.AddBatch); others rarely
// have a reason to.
//
// A Batch does not keep what it is given pointers to: they point into the heap,
// and the caller keeps them until Run has returned. A later call may read what
// an earlier one wrote. A Batch is reused with Reset, then allocates nothing,
// and is used by one goroutine at a time.
type Batch struct {
	d     *Driver
	calls *loader.Batch
	fns   []Function

	addKernel, setKernel Function // in the newest form that d has
}

// NewBatch returns an empty batch of calls of d, under its context and mode.
func (d *Driver) NewBatch() *Batch {
	b := &Batch{calls: loader.NewBatch()}
	b.Reset(d)
	return b
}

// Len returns the number of calls.
func (b *Batch) Len() int { return len(b.fns) }

// Reset empties the batch and keeps its memory. The calls that follow are of d;
// nil is for a batch that is put away.
func (b *Batch) Reset(d *Driver) {
	b.calls.Reset()
	b.fns = b.fns[:0]
	if b.d == d {
		return
	}
	b.d = d
	if d == nil {
		return
	}
	b.addKernel, b.setKernel = FnCuGraphAddKernelNode, FnCuGraphExecKernelNodeSetParams
	if !d.Has(b.addKernel) {
		b.addKernel, b.setKernel = FnCuGraphAddKernelNode_v10000, FnCuGraphExecKernelNodeSetParams_v10010
	}
}

// Run makes the calls and returns how many succeeded, and the error of the one
// after them.
func (b *Batch) Run() (done int, err error) {
	if len(b.fns) == 0 {
		return 0, nil
	}
	done, failure := b.calls.Run(b.d.scope)
	if done == len(b.fns) {
		return done, nil
	}
	return done, b.d.result(b.fns[done], failure)
}

func (b *Batch) add(f Function, words int) loader.Frame {
	b.fns = append(b.fns, f)
	return b.calls.Add(&b.d.fn.slice()[f], words)
}

// node begins a call that adds a node: the arguments that all of them share.
func (b *Batch) node(f Function, words int, node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr) loader.Frame {
	c := b.add(f, words)
	c.SetKept(0, unsafe.Pointer(node))
	c.SetWord(1, uintptr(graph))
	c.SetKept(2, unsafe.Pointer(deps))
	c.SetWord(3, n)
	return c
}

// GraphAddKernelNode is CuGraphAddKernelNode, or its older form where the driver
// has only that.
func (b *Batch) GraphAddKernelNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_KERNEL_NODE_PARAMS) {
	b.node(b.addKernel, 5, node, graph, deps, n).SetKept(4, unsafe.Pointer(p))
}

// GraphAddMemcpyNode is CuGraphAddMemcpyNode.
func (b *Batch) GraphAddMemcpyNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_MEMCPY3D, ctx CUcontext) {
	c := b.node(FnCuGraphAddMemcpyNode, 6, node, graph, deps, n)
	c.SetKept(4, unsafe.Pointer(p))
	c.SetWord(5, uintptr(ctx))
}

// GraphAddMemsetNode is CuGraphAddMemsetNode.
func (b *Batch) GraphAddMemsetNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_MEMSET_NODE_PARAMS, ctx CUcontext) {
	c := b.node(FnCuGraphAddMemsetNode, 6, node, graph, deps, n)
	c.SetKept(4, unsafe.Pointer(p))
	c.SetWord(5, uintptr(ctx))
}

// GraphExecKernelNodeSetParams is CuGraphExecKernelNodeSetParams, or its older
// form where the driver has only that.
func (b *Batch) GraphExecKernelNodeSetParams(exec CUgraphExec, node CUgraphNode, p *CUDA_KERNEL_NODE_PARAMS) {
	c := b.add(b.setKernel, 3)
	c.SetWord(0, uintptr(exec))
	c.SetWord(1, uintptr(node))
	c.SetKept(2, unsafe.Pointer(p))
}
