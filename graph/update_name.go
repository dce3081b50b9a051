package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// node names the node as it is called.
func (r UpdateResult) node() string {
	if r.Name == "" || r.Name == r.Node.Name() {
		return r.Node.String()
	}
	return fmt.Sprintf("%v (%s)", r.Node, r.Name)
}

// called is the name of a node of a graph that is locked, or its kernel's.
func (n Node) called() string {
	if n.IsZero() {
		return ""
	}
	if name := n.Name(); name != "" {
		return name
	}
	return n.g.kernelName(n.raw)
}

// kernelName asks the driver for the name of a node's kernel. It is for messages:
// what cannot be told is "".
func (g *Graph) kernelName(n driver.CUgraphNode) string {
	var t Type
	if err := g.d.CuGraphNodeGetType(n, &t); err != nil || t != driver.CU_GRAPH_NODE_TYPE_KERNEL || !g.d.Has(driver.FnCuFuncGetName) {
		return ""
	}
	var p driver.CUDA_KERNEL_NODE_PARAMS
	if err := g.d.CuGraphKernelNodeGetParams(n, &p); err != nil {
		return ""
	}
	var name *byte
	if p.Func != 0 {
		if g.d.CuFuncGetName(&name, p.Func) != nil {
			return ""
		}
	} else if g.d.CuKernelGetName(&name, p.Kern) != nil {
		return ""
	}
	return fromC(name)
}

// fromC copies a string of the driver's.
func fromC(s *byte) string {
	if s == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(s), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(s, n))
}
