package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

const (
	ifNode     = driver.CU_GRAPH_COND_TYPE_IF
	whileNode  = driver.CU_GRAPH_COND_TYPE_WHILE
	switchNode = driver.CU_GRAPH_COND_TYPE_SWITCH
)

// handle makes a condition that is v at each launch.
func (r *rig) handle(g driver.CUgraph, v uint32) (h driver.CUgraphConditionalHandle) {
	r.t.Helper()
	r.ok(r.CuGraphConditionalHandleCreate(&h, g, r.ctx, v, driver.CU_GRAPH_COND_ASSIGN_DEFAULT))
	return h
}

// wantReason instantiates what cannot be.
func (r *rig) wantReason(what string, g driver.CUgraph, code driver.CUresult, why driver.CUgraphInstantiateResult) {
	r.t.Helper()
	var x driver.CUgraphExec
	p := driver.CUDA_GRAPH_INSTANTIATE_PARAMS{}
	r.want(what, r.CuGraphInstantiateWithParams(&x, g, &p), code)
	if p.Result_out != why {
		r.t.Errorf("%s: reason %v, want %v", what, p.Result_out, why)
	}
}

func (r *rig) child(g, of driver.CUgraph) (driver.CUgraphNode, driver.CUgraph) {
	r.t.Helper()
	var n driver.CUgraphNode
	r.ok(r.CuGraphAddChildGraphNode(&n, g, nil, 0, of))
	var inner driver.CUgraph
	r.ok(r.CuGraphChildGraphNodeGetGraph(n, &inner))
	return n, inner
}

// The answers in this file are those of driver 580 on an H200.

func TestGraphWithConditionalsHasOneExecutable(t *testing.T) {
	r := newRig(t)
	g := r.graph()
	r.conditional(g, ifNode, 1, r.handle(g, 0))
	var x driver.CUgraphExec
	p := driver.CUDA_GRAPH_INSTANTIATE_PARAMS{}
	r.ok(r.CuGraphInstantiateWithParams(&x, g, &p))
	r.wantReason("second executable", g, driver.CUDA_ERROR_NOT_SUPPORTED, driver.CUDA_GRAPH_INSTANTIATE_ERROR)
	r.ok(r.CuGraphExecDestroy(x))
	r.instantiate(g)
}

func TestGraphWithConditionalsIsNoChild(t *testing.T) {
	r := newRig(t)
	g, other := r.graph(), r.graph()
	r.conditional(g, ifNode, 1, r.handle(g, 0))
	var n driver.CUgraphNode
	r.want("copy", r.CuGraphAddChildGraphNode(&n, other, nil, 0, g), driver.CUDA_ERROR_NOT_SUPPORTED)
	p := &driver.CUgraphNodeParams{Type: driver.CU_GRAPH_NODE_TYPE_GRAPH}
	p.Graph().Graph, p.Graph().Ownership = g, driver.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
	r.want("move", r.CuGraphAddNode(&n, other, nil, nil, 0, p), driver.CUDA_ERROR_NOT_SUPPORTED)
}

func TestGraphInANodeIsNotInstantiatedOrCopied(t *testing.T) {
	r := newRig(t)
	g, inner := r.graph(), r.graph()
	r.addKernel(inner, r.kernel("add"), r.alloc(4), 0, 1)
	_, part := r.child(g, inner)
	body := r.conditional(g, ifNode, 1, r.handle(g, 0))[0]
	for _, part := range []driver.CUgraph{part, body} {
		r.wantReason("a graph in a node", part, driver.CUDA_ERROR_NOT_SUPPORTED, driver.CUDA_GRAPH_INSTANTIATE_ERROR)
	}
	var n driver.CUgraphNode
	r.want("as a child", r.CuGraphAddChildGraphNode(&n, r.graph(), nil, 0, part), driver.CUDA_ERROR_NOT_SUPPORTED)
}

func TestHandleNeedsAContext(t *testing.T) {
	r := newRig(t)
	var h driver.CUgraphConditionalHandle
	r.want("no context", r.CuGraphConditionalHandleCreate(&h, r.graph(), 0, 0, 0), driver.CUDA_ERROR_INVALID_CONTEXT)
}

func TestHandleOfADestroyedNodeIsFree(t *testing.T) {
	r := newRig(t)
	g := r.graph()
	h := r.handle(g, 0)
	r.conditional(g, ifNode, 1, h)
	r.ok(r.CuGraphDestroyNode(r.nodes(g)[0]))
	r.wantReason("unused again", g, invalidValue, driver.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED)
	r.conditional(g, whileNode, 1, h)
	r.instantiate(g)
}

func TestNodesThatBodiesDoNotTakeAreFoundWhenInstantiated(t *testing.T) {
	r := newRig(t)
	ev := r.event(0)
	add := map[string]func(driver.CUgraph) error{
		"event record": func(g driver.CUgraph) error {
			return r.CuGraphAddEventRecordNode(new(driver.CUgraphNode), g, nil, 0, ev)
		},
		"event wait": func(g driver.CUgraph) error {
			return r.CuGraphAddEventWaitNode(new(driver.CUgraphNode), g, nil, 0, ev)
		},
	}
	for what, add := range add {
		for where, depth := range map[string]int{" in a body": 0, " in a child of a body": 1} {
			g := r.graph()
			body := r.conditional(g, ifNode, 1, r.handle(g, 0))[0]
			if depth == 0 {
				r.ok(add(body))
			} else {
				inner := r.graph()
				r.ok(add(inner))
				r.child(body, inner)
			}
			r.wantReason(what+where, g, invalidValue, driver.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED)
		}
	}
}

func TestUpdateDoesNotChangeTheFormOfAConditional(t *testing.T) {
	r := newRig(t)
	build := func(form driver.CUgraphConditionalNodeType, size int) driver.CUgraph {
		g := r.graph()
		r.conditional(g, form, size, r.handle(g, 0))
		return g
	}
	x := r.instantiate(build(ifNode, 1))
	var info driver.CUgraphExecUpdateResultInfo
	r.ok(r.CuGraphExecUpdate(x, build(ifNode, 1), &info))
	for what, g := range map[string]driver.CUgraph{
		"SWITCH": build(switchNode, 1), "WHILE": build(whileNode, 1), "IF-ELSE": build(ifNode, 2),
	} {
		r.want(what, r.CuGraphExecUpdate(x, g, &info), driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
		if info.Result != driver.CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED || info.ErrorNode == 0 {
			t.Errorf("%s: %v, node %#x", what, info.Result, uintptr(info.ErrorNode))
		}
	}
}

func TestNodesOfAGraphThatCapturesAreNotDestroyed(t *testing.T) {
	r := newRig(t)
	s, p, add := r.stream(), r.alloc(4), r.kernel("add")
	r.ok(r.CuStreamBeginCapture(s, relaxed))
	r.ok(r.launch(add, s, p, 0, 1))
	var st driver.CUstreamCaptureStatus
	var id uint64
	var g driver.CUgraph
	var deps *driver.CUgraphNode
	var data *driver.CUgraphEdgeData
	var n uintptr
	r.ok(r.CuStreamGetCaptureInfo(s, &st, &id, &g, &deps, &data, &n))
	r.want("destroy", r.CuGraphDestroyNode(*deps), driver.CUDA_ERROR_ILLEGAL_STATE)
	var out driver.CUgraph
	r.ok(r.CuStreamEndCapture(s, &out))
	r.ok(r.CuGraphDestroy(out))
}

func TestConditionSetOutsideOfAGraphIsAFault(t *testing.T) {
	if onGPU {
		return // it is one there, too, and would end the tests that follow
	}
	r := newRig(t)
	g := r.graph()
	h := r.handle(g, 0)
	r.conditional(g, ifNode, 1, h)
	set := r.function(r.module(conditionalPTX), "set")
	params := &struct {
		p, h uint64
		list [2]unsafe.Pointer
	}{p: uint64(r.alloc(4)), h: uint64(h)}
	params.list = [2]unsafe.Pointer{unsafe.Pointer(&params.p), unsafe.Pointer(&params.h)}
	r.ok(r.CuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, 0, &params.list[0], nil))
	r.want("fault", r.CuCtxSynchronize(), driver.CUDA_ERROR_ILLEGAL_ADDRESS)
	r.forgive = true
}

func TestConditionsOutliveTheirGraphInAnExecutable(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(4), r.stream()
	countdown := r.function(r.module(conditionalPTX), "countdown")
	var g driver.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	h := r.handle(g, 1)
	body := r.conditional(g, whileNode, 1, h)[0]
	r.setter(body, countdown, p, h)
	x := r.instantiate(g)
	r.ok(r.CuGraphDestroy(g))
	r.ok(r.CuMemsetD32(p, 5, 1))
	r.ok(r.CuCtxSynchronize())
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("rounds left", p, 0)
}

// Before CUDA 12.8 there were IF and WHILE only, and a launch did not get past
// a body without nodes.
func TestConditionalsBefore128(t *testing.T) {
	if onGPU {
		return
	}
	r := newRigWith(t, emulator.Config{DriverVersion: 12060})
	g := r.graph()
	h := r.handle(g, 1)
	p := &driver.CUgraphNodeParams{Type: driver.CU_GRAPH_NODE_TYPE_CONDITIONAL}
	for what, form := range map[string]driver.CUDA_CONDITIONAL_NODE_PARAMS{
		"IF-ELSE": {Type: ifNode, Size: 2}, "SWITCH": {Type: switchNode, Size: 1},
	} {
		form.Handle, form.Ctx = h, r.ctx
		*p.Conditional() = form
		r.want(what, r.CuGraphAddNode(new(driver.CUgraphNode), g, nil, nil, 0, p), invalidValue)
	}
	r.conditional(g, ifNode, 1, h)
	x := r.instantiate(g)
	r.ok(r.CuGraphLaunch(x, 0))
	r.want("empty body", r.CuCtxSynchronize(), driver.CUDA_ERROR_LAUNCH_TIMEOUT)
	r.forgive = true
}
