package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
)

// typeNames are what the types of nodes are called in labels, drawings and summaries.
var typeNames = map[Type]string{
	cu.CU_GRAPH_NODE_TYPE_KERNEL:           "kernel",
	cu.CU_GRAPH_NODE_TYPE_MEMCPY:           "copy",
	cu.CU_GRAPH_NODE_TYPE_MEMSET:           "fill",
	cu.CU_GRAPH_NODE_TYPE_HOST:             "host function",
	cu.CU_GRAPH_NODE_TYPE_GRAPH:            "child graph",
	cu.CU_GRAPH_NODE_TYPE_EMPTY:            "empty",
	cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT:       "event wait",
	cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD:     "event record",
	cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: "semaphore signal",
	cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:   "semaphore wait",
	cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC:        "allocation",
	cu.CU_GRAPH_NODE_TYPE_MEM_FREE:         "free",
	cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:     "memory operations",
	cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:      "conditional",
}

func typeName(t Type) string {
	if s, ok := typeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("type %d", t)
}

// does says what a node of that type does. Of the conditional nodes that this
// package made it knows which they are. The graph is locked.
func (n Node) does(t Type) string {
	if t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		if k := n.g.outermost().conds.of(n); k != nil {
			return k.form.String()
		}
	}
	return typeName(t)
}

// detail says in a few words with what parameters a node does what it does, ""
// where there is nothing to say. Addresses are left out: they are others in
// each run. The graph is locked.
func (n Node) detail(t Type) (string, error) {
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		var p cu.CUDA_KERNEL_NODE_PARAMS
		err := n.kernelParams(n.g.d, &p)
		return kernelDetail(&p), err
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		var p cu.CUDA_MEMCPY3D
		err := n.g.d.CuGraphMemcpyNodeGetParams(n.handle(), &p)
		return copyDetail(&p), err
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		var p cu.CUDA_MEMSET_NODE_PARAMS
		err := n.g.d.CuGraphMemsetNodeGetParams(n.handle(), &p)
		return fillDetail(&p), err
	case cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		var p cu.CUDA_MEM_ALLOC_NODE_PARAMS
		err := n.g.d.CuGraphMemAllocNodeGetParams(n.handle(), &p)
		return bytesText(p.Bytesize), err
	case cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		var p cu.CUDA_BATCH_MEM_OP_NODE_PARAMS
		err := n.g.d.CuGraphBatchMemOpNodeGetParams(n.handle(), &p)
		return plural(int(p.Count), "operation"), err
	}
	return "", nil
}

func kernelDetail(p *cu.CUDA_KERNEL_NODE_PARAMS) string {
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

func copyDetail(p *cu.CUDA_MEMCPY3D) string {
	return fmt.Sprintf("%s %s to %s", bytesText(copyBytes(p)), memoryName(p.SrcMemoryType), memoryName(p.DstMemoryType))
}

func memoryName(t cu.CUmemorytype) string {
	switch t {
	case cu.CU_MEMORYTYPE_HOST:
		return "host"
	case cu.CU_MEMORYTYPE_DEVICE:
		return "device"
	case cu.CU_MEMORYTYPE_ARRAY:
		return "array"
	case cu.CU_MEMORYTYPE_UNIFIED:
		return "memory"
	}
	return fmt.Sprintf("memory type %d", t)
}

func fillDetail(p *cu.CUDA_MEMSET_NODE_PARAMS) string {
	return fmt.Sprintf("%s with %#x", bytesText(fillBytes(p)), p.Value)
}

func copyBytes(p *cu.CUDA_MEMCPY3D) uintptr {
	return p.WidthInBytes * max(p.Height, 1) * max(p.Depth, 1)
}

func fillBytes(p *cu.CUDA_MEMSET_NODE_PARAMS) uintptr {
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
