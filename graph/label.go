package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// Label says in a few words what the node is: the name it was given, else the
// kernel's name, or what it does ("upload of 128 bytes").
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
	if n.g.d.CuGraphNodeGetType(n.raw, &t) != nil {
		return fmt.Sprintf("node %d", n.i)
	}
	switch t {
	case driver.CU_GRAPH_NODE_TYPE_KERNEL:
		return n.kernelName()
	case driver.CU_GRAPH_NODE_TYPE_MEMCPY:
		return n.copyLabel()
	case driver.CU_GRAPH_NODE_TYPE_MEMSET:
		return n.fillLabel()
	}
	if word := typeWords[t]; word != "" {
		return word
	}
	return t.String()
}

var typeWords = map[Type]string{
	driver.CU_GRAPH_NODE_TYPE_HOST:             "host function",
	driver.CU_GRAPH_NODE_TYPE_GRAPH:            "graph",
	driver.CU_GRAPH_NODE_TYPE_EMPTY:            "empty",
	driver.CU_GRAPH_NODE_TYPE_WAIT_EVENT:       "event wait",
	driver.CU_GRAPH_NODE_TYPE_EVENT_RECORD:     "event record",
	driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: "external semaphore signal",
	driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:   "external semaphore wait",
	driver.CU_GRAPH_NODE_TYPE_MEM_ALLOC:        "allocation",
	driver.CU_GRAPH_NODE_TYPE_MEM_FREE:         "free",
	driver.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:     "memory operation",
	driver.CU_GRAPH_NODE_TYPE_CONDITIONAL:      "conditional",
}

// kernelName asks what was noted and, for nodes that the driver made, what was
// noted for those they came from and the driver (CUDA 12.3).
func (n Node) kernelName() string {
	var p driver.CUDA_KERNEL_NODE_PARAMS
	if kernelParams(n, &p) != nil {
		return "kernel"
	}
	if f := n.g.prints.find(n.i); f.footprint != nil && f.kernel != nil && f.kernel.Raw() == p.Func {
		return f.kernel.Name()
	}
	var text *byte
	if n.g.d.CuFuncGetName(&text, p.Func) == nil && text != nil {
		return goString(text)
	}
	name := "kernel"
	for _, l := range n.g.prints.loose {
		l.each(func(f foundFootprint) {
			if f.kernel != nil && f.kernel.Raw() == p.Func {
				name = f.kernel.Name()
			}
		})
	}
	return name
}

// goString copies a C string.
func goString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (n Node) copyLabel() string {
	var p driver.CUDA_MEMCPY3D
	if n.g.d.CuGraphMemcpyNodeGetParams(n.raw, &p) != nil {
		return "copy"
	}
	what := "copy"
	switch {
	case p.SrcMemoryType == driver.CU_MEMORYTYPE_HOST && p.DstMemoryType == driver.CU_MEMORYTYPE_DEVICE:
		what = "upload"
	case p.SrcMemoryType == driver.CU_MEMORYTYPE_DEVICE && p.DstMemoryType == driver.CU_MEMORYTYPE_HOST:
		what = "download"
	case p.SrcMemoryType == driver.CU_MEMORYTYPE_DEVICE && p.DstMemoryType == driver.CU_MEMORYTYPE_DEVICE:
		what = "device copy"
	}
	return fmt.Sprintf("%s of %d bytes", what, p.WidthInBytes*p.Height*p.Depth)
}

func (n Node) fillLabel() string {
	var p driver.CUDA_MEMSET_NODE_PARAMS
	if n.g.d.CuGraphMemsetNodeGetParams(n.raw, &p) != nil {
		return "fill"
	}
	return fmt.Sprintf("fill of %d bytes", p.Width*p.Height*uintptr(p.ElementSize))
}
