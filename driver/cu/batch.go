package cu

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

	addKernel, setKernel *loader.Proc // in the newest form that d has
}

// NewBatch returns an empty batch of calls of d, under its context and mode.
func (d *Driver) NewBatch() *Batch {
	b := &Batch{calls: loader.NewBatch()}
	b.Reset(d)
	return b
}

// exists reports whether b has a driver to call.
func (b *Batch) exists() bool { return b != nil && b.calls != nil && b.d.exists() }

// Len returns the number of calls.
func (b *Batch) Len() int {
	if b == nil || b.calls == nil {
		return 0
	}
	return b.calls.Len()
}

// Reset empties the batch and keeps its memory. The calls that follow are of d;
// nil is for a batch that is put away.
func (b *Batch) Reset(d *Driver) {
	if b == nil || b.calls == nil {
		return
	}
	b.calls.Reset()
	if b.d == d {
		return
	}
	b.d, b.addKernel, b.setKernel = d, nil, nil
	if d == nil {
		return
	}
	add, set := FnCuGraphAddKernelNode, FnCuGraphExecKernelNodeSetParams
	if !d.Has(add) {
		add, set = FnCuGraphAddKernelNode_v10000, FnCuGraphExecKernelNodeSetParams_v10010
	}
	b.addKernel, b.setKernel = d.Proc(add), d.Proc(set)
}

// Run makes the calls and returns how many succeeded, and the error of the one
// after them.
func (b *Batch) Run() (done int, err error) {
	if !b.exists() {
		return 0, absentBatch(b == nil)
	}
	done, failure := b.calls.Run(b.d.scope)
	if done == b.calls.Len() {
		return done, nil
	}
	return done, b.stopped(failure)
}

// RunPart is Run for n calls from first on, which is what the method that put
// the call into the batch returned. The calls stay, to be made again.
func (b *Batch) RunPart(first loader.Frame, n int) (done int, err error) {
	if !b.exists() {
		return 0, absentBatch(b == nil)
	}
	done, failure := b.calls.RunPart(b.d.scope, first, n)
	if done == n {
		return done, nil
	}
	return done, b.stopped(failure)
}

// stopped is the error of the call at which a run stopped.
func (b *Batch) stopped(failure uintptr) error {
	at, table := b.calls.Stopped(), b.d.fn.slice()
	for f := range table {
		if at == &table[f] {
			return b.d.result(Function(f), failure)
		}
	}
	return b.d.result(functionCount, failure) // cannot happen
}

// GraphAddKernelNode is CuGraphAddKernelNode, or its older form where the driver
// has only that.
func (b *Batch) GraphAddKernelNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_KERNEL_NODE_PARAMS) loader.Frame {
	if !b.exists() {
		return loader.Frame{}
	}
	return b.calls.Add5(b.addKernel, uintptr(unsafe.Pointer(node)), uintptr(graph), uintptr(unsafe.Pointer(deps)), n, uintptr(unsafe.Pointer(p)))
}

// GraphAddMemcpyNode is CuGraphAddMemcpyNode.
func (b *Batch) GraphAddMemcpyNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_MEMCPY3D, ctx CUcontext) loader.Frame {
	return b.node(FnCuGraphAddMemcpyNode, node, graph, deps, n, unsafe.Pointer(p), ctx)
}

// GraphAddMemsetNode is CuGraphAddMemsetNode.
func (b *Batch) GraphAddMemsetNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_MEMSET_NODE_PARAMS, ctx CUcontext) loader.Frame {
	return b.node(FnCuGraphAddMemsetNode, node, graph, deps, n, unsafe.Pointer(p), ctx)
}

// node is a call that adds a node that has parameters and a context.
func (b *Batch) node(f Function, node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p unsafe.Pointer, ctx CUcontext) loader.Frame {
	if !b.exists() {
		return loader.Frame{}
	}
	c := b.calls.Add(b.d.Proc(f), 6)
	c.SetKept(0, unsafe.Pointer(node))
	c.SetWord(BatchGraphWord, uintptr(graph))
	c.SetKept(BatchDepsWord, unsafe.Pointer(deps))
	c.SetWord(BatchCountWord, n)
	c.SetKept(4, p)
	c.SetWord(5, uintptr(ctx))
	return c
}

// Where the calls that add a node have the arguments that a caller may change
// between runs.
const (
	BatchGraphWord = 1 // the graph
	BatchDepsWord  = 2 // the address of the dependencies
	BatchCountWord = 3 // how many there are
)

// GraphExecKernelNodeSetParams is CuGraphExecKernelNodeSetParams, or its older
// form where the driver has only that.
func (b *Batch) GraphExecKernelNodeSetParams(exec CUgraphExec, node CUgraphNode, p *CUDA_KERNEL_NODE_PARAMS) loader.Frame {
	if !b.exists() {
		return loader.Frame{}
	}
	return b.calls.Add3(b.setKernel, uintptr(exec), uintptr(node), uintptr(unsafe.Pointer(p)))
}

// GraphLaunch is CuGraphLaunch.
func (b *Batch) GraphLaunch(exec CUgraphExec, s CUstream) {
	if !b.exists() {
		return
	}
	c := b.calls.Add(b.d.Proc(FnCuGraphLaunch), 2)
	c.SetWord(0, uintptr(exec))
	c.SetWord(1, uintptr(s))
}
