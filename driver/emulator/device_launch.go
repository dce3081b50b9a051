package emulator

import "github.com/purecuda/cuda/driver/cu"

// deviceLaunch says why kernels could not launch the graph. None can here: the
// device functions for it are not there, and modules that want them are not
// loaded. The host launches such executables like others. The codes and reasons
// are those of driver 580.
func (g *graph) deviceLaunch(flags uint64) *refusal {
	if autoFree(flags) || len(g.nodes) == 0 {
		return &refusal{result: errInvalidValue, reason: cu.CUDA_GRAPH_INSTANTIATE_ERROR}
	}
	for _, n := range g.nodes {
		switch n.params.kind() {
		case cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_MEMSET, cu.CU_GRAPH_NODE_TYPE_GRAPH:
		default:
			return &refusal{errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, n}
		}
	}
	return g.e.oneDevice(g)
}
