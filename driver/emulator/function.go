package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/launch"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/loader"
)

type kernelFunc struct {
	handle uintptr
	mod    *module
	code   *vm.Kernel
	known  bool // set once ready has set Function
	launch.Function
	old *oldLaunch // state of the launch functions that preceded CUDA 4.0; nil until used
}

func newKernelFunc(m *module, k *vm.Kernel) *kernelFunc {
	f := &kernelFunc{mod: m, code: k}
	f.handle = m.ctx.e.register(f)
	return f
}

// ready reads the kernel's attributes when the function is first used. Reading them may compile the
// kernel, so ready releases the lock.
func (f *kernelFunc) ready() *kernelFunc {
	if f == nil || f.known {
		return f
	}
	var info vm.Attributes
	f.mod.ctx.e.unlocked(func() { info = f.code.Attributes() })
	if f.known {
		return f // another thread has already read them, and may have changed a setting since
	}
	e := f.mod.ctx.e
	f.known, f.Function = true, launch.New(f.code, info, e.spec(), e.cfg.LimitMemory)
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

// getAttribute returns a driver function that takes (value *, attribute, function).
func getAttribute(lookup func(c call, i int) (*kernelFunc, result)) func(call) result {
	return func(c call) result {
		f, r := lookup(c, 2)
		if r != success {
			return r
		}
		v, r := f.Attribute(cu.CUfunction_attribute(c.Uint32(1)))
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
	return f.SetAttribute(cu.CUfunction_attribute(c.Uint32(1)), c.Int32(2))
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
	f.Cache = v
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

func (f *kernelFunc) putParam(c call) result {
	i := c.Uint64(1)
	if c.Ptr(2) == nil || i >= uint64(len(f.Params)) {
		return errInvalidValue
	}
	*at[uintptr](c, 2) = uintptr(f.Params[i].Offset)
	if size := at[uintptr](c, 3); size != nil {
		*size = uintptr(f.Params[i].Size)
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
	return put(c, 0, int32(f.Blocks(int(c.Int32(2)), c.Uint64(3))))
}

func cuOccupancyMaxActiveBlocksWithFlags(c call) result {
	if c.Uint32(4)&^uint32(cu.CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0 {
		return errInvalidValue
	}
	return cuOccupancyMaxActiveBlocks(c)
}

// cuOccupancyMaxPotentialBlockSize calls the program's C function, if any, to compute the shared
// memory for each block size.
func cuOccupancyMaxPotentialBlockSize(c call) result {
	grid, block := at[int32](c, 0), at[int32](c, 1)
	f, r := functionAt(c, 2)
	switch {
	case r != success:
		return r
	case grid == nil || block == nil:
		return errInvalidValue
	}
	limit := f.Info.MaxThreads
	if n := int(c.Int32(5)); n > 0 {
		limit = min(limit, n)
	}
	threads, blocks := f.BestBlock(limit, func(threads int) uint64 { return dynamicShared(c, threads) })
	*grid, *block = int32(blocks), int32(threads)
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
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	free, r := f.FreeShared(int(c.Int32(2)), int(c.Int32(3)))
	if r != success {
		return r
	}
	return put(c, 0, free)
}

func cuOccupancyMaxPotentialClusterSize(c call) result {
	f, r := functionAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || c.Ptr(2) == nil:
		return errInvalidValue
	}
	size, r := f.LargestCluster()
	if r != success {
		return r
	}
	return put(c, 0, size)
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
	l := launchOf(cfg)
	l.Function = &f.Function
	sized := false
	if cfg.Attrs != nil {
		for _, a := range unsafe.Slice(cfg.Attrs, cfg.NumAttrs) {
			if a.Id == cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
				l.Attrs.Set(a.Id, &a.Value, nil)
				sized = true
			}
		}
	}
	n, r := l.ActiveClusters(sized)
	if r != success {
		return r
	}
	return put(c, 0, n)
}
