package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// deviceMask returns a bit for each device that a node runs on or whose memory it accesses.
func (e *Emulator) deviceMask(p nodeParams) (mask uint64) {
	with := func(d *device) { mask |= 1 << d.ordinal }
	switch n := p.(type) {
	case *kernelNode:
		with(n.fn.mod.ctx.dev)
	case *fillNode:
		with(n.ctx.dev)
	case *copyNode:
		with(n.ctx.dev)
		for _, at := range []*transfer.Side{&n.dst, &n.src} {
			if r, ok := e.mem.Find(at.Addr); ok && r.Device != vm.HostDevice {
				with(e.deviceOf(r))
			}
		}
	}
	return mask
}

// strays returns the first node that works with devices other than home. It also looks in nested
// graphs.
func (e *Emulator) strays(g *graph, home *device) *node {
	for _, n := range g.nodes {
		if e.deviceMask(n.params)&^(1<<home.ordinal) != 0 {
			return n
		}
		inner, ok := n.params.(nested)
		if !ok {
			continue
		}
		for _, g := range inner.graphs() {
			if bad := e.strays(g, home); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// manyDevices rejects bodies of conditional nodes with work on a device other than that of the
// condition, as driver 580 does.
func (e *Emulator) manyDevices(g *graph) *refusal {
	for _, n := range g.nodes {
		inner, ok := n.params.(nested)
		if !ok {
			continue
		}
		cond, isCond := inner.(*conditionalNode)
		for _, body := range inner.graphs() {
			if isCond && e.strays(body, cond.cond.ctx.dev) != nil {
				return &refusal{result: errInvalidValue, reason: cu.CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED}
			}
			if bad := e.manyDevices(body); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// oneDevice rejects a graph for device launch that works with several devices.
func (e *Emulator) oneDevice(g *graph) *refusal {
	var first uint64
	for _, n := range g.nodes {
		mask := e.deviceMask(n.params)
		if first == 0 {
			first = mask
		}
		if mask != 0 && mask != first {
			return &refusal{errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, n}
		}
	}
	return nil
}
