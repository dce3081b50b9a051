package emulator

import "github.com/purecuda/cuda/driver"

// deviceLaunch says why kernels could not launch the graph. None can here: the
// device functions for it are not there, and modules that want them are not
// loaded. The host launches such executables like others. The codes and reasons
// are those of driver 580.
func (g *graph) deviceLaunch(flags uint64) *refusal {
	if autoFree(flags) || len(g.nodes) == 0 {
		return &refusal{result: errInvalidValue, reason: driver.CUDA_GRAPH_INSTANTIATE_ERROR}
	}
	for _, n := range g.nodes {
		switch n.params.kind() {
		case driver.CU_GRAPH_NODE_TYPE_KERNEL, driver.CU_GRAPH_NODE_TYPE_MEMCPY,
			driver.CU_GRAPH_NODE_TYPE_MEMSET, driver.CU_GRAPH_NODE_TYPE_GRAPH:
		default:
			return &refusal{errInvalidValue, driver.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, n}
		}
	}
	return g.e.oneDevice(g)
}
