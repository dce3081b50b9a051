package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
)

// find returns the step made from a node, in the plan or in one inside it.
func (p *plan) find(n *node) *step {
	if i, ok := p.index[n]; ok {
		return &p.steps[i]
	}
	for i := range p.steps {
		for _, inner := range p.steps[i].inner {
			if s := inner.find(n); s != nil {
				return s
			}
		}
	}
	return nil
}

// clone copies the plan and all plans in it. The parameters are shared.
func (p *plan) clone() *plan {
	q := &plan{steps: append([]step(nil), p.steps...), index: p.index}
	for i := range q.steps {
		inner := append([]*plan(nil), q.steps[i].inner...)
		for j := range inner {
			inner[j] = inner[j].clone()
		}
		q.steps[i].inner = inner
	}
	return q
}

// change returns the step of a node for changing it, in a plan that no launch uses.
func (x *exec) change(n *node) *step {
	if x.plan.inFlight > 0 {
		x.plan = x.plan.clone()
	}
	return x.plan.find(n)
}

// stepAt returns the step named by (exec, node) in arguments 0 and 1, whose parameters must have
// type P. The caller may not change the step.
func stepAt[P nodeParams](c call) (*exec, *node, P, result) {
	var none P
	x, r := execAt(c, 0)
	if r != success {
		return nil, nil, none, r
	}
	n, r := nodeAt(c, 1)
	if r != success {
		return nil, nil, none, r
	}
	s := x.plan.find(n)
	if s == nil {
		return nil, nil, none, errInvalidValue
	}
	p, ok := s.params.(P)
	if !ok {
		return nil, nil, none, errInvalidValue
	}
	return x, n, p, success
}

// set replaces the parameters of a node in the executable graph.
func (x *exec) set(n *node, p nodeParams) result {
	x.change(n).params = p
	return success
}

func cuGraphExecKernelNodeSetParamsV1(c call) result { return setExecKernel(c, true) }

func cuGraphExecKernelNodeSetParamsV2(c call) result { return setExecKernel(c, false) }

func setExecKernel(c call, v1 bool) result {
	x, n, old, r := stepAt[*kernelNode](c)
	if r != success {
		return r
	}
	p, r := c.kernelNodeAt(2, v1, old.attrs)
	if r != success {
		return r
	}
	if why := old.refuses(p); why != updateOK {
		return errInvalidValue
	}
	return x.set(n, p)
}

func cuGraphExecMemcpyNodeSetParams(c call) result {
	x, n, old, r := stepAt[*copyNode](c)
	if r != success {
		return r
	}
	ctx, r := contextFor(c, 3)
	if r != success {
		return r
	}
	p, r := c.e.newCopyNode(at[cu.CUDA_MEMCPY3D](c, 2), ctx)
	switch {
	case r != success:
		return r
	case !old.extent.Flat() || !p.extent.Flat() || old.refuses(p) != updateOK:
		return errInvalidValue
	}
	return x.set(n, p)
}

func cuGraphExecMemsetNodeSetParams(c call) result {
	x, n, old, r := stepAt[*fillNode](c)
	if r != success {
		return r
	}
	ctx, r := contextFor(c, 3)
	if r != success {
		return r
	}
	p, r := c.e.fillNodeFrom(at[cu.CUDA_MEMSET_NODE_PARAMS](c, 2), ctx)
	switch {
	case r != success:
		return r
	case old.refuses(p) != updateOK:
		return errInvalidValue
	}
	return x.set(n, p)
}

func cuGraphExecHostNodeSetParams(c call) result {
	x, n, _, r := stepAt[*hostNode](c)
	if r != success {
		return r
	}
	p, r := hostNodeFrom(at[hostParams](c, 2))
	if r != success {
		return r
	}
	return x.set(n, p)
}

func cuGraphExecEventRecordNodeSetEvent(c call) result {
	x, n, _, r := stepAt[*eventRecordNode](c)
	if r != success {
		return r
	}
	ev, r := eventOf(c, c.Word(2))
	if r != success {
		return r
	}
	return x.set(n, &eventRecordNode{ev})
}

func cuGraphExecEventWaitNodeSetEvent(c call) result {
	x, n, _, r := stepAt[*eventWaitNode](c)
	if r != success {
		return r
	}
	ev, r := eventOf(c, c.Word(2))
	if r != success {
		return r
	}
	return x.set(n, &eventWaitNode{ev})
}

func cuGraphExecBatchMemOpNodeSetParams(c call) result {
	x, n, old, r := stepAt[*memOpNode](c)
	if r != success {
		return r
	}
	p, r := c.memOpFrom(at[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2](c, 2))
	switch {
	case r != success:
		return r
	case old.refuses(p) != updateOK:
		return errInvalidValue
	}
	return x.set(n, p)
}

func cuGraphExecChildGraphNodeSetParams(c call) result {
	x, n, _, r := stepAt[*childNode](c)
	if r != success {
		return r
	}
	return setExecChild(c, x, n, c.Word(2))
}

func cuGraphExecNodeSetParams(c call) result {
	x, r := execAt(c, 0)
	if r != success {
		return r
	}
	n, r := nodeAt(c, 1)
	p := at[cu.CUgraphNodeParams](c, 2)
	switch {
	case r != success:
		return r
	case p == nil:
		return errInvalidValue
	}
	s := x.plan.find(n)
	if s == nil {
		return errInvalidValue
	}
	if p.Type == cu.CU_GRAPH_NODE_TYPE_GRAPH && s.params.kind() == p.Type {
		return setExecChild(c, x, n, uintptr(p.Graph().Graph))
	}
	params, r := c.tagged(n.graph, p, s.params)
	switch {
	case r != success:
		return r
	case refuses(s.params, params) != updateOK:
		return errInvalidValue
	}
	return x.set(n, params)
}

// setExecChild updates the steps of a child node from a graph.
func setExecChild(c call, x *exec, n *node, h uintptr) result {
	g := find[graph](c.e, h)
	if g == nil {
		return errInvalidValue
	}
	if bad := x.change(n).inner[0].update(g, x.flags); bad != nil {
		return errUpdateFailure
	}
	return success
}

// canDisable reports whether a node of this kind can be disabled.
func canDisable(p nodeParams) bool {
	switch p.kind() {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY, cu.CU_GRAPH_NODE_TYPE_MEMSET:
		return true
	}
	return false
}

func cuGraphNodeSetEnabled(c call) result {
	x, n, p, r := stepAt[nodeParams](c)
	switch {
	case r != success:
		return r
	case !canDisable(p):
		return errInvalidValue
	}
	x.change(n).disabled = c.Uint32(2) == 0
	return success
}

func cuGraphNodeGetEnabled(c call) result {
	x, n, p, r := stepAt[nodeParams](c)
	switch {
	case r != success:
		return r
	case !canDisable(p):
		return errInvalidValue
	}
	return put(c, 2, uint32(flag(!x.plan.find(n).disabled)))
}
