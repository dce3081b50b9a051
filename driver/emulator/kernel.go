package emulator

import (
	"errors"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// kernelNode is a kernel launch, in a stream or as a node.
type kernelNode struct {
	fn          *kernelFunc
	kern        uintptr // the CUkernel that named it, if any
	grid, block vm.Dim3
	shared      uint32
	args        []byte
	attrs       launchAttrs
}

func (n *kernelNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_KERNEL }

// check rejects what a driver rejects before a launch.
func (n *kernelNode) check() result {
	f := n.fn
	g, b := n.shape()
	threads := b.Count()
	switch {
	case g.X == 0 || g.Y == 0 || g.Z == 0, g.X > 1<<31-1, g.Y > 65535, g.Z > 65535,
		b.X == 0 || b.Y == 0 || b.Z == 0, b.X > 1024, b.Y > 1024, b.Z > 64, threads > 1024:
		return errInvalidValue
	case threads > uint64(f.info.MaxThreads):
		return errInvalidValue
	case f.info.ReqBlock != vm.Dim3{} && f.info.ReqBlock != b:
		return errInvalidValue
	case int64(n.shared) > int64(f.settings.maxDynamicShared), f.info.LocalBytes >= spec.MaxStack:
		return errInvalidValue
	case f.info.SharedBytes+int(n.shared) > f.mod.ctx.e.spec().Multiprocessor().SharedOptin:
		return errInvalidValue // compiled for the architecture, but no block of the device has room
	case f.code.BlockBytes(b, n.shared) > f.mod.ctx.e.cfg.LimitMemory:
		return errOutOfMemory
	}
	if r := n.checkCluster(); r != success {
		return r
	}
	if n.attrs.cooperative != 0 {
		resident := uint64(f.blocksPerSM(int(threads), uint64(n.shared))) * uint64(f.mod.ctx.e.cfg.Multiprocessors)
		if g.Count() > resident {
			return errCoopTooLarge
		}
	}
	return success
}

// cluster returns the cluster size of the launch, or zero if there is none.
func (n *kernelNode) cluster() vm.Dim3 {
	if n.attrs.cluster != (vm.Dim3{}) {
		return n.attrs.cluster
	}
	return n.fn.settings.cluster
}

func (n *kernelNode) checkCluster() result {
	d := n.cluster()
	if d == (vm.Dim3{}) {
		if n.fn.info.Explicit {
			return errInvalidCluster
		}
		return success
	}
	limit := uint64(portableCluster)
	if n.fn.settings.nonPortable {
		limit = largestCluster
	}
	if most := uint64(n.fn.info.MaxCluster); most != 0 {
		limit = min(limit, most)
	}
	required := n.fn.info.ReqCluster
	grid, _ := n.shape()
	switch {
	case !n.fn.mod.ctx.e.spec().Multiprocessor().Clusters:
		return errNotSupported
	case d.Count() == 0 || d.Count() > limit,
		grid.X%d.X != 0 || grid.Y%d.Y != 0 || grid.Z%d.Z != 0:
		return errInvalidCluster
	case required != vm.Dim3{} && required != d:
		return errInvalidCluster
	}
	return success
}

func (n *kernelNode) run(x *execution) result { return n.launch(x, nil) }

// launch executes the kernel. user is the value that its extern functions receive.
func (n *kernelNode) launch(x *execution, user *graphRun) result {
	e := x.e
	if n.fn.mod.gone.Load() {
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

// options translates the launch for the engine.
func (n *kernelNode) options(x *execution) *vm.LaunchOptions {
	e, ctx := x.e, n.fn.mod.ctx
	grid, block := n.shape()
	opts := &vm.LaunchOptions{
		Grid: grid, Block: block, Cluster: n.cluster(),
		DynamicShared: n.shared,
		Params:        n.args,
		Device: vm.DeviceInfo{
			Ordinal:           ctx.dev.ordinal,
			ComputeCapability: e.cfg.ComputeCapability[0]*10 + e.cfg.ComputeCapability[1],
			SMs:               e.cfg.Multiprocessors,
			GridID:            e.stats.launches.Load(),
		},
		Peers:       ctx.peerMask(),
		Workers:     e.cfg.Workers,
		Cooperative: n.attrs.cooperative != 0,
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

// launchResult returns the code for the error that ended a kernel.
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
