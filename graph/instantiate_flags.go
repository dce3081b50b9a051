package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// WithDeviceLaunch makes the Exec launchable from kernels too, once it is uploaded (CUDA 12.0).
// Such a graph contains only kernels, copies, fills and child graphs, at least one node, in one
// context. It cannot be combined with WithAutoFree.
func WithDeviceLaunch() Option {
	return withFlags(cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
}

// flagSince are the CUDA versions that brought the flags. Uploading is not among
// them: where the driver does not do it, Instantiate does.
var flagSince = []struct {
	flag    cu.CUgraphInstantiate_flags
	version int
}{
	{cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, 11040},
	{cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, 11070},
	{cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, 12000},
}

// checkFlags refuses what the driver would refuse without a word.
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

// checkDeviceLaunch looks for nodes that kernels cannot launch.
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
	// Drivers before CUDA 12.0 do not say what is wrong.
	if old := why == cu.CUDA_GRAPH_INSTANTIATE_ERROR && resultOf(err) == driver.CUDA_ERROR_INVALID_VALUE; old || why == cu.CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE {
		e.cycle = circle(g.cycle())
	}
	return e
}

// instantiateOld is instantiate for drivers before CUDA 12.0, which do not tell
// the node that is to blame and do not upload.
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
