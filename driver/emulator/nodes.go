package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// emptyNode does nothing: it joins dependencies.
type emptyNode struct{}

func (*emptyNode) kind() driver.CUgraphNodeType { return driver.CU_GRAPH_NODE_TYPE_EMPTY }
func (*emptyNode) run(*execution) result        { return success }

// fillNode is a memset.
type fillNode struct {
	fillOp
	ctx *cudaContext
}

func (*fillNode) kind() driver.CUgraphNodeType { return driver.CU_GRAPH_NODE_TYPE_MEMSET }

// copyNode is a copy by the parameters of CUDA_MEMCPY3D. It refers to the
// user's memory for as long as it exists, as a driver's node does.
type copyNode struct {
	copyOp
	ctx    *cudaContext
	params driver.CUDA_MEMCPY3D
}

func (*copyNode) kind() driver.CUgraphNodeType { return driver.CU_GRAPH_NODE_TYPE_MEMCPY }

// newCopyNode checks the parameters of a copy.
func (e *Emulator) newCopyNode(p *driver.CUDA_MEMCPY3D, ctx *cudaContext) (*copyNode, result) {
	if p == nil {
		return nil, errInvalidValue
	}
	n := &copyNode{ctx: ctx, params: *p}
	var r result
	if n.extent, r = places3D(e, &n.params, &n.dst, &n.src); r != success {
		return nil, r
	}
	if n.extent.bytes() == 0 {
		return nil, errInvalidValue
	}
	e.pinned(&n.dst, n.extent)
	e.pinned(&n.src, n.extent)
	return n, e.checkCopy(&n.dst, &n.src, n.extent)
}

// captureCopy records an asynchronous copy as a node.
func captureCopy(c call, s *stream, dst, src *place, n extent) result {
	p := driver.CUDA_MEMCPY3D{
		SrcXInBytes: uintptr(src.x), SrcY: uintptr(src.y), SrcZ: uintptr(src.z),
		SrcPitch: uintptr(src.pitch), SrcHeight: uintptr(src.height),
		DstXInBytes: uintptr(dst.x), DstY: uintptr(dst.y), DstZ: uintptr(dst.z),
		DstPitch: uintptr(dst.pitch), DstHeight: uintptr(dst.height),
		WidthInBytes: uintptr(n.width), Height: uintptr(n.height), Depth: uintptr(n.depth),
	}
	p.SrcMemoryType, p.SrcHost, p.SrcDevice = c.e.sideOf(src)
	p.DstMemoryType, p.DstHost, p.DstDevice = c.e.sideOf(dst)
	if n.bytes() == 0 {
		return s.capturable()
	}
	node, r := c.e.newCopyNode(&p, s.ctx)
	if r != success {
		return r
	}
	return s.record(node)
}

// sideOf names a place the way CUDA_MEMCPY3D does.
func (e *Emulator) sideOf(p *place) (driver.CUmemorytype, unsafe.Pointer, driver.CUdeviceptr) {
	if p.host != nil {
		return driver.CU_MEMORYTYPE_HOST, p.host, 0
	}
	if a := e.allocationAt(p.addr); a != nil && a.isHost() {
		b, err := e.mem.Bytes(p.addr, 1)
		if err == nil {
			return driver.CU_MEMORYTYPE_HOST, unsafe.Pointer(&b[0]), 0
		}
	}
	return driver.CU_MEMORYTYPE_DEVICE, nil, driver.CUdeviceptr(p.addr)
}

// eventRecordNode records an event, eventWaitNode waits for one.
type (
	eventRecordNode struct{ ev *event }
	eventWaitNode   struct{ ev *event }
)

func (*eventRecordNode) kind() driver.CUgraphNodeType { return driver.CU_GRAPH_NODE_TYPE_EVENT_RECORD }
func (*eventWaitNode) kind() driver.CUgraphNodeType   { return driver.CU_GRAPH_NODE_TYPE_WAIT_EVENT }

// run puts a mark at the launch that is running: who waits for it waits until
// that launch has ended, which is later than a device would make it but never
// earlier. The time is the node's.
func (n *eventRecordNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	m := &mark{dependency: dependency{x.stream, x.stream.done + 1}}
	n.ev.mark, n.ev.cap = m, nil
	return (*recordMark)(m).locked()
}

func (n *eventWaitNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	m := n.ev.mark
	if m == nil || m.s == x.stream {
		return success // in order already
	}
	for !m.met() && x.e.running.Err() == nil {
		m.s.cond.Wait()
	}
	return success
}

// childNode runs a graph of its own.
type childNode struct{ graph *graph }

func (*childNode) kind() driver.CUgraphNodeType { return driver.CU_GRAPH_NODE_TYPE_GRAPH }

// run is not used: an executable has the child's steps.
func (*childNode) run(*execution) result { return errLaunchFailed }

func (n *childNode) graphs() []*graph { return []*graph{n.graph} }
