package emulator

import (
	"slices"
	"time"

	"github.com/purecuda/cuda/driver/cu"
)

type exec struct {
	e      *Emulator
	handle uintptr
	ctx    *cudaContext
	source *graph // the original graph, whose nodes identify the steps
	flags  uint64
	plan   *plan
	last   dependency // the last launch; the next launch runs after it
	users  map[*userObject]int
	lone   *graph // the source graph, if it may have only one executable graph
	conds  map[uintptr]*condition
}

// plan is the executable form of a graph. It is changed only while no launch uses it. Otherwise, a
// changed copy replaces it, so that queued launches run as they were when submitted.
type plan struct {
	steps    []step
	index    map[*node]int // each node's index in steps
	inFlight int
}

// step is a node in a plan. A plan's steps are in topological order.
type step struct {
	node     *node // identifies the step; the node's current parameters are not used
	params   nodeParams
	deps     []stepEdge // in the same order as the node's edges
	disabled bool
	inner    []*plan // the plans of a child or conditional node
}

type stepEdge struct {
	step int
	data cu.CUgraphEdgeData
}

var execFunctions = functions{
	"cuGraphInstantiate":                 {cuGraphInstantiateV1, afterInit | uncaptured},
	"cuGraphInstantiate_v2":              {cuGraphInstantiateV1, afterInit | uncaptured},
	"cuGraphInstantiateWithFlags":        {cuGraphInstantiateWithFlags, afterInit | uncaptured},
	"cuGraphInstantiateWithParams":       {cuGraphInstantiateWithParams, afterInit | uncaptured},
	"cuGraphExecGetFlags":                {cuGraphExecGetFlags, afterInit},
	"cuGraphExecDestroy":                 {cuGraphExecDestroy, afterInit | uncaptured},
	"cuGraphUpload":                      {cuGraphUpload, afterInit},
	"cuGraphLaunch":                      {cuGraphLaunch, afterInit},
	"cuGraphNodeSetEnabled":              {cuGraphNodeSetEnabled, afterInit},
	"cuGraphNodeGetEnabled":              {cuGraphNodeGetEnabled, afterInit},
	"cuGraphExecUpdate":                  {cuGraphExecUpdateV1, afterInit},
	"cuGraphExecUpdate_v2":               {cuGraphExecUpdateV2, afterInit},
	"cuGraphExecKernelNodeSetParams":     {readKernel(true).setStep, afterInit},
	"cuGraphExecKernelNodeSetParams_v2":  {readKernel(false).setStep, afterInit},
	"cuGraphExecMemcpyNodeSetParams":     {reader[*copyNode](readCopy).setStep, afterInit},
	"cuGraphExecMemsetNodeSetParams":     {reader[*fillNode](readFill).setStep, afterInit},
	"cuGraphExecHostNodeSetParams":       {reader[*hostNode](readHost).setStep, afterInit},
	"cuGraphExecChildGraphNodeSetParams": {cuGraphExecChildGraphNodeSetParams, afterInit},
	"cuGraphExecEventRecordNodeSetEvent": {reader[*eventRecordNode](readRecord).setStep, afterInit},
	"cuGraphExecEventWaitNodeSetEvent":   {reader[*eventWaitNode](readWait).setStep, afterInit},
	"cuGraphExecBatchMemOpNodeSetParams": {reader[*memOpNode](readMemOp).setStep, afterInit},
	"cuGraphExecNodeSetParams":           {cuGraphExecNodeSetParams, afterInit},
}

const instantiateFlags = uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
	cu.CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
	cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
	cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

func autoFree(flags uint64) bool {
	return flags&uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0
}

type refusal struct {
	result result
	reason cu.CUgraphInstantiateResult
	node   *node
}

func (g *graph) plan() (*plan, *refusal) {
	order := g.topological()
	if len(order) < len(g.nodes) {
		bad := slices.IndexFunc(g.nodes, func(n *node) bool { return !slices.Contains(order, n) })
		return nil, &refusal{errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, g.nodes[bad]}
	}
	p := &plan{steps: make([]step, len(order)), index: make(map[*node]int, len(order))}
	for i, n := range order {
		p.index[n] = i
		s := step{node: n, params: n.params}
		for _, d := range n.deps {
			s.deps = append(s.deps, stepEdge{p.index[d.node], d.data})
		}
		if o, ok := n.params.(nested); ok {
			for _, inner := range o.graphs() {
				q, bad := inner.plan()
				if bad != nil {
					return nil, bad
				}
				s.inner = append(s.inner, q)
			}
		}
		p.steps[i] = s
	}
	return p, nil
}

func (c call) instantiate(g *graph, flags uint64) (*exec, *refusal) {
	refuse := func(r result, why cu.CUgraphInstantiateResult) *refusal { return &refusal{result: r, reason: why} }
	switch {
	case g.parent != nil:
		return nil, refuse(errNotSupported, cu.CUDA_GRAPH_INSTANTIATE_ERROR)
	case flags&^instantiateFlags != 0:
		return nil, refuse(errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_ERROR)
	case flags&uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0:
		if bad := g.deviceLaunch(flags); bad != nil {
			return nil, bad
		}
	}
	if r := c.ctx.usable(); r != success {
		return nil, refuse(r, cu.CUDA_GRAPH_INSTANTIATE_ERROR)
	}
	if bad := g.unusedCondition(); bad {
		return nil, refuse(errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED)
	}
	if bad := g.misplaced(false); bad != nil {
		return nil, &refusal{errInvalidValue, cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, bad}
	}
	if bad := c.e.manyDevices(g); bad != nil {
		return nil, bad
	}
	p, bad := g.plan()
	if bad != nil {
		return nil, bad
	}
	x := &exec{e: c.e, ctx: c.ctx, source: g, flags: flags, plan: p, users: make(map[*userObject]int), conds: make(map[uintptr]*condition)}
	x.enterConditions(p)
	if g.hasMemory() || g.hasConditional() {
		if g.execs > 0 {
			return nil, refuse(errNotSupported, cu.CUDA_GRAPH_INSTANTIATE_ERROR)
		}
		g.execs++
		x.lone = g
		p.eachAlloc(func(a *allocNode) { a.execs++ })
	}
	g.eachUser(func(u *userObject, n int) {
		u.retain(n)
		x.users[u] += n
	})
	x.handle = c.e.register(x)
	return x, nil
}

// deviceHandle returns the value that the graph's kernels read from %current_graph_exec: the handle
// if the executable graph permits device launch, and otherwise 0.
func (x *exec) deviceHandle() uint64 {
	if x.flags&uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) == 0 {
		return 0
	}
	return uint64(x.handle)
}

func execAt(c call, i int) (*exec, result) {
	x := handleAt[exec](c, i)
	if x == nil {
		return nil, errInvalidValue
	}
	return x, success
}

func cuGraphExecGetFlags(c call) result {
	x, r := execAt(c, 0)
	if r != success {
		return r
	}
	// Driver 580 returns only these two of the flags.
	const kept = cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
	return put(c, 1, x.flags&uint64(kept))
}

// destroy destroys the executable graph. Queued launches still run.
func (x *exec) destroy() {
	if x.lone != nil {
		x.lone.execs--
		x.plan.eachAlloc(func(a *allocNode) { a.execDestroyed(x.e) })
	}
	for u, n := range x.users {
		x.after(func() { u.release(n) })
	}
	x.users = nil
	x.e.forget(x.handle)
}

// after calls f when the last launch has ended.
func (x *exec) after(f func()) {
	if x.last.s == nil || x.last.met() {
		f()
		return
	}
	x.last.s.enqueue((*cleanup)(&f))
}

// cleanup is an operation that changes only the driver's own state.
type cleanup func()

func (*cleanup) runsAfterFault() {}

func (f *cleanup) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.unlock()
	(*f)()
	return success
}

func cuGraphExecDestroy(c call) result {
	x, r := execAt(c, 0)
	if r != success {
		return r
	}
	x.destroy()
	return success
}

// cuGraphUpload only checks its arguments, because emulated launches need no upload.
func cuGraphUpload(c call) result {
	_, r := execAt(c, 0)
	if r != success {
		return r
	}
	s, r := streamAt(c, 1)
	switch {
	case r != success:
		return r
	case s.cap != nil:
		return s.cap.invalidate(errUnsupported)
	}
	return s.implicitlyCaptured()
}

func cuGraphLaunch(c call) result {
	x, r := execAt(c, 0)
	if r != success {
		return r
	}
	s, r := streamAt(c, 1)
	switch {
	case r != success:
		return r
	case s.cap != nil:
		return s.cap.invalidate(errUnsupported)
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	if r := x.plan.prepareMemory(autoFree(x.flags)); r != success {
		return r
	}
	c.e.checkPointers(x.plan)
	if x.last.s != nil {
		s.learn(x.last)
	}
	x.plan.inFlight++
	x.plan.launched()
	var deps []dependency
	if x.last.s != nil && x.last.s != s && !x.last.settled() {
		deps = append(deps, x.last)
	}
	c.e.stats.graphLaunches.Add(1)
	x.last = s.enqueue(&graphRun{exec: x, plan: x.plan}, deps...)
	return success
}

type graphRun struct {
	exec *exec
	plan *plan
}

func (*graphRun) runsAfterFault() {}

func (run *graphRun) run(x *execution) result {
	x.e.mu.Lock()
	fault := x.ctx.dev.fault
	x.e.unlock()
	r := success
	if fault == success && x.e.running.Err() == nil {
		run.resetConditions(x.e, run.plan)
		x.spend(func(m *CostModel) time.Duration { return m.Graph })
		r = run.steps(x, run.plan)
	}
	x.e.mu.Lock()
	run.plan.inFlight--
	run.plan.ended(x.e)
	x.e.unlock()
	return r
}

func (run *graphRun) steps(x *execution, p *plan) result {
	t := x.timeline(p)
	defer t.close()
	whole := x.order
	defer func() { x.order = whole }()
	round := x.e.rounds.Add(1)
	for i := range p.steps {
		s := &p.steps[i]
		t.begin(s)
		if s.disabled {
			t.end(i)
			continue
		}
		if whole != nil {
			x.order = whole.InStep(p, round, i)
		}
		r := run.step(x, s)
		if x.order != nil {
			x.order.Forget()
		}
		if r != success {
			return r
		}
		t.end(i)
	}
	return success
}

func (run *graphRun) step(x *execution, s *step) result {
	x.e.stats.graphNodes.Add(1)
	switch n := s.params.(type) {
	case *kernelNode:
		return n.execute(x, run)
	case *childNode:
		return run.steps(x, s.inner[0])
	case *conditionalNode:
		return run.conditional(x, n, s.inner)
	}
	return s.params.run(x)
}

func cuGraphInstantiateV1(c call) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	x, bad := c.instantiate(g, 0)
	if bad == nil {
		return put(c, 0, x.handle)
	}
	if out := at[uintptr](c, 2); out != nil && bad.node != nil {
		*out = bad.node.handle
	}
	if log := list[byte](c, 3, int(c.Word(4))); log != nil {
		n := copy(log[:len(log)-1], bad.reason.String())
		log[n] = 0
	}
	return bad.result
}

func cuGraphInstantiateWithFlags(c call) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	x, bad := c.instantiate(g, c.Uint64(2))
	if bad != nil {
		return bad.result
	}
	return put(c, 0, x.handle)
}

func cuGraphInstantiateWithParams(c call) result {
	p := at[cu.CUDA_GRAPH_INSTANTIATE_PARAMS](c, 2)
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || p == nil:
		return errInvalidValue
	}
	p.HErrNode_out, p.Result_out = 0, cu.CUDA_GRAPH_INSTANTIATE_SUCCESS
	x, bad := c.instantiate(g, p.Flags)
	if bad != nil {
		p.Result_out = bad.reason
		if bad.node != nil {
			p.HErrNode_out = cu.CUgraphNode(bad.node.handle)
		}
		return bad.result
	}
	if p.Flags&uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0 {
		if _, r := c.streamOf(uintptr(p.HUploadStream)); r != success {
			x.destroy()
			p.Result_out = cu.CUDA_GRAPH_INSTANTIATE_ERROR
			return r
		}
	}
	return put(c, 0, x.handle)
}
