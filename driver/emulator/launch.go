package emulator

import (
	"encoding/binary"
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

// launchAttrs are the attributes of a launch or a kernel node. Attributes that only steer the
// hardware of a real device are stored and returned, but have no effect.
type launchAttrs struct {
	cooperative   int32
	cluster       vm.Dim3
	priority      int32
	hasPriority   bool
	serialization int32
	others        map[cu.CUlaunchAttributeID]cu.CUlaunchAttributeValue

	atStart, atEnd *event // programmatic and launch completion events
}

func (a *launchAttrs) set(c call, id cu.CUlaunchAttributeID, v *cu.CUlaunchAttributeValue) result {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_IGNORE:
	case cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if *v.Cooperative() < 0 || *v.Cooperative() > 1 {
			return errInvalidValue
		}
		a.cooperative = *v.Cooperative()
	case cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		d := v.ClusterDim()
		a.cluster = vm.Dim3{X: d.X, Y: d.Y, Z: d.Z}
	case cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		a.priority, a.hasPriority = *v.Priority(), true
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		a.serialization = *v.ProgrammaticStreamSerializationAllowed()
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return eventAttribute(c, uintptr(v.ProgrammaticEvent().Event), &a.atStart)
	case cu.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return eventAttribute(c, uintptr(v.LaunchCompletionEvent().Event), &a.atEnd)
	case cu.CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return errNotSupported
	default:
		if !keptAttribute(id) {
			return errInvalidValue
		}
		others := map[cu.CUlaunchAttributeID]cu.CUlaunchAttributeValue{id: *v}
		for k, old := range a.others {
			if k != id {
				others[k] = old
			}
		}
		a.others = others // never changed in place: copies of a share it
	}
	return success
}

func eventAttribute(c call, h uintptr, to **event) result {
	ev := find[event](c.e, h)
	if ev == nil {
		return errInvalidHandle
	}
	*to = ev
	return success
}

// keptAttribute reports whether an attribute is stored but has no effect here.
func keptAttribute(id cu.CUlaunchAttributeID) bool {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
		cu.CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
		cu.CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
		cu.CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
		cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		return true
	}
	return false
}

func (a *launchAttrs) get(id cu.CUlaunchAttributeID, out *cu.CUlaunchAttributeValue) result {
	*out = cu.CUlaunchAttributeValue{}
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		*out.Cooperative() = a.cooperative
	case cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		d := out.ClusterDim()
		d.X, d.Y, d.Z = a.cluster.X, a.cluster.Y, a.cluster.Z
	case cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		*out.Priority() = a.priority
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		*out.ProgrammaticStreamSerializationAllowed() = a.serialization
	default:
		if !keptAttribute(id) {
			return errInvalidValue
		}
		*out = a.others[id]
	}
	return success
}

// events records the events of the launch. A kernel starts and ends as one step here, so both
// events are recorded after it.
func (a *launchAttrs) events(s *stream) result {
	for _, ev := range []*event{a.atStart, a.atEnd} {
		if ev != nil {
			ev.record(s)
		}
	}
	return success
}

// The launches of CUDA before 4.0: block, shared memory and parameters are state of the function.

// oldLaunch is that state.
type oldLaunch struct {
	block  vm.Dim3
	shared uint32
	size   uint32 // of the parameters
	params [oldParameters]byte
}

// oldParameters is the size of the parameter buffer.
const oldParameters = 4096

var oldLaunchFunctions = functions{
	"cuFuncSetBlockShape": {cuFuncSetBlockShape, current},
	"cuFuncSetSharedSize": {cuFuncSetSharedSize, current},
	"cuParamSetSize":      {cuParamSetSize, current},
	"cuParamSeti":         {cuParamSeti, current},
	"cuParamSetf":         {cuParamSeti, current}, // the same bits
	"cuParamSetv":         {cuParamSetv, current},
	"cuLaunch":            {cuLaunch, current},
	"cuLaunchGrid":        {cuLaunchGrid, current},
	"cuLaunchGridAsync":   {cuLaunchGridAsync, current},
}

// oldAt returns the function of argument 0 with its state.
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
	n := kernelNode{fn: f, grid: vm.Dim3{X: 1, Y: 1, Z: 1}, block: vm.Dim3{X: c.Uint32(1), Y: c.Uint32(2), Z: c.Uint32(3)}}
	if r := n.check(); r != success {
		return r
	}
	old.block = n.block
	return success
}

func cuFuncSetSharedSize(c call) result {
	f, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case int64(c.Uint32(1)) > int64(f.settings.maxDynamicShared):
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

// bytes returns the parameter buffer's n bytes at the offset in argument 1.
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

// launchOld launches with the function's state.
func launchOld(c call, width, height int32, stream uintptr) result {
	f, old, r := oldAt(c)
	switch {
	case r != success:
		return r
	case width <= 0 || height <= 0:
		return errInvalidValue
	}
	spec := launchSpec{
		fn: f.handle, block: old.block, shared: old.shared, packed: old.params[:old.size],
		grid: vm.Dim3{X: uint32(width), Y: uint32(height), Z: 1},
	}
	return launch(c, stream, &spec, launchAttrs{})
}
