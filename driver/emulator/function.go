package emulator

import (
	"cmp"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/loader"
)

// kernelFunc is a kernel of a module: a CUfunction.
type kernelFunc struct {
	handle   uintptr
	mod      *module
	code     *vm.Kernel
	params   []vm.Param
	known    bool // info and settings are read
	info     vm.Attributes
	settings functionSettings
	old      *oldLaunch // nil until a function of CUDA before 4.0 sets something
}

// functionSettings are the attributes of a function that can be set.
type functionSettings struct {
	maxDynamicShared int32
	carveout         int32
	nonPortable      bool
	cluster          vm.Dim3
	clusterPolicy    int32
	cache            cu.CUfunc_cache
}

const defaultShared = 48 << 10 // shared memory that a block gets without opting in to more

func newKernelFunc(m *module, k *vm.Kernel) *kernelFunc {
	f := &kernelFunc{mod: m, code: k, params: k.Params()}
	f.handle = m.ctx.e.register(f)
	return f
}

// ready reads the kernel's attributes when the function is first used, because its program may not
// have been compiled before. Reading takes time, so it releases the lock until it is done.
func (f *kernelFunc) ready() *kernelFunc {
	if f == nil || f.known {
		return f
	}
	var info vm.Attributes
	f.mod.ctx.e.unlocked(func() { info = f.code.Attributes() })
	if f.known {
		return f // another thread was faster, and may have set something
	}
	f.known, f.info = true, info
	f.settings = functionSettings{carveout: -1, cluster: info.ReqCluster}
	f.settings.maxDynamicShared = int32(max(defaultShared-info.SharedBytes, 0))
	return f
}

// functionOf resolves a CUfunction, or a CUkernel passed as one.
func (c call) functionOf(h uintptr) (*kernelFunc, result) {
	switch o := c.e.handles[h].(type) {
	case *kernelFunc:
		return o.ready(), o.mod.ctx.usable()
	case *kernel:
		if r := c.ctx.usable(); r != success {
			return nil, r
		}
		return o.in(c)
	}
	return nil, errInvalidHandle
}

func functionAt(c call, i int) (*kernelFunc, result) { return c.functionOf(c.Word(i)) }

var kernelFunctions = functions{
	"cuFuncGetAttribute":       {getAttribute(functionAt), current},
	"cuFuncSetAttribute":       {cuFuncSetAttribute, current},
	"cuFuncSetCacheConfig":     {cuFuncSetCacheConfig, current},
	"cuFuncSetSharedMemConfig": {cuFuncSetSharedMemConfig, current},
	"cuFuncGetModule":          {query(functionAt, 1, 0, func(f *kernelFunc) uintptr { return f.mod.handle }), current},
	"cuFuncGetName":            {cuFuncGetName, current},
	"cuFuncGetParamInfo":       {cuFuncGetParamInfo, current},
	"cuFuncIsLoaded":           {query(functionAt, 1, 0, (*kernelFunc).loading), current},
	"cuFuncLoad":               {cuFuncLoad, current},
}

func (f *kernelFunc) attribute(a cu.CUfunction_attribute) (int32, result) {
	s := &f.settings
	cc := f.mod.ctx.e.cfg.ComputeCapability
	switch a {
	case cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		return int32(f.info.MaxThreads), success
	case cu.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		return int32(f.info.SharedBytes), success
	case cu.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		return int32(f.info.ConstBytes), success
	case cu.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		return int32(f.info.LocalBytes), success
	case cu.CU_FUNC_ATTRIBUTE_NUM_REGS:
		return int32(f.info.NumRegs), success
	case cu.CU_FUNC_ATTRIBUTE_PTX_VERSION:
		return int32(f.info.PTXVersion), success
	case cu.CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		return int32(cc[0]*10 + cc[1]), success
	case cu.CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
		return 0, success
	case cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		return s.maxDynamicShared, success
	case cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return s.carveout, success
	case cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
		return flag(f.info.Explicit), success
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
		return int32(s.cluster.X), success
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
		return int32(s.cluster.Y), success
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		return int32(s.cluster.Z), success
	case cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		return flag(s.nonPortable), success
	case cu.CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return s.clusterPolicy, success
	}
	return 0, errInvalidValue
}

// setAttribute sets an attribute that can be changed.
func (f *kernelFunc) setAttribute(a cu.CUfunction_attribute, v int32) result {
	s := &f.settings
	limits := f.mod.ctx.e.spec().Multiprocessor()
	compiled := f.info.ReqCluster != vm.Dim3{}
	switch a {
	case cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if v < 0 || int(v) > limits.SharedOptin-f.info.SharedBytes {
			return errInvalidValue
		}
		s.maxDynamicShared = v
	case cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if v < -1 || v > 100 {
			return errInvalidValue
		}
		s.carveout = v
	case cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		s.nonPortable = v != 0
	case cu.CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		if v < 0 || v > int32(cu.CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) {
			return errInvalidValue
		}
		s.clusterPolicy = v
	case cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		switch {
		case compiled:
			return errNotPermitted
		case v < 0:
			return errInvalidValue
		}
		dims := []*uint32{&s.cluster.X, &s.cluster.Y, &s.cluster.Z}
		*dims[a-cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = uint32(v)
	default:
		return errInvalidValue
	}
	return success
}

// getAttribute makes a function that reads (value *, attribute, function).
func getAttribute(lookup func(c call, i int) (*kernelFunc, result)) func(call) result {
	return func(c call) result {
		f, r := lookup(c, 2)
		if r != success {
			return r
		}
		v, r := f.attribute(cu.CUfunction_attribute(c.Uint32(1)))
		if r != success {
			return r
		}
		return put(c, 0, v)
	}
}

func cuFuncSetAttribute(c call) result {
	f, r := functionAt(c, 0)
	if r != success {
		return r
	}
	return f.setAttribute(cu.CUfunction_attribute(c.Uint32(1)), c.Int32(2))
}

func cuFuncSetCacheConfig(c call) result {
	f, r := functionAt(c, 0)
	v := cu.CUfunc_cache(c.Uint32(1))
	switch {
	case r != success:
		return r
	case v > cu.CU_FUNC_CACHE_PREFER_EQUAL:
		return errInvalidValue
	}
	f.settings.cache = v
	return success
}

func cuFuncSetSharedMemConfig(c call) result {
	if cu.CUsharedconfig(c.Uint32(1)) > cu.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
		return errInvalidValue
	}
	_, r := functionAt(c, 0)
	return r
}

func cuFuncGetName(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	f, r := functionAt(c, 1)
	if r != success {
		return r
	}
	return put(c, 0, c.e.cString(f.code.Name()))
}

func cuFuncGetParamInfo(c call) result {
	if c.Word(0) == 0 {
		return errInvalidValue
	}
	f, r := functionAt(c, 0)
	if r != success {
		return r
	}
	return f.putParam(c)
}

// putParam stores (offset, size) of the parameter whose number is argument 1.
func (f *kernelFunc) putParam(c call) result {
	i := c.Uint64(1)
	if c.Ptr(2) == nil || i >= uint64(len(f.params)) {
		return errInvalidValue
	}
	*at[uintptr](c, 2) = uintptr(f.params[i].Offset)
	if size := at[uintptr](c, 3); size != nil {
		*size = uintptr(f.params[i].Size)
	}
	return success
}

func (*kernelFunc) loading() cu.CUfunctionLoadingState { return cu.CU_FUNCTION_LOADING_STATE_LOADED }

func cuFuncLoad(c call) result {
	_, r := functionAt(c, 0)
	return r
}

var occupancyFunctions = functions{
	"cuOccupancyMaxActiveBlocksPerMultiprocessor":          {cuOccupancyMaxActiveBlocks, current},
	"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": {cuOccupancyMaxActiveBlocksWithFlags, current},
	"cuOccupancyMaxPotentialBlockSize":                     {cuOccupancyMaxPotentialBlockSize, current},
	"cuOccupancyMaxPotentialBlockSizeWithFlags":            {cuOccupancyMaxPotentialBlockSize, current},
	"cuOccupancyAvailableDynamicSMemPerBlock":              {cuOccupancyAvailableDynamicSMemPerBlock, current},
	"cuOccupancyMaxPotentialClusterSize":                   {cuOccupancyMaxPotentialClusterSize, current},
	"cuOccupancyMaxActiveClusters":                         {cuOccupancyMaxActiveClusters, current},
}

const warpSize = 32

// blocksPerSM returns how many blocks of the given size are resident at a time.
func (f *kernelFunc) blocksPerSM(threads int, dynamic uint64) int {
	return f.mod.ctx.e.spec().Multiprocessor().Blocks(threads, f.info.NumRegs, uint64(f.info.SharedBytes)+dynamic)
}

// spec describes the emulator's devices.
func (e *Emulator) spec() spec.Device {
	return spec.Device{Capability: e.cfg.ComputeCapability, Multiprocessors: e.cfg.Multiprocessors}
}

func cuOccupancyMaxActiveBlocks(c call) result {
	f, r := functionAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || c.Int32(2) <= 0:
		return errInvalidValue
	}
	return put(c, 0, int32(f.blocksPerSM(int(c.Int32(2)), c.Uint64(3))))
}

func cuOccupancyMaxActiveBlocksWithFlags(c call) result {
	if c.Uint32(4)&^uint32(cu.CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0 {
		return errInvalidValue
	}
	return cuOccupancyMaxActiveBlocks(c)
}

// cuOccupancyMaxPotentialBlockSize tries block sizes from the largest. The caller's function from
// block size to shared memory is a C function.
func cuOccupancyMaxPotentialBlockSize(c call) result {
	grid, block := at[int32](c, 0), at[int32](c, 1)
	f, r := functionAt(c, 2)
	switch {
	case r != success:
		return r
	case grid == nil || block == nil:
		return errInvalidValue
	}
	limit := f.info.MaxThreads
	if n := int(c.Int32(5)); n > 0 {
		limit = min(limit, n)
	}
	best, bestThreads, bestBlocks := 0, 0, 0
	for threads := limit; threads > 0; threads = (threads - 1) / warpSize * warpSize {
		blocks := f.blocksPerSM(threads, dynamicShared(c, threads))
		if blocks*threads > best {
			best, bestThreads, bestBlocks = blocks*threads, threads, blocks
		}
	}
	*grid = int32(bestBlocks * f.mod.ctx.e.cfg.Multiprocessors)
	*block = int32(bestThreads)
	return success
}

func dynamicShared(c call, threads int) uint64 {
	if fn := c.Word(3); fn != 0 {
		p := loader.AddrProc(fn)
		return uint64(p.Call(uintptr(threads)))
	}
	return c.Uint64(4)
}

func cuOccupancyAvailableDynamicSMemPerBlock(c call) result {
	f, r := functionAt(c, 1)
	blocks, threads := int(c.Int32(2)), int(c.Int32(3))
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || blocks <= 0 || threads <= 0:
		return errInvalidValue
	case f.blocksPerSM(threads, 0) < blocks:
		return errInvalidValue
	}
	free := c.e.spec().Multiprocessor().Shared(blocks) - f.info.SharedBytes
	free = min(free, int(f.settings.maxDynamicShared))
	return put(c, 0, uintptr(max(free, 0)))
}

const (
	portableCluster = 8
	largestCluster  = 16
)

func cuOccupancyMaxPotentialClusterSize(c call) result {
	f, r := functionAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || c.Ptr(2) == nil:
		return errInvalidValue
	case !c.e.spec().Multiprocessor().Clusters:
		return errNotSupported
	case f.settings.nonPortable:
		return put(c, 0, int32(largestCluster))
	}
	return put(c, 0, int32(portableCluster))
}

func cuOccupancyMaxActiveClusters(c call) result {
	f, r := functionAt(c, 1)
	cfg := at[cu.CUlaunchConfig](c, 2)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || cfg == nil:
		return errInvalidValue
	}
	n := kernelNode{fn: f, grid: vm.Dim3{X: cfg.GridDimX, Y: cfg.GridDimY, Z: cfg.GridDimZ}}
	asked := false
	if cfg.Attrs != nil {
		for _, a := range unsafe.Slice(cfg.Attrs, cfg.NumAttrs) {
			if a.Id == cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
				d := a.Value.ClusterDim()
				n.attrs.cluster, asked = vm.Dim3{X: d.X, Y: d.Y, Z: d.Z}, true
			}
		}
	}
	size := n.cluster()
	if size == (vm.Dim3{}) && !asked {
		return put(c, 0, int32(0)) // no clusters without a size
	}
	if r := n.checkCluster(); r != success || size.Count() == 0 {
		return cmp.Or(r, errInvalidCluster)
	}
	threads := int(cfg.BlockDimX * cfg.BlockDimY * cfg.BlockDimZ)
	blocks := f.blocksPerSM(threads, uint64(cfg.SharedMemBytes)) * c.e.cfg.Multiprocessors
	return put(c, 0, int32(uint64(blocks)/size.Count()))
}
