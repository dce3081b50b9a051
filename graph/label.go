package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
)

// Label returns a short description of the node: its name, else the kernel's name, or what it does
// ("upload of 128 bytes").
func (n Node) Label() string {
	if n.g == nil {
		return "no node"
	}
	if name := n.Name(); name != "" {
		return name
	}
	if n.lock() != nil {
		return n.String()
	}
	defer n.g.mu.Unlock()
	return n.label()
}

// label is Label for a node without a name whose graph is locked.
func (n Node) label() string {
	var t Type
	if n.g.d.CuGraphNodeGetType(n.handle(), &t) != nil {
		return fmt.Sprintf("node %d", n.i)
	}
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		if name, err := n.kernelName(); err == nil && name != "" {
			return name
		}
		return "kernel"
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		return n.copyLabel()
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		return n.fillLabel()
	}
	return n.does(t)
}

func (n Node) copyLabel() string {
	var p cu.CUDA_MEMCPY3D
	if n.g.d.CuGraphMemcpyNodeGetParams(n.handle(), &p) != nil {
		return "copy"
	}
	what := "copy"
	switch {
	case p.SrcMemoryType == cu.CU_MEMORYTYPE_HOST && p.DstMemoryType == cu.CU_MEMORYTYPE_DEVICE:
		what = "upload"
	case p.SrcMemoryType == cu.CU_MEMORYTYPE_DEVICE && p.DstMemoryType == cu.CU_MEMORYTYPE_HOST:
		what = "download"
	case p.SrcMemoryType == cu.CU_MEMORYTYPE_DEVICE && p.DstMemoryType == cu.CU_MEMORYTYPE_DEVICE:
		what = "device copy"
	}
	return what + " of " + bytesText(copyBytes(&p))
}

func (n Node) fillLabel() string {
	var p cu.CUDA_MEMSET_NODE_PARAMS
	if n.g.d.CuGraphMemsetNodeGetParams(n.handle(), &p) != nil {
		return "fill"
	}
	return "fill of " + bytesText(fillBytes(&p))
}
