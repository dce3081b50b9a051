package graph

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Option configures Instantiate.
type Option func(*options)

type options struct {
	flags  cu.CUgraphInstantiate_flags
	upload *driver.Stream
}

func withFlags(f cu.CUgraphInstantiate_flags) Option {
	return func(o *options) { o.flags |= f }
}

// WithAutoFree makes each launch free the memory that the previous launch allocated and did not
// free (CUDA 11.4). Outputs in graph memory are then valid until the next launch. The outputs of
// the last launch are freed with their buffers, see [AddAlloc].
func WithAutoFree() Option {
	return withFlags(cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
}

// WithNodePriorities makes nodes run with their own priorities instead of the priority of the
// launch stream (CUDA 11.7).
func WithNodePriorities() Option {
	return withFlags(cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)
}

// WithUpload makes Instantiate also upload the graph on s.
func WithUpload(s *driver.Stream) Option {
	return func(o *options) {
		o.flags |= cu.CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
		o.upload = s
	}
}

// InstantiateError reports which node could not be instantiated, and why.
type InstantiateError struct {
	Result cu.CUgraphInstantiateResult
	Node   Node // zero unless the driver named a node of this graph
	Err    error
	graph  string
	cycle  string // names the nodes of a cycle, if there is one
}

// Error returns one line: the graph, the node, the reason, the driver's error.
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
		return "the driver reports an invalid structure; its own nodes form no cycle, so check those of its child graphs and bodies"
	case cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED:
		return "a node's operation is not supported there"
	case cu.CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED:
		return "its nodes are of several contexts, which is not allowed in the body of a conditional node or in a graph that a device launches"
	case cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED:
		return "a conditional handle belongs to no node"
	}
	return ""
}

// Instantiate creates an executable graph from the current state of the graph. It costs far more
// than a launch, so instantiate once and change the Exec. If the driver rejects the graph, the
// error is an *InstantiateError, which also matches the driver's code.
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

// chosen applies options. Call chosen only if there are options, because they receive the address
// of the result, which moves it to the heap.
func chosen(opts []Option) options {
	var o options
	absent.Apply(opts, &o)
	return o
}

// exec does the work of Instantiate. The caller must hold the graph's lock.
func (g *Graph) exec(o options) (*Exec, error) {
	k := new(execKeep)
	k.life.SetKind("executable graph")
	if err := k.life.BeginIn(g.ctx.Lifetime()); err != nil {
		return nil, err
	}
	tie, err := g.joinTurn(o)
	if err != nil {
		_ = k.life.Abandon(err)
		return nil, err
	}
	raw, err := g.instantiate(o)
	if err != nil {
		tie.Leave()
		_ = k.life.Abandon(err)
		return nil, err
	}
	k.setTie(tie)
	k.raw, k.ctx, k.refs, k.count = raw, g.ctx, g.keep.refs.Share(), g.countExec()
	x := &Exec{life: &k.life, ctx: g.ctx, d: g.d, keep: k, g: g, opts: o, uploaded: o.upload != nil, seen: k.life.Faults().Taken()}
	k.Mem = g.keep.refs.Mem.Launches(o.flags)
	x.watch.Own(&k.life, uint64(raw), k)
	return x, nil
}

// instantiate calls the newest ABI that the driver has. Since CUDA 12.0 the driver names the
// failing node. The call is guarded, because instantiating during a GLOBAL capture of other code
// would invalidate that capture.
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

// member returns the Node of a handle. If the handle belongs to another graph, such as a nested
// one, it returns the zero Node.
func (g *Graph) member(raw cu.CUgraphNode) Node {
	if raw == 0 {
		return Node{}
	}
	if raws, err := g.handles(); err != nil || !slices.Contains(raws, raw) {
		return Node{}
	}
	return g.node(raw)
}

// WithDeviceLaunch allows kernels as well as the host to launch the Exec once it is uploaded (CUDA
// 12.0). The graph must have at least one node and contain only kernels, copies, fills and child
// graphs of one context. WithDeviceLaunch cannot be combined with WithAutoFree.
func WithDeviceLaunch() Option {
	return withFlags(cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
}

// flagSince lists the CUDA versions that introduced the flags. It omits the upload flag, because
// Instantiate itself uploads the graph if the driver does not support the flag.
var flagSince = []struct {
	flag    cu.CUgraphInstantiate_flags
	version int
}{
	{cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, 11040},
	{cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, 11070},
	{cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, 12000},
}

// checkFlags returns an error for flags that the driver does not support, that cannot be combined
// or that do not fit the graph. The driver would reject them without a reason.
func (g *Graph) checkFlags(flags cu.CUgraphInstantiate_flags) error {
	for _, f := range flagSince {
		if flags&f.flag == 0 {
			continue
		}
		if err := needs(g.d, f.flag.String(), f.version); err != nil {
			return g.notInstantiated(Node{}, 0, err)
		}
	}
	if flags&cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH == 0 {
		return nil
	}
	if flags&cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH != 0 {
		return g.notInstantiated(Node{}, 0, invalid("a graph that kernels launch cannot free memory on launch, leave out WithAutoFree or WithDeviceLaunch"))
	}
	return g.checkDeviceLaunch()
}

// checkDeviceLaunch returns an error if the graph has no nodes or has a node that device launches
// do not support.
func (g *Graph) checkDeviceLaunch() error {
	raws, err := g.handles()
	if err != nil {
		return g.notInstantiated(Node{}, 0, g.memoryLimit(err, oneExec))
	}
	if len(raws) == 0 {
		return g.notInstantiated(Node{}, 0, invalid("kernels cannot launch a graph without nodes"))
	}
	for _, raw := range raws {
		var t Type
		if err := g.d.CuGraphNodeGetType(raw, &t); err != nil {
			return g.notInstantiated(Node{}, 0, g.memoryLimit(err, oneExec))
		}
		switch t {
		case cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_MEMSET, cu.CU_GRAPH_NODE_TYPE_GRAPH:
		default:
			return g.notInstantiated(g.node(raw), cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED,
				invalid("kernels launch graphs of kernels, copies, fills and child graphs, this is a %v", t))
		}
	}
	return nil
}

func (g *Graph) notInstantiated(n Node, why cu.CUgraphInstantiateResult, err error) error {
	if why == 0 {
		why = cu.CUDA_GRAPH_INSTANTIATE_ERROR
	}
	e := &InstantiateError{Result: why, Node: n, Err: err, graph: g.String()}
	// Drivers before CUDA 12.0 return no reason.
	if old := why == cu.CUDA_GRAPH_INSTANTIATE_ERROR && resultOf(err) == driver.CUDA_ERROR_INVALID_VALUE; old || why == cu.CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE {
		e.cycle = circle(g.cycle())
	}
	return e
}

// instantiateOld instantiates with drivers before CUDA 12.0, which do not name the failing node and
// do not upload.
func (g *Graph) instantiateOld(o options) (raw cu.CUgraphExec, err error) {
	const upload = cu.CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
	d := g.ctx.Guarded()
	if err := d.CuGraphInstantiateWithFlags(&raw, g.raw, uint64(o.flags&^upload)); err != nil {
		return 0, g.notInstantiated(Node{}, 0, g.memoryLimit(err, oneExec))
	}
	if o.flags&upload == 0 {
		return raw, nil
	}
	if err := d.CuGraphUpload(raw, o.upload.Raw()); err != nil {
		return 0, g.notInstantiated(Node{}, 0, join([]error{err, d.CuGraphExecDestroy(raw)}))
	}
	return raw, nil
}

// cycle returns the nodes of a cycle, with the first node repeated at the end, or nil. The caller
// must hold the graph's lock.
func (g *Graph) cycle() []Node {
	edges, err := g.listedEdges()
	if err != nil {
		return nil // the caller already has an error to return
	}
	after := make(map[Node][]Node)
	for _, e := range edges {
		after[e.From] = append(after[e.From], e.To)
	}
	const onPath, done = 1, 2
	state := make(map[Node]int)
	for _, e := range edges {
		path := []Node{e.From}
		next := []int{0} // for each node in path, the number of its edges already followed
		if state[e.From] == done {
			continue
		}
		state[e.From] = onPath
		for len(path) > 0 {
			last := len(path) - 1
			n := path[last]
			if next[last] == len(after[n]) {
				state[n] = done
				path, next = path[:last], next[:last]
				continue
			}
			to := after[n][next[last]]
			next[last]++
			switch state[to] {
			case onPath:
				return append(path[slices.Index(path, to):], to)
			case 0:
				state[to] = onPath
				path, next = append(path, to), append(next, 0)
			}
		}
	}
	return nil
}

// circle names the nodes of a cycle. If there are no nodes, it returns "".
func circle(nodes []Node) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.String()
	}
	return strings.Join(names, " → ")
}
