package emulator

import (
	"cmp"
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// updateRefusal is the reason why a node or a graph cannot replace another.
type updateRefusal = cu.CUgraphExecUpdateResult

const (
	updateOK            = cu.CU_GRAPH_EXEC_UPDATE_SUCCESS
	updateError         = cu.CU_GRAPH_EXEC_UPDATE_ERROR
	topologyChanged     = cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
	typeChanged         = cu.CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
	parametersChanged   = cu.CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED
	updateNotSupported  = cu.CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
	unsupportedFunction = cu.CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
	attributesChanged   = cu.CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
)

// refuses returns the reason why p cannot replace old, or updateOK.
func refuses(old, p nodeParams) updateRefusal {
	if old.kind() != p.kind() {
		return typeChanged
	}
	switch o := old.(type) {
	case *kernelNode:
		return o.refuses(p.(*kernelNode))
	case *copyNode:
		return o.refuses(p.(*copyNode))
	case *fillNode:
		return o.refuses(p.(*fillNode))
	case *memOpNode:
		return o.refuses(p.(*memOpNode))
	case *semSignalNode:
		if len(o.sems) != len(p.(*semSignalNode).sems) {
			return parametersChanged
		}
	case *semWaitNode:
		if len(o.sems) != len(p.(*semWaitNode).sems) {
			return parametersChanged
		}
	case *allocNode:
		if o != p.(*allocNode) {
			return updateNotSupported
		}
	case *freeNode:
		if o.alloc != p.(*freeNode).alloc {
			return updateNotSupported
		}
	case *conditionalNode:
		q := p.(*conditionalNode)
		if o.form != q.form || len(o.bodies) != len(q.bodies) {
			return updateNotSupported
		}
	}
	return updateOK
}

func (n *kernelNode) refuses(p *kernelNode) updateRefusal {
	switch {
	case n.fn.mod.ctx != p.fn.mod.ctx:
		return unsupportedFunction
	case n.Attrs.Cooperative != p.Attrs.Cooperative:
		return attributesChanged
	}
	return updateOK
}

func (n *copyNode) refuses(p *copyNode) updateRefusal {
	switch {
	case n.params.SrcMemoryType != p.params.SrcMemoryType, n.params.DstMemoryType != p.params.DstMemoryType,
		n.from.differs(p.from), n.to.differs(p.to),
		n.ctx != p.ctx, n.extent.Flat() != p.extent.Flat(),
		!n.extent.Flat() && n.extent != p.extent:
		return parametersChanged
	}
	return updateOK
}

func (n *fillNode) refuses(p *fillNode) updateRefusal {
	switch {
	case n.ctx != p.ctx, n.height != p.height,
		n.height > 1 && (n.width != p.width || n.pitch != p.pitch || n.element != p.element):
		return parametersChanged
	}
	return updateOK
}

func (n *memOpNode) refuses(p *memOpNode) updateRefusal {
	if n.ctx != p.ctx || len(n.ops) != len(p.ops) {
		return parametersChanged
	}
	for i := range n.ops {
		if *n.ops[i].Operation() != *p.ops[i].Operation() {
			return parametersChanged
		}
	}
	return updateOK
}

type mismatch struct {
	why        updateRefusal
	node, from *node
}

// pairing assigns a graph's nodes to a plan's steps.
type pairing struct {
	plan   *plan
	graph  *graph
	byStep map[int]*node
	byNode map[*node]int
}

// pair assigns a node to each step. It first matches the exits in order. From each exit, it matches
// dependencies in the order of the edges.
func (p *plan) pair(g *graph) (*pairing, *mismatch) {
	if len(p.steps) != len(g.nodes) {
		return nil, &mismatch{why: topologyChanged}
	}
	m := &pairing{p, g, make(map[int]*node), make(map[*node]int)}
	steps, nodes := p.exits(), g.exits()
	if len(nodes) != len(steps) {
		bad := &mismatch{why: topologyChanged}
		if len(nodes) > len(steps) {
			bad.node = nodes[len(nodes)-len(steps)-1]
		}
		return nil, bad
	}
	for i := len(steps) - 1; i >= 0; i-- { // driver 580 starts with the last exit
		if bad := m.match(steps[i], nodes[i], nil); bad != nil {
			return nil, bad
		}
	}
	return m, nil
}

// exits returns the steps that have no dependents, in the order in which their nodes were created.
func (p *plan) exits() []int {
	needed := make([]bool, len(p.steps))
	for _, s := range p.steps {
		for _, d := range s.deps {
			needed[d.step] = true
		}
	}
	var out []int
	for i := range p.steps {
		if !needed[i] {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Compare(p.steps[a].node.id, p.steps[b].node.id) })
	return out
}

func (g *graph) exits() []*node {
	var out []*node
	for _, n := range g.nodes {
		if len(n.dependents) == 0 {
			out = append(out, n)
		}
	}
	return out
}

// match pairs a step with a node, and then their dependencies. If they do not match, it reports
// user as the node.
func (m *pairing) match(i int, n *node, user *node) *mismatch {
	if paired, ok := m.byStep[i]; ok || m.has(n) {
		if paired == n {
			return nil
		}
		return &mismatch{topologyChanged, user, n}
	}
	m.byStep[i], m.byNode[n] = n, i
	s := &m.plan.steps[i]
	if s.params.kind() != n.params.kind() {
		return &mismatch{why: typeChanged, node: n}
	}
	if len(s.deps) != len(n.deps) {
		return &mismatch{why: topologyChanged, node: n}
	}
	for k, d := range s.deps {
		if d.data != n.deps[k].data {
			return &mismatch{topologyChanged, n, n.deps[k].node}
		}
		if bad := m.match(d.step, n.deps[k].node, n); bad != nil {
			return bad
		}
	}
	return nil
}

func (m *pairing) has(n *node) bool {
	_, ok := m.byNode[n]
	return ok
}

// check returns a mismatch if a node's parameters cannot replace the parameters of its step.
func (m *pairing) check(flags uint64) *mismatch {
	usePriority := flags&uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0
	for i := range m.plan.steps {
		s, n := &m.plan.steps[i], m.byStep[i]
		if why := refuses(s.params, n.params); why != updateOK {
			return &mismatch{why: why, node: n}
		}
		if k, ok := s.params.(*kernelNode); ok && usePriority && k.Attrs.Priority != n.params.(*kernelNode).Attrs.Priority {
			return &mismatch{why: attributesChanged, node: n}
		}
		if o, ok := n.params.(nested); ok {
			for j, inner := range o.graphs() {
				if _, bad := s.inner[j].matched(inner, flags); bad != nil {
					return bad
				}
			}
		}
	}
	return nil
}

func (p *plan) matched(g *graph, flags uint64) (*pairing, *mismatch) {
	m, bad := p.pair(g)
	if bad != nil {
		return nil, bad
	}
	return m, m.check(flags)
}

// update copies the parameters of the graph's nodes to the steps. If a step cannot accept them,
// update changes nothing.
func (p *plan) update(g *graph, flags uint64) *mismatch {
	m, bad := p.matched(g, flags)
	if bad != nil {
		return bad
	}
	for i := range p.steps {
		s, n := &p.steps[i], m.byStep[i]
		switch o := n.params.(type) {
		case *childNode:
			s.inner[0].update(o.graph, flags)
		case *conditionalNode:
			s.update(o, flags)
		default:
			s.params = n.params
		}
	}
	return nil
}

func (s *step) update(n *conditionalNode, flags uint64) {
	old := s.params.(*conditionalNode)
	old.cond.initial, old.cond.assign = n.cond.initial, n.cond.assign
	for j, body := range n.bodies {
		s.inner[j].update(body, flags)
	}
}

// tryUpdate updates the executable graph passed as argument 0 from the graph passed as argument 1.
func tryUpdate(c call) (*mismatch, result) {
	x, r := execAt(c, 0)
	if r != success {
		return nil, r
	}
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return nil, r
	case g.moved:
		return nil, errInvalidValue
	}
	p := x.plan
	if p.inFlight > 0 {
		p = p.clone()
	}
	if bad := p.update(g, x.flags); bad != nil {
		return bad, errUpdateFailure
	}
	x.plan = p
	if m, bad := p.pair(g); bad == nil {
		x.translate(p, m)
	}
	g.eachUser(func(u *userObject, n int) {
		if x.users[u] == 0 {
			u.retain(n)
			x.users[u] = n
		}
	})
	return nil, success
}

func cuGraphExecUpdateV2(c call) result {
	info := at[cu.CUgraphExecUpdateResultInfo](c, 2)
	if info == nil {
		return errInvalidValue
	}
	bad, r := tryUpdate(c)
	*info = cu.CUgraphExecUpdateResultInfo{}
	switch {
	case bad != nil:
		info.Result = bad.why
		info.ErrorNode, info.ErrorFromNode = nodeHandle(bad.node), nodeHandle(bad.from)
	case r != success:
		info.Result = updateError
	}
	return r
}

// cuGraphExecUpdateV1 is cuGraphExecUpdate from before CUDA 12. It takes (exec, graph, node *,
// result *).
func cuGraphExecUpdateV1(c call) result {
	out, why := at[cu.CUgraphNode](c, 2), at[updateRefusal](c, 3)
	if why == nil {
		return errInvalidValue
	}
	bad, r := tryUpdate(c)
	*why = updateOK
	if r != success {
		*why = updateError
	}
	if bad != nil {
		*why = bad.why
		if out != nil {
			*out = nodeHandle(bad.node)
		}
	}
	return r
}

func nodeHandle(n *node) cu.CUgraphNode {
	if n == nil {
		return 0
	}
	return cu.CUgraphNode(n.handle)
}

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

// clone copies the plan and its nested plans. The copies share their parameters with the original.
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

// change returns the step for a node, which the caller may change. If a launch uses the plan,
// change first clones the plan.
func (x *exec) change(n *node) *step {
	if x.plan.inFlight > 0 {
		x.plan = x.plan.clone()
	}
	return x.plan.find(n)
}

// stepAt reads (exec, node) from arguments 0 and 1. It fails if the node's step does not have
// parameters of type P. The caller must not change the step.
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

func (x *exec) set(n *node, p nodeParams) result {
	x.change(n).params = p
	return success
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

// setExecChild updates the steps inside a child node from the graph with handle h.
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
