package emulator_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

const (
	ifNode     = cu.CU_GRAPH_COND_TYPE_IF
	whileNode  = cu.CU_GRAPH_COND_TYPE_WHILE
	switchNode = cu.CU_GRAPH_COND_TYPE_SWITCH
)

func (r *rig) handle(g cu.CUgraph, v uint32) (h cu.CUgraphConditionalHandle) {
	r.t.Helper()
	r.ok(r.CuGraphConditionalHandleCreate(&h, g, r.ctx, v, cu.CU_GRAPH_COND_ASSIGN_DEFAULT))
	return h
}

func (r *rig) wantReason(what string, g cu.CUgraph, code cu.CUresult, why cu.CUgraphInstantiateResult) {
	r.t.Helper()
	var x cu.CUgraphExec
	p := cu.CUDA_GRAPH_INSTANTIATE_PARAMS{}
	r.want(what, r.CuGraphInstantiateWithParams(&x, g, &p), code)
	if p.Result_out != why {
		r.t.Errorf("%s: reason %v, want %v", what, p.Result_out, why)
	}
}

func (r *rig) child(g, of cu.CUgraph) (cu.CUgraphNode, cu.CUgraph) {
	r.t.Helper()
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddChildGraphNode(&n, g, nil, 0, of))
	var inner cu.CUgraph
	r.ok(r.CuGraphChildGraphNodeGetGraph(n, &inner))
	return n, inner
}

// The expected results in this file were recorded with driver 580 on an H200.

func TestGraphWithConditionalsHasOneExecutable(t *testing.T) {
	r := newRig(t)
	g := r.graph()
	r.conditional(g, ifNode, 1, r.handle(g, 0))
	var x cu.CUgraphExec
	p := cu.CUDA_GRAPH_INSTANTIATE_PARAMS{}
	r.ok(r.CuGraphInstantiateWithParams(&x, g, &p))
	r.wantReason("second executable", g, cu.CUDA_ERROR_NOT_SUPPORTED, cu.CUDA_GRAPH_INSTANTIATE_ERROR)
	r.ok(r.CuGraphExecDestroy(x))
	r.instantiate(g)
}

func TestGraphWithConditionalsIsNoChild(t *testing.T) {
	r := newRig(t)
	g, other := r.graph(), r.graph()
	r.conditional(g, ifNode, 1, r.handle(g, 0))
	var n cu.CUgraphNode
	r.want("copy", r.CuGraphAddChildGraphNode(&n, other, nil, 0, g), cu.CUDA_ERROR_NOT_SUPPORTED)
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_GRAPH}
	p.Graph().Graph, p.Graph().Ownership = g, cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
	r.want("move", r.CuGraphAddNode(&n, other, nil, nil, 0, p), cu.CUDA_ERROR_NOT_SUPPORTED)
}

func TestGraphInANodeIsNotInstantiatedOrCopied(t *testing.T) {
	r := newRig(t)
	g, inner := r.graph(), r.graph()
	r.addKernel(inner, r.kernel("add"), r.alloc(4), 0, 1)
	_, part := r.child(g, inner)
	body := r.conditional(g, ifNode, 1, r.handle(g, 0))[0]
	for _, part := range []cu.CUgraph{part, body} {
		r.wantReason("a graph in a node", part, cu.CUDA_ERROR_NOT_SUPPORTED, cu.CUDA_GRAPH_INSTANTIATE_ERROR)
	}
	var n cu.CUgraphNode
	r.want("as a child", r.CuGraphAddChildGraphNode(&n, r.graph(), nil, 0, part), cu.CUDA_ERROR_NOT_SUPPORTED)
}

func TestHandleNeedsAContext(t *testing.T) {
	r := newRig(t)
	var h cu.CUgraphConditionalHandle
	r.want("no context", r.CuGraphConditionalHandleCreate(&h, r.graph(), 0, 0, 0), cu.CUDA_ERROR_INVALID_CONTEXT)
}

func TestHandleOfADestroyedNodeIsFree(t *testing.T) {
	r := newRig(t)
	g := r.graph()
	h := r.handle(g, 0)
	r.conditional(g, ifNode, 1, h)
	r.ok(r.CuGraphDestroyNode(r.nodes(g)[0]))
	r.wantReason("unused again", g, invalidValue, cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED)
	r.conditional(g, whileNode, 1, h)
	r.instantiate(g)
}

func TestNodesThatBodiesDoNotTakeAreFoundWhenInstantiated(t *testing.T) {
	r := newRig(t)
	ev := r.event(0)
	add := map[string]func(cu.CUgraph) error{
		"event record": func(g cu.CUgraph) error {
			return r.CuGraphAddEventRecordNode(new(cu.CUgraphNode), g, nil, 0, ev)
		},
		"event wait": func(g cu.CUgraph) error {
			return r.CuGraphAddEventWaitNode(new(cu.CUgraphNode), g, nil, 0, ev)
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
			r.wantReason(what+where, g, invalidValue, cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED)
		}
	}
}

func TestUpdateDoesNotChangeTheFormOfAConditional(t *testing.T) {
	r := newRig(t)
	build := func(form cu.CUgraphConditionalNodeType, size int) cu.CUgraph {
		g := r.graph()
		r.conditional(g, form, size, r.handle(g, 0))
		return g
	}
	x := r.instantiate(build(ifNode, 1))
	var info cu.CUgraphExecUpdateResultInfo
	r.ok(r.CuGraphExecUpdate(x, build(ifNode, 1), &info))
	for what, g := range map[string]cu.CUgraph{
		"SWITCH": build(switchNode, 1), "WHILE": build(whileNode, 1), "IF-ELSE": build(ifNode, 2),
	} {
		r.want(what, r.CuGraphExecUpdate(x, g, &info), cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
		if info.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED || info.ErrorNode == 0 {
			t.Errorf("%s: %v, node %#x", what, info.Result, uintptr(info.ErrorNode))
		}
	}
}

func TestNodesOfAGraphThatCapturesAreNotDestroyed(t *testing.T) {
	r := newRig(t)
	s, p, add := r.stream(), r.alloc(4), r.kernel("add")
	r.ok(r.CuStreamBeginCapture(s, relaxed))
	r.ok(r.launch(add, s, p, 0, 1))
	var st cu.CUstreamCaptureStatus
	var id uint64
	var g cu.CUgraph
	var deps *cu.CUgraphNode
	var data *cu.CUgraphEdgeData
	var n uintptr
	r.ok(r.CuStreamGetCaptureInfo(s, &st, &id, &g, &deps, &data, &n))
	r.want("destroy", r.CuGraphDestroyNode(*deps), cu.CUDA_ERROR_ILLEGAL_STATE)
	var out cu.CUgraph
	r.ok(r.CuStreamEndCapture(s, &out))
	r.ok(r.CuGraphDestroy(out))
}

func TestConditionSetOutsideOfAGraphIsAFault(t *testing.T) {
	if onGPU {
		t.Skip("it is one there, too, and would end the tests that follow")
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
	r.want("fault", r.CuCtxSynchronize(), cu.CUDA_ERROR_ILLEGAL_ADDRESS)
	r.forgive = true
}

func TestConditionsOutliveTheirGraphInAnExecutable(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(4), r.stream()
	countdown := r.function(r.module(conditionalPTX), "countdown")
	var g cu.CUgraph
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

// An emulated driver for a CUDA version before 12.8 must reject all forms except IF and WHILE. If a
// launch reaches a body without nodes, it must end with a timeout, because it would hang on a real
// driver of that version.
func TestConditionalsBefore128(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRigWith(t, emulator.Config{DriverVersion: 12060})
	g := r.graph()
	h := r.handle(g, 1)
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL}
	for what, form := range map[string]cu.CUDA_CONDITIONAL_NODE_PARAMS{
		"IF-ELSE": {Type: ifNode, Size: 2}, "SWITCH": {Type: switchNode, Size: 1},
	} {
		form.Handle, form.Ctx = h, r.ctx
		*p.Conditional() = form
		r.want(what, r.CuGraphAddNode(new(cu.CUgraphNode), g, nil, nil, 0, p), invalidValue)
	}
	r.conditional(g, ifNode, 1, h)
	x := r.instantiate(g)
	r.ok(r.CuGraphLaunch(x, 0))
	r.want("empty body", r.CuCtxSynchronize(), cu.CUDA_ERROR_LAUNCH_TIMEOUT)
	r.forgive = true
}

// If a kernel sets a value that is not a conditional handle, the graph launch must fail with a
// fault that contains the value.
func TestSettingWhatIsNoConditionalHandleIsAFault(t *testing.T) {
	r := newRig(t)
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	p, s := r.alloc(8), r.stream()
	g := r.graph()
	h := r.handle(g, 0)
	r.conditional(g, ifNode, 1, h)
	r.setter(g, r.function(r.module(conditionalPTX), "set"), p, h+0x1000)
	r.ok(r.CuGraphLaunch(r.instantiate(g), s))
	if code(r.CuStreamSynchronize(s)) == 0 {
		t.Error("the launch succeeded")
	}
	if report := r.emu.LastFault(); !strings.Contains(report, fmt.Sprintf("%#x is not a conditional handle", uint64(h+0x1000))) {
		t.Errorf("the report is %q", report)
	}
	r.forgive = true
}

// conditionalPTX counts down p[0] and sets a conditional handle to the remaining count.
const conditionalPTX = `
.version 8.3
.target sm_90
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry countdown(.param .u64 p, .param .u64 handle)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [handle];
	ld.global.u32 %r1, [%rd1];
	add.u32 %r2, %r1, -1;
	st.global.u32 [%rd1], %r2;
	{
		.param .b64 param0;
		st.param.b64 [param0], %rd2;
		.param .b32 param1;
		st.param.b32 [param1], %r2;
		call.uni cudaGraphSetConditional, (param0, param1);
	}
	ret;
}
.visible .entry set(.param .u64 p, .param .u64 handle)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [handle];
	ld.global.u32 %r1, [%rd1];
	{
		.param .b64 param0;
		st.param.b64 [param0], %rd2;
		.param .b32 param1;
		st.param.b32 [param1], %r1;
		call.uni cudaGraphSetConditional, (param0, param1);
	}
	ret;
}
`

// conditional adds a conditional node that depends on the given nodes. It returns the body graphs.
func (r *rig) conditional(g cu.CUgraph, form cu.CUgraphConditionalNodeType, size int, h cu.CUgraphConditionalHandle, after ...cu.CUgraphNode) []cu.CUgraph {
	r.t.Helper()
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL}
	*p.Conditional() = cu.CUDA_CONDITIONAL_NODE_PARAMS{Handle: h, Type: form, Size: uint32(size), Ctx: r.ctx}
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddNode(&n, g, first(after), nil, uintptr(len(after)), p))
	return append([]cu.CUgraph(nil), unsafe.Slice(p.Conditional().PhGraph_out, size)...)
}

func (r *rig) setter(g cu.CUgraph, f cu.CUfunction, p cu.CUdeviceptr, h cu.CUgraphConditionalHandle) cu.CUgraphNode {
	r.t.Helper()
	params := &struct {
		p, h uint64
		list [2]unsafe.Pointer
	}{p: uint64(p), h: uint64(h)}
	params.list = [2]unsafe.Pointer{unsafe.Pointer(&params.p), unsafe.Pointer(&params.h)}
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddKernelNode(&n, g, nil, 0, &cu.CUDA_KERNEL_NODE_PARAMS{
		Func: f, GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1, KernelParams: &params.list[0],
	}))
	return n
}

func TestWhileNodeRepeatsItsBody(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(8), r.stream(), r.kernel("add")
	countdown := r.function(r.module(conditionalPTX), "countdown")
	g := r.graph()
	var h cu.CUgraphConditionalHandle
	r.ok(r.CuGraphConditionalHandleCreate(&h, g, r.ctx, 1, cu.CU_GRAPH_COND_ASSIGN_DEFAULT))
	body := r.conditional(g, cu.CU_GRAPH_COND_TYPE_WHILE, 1, h)[0]
	r.setter(body, countdown, p, h)
	r.addKernel(body, add, p, 1, 1)
	x := r.instantiate(g)
	for range 2 {
		r.ok(r.CuMemsetD32(p, 50, 1))
		r.ok(r.CuCtxSynchronize())
		r.ok(r.CuGraphLaunch(x, s))
		r.ok(r.CuStreamSynchronize(s))
	}
	r.wantWords("iterations", p, 0, 100)
}

func TestIfElseAndSwitchNodes(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(32), r.stream(), r.kernel("add")
	set := r.function(r.module(conditionalPTX), "set")
	g := r.graph()
	var hi, hs cu.CUgraphConditionalHandle
	r.ok(r.CuGraphConditionalHandleCreate(&hi, g, r.ctx, 0, 0))
	r.ok(r.CuGraphConditionalHandleCreate(&hs, g, r.ctx, 0, 0))
	ifBodies := r.conditional(g, cu.CU_GRAPH_COND_TYPE_IF, 2, hi, r.setter(g, set, p, hi))
	cases := r.conditional(g, cu.CU_GRAPH_COND_TYPE_SWITCH, 3, hs, r.setter(g, set, p+4, hs))
	for i, b := range append(ifBodies, cases...) {
		r.addKernel(b, add, p, uint32(2+i), 1)
	}
	x := r.instantiate(g)
	for _, in := range [][2]uint32{{1, 0}, {0, 2}, {5, 3}} {
		r.ok(r.CuMemsetD32(p, in[0], 1))
		r.ok(r.CuMemsetD32(p+4, in[1], 1))
		r.ok(r.CuCtxSynchronize())
		r.ok(r.CuGraphLaunch(x, s))
		r.ok(r.CuStreamSynchronize(s))
	}
	r.wantWords("branches", p, 5, 3, 2, 1, 1, 0, 1)
}

func TestBadConditionals(t *testing.T) {
	r := newRig(t)
	g, other := r.graph(), r.graph()
	var h cu.CUgraphConditionalHandle
	r.want("flags", r.CuGraphConditionalHandleCreate(&h, g, r.ctx, 0, 8), invalidValue)
	r.ok(r.CuGraphConditionalHandleCreate(&h, g, r.ctx, 0, 0))
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL}
	try := func(what string, g cu.CUgraph, form cu.CUgraphConditionalNodeType, size uint32) {
		t.Helper()
		*p.Conditional() = cu.CUDA_CONDITIONAL_NODE_PARAMS{Handle: h, Type: form, Size: size, Ctx: r.ctx}
		r.want(what, r.CuGraphAddNode(new(cu.CUgraphNode), g, nil, nil, 0, p), invalidValue)
	}
	try("IF with three bodies", g, cu.CU_GRAPH_COND_TYPE_IF, 3)
	try("WHILE with two bodies", g, cu.CU_GRAPH_COND_TYPE_WHILE, 2)
	try("no bodies", g, cu.CU_GRAPH_COND_TYPE_IF, 0)
	try("handle of another graph", other, cu.CU_GRAPH_COND_TYPE_IF, 1)
	var x cu.CUgraphExec
	params := cu.CUDA_GRAPH_INSTANTIATE_PARAMS{}
	r.want("handle without a node", r.CuGraphInstantiateWithParams(&x, g, &params), invalidValue)
	if params.Result_out != cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED {
		t.Errorf("reason %v", params.Result_out)
	}
	r.conditional(g, cu.CU_GRAPH_COND_TYPE_IF, 1, h)
	try("second node for a handle", g, cu.CU_GRAPH_COND_TYPE_IF, 1)
	var clone cu.CUgraph
	r.want("clone", r.CuGraphClone(&clone, g), cu.CUDA_ERROR_NOT_SUPPORTED)
}
