package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Option changes how Instantiate creates an Exec.
type Option func(*options)

type options struct {
	flags  cu.CUgraphInstantiate_flags
	upload *driver.Stream
}

func withFlags(f cu.CUgraphInstantiate_flags) Option {
	return func(o *options) { o.flags |= f }
}

// WithAutoFree makes a launch free what the previous launch allocated and did not free (CUDA 11.4).
// A launch's outputs in graph memory are then valid until the next launch. The outputs of the last
// launch are freed with their buffers, see [AddAlloc].
func WithAutoFree() Option {
	return withFlags(cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
}

// WithNodePriorities makes nodes run with their own priorities instead of the priority of the
// launch stream (CUDA 11.7).
func WithNodePriorities() Option {
	return withFlags(cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)
}

// WithUpload uploads the graph on s as part of Instantiate.
func WithUpload(s *driver.Stream) Option {
	return func(o *options) {
		o.flags |= cu.CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
		o.upload = s
	}
}

// InstantiateError reports which node could not be instantiated, and why.
type InstantiateError struct {
	Result cu.CUgraphInstantiateResult
	Node   Node // zero where the driver named none of this graph
	Err    error
	graph  string
	cycle  string // the nodes that form one
}

// Error returns one line with the graph, the node, the reason and the driver's error.
func (e *InstantiateError) Error() string {
	if e == nil || e.Err == nil {
		return "cannot instantiate"
	}
	s := "cannot instantiate " + e.graph
	if !e.Node.IsZero() {
		s += fmt.Sprintf(": %v", e.Node)
	}
	if e.cycle != "" {
		s += ": its nodes form a cycle, " + e.cycle
	} else if reason := instantiateReason(e.Result); reason != "" {
		s += ": " + reason
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the driver's error.
func (e *InstantiateError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

func instantiateReason(r cu.CUgraphInstantiateResult) string {
	switch r {
	case cu.CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE:
		return "the driver calls its structure invalid; its own nodes form no cycle, so look at those of its child graphs and bodies"
	case cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED:
		return "a node's operation is not supported there"
	case cu.CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED:
		return "its nodes are of several contexts, which neither the body of a conditional node nor a graph for launches by a device may have"
	case cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED:
		return "a conditional handle belongs to no node"
	}
	return ""
}

// Instantiate creates an executable graph from the graph as it is now. It costs far more than a
// launch, so instantiate once and change the Exec. If the driver rejects the graph, the error is an
// *InstantiateError, which also matches the driver's code.
func (g *Graph) Instantiate(opts ...Option) (*Exec, error) {
	var o options
	if len(opts) > 0 {
		o = chosen(opts)
	}
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if err := g.onlyWhole(driver.CUDA_ERROR_NOT_SUPPORTED, "instantiated"); err != nil {
		return nil, err
	}
	if o.upload != nil {
		if err := o.upload.Ready(); err != nil {
			return nil, fmt.Errorf("cannot instantiate %v with an upload: %w", g, err)
		}
	}
	return g.exec(o)
}

// chosen is what options ask for. They take it by its address, which is why it is
// not made where there are none.
func chosen(opts []Option) options {
	var o options
	absent.Apply(opts, &o)
	return o
}

// exec is Instantiate for a graph that is locked.
func (g *Graph) exec(o options) (*Exec, error) {
	k := new(execKeep)
	k.life.SetKind("executable graph")
	if err := k.life.BeginIn(g.ctx.Lifetime()); err != nil {
		return nil, err
	}
	raw, err := g.instantiate(o)
	if err != nil {
		_ = k.life.Abandon(err)
		return nil, err
	}
	k.raw, k.ctx, k.refs, k.lone = raw, g.ctx, g.keep.refs.Share(), g.loneExec()
	x := &Exec{life: &k.life, ctx: g.ctx, d: g.d, keep: k, g: g, opts: o, uploaded: o.upload != nil}
	k.Mem = g.keep.refs.Mem.Launches(o.flags)
	x.watch.Own(&k.life, uint64(raw), k)
	return x, nil
}

// instantiate picks the ABI: which node is to blame is told since CUDA 12.0. It
// is guarded, because instantiating during a GLOBAL capture of somebody else
// would invalidate that.
func (g *Graph) instantiate(o options) (raw cu.CUgraphExec, err error) {
	if err := join([]error{g.instantiable(), g.checkFlags(o.flags)}); err != nil {
		return 0, err
	}
	d := g.ctx.Guarded()
	if !d.Has(cu.FnCuGraphInstantiateWithParams) {
		return g.instantiateOld(o)
	}
	p := cu.CUDA_GRAPH_INSTANTIATE_PARAMS{Flags: uint64(o.flags), HUploadStream: o.upload.Raw()}
	err = d.CuGraphInstantiateWithParams(&raw, g.raw, &p)
	runtime.KeepAlive(o.upload)
	if err != nil {
		return 0, g.notInstantiated(g.member(p.HErrNode_out), p.Result_out, g.memoryLimit(err, oneExec))
	}
	return raw, nil
}

// member returns the Node of a driver's node if it is one of this graph and not
// of a graph inside a node of it.
func (g *Graph) member(raw cu.CUgraphNode) Node {
	if raw == 0 {
		return Node{}
	}
	if raws, err := g.handles(); err != nil || !slices.Contains(raws, raw) {
		return Node{}
	}
	return g.node(raw)
}
