package emulator

import (
	"errors"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/launch"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

type kernelNode struct {
	fn   *kernelFunc
	kern uintptr // the CUkernel that the program passed, or 0
	launch.Launch
	args []byte
}

func (n *kernelNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_KERNEL }

func (n *kernelNode) run(x *execution) result { return n.execute(x, nil) }

// execute runs the kernel. It passes user to the extern functions that the kernel calls.
func (n *kernelNode) execute(x *execution, user *graphRun) result {
	e := x.e
	if n.fn.mod.unloaded.Load() {
		e.cfg.Log.Error("kernel of an unloaded module", "kernel", n.fn.code.Name())
		return errLaunchFailed
	}
	e.stats.launches.Add(1)
	opts := n.options(x)
	start := func(m *CostModel) time.Duration { return m.Kernel }
	if user != nil {
		opts.User = user
		opts.Device.GraphExec = user.exec.deviceHandle()
		start = func(m *CostModel) time.Duration { return m.GraphKernel }
	}
	err := n.fn.code.Launch(e.running, opts)
	if opts.Count {
		e.profiles.add(n.fn.code.Name(), opts.Stats)
		x.spend(start)
		x.spend(func(m *CostModel) time.Duration { return m.kernel(n, e.cfg.Multiprocessors, opts.Stats) })
	}
	return x.launchResult(err)
}

func (n *kernelNode) options(x *execution) *vm.LaunchOptions {
	e, ctx := x.e, n.fn.mod.ctx
	grid, block := n.Shape()
	opts := &vm.LaunchOptions{
		Grid: grid, Block: block, Cluster: n.Cluster(),
		DynamicShared: n.Shared,
		Params:        n.args,
		Device: vm.DeviceInfo{
			Ordinal:           ctx.dev.ordinal,
			ComputeCapability: e.cfg.ComputeCapability[0]*10 + e.cfg.ComputeCapability[1],
			SMs:               e.cfg.Multiprocessors,
			WarpsPerSM:        int(ctx.dev.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / ctx.dev.attr(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE)),
			ClockKHz:          int(ctx.dev.attr(cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE)),
			GridID:            e.stats.launches.Load(),
		},
		Peers:       ctx.peerMask(),
		Workers:     e.cfg.Workers,
		Cooperative: n.Attrs.Cooperative != 0,
		Seed:        e.cfg.Seed,
		Checks:      e.cfg.Check.engine(),
		Report:      x.findInKernel,
		Stdout:      e.cfg.Stdout,
		Heap:        ctx.kernelHeap(),
		BlockMemory: e.cfg.LimitMemory,
		Timeout:     e.cfg.Limits.KernelTime,
	}
	if e.profiled() {
		opts.Count, opts.Stats = true, &vm.Stats{}
	}
	if x.order != nil {
		opts.Order = x.order
	}
	return opts
}

func (x *execution) launchResult(err error) result {
	if err == nil {
		return success
	}
	var fault *vm.Fault
	var refused *vm.LaunchError
	switch {
	case errors.As(err, &fault) && fault.Kind == vm.FaultAborted:
		return errLaunchFailed
	case errors.As(err, &fault):
		return x.noteFault(findingOf(fault, true), result(fault.Result()))
	case errors.As(err, &refused):
		return x.noteFault(Finding{Kind: "refused launch", Report: refused.Error()}, result(refused.Result))
	}
	return x.noteFault(Finding{Kind: "failed launch", Report: err.Error()}, errLaunchFailed)
}

// deviceLaunch returns the reason why driver 580 rejects the graph for device launch, or nil. In
// the emulator, only the host can launch such an executable graph, because a module that calls the
// device functions fails to load.
func (g *graph) deviceLaunch(flags uint64) *refusal {
	if autoFree(flags) || len(g.nodes) == 0 {
		return &refusal{result: errInvalidValue, reason: cu.CUDA_GRAPH_INSTANTIATE_ERROR}
	}
	for _, n := range g.nodes {
		switch n.params.kind() {
		case cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_MEMSET, cu.CU_GRAPH_NODE_TYPE_GRAPH:
		default:
			return &refusal{errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, n}
		}
	}
	return g.e.oneDevice(g)
}

// Version 1 of the kernel node parameters lacks the last two fields of version 2, which must then
// not be read.

type kernelParamsV2 = cu.CUDA_KERNEL_NODE_PARAMS_v2

// kernelParamsAt reads the struct that argument i points to. It returns the struct by value, so
// that the struct does not escape to the heap. The arrays that it points to may be on the caller's
// stack.
func kernelParamsAt(c call, i int, v1 bool) (p kernelParamsV2, ok bool) {
	switch {
	case c.Ptr(i) == nil:
		return p, false
	case !v1:
		return *at[kernelParamsV2](c, i), true
	}
	old := at[cu.CUDA_KERNEL_NODE_PARAMS_v1](c, i)
	p.Func, p.SharedMemBytes = old.Func, old.SharedMemBytes
	p.GridDimX, p.GridDimY, p.GridDimZ = old.GridDimX, old.GridDimY, old.GridDimZ
	p.BlockDimX, p.BlockDimY, p.BlockDimZ = old.BlockDimX, old.BlockDimY, old.BlockDimZ
	p.KernelParams, p.Extra = old.KernelParams, old.Extra
	return p, true
}

func readKernel(v1 bool) reader[*kernelNode] {
	return func(c call, i int, old *kernelNode) (*kernelNode, result) {
		p, ok := kernelParamsAt(c, i, v1)
		if !ok {
			return nil, errInvalidValue
		}
		return c.kernelNodeFrom(&p, old)
	}
}

// kernelNodeFrom creates a node's parameters from the struct. If old is not nil, the result has the
// attributes of old.
func (c call) kernelNodeFrom(p *kernelParamsV2, old *kernelNode) (*kernelNode, result) {
	spec := launchSpec{fn: uintptr(p.Func), params: p.KernelParams, extra: p.Extra}
	spec.Grid = vm.Dim3{X: p.GridDimX, Y: p.GridDimY, Z: p.GridDimZ}
	spec.Block = vm.Dim3{X: p.BlockDimX, Y: p.BlockDimY, Z: p.BlockDimZ}
	spec.Shared = p.SharedMemBytes
	if old != nil {
		spec.Attrs = old.Attrs
	}
	if spec.fn == 0 {
		spec.fn = uintptr(p.Kern)
	}
	if p.Ctx != 0 {
		ctx := find[cudaContext](c.e, uintptr(p.Ctx))
		if ctx == nil {
			return nil, errInvalidContext
		}
		c.ctx = ctx
	}
	if r := c.ctx.usable(); r != success {
		return nil, r
	}
	n, r := c.kernelNode(&spec)
	if r != success {
		return nil, r
	}
	if k := find[kernel](c.e, spec.fn); k != nil {
		n.kern = k.handle
	}
	return n, success
}

func cuGraphKernelNodeCopyAttributes(c call) result {
	dst, to, r := nodeOf[*kernelNode](c, 0)
	if r != success {
		return r
	}
	_, from, r := nodeOf[*kernelNode](c, 1)
	switch {
	case r != success:
		return r
	case to.fn.mod.ctx != from.fn.mod.ctx:
		return errInvalidContext
	}
	changed := *to
	changed.Attrs = from.Attrs
	dst.params = &changed
	return success
}

func cuGraphKernelNodeGetAttribute(c call) result {
	_, n, r := nodeOf[*kernelNode](c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(2) == nil:
		return errInvalidValue
	}
	return n.Attrs.Get(cu.CUlaunchAttributeID(c.Uint32(1)), at[cu.CUlaunchAttributeValue](c, 2))
}

func cuGraphKernelNodeSetAttribute(c call) result {
	n, old, r := nodeOf[*kernelNode](c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(2) == nil:
		return errInvalidValue
	}
	changed := *old
	if r := changed.Attrs.Set(cu.CUlaunchAttributeID(c.Uint32(1)), at[cu.CUlaunchAttributeValue](c, 2), c.isEvent); r != success {
		return r
	}
	if r := changed.Check(); r != success {
		return r
	}
	n.params = &changed
	return success
}

func (n *kernelNode) fieldsV1() cu.CUDA_KERNEL_NODE_PARAMS_v1 {
	p := n.fields()
	return cu.CUDA_KERNEL_NODE_PARAMS_v1{
		Func: cu.CUfunction(n.fn.handle), GridDimX: p.GridDimX, GridDimY: p.GridDimY, GridDimZ: p.GridDimZ,
		BlockDimX: p.BlockDimX, BlockDimY: p.BlockDimY, BlockDimZ: p.BlockDimZ,
		SharedMemBytes: p.SharedMemBytes, KernelParams: p.KernelParams,
	}
}

// fields returns the node's parameters. The pointer array and the arguments in the result belong to
// the node.
func (n *kernelNode) fields() kernelParamsV2 {
	p := kernelParamsV2{
		GridDimX: n.Grid.X, GridDimY: n.Grid.Y, GridDimZ: n.Grid.Z,
		BlockDimX: n.Block.X, BlockDimY: n.Block.Y, BlockDimZ: n.Block.Z,
		SharedMemBytes: n.Shared, Ctx: cu.CUcontext(n.fn.mod.ctx.handle),
	}
	if n.kern != 0 {
		p.Kern = cu.CUkernel(n.kern)
	} else {
		p.Func = cu.CUfunction(n.fn.handle)
	}
	if len(n.fn.Params) > 0 {
		pointers := make([]unsafe.Pointer, len(n.fn.Params))
		for i, at := range n.fn.Params {
			pointers[i] = unsafe.Pointer(&n.args[at.Offset])
		}
		p.KernelParams = &pointers[0]
	}
	return p
}
