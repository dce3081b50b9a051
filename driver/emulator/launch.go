package emulator

import (
	"encoding/binary"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/launch"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// launchSpec describes a kernel launch. All launch functions and kernel nodes convert their
// parameters to it.
type launchSpec struct {
	launch.Launch // the Function in it is not set
	fn            uintptr
	params        *unsafe.Pointer // a pointer to each argument, or nil
	extra         *unsafe.Pointer // a list with a buffer of all arguments, or nil
	packed        []byte          // the bytes of all arguments, one after the other, or nil
}

var launchFunctions = functions{
	"cuLaunchKernel":            {cuLaunchKernel, afterInit},
	"cuLaunchKernelEx":          {cuLaunchKernelEx, afterInit},
	"cuLaunchCooperativeKernel": {cuLaunchCooperativeKernel, afterInit},
}

// specAt reads arguments 0 to 7 and 9 of cuLaunchKernel: the function, six dimensions, the shared
// memory size and the parameters.
func specAt(c call) launchSpec {
	spec := launchSpec{fn: c.Word(0), params: at[unsafe.Pointer](c, 9)}
	spec.Grid = vm.Dim3{X: c.Uint32(1), Y: c.Uint32(2), Z: c.Uint32(3)}
	spec.Block = vm.Dim3{X: c.Uint32(4), Y: c.Uint32(5), Z: c.Uint32(6)}
	spec.Shared = c.Uint32(7)
	return spec
}

func cuLaunchKernel(c call) result {
	spec := specAt(c)
	spec.extra = at[unsafe.Pointer](c, 10)
	return launchKernel(c, c.Word(8), &spec)
}

func cuLaunchCooperativeKernel(c call) result {
	spec := specAt(c)
	spec.Attrs.Cooperative = 1
	return launchKernel(c, c.Word(8), &spec)
}

func launchOf(cfg *cu.CUlaunchConfig) launch.Launch {
	return launch.Launch{
		Grid:   vm.Dim3{X: cfg.GridDimX, Y: cfg.GridDimY, Z: cfg.GridDimZ},
		Block:  vm.Dim3{X: cfg.BlockDimX, Y: cfg.BlockDimY, Z: cfg.BlockDimZ},
		Shared: cfg.SharedMemBytes,
	}
}

func cuLaunchKernelEx(c call) result {
	cfg := at[cu.CUlaunchConfig](c, 0)
	if cfg == nil || (cfg.NumAttrs > 0 && cfg.Attrs == nil) {
		return errInvalidValue
	}
	spec := launchSpec{Launch: launchOf(cfg), fn: c.Word(1), params: at[unsafe.Pointer](c, 2), extra: at[unsafe.Pointer](c, 3)}
	if cfg.NumAttrs > 0 {
		for i := range unsafe.Slice(cfg.Attrs, cfg.NumAttrs) {
			a := (*cu.CUlaunchAttribute)(unsafe.Add(unsafe.Pointer(cfg.Attrs), uintptr(i)*sizeOf[cu.CUlaunchAttribute]()))
			if r := spec.Attrs.Set(a.Id, &a.Value, c.isEvent); r != success {
				return r
			}
		}
	}
	return launchKernel(c, uintptr(cfg.HStream), &spec)
}

func launchKernel(c call, h uintptr, spec *launchSpec) result {
	s, r := c.streamOf(h)
	if r != success {
		return r
	}
	n, r := c.kernelNode(spec)
	if r == success && n.fn.mod.ctx != s.ctx {
		r = errInvalidHandle
	}
	if r != success {
		if s.cap != nil {
			s.cap.invalidate(r) // an invalid launch also invalidates the capture
		}
		return r
	}
	if s.cap == nil {
		if r := s.implicitlyCaptured(); r != success {
			return r
		}
		s.enqueue(n)
		c.e.recordEvents(s, &n.Attrs)
		return success
	}
	return s.captureKernel(n)
}

// captureKernel records a launch. With programmatic stream serialization, the launch depends on the
// programmatic ports of the preceding kernels.
func (s *stream) captureKernel(n *kernelNode) result {
	if n.Attrs.Serialization != 0 {
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
	if s.attrs.Priority != 0 && !n.Attrs.HasPriority {
		n.Attrs.Priority, n.Attrs.HasPriority = s.attrs.Priority, true
	}
	return s.record(n)
}

// kernelNode checks a launch and copies its arguments.
func (c call) kernelNode(spec *launchSpec) (*kernelNode, result) {
	f, r := c.functionOf(spec.fn)
	if r != success {
		return nil, r
	}
	n := &kernelNode{fn: f, Launch: spec.Launch}
	n.Function = &f.Function
	if r := n.Check(); r != success {
		return nil, r
	}
	if spec.packed != nil {
		n.args = make([]byte, f.Info.ParamBytes)
		copy(n.args, spec.packed)
		return n, success
	}
	if n.args, r = f.Arguments(spec.params, spec.extra); r != success {
		return nil, r
	}
	return n, success
}

func (c call) isEvent(h uintptr) bool { return find[event](c.e, h) != nil }

// recordEvents records the events of a launch. The emulator runs a kernel in one step, so it
// records both events after the kernel.
func (e *Emulator) recordEvents(s *stream, a *launch.Attributes) {
	for _, h := range []uintptr{a.AtStart, a.AtEnd} {
		if ev := find[event](e, h); ev != nil {
			ev.record(s)
		}
	}
}

// Before CUDA 4.0, a launch's block size, shared memory and arguments were part of the function's
// state.

type oldLaunch struct {
	block  vm.Dim3
	shared uint32
	size   uint32 // size of the arguments
	params [oldParameters]byte
}

const oldParameters = 4096

var oldLaunchFunctions = functions{
	"cuFuncSetBlockShape": {cuFuncSetBlockShape, current},
	"cuFuncSetSharedSize": {cuFuncSetSharedSize, current},
	"cuParamSetSize":      {cuParamSetSize, current},
	"cuParamSeti":         {cuParamSeti, current},
	"cuParamSetf":         {cuParamSeti, current}, // the same bits as an integer
	"cuParamSetv":         {cuParamSetv, current},
	"cuLaunch":            {cuLaunch, current},
	"cuLaunchGrid":        {cuLaunchGrid, current},
	"cuLaunchGridAsync":   {cuLaunchGridAsync, current},
}

// oldAt returns the function passed as argument 0 and its launch state.
func oldAt(c call) (*kernelFunc, *oldLaunch, result) {
	f, r := functionAt(c, 0)
	if r != success {
		return nil, nil, r
	}
	if f.old == nil {
		f.old = &oldLaunch{block: vm.Dim3{X: 1, Y: 1, Z: 1}}
	}
	return f, f.old, success
}

func cuFuncSetBlockShape(c call) result {
	f, old, r := oldAt(c)
	if r != success {
		return r
	}
	l := launch.Launch{Function: &f.Function, Grid: vm.Dim3{X: 1, Y: 1, Z: 1}, Block: vm.Dim3{X: c.Uint32(1), Y: c.Uint32(2), Z: c.Uint32(3)}}
	if r := l.Check(); r != success {
		return r
	}
	old.block = l.Block
	return success
}

func cuFuncSetSharedSize(c call) result {
	f, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case int64(c.Uint32(1)) > int64(f.MaxDynamicShared):
		return errInvalidValue
	}
	old.shared = c.Uint32(1)
	return success
}

func cuParamSetSize(c call) result {
	_, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case c.Uint32(1) > oldParameters:
		return errInvalidValue
	}
	old.size = c.Uint32(1)
	return success
}

// bytes returns n bytes of the parameter buffer, starting at the offset in argument 1.
func (old *oldLaunch) bytes(c call, n uint64) ([]byte, result) {
	at := int64(c.Int32(1))
	if at < 0 || uint64(at)+n > oldParameters {
		return nil, errInvalidValue
	}
	return old.params[at : uint64(at)+n], success
}

func cuParamSeti(c call) result {
	_, old, r := oldAt(c)
	if r != success {
		return r
	}
	b, r := old.bytes(c, 4)
	if r != success {
		return r
	}
	binary.LittleEndian.PutUint32(b, c.Uint32(2))
	return success
}

func cuParamSetv(c call) result {
	_, old, r := oldAt(c)
	if r != success {
		return r
	}
	n := c.Uint32(3)
	b, r := old.bytes(c, uint64(n))
	switch {
	case r != success:
		return r
	case c.Ptr(2) == nil:
		return errInvalidValue
	}
	copy(b, unsafe.Slice((*byte)(c.Ptr(2)), n))
	return success
}

func cuLaunch(c call) result { return launchOld(c, 1, 1, 0) }

func cuLaunchGrid(c call) result { return launchOld(c, c.Int32(1), c.Int32(2), 0) }

func cuLaunchGridAsync(c call) result {
	return launchOld(c, c.Int32(1), c.Int32(2), c.Word(3))
}

// launchOld launches a function with its stored launch state.
func launchOld(c call, width, height int32, stream uintptr) result {
	f, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case width <= 0 || height <= 0:
		return errInvalidValue
	}
	spec := launchSpec{fn: f.handle, packed: old.params[:old.size]}
	spec.Grid = vm.Dim3{X: uint32(width), Y: uint32(height), Z: 1}
	spec.Block, spec.Shared = old.block, old.shared
	return launchKernel(c, stream, &spec)
}
