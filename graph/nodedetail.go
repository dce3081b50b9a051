package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// typeNames are what the types of nodes are called in labels, drawings and summaries.
var typeNames = map[Type]string{
	driver.CU_GRAPH_NODE_TYPE_KERNEL:           "kernel",
	driver.CU_GRAPH_NODE_TYPE_MEMCPY:           "copy",
	driver.CU_GRAPH_NODE_TYPE_MEMSET:           "fill",
	driver.CU_GRAPH_NODE_TYPE_HOST:             "host function",
	driver.CU_GRAPH_NODE_TYPE_GRAPH:            "child graph",
	driver.CU_GRAPH_NODE_TYPE_EMPTY:            "empty",
	driver.CU_GRAPH_NODE_TYPE_WAIT_EVENT:       "event wait",
	driver.CU_GRAPH_NODE_TYPE_EVENT_RECORD:     "event record",
	driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: "semaphore signal",
	driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:   "semaphore wait",
	driver.CU_GRAPH_NODE_TYPE_MEM_ALLOC:        "allocation",
	driver.CU_GRAPH_NODE_TYPE_MEM_FREE:         "free",
	driver.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:     "memory operations",
	driver.CU_GRAPH_NODE_TYPE_CONDITIONAL:      "conditional",
}

func typeName(t Type) string {
	if s, ok := typeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("type %d", t)
}

// detail says in a few words with what parameters a node does what it does, ""
// where there is nothing to say. Addresses are left out: they are others in
// each run. The graph is locked.
func (n Node) detail(t Type) (string, error) {
	switch t {
	case driver.CU_GRAPH_NODE_TYPE_KERNEL:
		var p driver.CUDA_KERNEL_NODE_PARAMS
		err := n.kernelParams(n.g.d, &p)
		return kernelDetail(&p), err
	case driver.CU_GRAPH_NODE_TYPE_MEMCPY:
		var p driver.CUDA_MEMCPY3D
		err := n.g.d.CuGraphMemcpyNodeGetParams(n.raw, &p)
		return copyDetail(&p), err
	case driver.CU_GRAPH_NODE_TYPE_MEMSET:
		var p driver.CUDA_MEMSET_NODE_PARAMS
		err := n.g.d.CuGraphMemsetNodeGetParams(n.raw, &p)
		return fillDetail(&p), err
	case driver.CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		var p driver.CUDA_MEM_ALLOC_NODE_PARAMS
		err := n.g.d.CuGraphMemAllocNodeGetParams(n.raw, &p)
		return bytesText(p.Bytesize), err
	case driver.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		var p driver.CUDA_BATCH_MEM_OP_NODE_PARAMS
		err := n.g.d.CuGraphBatchMemOpNodeGetParams(n.raw, &p)
		return plural(int(p.Count), "operation"), err
	}
	return "", nil
}

func kernelDetail(p *driver.CUDA_KERNEL_NODE_PARAMS) string {
	s := "grid " + dim(p.GridDimX, p.GridDimY, p.GridDimZ) + " block " + dim(p.BlockDimX, p.BlockDimY, p.BlockDimZ)
	if p.SharedMemBytes > 0 {
		s += " shared " + bytesText(uintptr(p.SharedMemBytes))
	}
	return s
}

// dim writes as many dimensions as there are.
func dim(x, y, z uint32) string {
	switch {
	case z > 1:
		return fmt.Sprintf("%dx%dx%d", x, y, z)
	case y > 1:
		return fmt.Sprintf("%dx%d", x, y)
	}
	return fmt.Sprint(x)
}

func copyDetail(p *driver.CUDA_MEMCPY3D) string {
	return fmt.Sprintf("%s %s to %s", bytesText(copyBytes(p)), memoryName(p.SrcMemoryType), memoryName(p.DstMemoryType))
}

func memoryName(t driver.CUmemorytype) string {
	switch t {
	case driver.CU_MEMORYTYPE_HOST:
		return "host"
	case driver.CU_MEMORYTYPE_DEVICE:
		return "device"
	case driver.CU_MEMORYTYPE_ARRAY:
		return "array"
	case driver.CU_MEMORYTYPE_UNIFIED:
		return "memory"
	}
	return fmt.Sprintf("memory type %d", t)
}

func fillDetail(p *driver.CUDA_MEMSET_NODE_PARAMS) string {
	return fmt.Sprintf("%s with %#x", bytesText(fillBytes(p)), p.Value)
}

func copyBytes(p *driver.CUDA_MEMCPY3D) uintptr {
	return p.WidthInBytes * max(p.Height, 1) * max(p.Depth, 1)
}

func fillBytes(p *driver.CUDA_MEMSET_NODE_PARAMS) uintptr {
	return p.Width * max(p.Height, 1) * uintptr(p.ElementSize)
}

func bytesText(n uintptr) string { return plural(int(n), "byte") }

// plural writes a count of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
