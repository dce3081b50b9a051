package graph

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// shownName is what drawings and summaries call a node: the name it was given,
// else that of its kernel, else nothing. The graph is locked.
func (n Node) shownName(t Type) (string, error) {
	if name := n.Name(); name != "" || t != driver.CU_GRAPH_NODE_TYPE_KERNEL {
		return name, nil
	}
	var p driver.CUDA_KERNEL_NODE_PARAMS
	if err := n.kernelParams(n.g.d, &p); err != nil {
		return "", err
	}
	return n.g.nameOfKernel(&p)
}

// nameOfKernel asks the driver how the kernel of a node is called, which it tells
// since CUDA 12.3. The name is the one in the code, mangled where that was C++.
func (g *Graph) nameOfKernel(p *driver.CUDA_KERNEL_NODE_PARAMS) (string, error) {
	var name *byte
	var err error
	switch {
	case p.Func != 0 && g.d.Has(driver.FnCuFuncGetName):
		err = g.d.CuFuncGetName(&name, p.Func)
	case p.Kern != 0 && g.d.Has(driver.FnCuKernelGetName):
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
