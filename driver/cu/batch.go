package cu

import (
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// Batch is a list of graph functions' calls that are made in one native call. They run in order
// until one fails. A Batch saves call overhead, because building a graph of a thousand nodes takes
// a thousand short calls. Package graph uses it (Graph.AddBatch). Other code rarely needs it.
//
// A Batch does not keep pointer arguments alive. They must point into the heap, and the caller must
// keep them alive until Run has returned. A later call may read results of an earlier call. After
// Reset, the Batch can be reused. Adding calls to a reused Batch does not allocate. A Batch is not
// safe for concurrent use.
type Batch struct {
	d     *Driver
	calls *loader.Batch

	addKernel, setKernel *loader.Proc // the newest versions of these functions that d has
}

// NewBatch returns an empty batch of calls to d. The calls run under d's context and capture mode.
func (d *Driver) NewBatch() *Batch {
	b := &Batch{calls: loader.NewBatch()}
	b.Reset(d)
	return b
}

func (b *Batch) exists() bool { return b != nil && b.calls != nil && b.d.exists() }

// Len returns the number of calls.
func (b *Batch) Len() int {
	if b == nil || b.calls == nil {
		return 0
	}
	return b.calls.Len()
}

// Reset empties the batch and keeps its memory. Calls added afterwards are calls to d. Pass nil if
// the batch will not be used for a while.
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

// Run makes the calls. It returns the number of successful calls, and the error of the call that
// failed, if any.
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

// RunPart is like Run, but makes only n consecutive calls. first is the Frame returned when the
// first of these calls was added. The calls stay in the batch and can run again.
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

func (b *Batch) stopped(failure uintptr) error {
	at, table := b.calls.Stopped(), b.d.fn.slice()
	for f := range table {
		if at == &table[f] {
			return b.d.result(Function(f), failure)
		}
	}
	return b.d.result(functionCount, failure) // cannot happen
}

// GraphAddKernelNode adds a call to CuGraphAddKernelNode, or to its older version if the driver has
// only that.
func (b *Batch) GraphAddKernelNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_KERNEL_NODE_PARAMS) loader.Frame {
	if !b.exists() {
		return loader.Frame{}
	}
	return b.calls.Add5(b.addKernel, uintptr(unsafe.Pointer(node)), uintptr(graph), uintptr(unsafe.Pointer(deps)), n, uintptr(unsafe.Pointer(p)))
}

// GraphAddMemcpyNode adds a call to CuGraphAddMemcpyNode.
func (b *Batch) GraphAddMemcpyNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_MEMCPY3D, ctx CUcontext) loader.Frame {
	return b.node(FnCuGraphAddMemcpyNode, node, graph, deps, n, unsafe.Pointer(p), ctx)
}

// GraphAddMemsetNode adds a call to CuGraphAddMemsetNode.
func (b *Batch) GraphAddMemsetNode(node *CUgraphNode, graph CUgraph, deps *CUgraphNode, n uintptr, p *CUDA_MEMSET_NODE_PARAMS, ctx CUcontext) loader.Frame {
	return b.node(FnCuGraphAddMemsetNode, node, graph, deps, n, unsafe.Pointer(p), ctx)
}

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

// Indexes of argument words in a call that adds a node. The caller may change these words between
// two runs.
const (
	BatchGraphWord = 1 // the graph
	BatchDepsWord  = 2 // the address of the dependencies
	BatchCountWord = 3 // the number of dependencies
)

// GraphExecKernelNodeSetParams adds a call to CuGraphExecKernelNodeSetParams, or to its older
// version if the driver has only that.
func (b *Batch) GraphExecKernelNodeSetParams(exec CUgraphExec, node CUgraphNode, p *CUDA_KERNEL_NODE_PARAMS) loader.Frame {
	if !b.exists() {
		return loader.Frame{}
	}
	return b.calls.Add3(b.setKernel, uintptr(exec), uintptr(node), uintptr(unsafe.Pointer(p)))
}

// GraphLaunch adds a call to CuGraphLaunch.
func (b *Batch) GraphLaunch(exec CUgraphExec, s CUstream) {
	if !b.exists() {
		return
	}
	c := b.calls.Add(b.d.Proc(FnCuGraphLaunch), 2)
	c.SetWord(0, uintptr(exec))
	c.SetWord(1, uintptr(s))
}
