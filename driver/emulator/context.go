package emulator

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/coredump"
	"github.com/purecuda/cuda/driver/emulator/internal/launch"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// cudaContext is a CUDA context. A device's primary context always has the same handle. It is alive
// while it is retained.
type cudaContext struct {
	e       *Emulator
	handle  uintptr
	dev     *device
	primary bool
	alive   bool
	flags   uint32
	id      uint64

	legacy    *stream
	perThread map[uint64]*stream
	streams   map[*stream]struct{}
	limits    map[cu.CUlimit]uintptr
	cache     cu.CUfunc_cache
	peers     map[*cudaContext]struct{}
	coredump  *coredump.Settings
	attached  int          // number of calls to cuCtxAttach
	heaps     []*vm.Heap   // heaps for malloc in kernels; only the last one is in use
	leftWork  []dependency // work in destroyed streams that the host does not know to have ended
}

// usable returns an error if the context does not exist or is not alive, or if its device has a
// fault.
func (ctx *cudaContext) usable() result {
	switch {
	case ctx == nil:
		return errInvalidContext
	case !ctx.alive:
		return errDestroyed
	}
	return ctx.dev.fault
}

func (ctx *cudaContext) open(flags uint32) {
	e := ctx.e
	ctx.alive, ctx.flags, ctx.id = true, flags, e.id()
	ctx.streams = make(map[*stream]struct{})
	ctx.perThread = make(map[uint64]*stream)
	ctx.peers = make(map[*cudaContext]struct{})
	ctx.limits = spec.ContextLimits()
	ctx.cache, ctx.heaps, ctx.attached = 0, nil, 0
	ctx.leftWork, ctx.coredump = nil, coredump.New()
	ctx.legacy = newStream(ctx, legacyHandle, 0, 0)
	ctx.dev.contexts = append(ctx.dev.contexts, ctx)
}

// close waits for the context's work and then destroys everything in the context.
func (ctx *cudaContext) close(by string) {
	ctx.wait()
	e := ctx.e
	for cap := range e.captures {
		if cap.origin.ctx == ctx {
			cap.drop()
		}
	}
	for h, object := range e.handles {
		if o, ok := object.(owned); ok && o.owner() == ctx {
			if kind := leakKind(object); kind != "" && ctx.dev.fault == success {
				e.reclaimed = append(e.reclaimed, Leak{Kind: kind, Handle: h, By: by, At: e.madeAt[h].String()})
			}
			o.destroy()
			e.forget(h)
		}
	}
	e.reclaimMemory(ctx, by)
	for _, h := range ctx.heaps {
		h.Release()
	}
	ctx.alive = false
	for s := range ctx.streams { // the work of these streams has ended, because ctx.wait waited for it
		if e.checks(ordering) {
			e.retire(s)
		}
	}
	ctx.streams, ctx.perThread = nil, nil
	contexts := ctx.dev.contexts[:0]
	for _, other := range ctx.dev.contexts {
		delete(other.peers, ctx)
		if other != ctx {
			contexts = append(contexts, other)
		}
	}
	ctx.dev.contexts = contexts
	if len(contexts) == 0 && e.cfg.RecoverFaults {
		ctx.dev.fault = success
	}
}

// owned is implemented by objects that are destroyed together with their context.
type owned interface {
	owner() *cudaContext
	destroy() // releases the object's resources; the caller removes its handle
}

func (ctx *cudaContext) wait() {
	waitAll(ctx)
}

func waitAll(contexts ...*cudaContext) {
	var deps, ends []dependency
	for _, ctx := range contexts {
		deps = append(deps, ctx.pending()...)
		if ctx.e.checks(ordering) {
			for s := range ctx.streams {
				ends = append(ends, s.last())
			}
		}
	}
	for _, d := range deps {
		d.wait()
	}
	for _, d := range ends {
		d.s.ctx.e.hostWaitedFor(d)
	}
}

func (ctx *cudaContext) kernelHeap() *vm.Heap {
	ctx.e.mu.Lock()
	defer ctx.e.mu.Unlock()
	if len(ctx.heaps) == 0 {
		ctx.newHeap()
	}
	return ctx.heaps[len(ctx.heaps)-1]
}

func (ctx *cudaContext) newHeap() {
	limit := min(uint64(ctx.limits[cu.CU_LIMIT_MALLOC_HEAP_SIZE]), ctx.e.cfg.LimitMemory)
	ctx.heaps = append(ctx.heaps, vm.NewHeap(ctx.e.mem, ctx.dev.ordinal, limit))
}

// pending returns the work that the host must still wait for in the context's streams and in
// destroyed streams.
func (ctx *cudaContext) pending() []dependency {
	var deps []dependency
	for s := range ctx.streams {
		deps = s.appendPending(deps)
	}
	ctx.forgetEnded()
	return append(deps, ctx.leftWork...)
}

func (ctx *cudaContext) forgetEnded() {
	ctx.leftWork = slices.DeleteFunc(ctx.leftWork, func(d dependency) bool { return d.settled() && d.knownToHost() })
}

func validContextFlags(f uint32) bool {
	if f&^uint32(cu.CU_CTX_FLAGS_MASK) != 0 {
		return false
	}
	switch f & uint32(cu.CU_CTX_SCHED_MASK) {
	case 0, 1, 2, 4:
		return true
	}
	return false
}

var contextFunctions = functions{
	"cuCtxCreate":                 {cuCtxCreateV1, afterInit},
	"cuCtxCreate_v2":              {cuCtxCreateV1, afterInit},
	"cuCtxCreate_v3":              {cuCtxCreateV3, afterInit},
	"cuCtxCreate_v4":              {cuCtxCreateV4, afterInit},
	"cuCtxDestroy":                {cuCtxDestroy, afterInit},
	"cuCtxDestroy_v2":             {cuCtxDestroy, afterInit},
	"cuCtxPushCurrent":            {cuCtxPushCurrent, afterInit},
	"cuCtxPushCurrent_v2":         {cuCtxPushCurrent, afterInit},
	"cuCtxPopCurrent":             {cuCtxPopCurrent, afterInit},
	"cuCtxPopCurrent_v2":          {cuCtxPopCurrent, afterInit},
	"cuCtxSetCurrent":             {cuCtxSetCurrent, afterInit},
	"cuCtxGetCurrent":             {cuCtxGetCurrent, afterInit},
	"cuCtxGetDevice":              {cuCtxGetDevice, afterInit},
	"cuCtxGetDevice_v2":           {cuCtxGetDeviceV2, afterInit},
	"cuCtxGetFlags":               {cuCtxGetFlags, afterInit},
	"cuCtxSetFlags":               {cuCtxSetFlags, afterInit},
	"cuCtxGetId":                  {cuCtxGetID, afterInit},
	"cuCtxSynchronize":            {cuCtxSynchronize, current},
	"cuCtxSynchronize_v2":         {cuCtxSynchronizeV2, afterInit},
	"cuCtxSetLimit":               {cuCtxSetLimit, currentUnsafe},
	"cuCtxGetLimit":               {cuCtxGetLimit, current},
	"cuCtxGetCacheConfig":         {cuCtxGetCacheConfig, current},
	"cuCtxSetCacheConfig":         {cuCtxSetCacheConfig, currentUnsafe},
	"cuCtxGetSharedMemConfig":     {cuCtxGetSharedMemConfig, current},
	"cuCtxSetSharedMemConfig":     {cuCtxSetSharedMemConfig, currentUnsafe},
	"cuCtxGetApiVersion":          {cuCtxGetAPIVersion, afterInit},
	"cuCtxGetStreamPriorityRange": {cuCtxGetStreamPriorityRange, current},
	"cuCtxResetPersistingL2Cache": {nothing, current},
	"cuCtxGetExecAffinity":        {cuCtxGetExecAffinity, current},
	"cuCtxRecordEvent":            {cuCtxRecordEvent, afterInit},
	"cuCtxWaitEvent":              {cuCtxWaitEvent, afterInit},
}

func cuCtxCreateV1(c call) result { return createContext(c, c.Uint32(1), 2) }

// cuCtxCreateV3 rejects affinity parameters, because emulated devices do not support affinity.
func cuCtxCreateV3(c call) result {
	if c.Int32(2) != 0 {
		return cu.CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
	}
	return createContext(c, c.Uint32(3), 4)
}

func cuCtxCreateV4(c call) result {
	if p := at[cu.CUctxCreateParams](c, 1); p != nil {
		switch {
		case p.NumExecAffinityParams != 0:
			return cu.CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
		case p.CigParams != nil:
			return errNotSupported
		}
	}
	return createContext(c, c.Uint32(2), 3)
}

func createContext(c call, flags uint32, deviceArg int) result {
	d := deviceAt(c, deviceArg)
	switch {
	case c.Ptr(0) == nil || !validContextFlags(flags):
		return errInvalidValue
	case d == nil:
		return errInvalidDevice
	case d.fault != success:
		return d.fault
	}
	ctx := &cudaContext{e: c.e, dev: d}
	ctx.handle = c.e.register(ctx)
	ctx.open(flags)
	c.th.stack = append(c.th.stack, ctx)
	return put(c, 0, ctx.handle)
}

func cuCtxDestroy(c call) result {
	ctx := handleAt[cudaContext](c, 0)
	switch {
	case c.Word(0) == 0:
		return errInvalidValue
	case ctx == nil || ctx.primary:
		return errInvalidContext
	case !ctx.alive:
		return errDestroyed
	}
	ctx.close("cuCtxDestroy")
	c.e.forget(ctx.handle)
	if c.th.current() == ctx {
		c.th.setCurrent(nil)
	}
	return success
}

func cuCtxPushCurrent(c call) result {
	ctx := handleAt[cudaContext](c, 0)
	switch {
	case c.Word(0) == 0:
		return errInvalidValue
	case ctx == nil:
		return errInvalidContext
	case !ctx.alive:
		return errDestroyed
	}
	c.th.stack = append(c.th.stack, ctx)
	return success
}

func cuCtxPopCurrent(c call) result {
	if c.ctx == nil {
		return errInvalidContext
	}
	c.th.setCurrent(nil)
	if out := at[uintptr](c, 0); out != nil {
		*out = c.ctx.handle
	}
	return success
}

func cuCtxSetCurrent(c call) result {
	if c.Word(0) == 0 {
		c.th.setCurrent(nil)
		return success
	}
	ctx := handleAt[cudaContext](c, 0)
	switch {
	case ctx == nil:
		return errInvalidContext
	case !ctx.alive:
		return errDestroyed
	}
	c.th.setCurrent(ctx)
	return success
}

func cuCtxGetCurrent(c call) result {
	var h uintptr
	if c.ctx != nil {
		h = c.ctx.handle
	}
	return put(c, 0, h)
}

// contextAt returns the context passed as argument i, where 0 means the current one.
func contextAt(c call, i int) *cudaContext {
	if c.Word(i) == 0 {
		return c.ctx
	}
	return handleAt[cudaContext](c, i)
}

func cuCtxGetDevice(c call) result {
	if c.ctx == nil {
		return errInvalidContext
	}
	return put(c, 0, cu.CUdevice(c.ctx.dev.ordinal))
}

func cuCtxGetDeviceV2(c call) result {
	ctx := contextAt(c, 1)
	if ctx == nil {
		return errInvalidContext
	}
	return put(c, 0, cu.CUdevice(ctx.dev.ordinal))
}

func cuCtxGetFlags(c call) result {
	if c.ctx == nil {
		return errInvalidContext
	}
	return put(c, 0, c.ctx.flags|uint32(cu.CU_CTX_MAP_HOST)) // CU_CTX_MAP_HOST is always on
}

func cuCtxSetFlags(c call) result {
	switch {
	case c.ctx == nil:
		return errInvalidContext
	case !validContextFlags(c.Uint32(0)):
		return errInvalidValue
	}
	c.ctx.flags = c.Uint32(0)
	return success
}

func cuCtxGetID(c call) result {
	ctx := contextAt(c, 0)
	switch {
	case ctx == nil:
		return errInvalidContext
	case !ctx.alive:
		return errDestroyed
	}
	return put(c, 1, ctx.id)
}

func cuCtxSynchronize(c call) result { return synchronize(c, c.ctx) }

func cuCtxSynchronizeV2(c call) result {
	ctx := contextAt(c, 0)
	if r := ctx.usable(); r != success {
		return r
	}
	return synchronize(c, ctx)
}

// synchronize waits for a context. It fails while a stream of the context is capturing, whatever
// the capture mode.
func synchronize(c call, ctx *cudaContext) result {
	if r := c.e.refuseWhileCapturing(c.th, ctx); r != success {
		return r
	}
	ctx.wait()
	return ctx.dev.fault
}

func cuCtxGetAPIVersion(c call) result {
	ctx := contextAt(c, 0)
	if ctx == nil {
		return errInvalidContext
	}
	return put(c, 1, uint32(3020))
}

func cuCtxGetStreamPriorityRange(c call) result {
	if p := at[int32](c, 0); p != nil {
		*p = launch.LeastPriority
	}
	if p := at[int32](c, 1); p != nil {
		*p = launch.GreatestPriority
	}
	return success
}

var primaryFunctions = functions{
	"cuDevicePrimaryCtxRetain":      {cuDevicePrimaryCtxRetain, afterInit},
	"cuDevicePrimaryCtxRelease":     {cuDevicePrimaryCtxRelease, afterInit},
	"cuDevicePrimaryCtxRelease_v2":  {cuDevicePrimaryCtxRelease, afterInit},
	"cuDevicePrimaryCtxSetFlags":    {cuDevicePrimaryCtxSetFlags, afterInit},
	"cuDevicePrimaryCtxSetFlags_v2": {cuDevicePrimaryCtxSetFlags, afterInit},
	"cuDevicePrimaryCtxGetState":    {cuDevicePrimaryCtxGetState, afterInit},
	"cuDevicePrimaryCtxReset":       {cuDevicePrimaryCtxReset, afterInit},
	"cuDevicePrimaryCtxReset_v2":    {cuDevicePrimaryCtxReset, afterInit},
}

func cuDevicePrimaryCtxRetain(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	if d.fault != success {
		return d.fault
	}
	if !d.primary.alive {
		d.primary.open(d.primaryFlags)
	}
	d.primaryRefs++
	return put(c, 0, d.primary.handle)
}

func cuDevicePrimaryCtxRelease(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case d.primaryRefs == 0:
		return errInvalidContext
	}
	if d.primaryRefs--; d.primaryRefs == 0 && d.primary.alive {
		d.primary.close("cuDevicePrimaryCtxRelease")
	}
	return success
}

func cuDevicePrimaryCtxReset(c call) result {
	d := deviceAt(c, 0)
	if d == nil {
		return errInvalidDevice
	}
	if d.primary.alive {
		d.primary.close("cuDevicePrimaryCtxReset")
	}
	return success
}

func cuDevicePrimaryCtxSetFlags(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case !validContextFlags(c.Uint32(1)):
		return errInvalidValue
	}
	d.primaryFlags = c.Uint32(1)
	if d.primary.alive {
		d.primary.flags = d.primaryFlags
	}
	return success
}

func cuDevicePrimaryCtxGetState(c call) result {
	d := deviceAt(c, 0)
	flags, active := at[uint32](c, 1), at[int32](c, 2)
	switch {
	case d == nil:
		return errInvalidDevice
	case flags == nil || active == nil:
		return errInvalidValue
	}
	*flags, *active = d.primaryFlags, flag(d.primary.alive)
	return success
}

func cuCtxGetCacheConfig(c call) result { return put(c, 0, c.ctx.cache) }

func cuCtxSetCacheConfig(c call) result {
	v := cu.CUfunc_cache(c.Uint32(0))
	if v > cu.CU_FUNC_CACHE_PREFER_EQUAL {
		return errInvalidValue
	}
	c.ctx.cache = v
	return success
}

func cuCtxGetSharedMemConfig(c call) result {
	return put(c, 0, cu.CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
}

func cuCtxSetSharedMemConfig(c call) result {
	v := cu.CUsharedconfig(c.Uint32(0))
	if v > cu.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
		return errInvalidValue
	}
	return success // since compute capability 5.0, every bank is 4 bytes wide
}

// cuCtxGetExecAffinity stores the total number of multiprocessors, because affinity cannot be
// restricted.
func cuCtxGetExecAffinity(c call) result {
	if cu.CUexecAffinityType(c.Uint32(1)) != cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT {
		return cu.CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
	}
	p := cu.CUexecAffinityParam{Type: cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT}
	p.Param.SmCount().Val = uint32(c.e.cfg.Multiprocessors)
	return put(c, 0, p)
}

func cuCtxSetLimit(c call) result {
	limit, value := cu.CUlimit(c.Uint32(0)), c.Word(1)
	if _, ok := c.ctx.limits[limit]; !ok {
		return unknownLimit(limit)
	}
	switch limit {
	case cu.CU_LIMIT_STACK_SIZE:
		if value > spec.MaxStack {
			return errInvalidValue
		}
	case cu.CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
		if value > 128 {
			return errInvalidValue
		}
	case cu.CU_LIMIT_SHMEM_SIZE, cu.CU_LIMIT_CIG_ENABLED:
		return errNotPermitted
	}
	c.ctx.limits[limit] = value
	if limit == cu.CU_LIMIT_MALLOC_HEAP_SIZE {
		c.ctx.newHeap()
	}
	return success
}

func cuCtxGetLimit(c call) result {
	limit := cu.CUlimit(c.Uint32(1))
	v, ok := c.ctx.limits[limit]
	if !ok {
		return unknownLimit(limit)
	}
	return put(c, 0, v)
}

// unknownLimit returns the result for a limit that is invalid or that the device does not have.
func unknownLimit(limit cu.CUlimit) result {
	if limit < cu.CU_LIMIT_MAX {
		return errUnsupportedLim
	}
	return errInvalidValue
}
