package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
)

// Label returns a short description of the node: its name if it has one, otherwise its kernel's
// name or its operation ("upload of 128 bytes").
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

// label returns the Label of a node without a name. The caller must hold the graph's lock.
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

// typeNames are the names of node types in labels, drawings and summaries.
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

// does returns the words for a node's type. For a conditional node that this package added, it
// returns the node's form. The caller must hold the graph's lock.
func (n Node) does(t Type) string {
	if t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		if k := n.g.outermost().conds.of(n); k != nil {
			return k.form.String()
		}
	}
	return typeName(t)
}

// detail returns the parameters of a node for drawings and summaries, or "". It omits addresses,
// because they differ from run to run. The caller must hold the graph's lock.
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

// dim formats a size without trailing dimensions of 1.
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

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// shownName returns the name of a node for drawings and summaries: its own name if it has one,
// otherwise the kernel's name. For a node that has no name and no kernel, it returns "". The caller
// must hold the graph's lock.
func (n Node) shownName(t Type) (string, error) {
	if name := n.Name(); name != "" || t != cu.CU_GRAPH_NODE_TYPE_KERNEL {
		return name, nil
	}
	return n.kernelName()
}

// called returns the shownName of a node for error messages. If the driver does not report the
// node's type, called returns the name set by SetName. The caller must hold the graph's lock.
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

// kernelName returns the name of a node's kernel, or of the operation that its arguments select. It
// returns "" if the name is unknown. It prefers the name recorded when the node was added to the name
// that the driver reports. For nodes that the driver created, it falls back to the kernels recorded
// for the nodes they were copied from.
func (n Node) kernelName() (string, error) {
	var p cu.CUDA_KERNEL_NODE_PARAMS
	if err := n.kernelParams(n.g.d, &p); err != nil {
		return "", err
	}
	if f := n.g.accesses.Find(n.i); f.Set != nil && f.Kernel != nil && f.Kernel.Raw() == p.Func {
		return f.Kernel.Label(p.KernelParams), nil
	}
	noted := ""
	if k := n.g.notedKernel(p.Func); k != nil {
		if noted = k.Label(p.KernelParams); noted != k.Name() {
			return noted, nil
		}
	}
	name, err := n.g.nameOfKernel(&p)
	if err != nil || name != "" {
		return name, err
	}
	return noted, nil
}

// notedKernel returns the kernel f if it is among the loose accesses of g. These are the accesses of
// captured work, and of the graph from which g was copied. Otherwise it returns nil.
func (g *Graph) notedKernel(f cu.CUfunction) (k *driver.Kernel) {
	for _, l := range g.accesses.Loose {
		l.Each(func(found access.Found) {
			if found.Kernel != nil && found.Kernel.Raw() == f {
				k = found.Kernel
			}
		})
	}
	return k
}

// nameOfKernel queries the driver for the name of a node's kernel (CUDA 12.3). The name is the
// symbol in the module, mangled for C++.
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

// cText copies a C string that the driver owns.
func cText(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
