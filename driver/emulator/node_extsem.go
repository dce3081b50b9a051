package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// semNode signals external semaphores or waits for them, in a stream or as a node. P is CUDA's
// parameters of one semaphore.
type semNode[P any] struct {
	sems   []*extSem
	params []P
}

type (
	signalParams   = cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
	waitParams     = cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS
	semSignalNode  struct{ semNode[signalParams] }
	semWaitNode    struct{ semNode[waitParams] }
	signalNodeArgs = cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS
	waitNodeArgs   = cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS
)

func (*semSignalNode) kind() cu.CUgraphNodeType {
	return cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
}

func (*semWaitNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT }

func (n *semSignalNode) run(x *execution) result {
	for i, s := range n.sems {
		x.signal(s)
		s.sem.Signal(n.params[i].Params.Fence.Value)
	}
	return success
}

func (n *semWaitNode) run(x *execution) result {
	for i, s := range n.sems {
		if s.sem.Wait(x.e.running, n.params[i].Params.Fence.Value) != nil {
			return errLaunchFailed // the emulator was closed
		}
		x.awaited(s)
	}
	return success
}

// read copies the arrays of a call.
func (n *semNode[P]) read(e *Emulator, sems *cu.CUexternalSemaphore, params *P, count uint32) result {
	if sems == nil || params == nil || count == 0 {
		return errInvalidValue
	}
	n.params = append([]P(nil), unsafe.Slice(params, count)...)
	for _, h := range unsafe.Slice(sems, count) {
		x := find[extSem](e, uintptr(h))
		if x == nil {
			return errInvalidHandle
		}
		n.sems = append(n.sems, x)
	}
	return success
}

// handles returns the handles of the semaphores in a new array.
func (n *semNode[P]) handles() []cu.CUexternalSemaphore {
	list := make([]cu.CUexternalSemaphore, len(n.sems))
	for i, x := range n.sems {
		list[i] = cu.CUexternalSemaphore(x.handle)
	}
	return list
}

func (e *Emulator) signalFrom(p *signalNodeArgs) (*semSignalNode, result) {
	n := new(semSignalNode)
	if p == nil {
		return nil, errInvalidValue
	}
	return n, n.read(e, p.ExtSemArray, p.ParamsArray, p.NumExtSems)
}

func (e *Emulator) waitFrom(p *waitNodeArgs) (*semWaitNode, result) {
	n := new(semWaitNode)
	if p == nil {
		return nil, errInvalidValue
	}
	return n, n.read(e, p.ExtSemArray, p.ParamsArray, p.NumExtSems)
}

// The calls for streams take (semaphores, parameters, count, stream).

func cuSignalExternalSemaphoresAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := new(semSignalNode)
	if r := n.read(c.e, at[cu.CUexternalSemaphore](c, 0), at[signalParams](c, 1), c.Uint32(2)); r != success {
		return r
	}
	return s.submit(n)
}

func cuWaitExternalSemaphoresAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := new(semWaitNode)
	if r := n.read(c.e, at[cu.CUexternalSemaphore](c, 0), at[waitParams](c, 1), c.Uint32(2)); r != success {
		return r
	}
	return s.submit(n)
}

func cuGraphAddExternalSemaphoresSignalNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		return checked(c.e.signalFrom(at[signalNodeArgs](c, 4)))
	})
}

func cuGraphExternalSemaphoresSignalNodeGetParams(c call) result {
	_, n, r := nodeOf[*semSignalNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, signalNodeArgs{ExtSemArray: &n.handles()[0], ParamsArray: &n.params[0], NumExtSems: uint32(len(n.sems))})
}

func cuGraphExternalSemaphoresSignalNodeSetParams(c call) result {
	return setSemNode[*semSignalNode](c, c.e.signalFrom)
}

func cuGraphExecExternalSemaphoresSignalNodeSetParams(c call) result {
	return setSemStep[*semSignalNode](c, c.e.signalFrom)
}

func cuGraphAddExternalSemaphoresWaitNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		return checked(c.e.waitFrom(at[waitNodeArgs](c, 4)))
	})
}

func cuGraphExternalSemaphoresWaitNodeGetParams(c call) result {
	_, n, r := nodeOf[*semWaitNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, waitNodeArgs{ExtSemArray: &n.handles()[0], ParamsArray: &n.params[0], NumExtSems: uint32(len(n.sems))})
}

func cuGraphExternalSemaphoresWaitNodeSetParams(c call) result {
	return setSemNode[*semWaitNode](c, c.e.waitFrom)
}

func cuGraphExecExternalSemaphoresWaitNodeSetParams(c call) result {
	return setSemStep[*semWaitNode](c, c.e.waitFrom)
}

// setSemNode replaces the parameters of a node in a graph.
func setSemNode[N nodeParams, A any](c call, from func(*A) (N, result)) result {
	n, _, r := nodeOf[N](c, 0)
	if r != success {
		return r
	}
	p, r := from(at[A](c, 1))
	if r != success {
		return r
	}
	n.params = p
	return success
}

// setSemStep replaces the parameters of a node in an executable graph.
func setSemStep[N nodeParams, A any](c call, from func(*A) (N, result)) result {
	x, n, old, r := stepAt[N](c)
	if r != success {
		return r
	}
	p, r := from(at[A](c, 2))
	switch {
	case r != success:
		return r
	case refuses(old, p) != updateOK:
		return errInvalidValue
	}
	return x.set(n, p)
}
