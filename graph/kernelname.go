package graph

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
)

// shownName is what drawings and summaries call a node: the name it was given,
// else that of its kernel, else nothing. The graph is locked.
func (n Node) shownName(t Type) (string, error) {
	if name := n.Name(); name != "" || t != cu.CU_GRAPH_NODE_TYPE_KERNEL {
		return name, nil
	}
	return n.kernelName()
}

// called is the name of a node of a graph that is locked, or its kernel's. It is
// for messages: what cannot be told is "".
func (n Node) called() string {
	if n.IsZero() {
		return ""
	}
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
		return n.Name()
	}
	name, err := n.shownName(t)
	if err != nil {
		return ""
	}
	return name
}

// kernelName is the name of a node's kernel, "" where nobody can tell: what was
// noted when the node was added, else what the driver says, else, for nodes that
// the driver made, what was noted of those they came from.
func (n Node) kernelName() (string, error) {
	var p cu.CUDA_KERNEL_NODE_PARAMS
	if err := n.kernelParams(n.g.d, &p); err != nil {
		return "", err
	}
	if f := n.g.accesses.Find(n.i); f.Set != nil && f.Kernel != nil && f.Kernel.Raw() == p.Func {
		return f.Kernel.Name(), nil
	}
	name, err := n.g.nameOfKernel(&p)
	if err != nil || name != "" {
		return name, err
	}
	return n.g.notedName(p.Func), nil
}

// notedName is the name of a kernel that some node of those the graph came from
// had.
func (g *Graph) notedName(f driver.CUfunction) (name string) {
	for _, l := range g.accesses.Loose {
		l.Each(func(found access.Found) {
			if found.Kernel != nil && found.Kernel.Raw() == f {
				name = found.Kernel.Name()
			}
		})
	}
	return name
}

// nameOfKernel asks the driver how the kernel of a node is called, which it tells
// since CUDA 12.3. The name is the one in the code, mangled where that was C++.
func (g *Graph) nameOfKernel(p *cu.CUDA_KERNEL_NODE_PARAMS) (string, error) {
	var name *byte
	var err error
	switch {
	case p.Func != 0 && g.d.Has(cu.FnCuFuncGetName):
		err = g.d.CuFuncGetName(&name, p.Func)
	case p.Kern != 0 && g.d.Has(cu.FnCuKernelGetName):
		err = g.d.CuKernelGetName(&name, p.Kern)
	}
	if err != nil || name == nil {
		return "", err
	}
	return cText(name), nil
}

// cText copies a string of C, which the driver keeps.
func cText(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
