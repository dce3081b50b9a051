package launch

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Function is a kernel of a module loaded on a device, with the attributes that a program can set.
type Function struct {
	Info   vm.Attributes
	Params []vm.Param
	// MaxDynamicShared is the limit for Launch.Shared.
	MaxDynamicShared int32
	Cache            cu.CUfunc_cache

	code          *vm.Kernel
	device        spec.Device
	memory        uint64 // size of the device's memory, in bytes
	carveout      int32
	nonPortable   bool
	cluster       vm.Dim3
	clusterPolicy int32
}

const (
	defaultShared = 48 << 10 // bytes of shared memory that a block may use without opting in
	maxBlock      = 1024     // threads of a block
)

// New returns the function for a kernel with the given attributes, on a device with the given
// amount of memory.
func New(code *vm.Kernel, info vm.Attributes, device spec.Device, memory uint64) Function {
	return Function{
		Info: info, Params: code.Params(), code: code, device: device, memory: memory,
		MaxDynamicShared: int32(max(defaultShared-info.SharedBytes, 0)),
		carveout:         -1, cluster: info.ReqCluster,
	}
}

func (f *Function) limits() spec.Multiprocessor { return f.device.Multiprocessor() }

// Attribute returns an attribute. It fails for unknown attributes.
func (f *Function) Attribute(a cu.CUfunction_attribute) (int32, cu.CUresult) {
	switch a {
	case cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		if f.Info.ReqBlock != (vm.Dim3{}) {
			return maxBlock, success // drivers do not include .reqntid here
		}
		return int32(f.Info.MaxThreads), success
	case cu.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		return int32(f.Info.SharedBytes), success
	case cu.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		return int32(f.Info.ConstBytes), success
	case cu.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		return int32(f.Info.LocalBytes), success
	case cu.CU_FUNC_ATTRIBUTE_NUM_REGS:
		return int32(f.Info.NumRegs), success
	case cu.CU_FUNC_ATTRIBUTE_PTX_VERSION:
		return int32(f.Info.PTXVersion), success
	case cu.CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		return int32(f.device.Capability[0]*10 + f.device.Capability[1]), success
	case cu.CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
		return 0, success
	case cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		return f.MaxDynamicShared, success
	case cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return f.carveout, success
	case cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
		return flag(f.Info.Explicit), success
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
		return int32(f.cluster.X), success
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
		return int32(f.cluster.Y), success
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		return int32(f.cluster.Z), success
	case cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		return flag(f.nonPortable), success
	case cu.CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return f.clusterPolicy, success
	}
	return 0, errInvalidValue
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// SetAttribute sets an attribute. It fails for attributes that cannot be changed.
func (f *Function) SetAttribute(a cu.CUfunction_attribute, v int32) cu.CUresult {
	switch a {
	case cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if v < 0 || int(v) > f.limits().SharedOptin-f.Info.SharedBytes {
			return errInvalidValue
		}
		f.MaxDynamicShared = v
	case cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if v < -1 || v > 100 {
			return errInvalidValue
		}
		f.carveout = v
	case cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		f.nonPortable = v != 0
	case cu.CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		if v < 0 || v > int32(cu.CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) {
			return errInvalidValue
		}
		f.clusterPolicy = v
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		switch {
		case f.Info.ReqCluster != vm.Dim3{}: // the PTX fixes the cluster size
			return cu.CUDA_ERROR_NOT_PERMITTED
		case v < 0:
			return errInvalidValue
		}
		dims := []*uint32{&f.cluster.X, &f.cluster.Y, &f.cluster.Z}
		*dims[a-cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = uint32(v)
	default:
		return errInvalidValue
	}
	return success
}

// Blocks returns how many blocks of the given size can be resident on a multiprocessor.
func (f *Function) Blocks(threads int, dynamic uint64) int {
	return f.limits().Blocks(threads, f.Info.NumRegs, uint64(f.Info.SharedBytes)+dynamic)
}

func (f *Function) resident(threads int, dynamic uint32) uint64 {
	return uint64(f.Blocks(threads, uint64(dynamic))) * uint64(f.device.Multiprocessors)
}

const warpSize = 32

// BestBlock returns the block size, up to limit threads, that keeps the most threads resident. It
// also returns how many such blocks fit on the device. shared returns the dynamic shared memory of
// a block.
func (f *Function) BestBlock(limit int, shared func(threads int) uint64) (best, blocks int) {
	resident := 0
	for threads := limit; threads > 0; threads = (threads - 1) / warpSize * warpSize {
		if n := f.Blocks(threads, shared(threads)); n*threads > resident {
			resident, best, blocks = n*threads, threads, n
		}
	}
	return best, blocks * f.device.Multiprocessors
}

// FreeShared returns how much dynamic shared memory each block can have if the given number of
// blocks is resident on a multiprocessor.
func (f *Function) FreeShared(blocks, threads int) (uintptr, cu.CUresult) {
	if blocks <= 0 || threads <= 0 || f.Blocks(threads, 0) < blocks {
		return 0, errInvalidValue
	}
	free := min(f.limits().Shared(blocks)-f.Info.SharedBytes, int(f.MaxDynamicShared))
	return uintptr(max(free, 0)), success
}

// LargestCluster returns the maximum cluster size for the function, in blocks.
func (f *Function) LargestCluster() (int32, cu.CUresult) {
	if !f.limits().Clusters {
		return 0, errNotSupported
	}
	return f.largestCluster(), success
}

func (f *Function) largestCluster() int32 {
	if f.nonPortable {
		return largestCluster
	}
	return portableCluster
}

// Arguments copies a launch's arguments to a new parameter block. params points to an array of
// pointers, one to each argument. extra is a list that contains one buffer with all arguments. Only
// one of params and extra may be set.
func (f *Function) Arguments(params, extra *unsafe.Pointer) ([]byte, cu.CUresult) {
	block := make([]byte, f.Info.ParamBytes)
	switch {
	case params != nil && extra != nil:
		return nil, errInvalidValue
	case len(f.Params) == 0:
		return block, success
	case params != nil:
		for i, p := range unsafe.Slice(params, len(f.Params)) {
			if p == nil {
				return nil, errInvalidValue
			}
			at := f.Params[i]
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
func fromExtra(block []byte, extra *unsafe.Pointer) cu.CUresult {
	var buf unsafe.Pointer
	size := uintptr(0)
	word := unsafe.Sizeof(size)
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
