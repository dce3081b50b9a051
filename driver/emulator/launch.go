package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// launchSpec describes a kernel launch in the common form of all launch functions and the kernel
// node's parameters.
type launchSpec struct {
	fn          uintptr
	grid, block vm.Dim3
	shared      uint32
	params      *unsafe.Pointer // one pointer per parameter
	extra       *unsafe.Pointer // or one buffer
	packed      []byte          // or their bytes, not nil
}

var launchFunctions = functions{
	"cuLaunchKernel":            {cuLaunchKernel, afterInit},
	"cuLaunchKernelEx":          {cuLaunchKernelEx, afterInit},
	"cuLaunchCooperativeKernel": {cuLaunchCooperativeKernel, afterInit},
}

// specAt reads the arguments of cuLaunchKernel: function, six sizes, shared.
func specAt(c call) launchSpec {
	return launchSpec{
		fn:     c.Word(0),
		grid:   vm.Dim3{X: c.Uint32(1), Y: c.Uint32(2), Z: c.Uint32(3)},
		block:  vm.Dim3{X: c.Uint32(4), Y: c.Uint32(5), Z: c.Uint32(6)},
		shared: c.Uint32(7),
		params: at[unsafe.Pointer](c, 9),
	}
}

func cuLaunchKernel(c call) result {
	spec := specAt(c)
	spec.extra = at[unsafe.Pointer](c, 10)
	return launch(c, c.Word(8), &spec, launchAttrs{})
}

func cuLaunchCooperativeKernel(c call) result {
	spec := specAt(c)
	return launch(c, c.Word(8), &spec, launchAttrs{cooperative: 1})
}

func cuLaunchKernelEx(c call) result {
	cfg := at[cu.CUlaunchConfig](c, 0)
	if cfg == nil || (cfg.NumAttrs > 0 && cfg.Attrs == nil) {
		return errInvalidValue
	}
	spec := launchSpec{
		fn:     c.Word(1),
		grid:   vm.Dim3{X: cfg.GridDimX, Y: cfg.GridDimY, Z: cfg.GridDimZ},
		block:  vm.Dim3{X: cfg.BlockDimX, Y: cfg.BlockDimY, Z: cfg.BlockDimZ},
		shared: cfg.SharedMemBytes,
		params: at[unsafe.Pointer](c, 2),
		extra:  at[unsafe.Pointer](c, 3),
	}
	var attrs launchAttrs
	if cfg.NumAttrs > 0 {
		for i := range unsafe.Slice(cfg.Attrs, cfg.NumAttrs) {
			a := (*cu.CUlaunchAttribute)(unsafe.Add(unsafe.Pointer(cfg.Attrs), uintptr(i)*sizeOf[cu.CUlaunchAttribute]()))
			if r := attrs.set(c, a.Id, &a.Value); r != success {
				return r
			}
		}
	}
	return launch(c, uintptr(cfg.HStream), &spec, attrs)
}

// launch checks and submits a kernel.
func launch(c call, h uintptr, spec *launchSpec, attrs launchAttrs) result {
	s, r := c.streamOf(h)
	if r != success {
		return r
	}
	n, r := c.kernelNode(spec, attrs)
	if r == success && n.fn.mod.ctx != s.ctx {
		r = errInvalidHandle
	}
	if r != success {
		if s.cap != nil {
			s.cap.invalidate(r) // even if the launch itself is invalid
		}
		return r
	}
	if s.cap == nil {
		if r := s.implicitlyCaptured(); r != success {
			return r
		}
		s.enqueue(n)
		return attrs.events(s)
	}
	return s.captureKernel(n)
}

// captureKernel records a launch. With programmatic serialization, the launch depends on the
// programmatic port of the kernels before it.
func (s *stream) captureKernel(n *kernelNode) result {
	if n.attrs.serialization != 0 {
		deps := make([]edge, len(s.capDeps))
		for i, d := range s.capDeps {
			if d.node.params.kind() == cu.CU_GRAPH_NODE_TYPE_KERNEL && !d.special() {
				d.data = cu.CUgraphEdgeData{
					From_port: cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
					Type:      byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC),
				}
			}
			deps[i] = d
		}
		if s.cap != nil && s.capturable() == success {
			s.capDeps = deps
		}
	}
	if s.priority != 0 && !n.attrs.hasPriority {
		n.attrs.priority, n.attrs.hasPriority = s.priority, true
	}
	return s.record(n)
}

// kernelNode checks a launch and copies its arguments.
func (c call) kernelNode(spec *launchSpec, attrs launchAttrs) (*kernelNode, result) {
	f, r := c.functionOf(spec.fn)
	if r != success {
		return nil, r
	}
	n := &kernelNode{fn: f, grid: spec.grid, block: spec.block, shared: spec.shared, attrs: attrs}
	if r := n.check(); r != success {
		return nil, r
	}
	if spec.packed != nil {
		n.args = make([]byte, f.info.ParamBytes)
		copy(n.args, spec.packed)
		return n, success
	}
	if n.args, r = f.arguments(spec.params, spec.extra); r != success {
		return nil, r
	}
	return n, success
}

// arguments builds the parameter block.
func (f *kernelFunc) arguments(params, extra *unsafe.Pointer) ([]byte, result) {
	block := make([]byte, f.info.ParamBytes)
	switch {
	case params != nil && extra != nil:
		return nil, errInvalidValue
	case len(f.params) == 0:
		return block, success
	case params != nil:
		for i, p := range unsafe.Slice(params, len(f.params)) {
			if p == nil {
				return nil, errInvalidValue
			}
			at := f.params[i]
			copy(block[at.Offset:], unsafe.Slice((*byte)(p), at.Size))
		}
		return block, success
	case extra != nil:
		return block, fromExtra(block, extra)
	}
	return nil, errInvalidValue
}

// fromExtra fills the block from a list of (key, value) pairs that ends with CU_LAUNCH_PARAM_END.
// Keys are small numbers stored as pointers.
func fromExtra(block []byte, extra *unsafe.Pointer) result {
	var buf unsafe.Pointer
	size := uintptr(0)
	word := sizeOf[uintptr]()
	for entry := unsafe.Pointer(extra); ; entry = unsafe.Add(entry, 2*word) {
		value := unsafe.Add(entry, word)
		switch *(*uintptr)(entry) {
		case cu.CU_LAUNCH_PARAM_END_AS_INT:
			if buf == nil || size > uintptr(len(block)) {
				return errInvalidValue
			}
			copy(block, unsafe.Slice((*byte)(buf), size))
			return success
		case cu.CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT:
			buf = *(*unsafe.Pointer)(value)
		case cu.CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT:
			if p := *(**uintptr)(value); p != nil {
				size = *p
			}
		default:
			return errInvalidValue
		}
	}
}
