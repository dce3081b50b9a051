package emulator

import "github.com/purecuda/cuda/driver/cu"

// deviceLaunch returns why kernels could not launch the graph on a driver. Here no kernel can: the
// device functions for it do not exist, and modules that need them do not load. The host launches
// such executable graphs like others. The codes and reasons are those of driver 580.
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
