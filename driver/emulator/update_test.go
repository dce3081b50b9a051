package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// updateCase is a graph, a changed version of it, and the expected result of an update.
type updateCase struct {
	name          string
	base, changed func(b *builder) []cu.CUgraphNode
	want          cu.CUgraphExecUpdateResult
	node, from    int // indices of the reported nodes in the changed graph; -1 if none
}

type builder struct {
	r   *rig
	g   cu.CUgraph
	p   cu.CUdeviceptr
	add cu.CUfunction
}

func (b *builder) kernel(deps ...cu.CUgraphNode) cu.CUgraphNode {
	return b.r.addKernel(b.g, b.add, b.p, 0, 1, deps...)
}

func (b *builder) fill(deps ...cu.CUgraphNode) cu.CUgraphNode {
	var n cu.CUgraphNode
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: b.p, ElementSize: 4, Width: 1, Height: 1}
	b.r.ok(b.r.CuGraphAddMemsetNode(&n, b.g, first(deps), uintptr(len(deps)), &set, b.r.ctx))
	return n
}

func (b *builder) empty() cu.CUgraphNode {
	var n cu.CUgraphNode
	b.r.ok(b.r.CuGraphAddEmptyNode(&n, b.g, nil, 0))
	return n
}

func (b *builder) host() cu.CUgraphNode {
	var n cu.CUgraphNode
	fn := cu.CUhostFn(loader.NewCallback(func(uintptr) {}))
	b.r.ok(b.r.CuGraphAddHostNode(&n, b.g, nil, 0, &cu.CUDA_HOST_NODE_PARAMS{Fn: fn}))
	return n
}

func (b *builder) copy(fromHost bool) cu.CUgraphNode {
	var n cu.CUgraphNode
	c := cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: b.p,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: b.p + 64, WidthInBytes: 4, Height: 1, Depth: 1,
	}
	if fromHost {
		c.SrcMemoryType, c.SrcDevice, c.SrcHost = cu.CU_MEMORYTYPE_HOST, 0, unsafe.Pointer(new([8]uint32))
	}
	b.r.ok(b.r.CuGraphAddMemcpyNode(&n, b.g, nil, 0, &c, b.r.ctx))
	return n
}

func (b *builder) child(kernels int) cu.CUgraphNode {
	var n cu.CUgraphNode
	inner := &builder{b.r, b.r.graph(), b.p, b.add}
	for range kernels {
		inner.kernel()
	}
	b.r.ok(b.r.CuGraphAddChildGraphNode(&n, b.g, nil, 0, inner.g))
	return n
}

func (b *builder) cooperative() cu.CUgraphNode {
	n := b.kernel()
	var v cu.CUlaunchAttributeValue
	*v.Cooperative() = 1
	b.r.ok(b.r.CuGraphKernelNodeSetAttribute(n, cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v))
	return n
}

// The expected results were recorded with driver 580 on an H200.
func TestUpdateNamesTheFirstDifference(t *testing.T) {
	r := newRig(t)
	p, add := r.alloc(256), r.kernel("add")
	for _, c := range updateCases() {
		base, changed := &builder{r, r.graph(), p, add}, &builder{r, r.graph(), p, add}
		c.base(base)
		nodes := c.changed(changed)
		var info cu.CUgraphExecUpdateResultInfo
		err := r.CuGraphExecUpdate(r.instantiate(base.g), changed.g, &info)
		want := cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
		if c.want == cu.CU_GRAPH_EXEC_UPDATE_SUCCESS {
			want = cu.CUDA_SUCCESS
		}
		r.want(c.name, err, want)
		if info.Result != c.want || info.ErrorNode != pick(nodes, c.node) || info.ErrorFromNode != pick(nodes, c.from) {
			t.Errorf("%s: %v, node %#x, from %#x of %#x", c.name, info.Result, info.ErrorNode, info.ErrorFromNode, nodes)
		}
	}
}

func pick(nodes []cu.CUgraphNode, i int) cu.CUgraphNode {
	if i < 0 {
		return 0
	}
	return nodes[i]
}

func updateCases() []updateCase {
	type nodes = []cu.CUgraphNode
	const (
		same      = cu.CU_GRAPH_EXEC_UPDATE_SUCCESS
		topology  = cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
		kind      = cu.CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
		params    = cu.CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED
		attribute = cu.CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
	)
	one := func(b *builder) nodes { return nodes{b.kernel()} }
	two := func(b *builder) nodes { return nodes{b.kernel(), b.kernel()} }
	chain2 := func(b *builder) nodes { a := b.kernel(); return nodes{a, b.kernel(a)} }
	chain3 := func(b *builder) nodes { a := b.kernel(); c := b.kernel(a); return nodes{a, c, b.kernel(c)} }
	return []updateCase{
		{"the only node", one, func(b *builder) nodes { return nodes{b.fill()} }, kind, 0, -1},
		{"host to empty", func(b *builder) nodes { return nodes{b.host()} }, func(b *builder) nodes { return nodes{b.empty()} }, kind, 0, -1},
		{"end of a chain", chain2, func(b *builder) nodes { a := b.kernel(); return nodes{a, b.fill(a)} }, kind, 1, -1},
		{"begin of a chain", chain2, func(b *builder) nodes { a := b.fill(); return nodes{a, b.kernel(a)} }, kind, 0, -1},
		{"second of two", two, func(b *builder) nodes { return nodes{b.kernel(), b.fill()} }, kind, 1, -1},
		{"first of two", two, func(b *builder) nodes { return nodes{b.fill(), b.kernel()} }, kind, 0, -1},
		{"both of two", two, func(b *builder) nodes { return nodes{b.fill(), b.fill()} }, kind, 1, -1},
		{"two exchanged", func(b *builder) nodes { return nodes{b.kernel(), b.fill()} }, func(b *builder) nodes { return nodes{b.fill(), b.kernel()} }, kind, 1, -1},
		{"more nodes", one, chain2, topology, -1, -1},
		{"three ends for one", chain3, func(b *builder) nodes { return nodes{b.kernel(), b.kernel(), b.kernel()} }, topology, 1, -1},
		{"two ends for one", chain3, func(b *builder) nodes { a := b.kernel(); return nodes{a, b.kernel(a), b.kernel(a)} }, topology, 1, -1},
		{"one end for three", func(b *builder) nodes { return nodes{b.kernel(), b.kernel(), b.kernel()} }, chain3, topology, -1, -1},
		{"fewer dependencies", func(b *builder) nodes { a, c := b.kernel(), b.kernel(); return nodes{a, c, b.kernel(a, c)} }, chain3, topology, 2, -1},
		{"dependencies exchanged", func(b *builder) nodes { a, c := b.kernel(), b.fill(); return nodes{a, c, b.kernel(a, c)} },
			func(b *builder) nodes { a, c := b.kernel(), b.fill(); return nodes{a, c, b.kernel(c, a)} }, kind, 1, -1},
		{"other shape", func(b *builder) nodes {
			a := b.kernel()
			x, y := b.kernel(a), b.kernel(a)
			return nodes{a, x, y, b.kernel(x, y)}
		}, func(b *builder) nodes {
			a := b.kernel()
			x := b.kernel(a)
			y := b.kernel(x)
			return nodes{a, x, y, b.kernel(x, y)}
		}, topology, 2, 1},
		{"created in another order", func(b *builder) nodes { a, c := b.kernel(), b.kernel(); return nodes{a, c, b.kernel(a), b.kernel(c)} },
			func(b *builder) nodes { a, c := b.kernel(), b.kernel(); return nodes{a, c, b.kernel(c), b.kernel(a)} }, same, -1, -1},
		{"cooperative", one, func(b *builder) nodes { return nodes{b.cooperative()} }, attribute, 0, -1},
		{"memory of another kind", func(b *builder) nodes { return nodes{b.copy(false)} }, func(b *builder) nodes { return nodes{b.copy(true)} }, params, 0, -1},
		{"child with more nodes", func(b *builder) nodes { return nodes{b.child(1)} }, func(b *builder) nodes { return nodes{b.child(2)} }, topology, -1, -1},
	}
}

func TestUpdateTakesOverParameters(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(16), r.stream()
	m := r.module(testPTX)
	store, add := r.function(m, "store"), r.function(m, "add")
	build := func(f cu.CUfunction, v uint32, fill byte) cu.CUgraph {
		return r.captured(s, func() {
			r.ok(r.CuMemsetD8Async(p, fill, 8, s))
			r.ok(r.launch(f, s, p, 0, v))
		})
	}
	x := r.instantiate(build(store, 1, 0))
	var info cu.CUgraphExecUpdateResultInfo
	r.ok(r.CuGraphExecUpdate(x, build(add, 2, 1), &info))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("updated", p, 0x01010103, 0x01010101)
}

func TestUpdateOfFills(t *testing.T) {
	r := newRig(t)
	p := r.alloc(256)
	build := func(height, width uintptr) cu.CUgraph {
		g := r.graph()
		var n cu.CUgraphNode
		set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: width, Height: height, Pitch: 64, Value: 3}
		r.ok(r.CuGraphAddMemsetNode(&n, g, nil, 0, &set, r.ctx))
		return g
	}
	var info cu.CUgraphExecUpdateResultInfo
	flat := r.instantiate(build(1, 4))
	r.want("1D width", r.CuGraphExecUpdate(flat, build(1, 8), &info), 0)
	r.want("1D to 2D", r.CuGraphExecUpdate(flat, build(2, 4), &info), cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
	if info.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED {
		t.Errorf("reason %v", info.Result)
	}
	square := r.instantiate(build(2, 4))
	r.want("2D the same", r.CuGraphExecUpdate(square, build(2, 4), &info), 0)
	r.want("2D width", r.CuGraphExecUpdate(square, build(2, 8), &info), cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
}

func TestParametersOfOtherNodesOfAnExecutable(t *testing.T) {
	r := newRig(t)
	p, q, s := r.alloc(64), r.alloc(64), r.stream()
	g := r.graph()
	var fill, cp, host cu.CUgraphNode
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 4, Height: 1, Value: 3}
	r.ok(r.CuGraphAddMemsetNode(&fill, g, nil, 0, &set, r.ctx))
	move := cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: q,
		WidthInBytes: 8, Height: 1, Depth: 1,
	}
	r.ok(r.CuGraphAddMemcpyNode(&cp, g, &fill, 1, &move, r.ctx))
	var calls []uintptr
	fn := cu.CUhostFn(loader.NewCallback(func(data uintptr) { calls = append(calls, data) }))
	tokens := make([]byte, 2)
	r.ok(r.CuGraphAddHostNode(&host, g, &cp, 1, &cu.CUDA_HOST_NODE_PARAMS{Fn: fn, UserData: unsafe.Pointer(&tokens[0])}))
	x := r.instantiate(g)
	set.Value = 4
	r.ok(r.CuGraphExecMemsetNodeSetParams(x, fill, &set, r.ctx))
	move.DstDevice = q + 8
	r.ok(r.CuGraphExecMemcpyNodeSetParams(x, cp, &move, r.ctx))
	r.ok(r.CuGraphExecHostNodeSetParams(x, host, &cu.CUDA_HOST_NODE_PARAMS{Fn: fn, UserData: unsafe.Pointer(&tokens[1])}))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("changed", q, 0, 0, 4, 4)
	if len(calls) != 1 || calls[0] != uintptr(unsafe.Pointer(&tokens[1])) {
		t.Errorf("host calls %x", calls)
	}
	move.Height = 2
	move.SrcPitch, move.DstPitch = 16, 16
	r.want("2D copy", r.CuGraphExecMemcpyNodeSetParams(x, cp, &move, r.ctx), invalidValue)
	var got cu.CUDA_MEMSET_NODE_PARAMS
	r.ok(r.CuGraphMemsetNodeGetParams(fill, &got))
	if got.Value != 3 || got.Width != 4 {
		t.Errorf("the graph's node has %+v", got)
	}
	var back cu.CUDA_MEMCPY3D
	r.ok(r.CuGraphMemcpyNodeGetParams(cp, &back))
	if back.DstDevice != q || back.WidthInBytes != 8 {
		t.Errorf("the graph's node has %+v", back)
	}
}

func TestDisabledNodesDoNothing(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	g := r.graph()
	a := r.addKernel(g, add, p, 0, 1)
	r.addKernel(g, add, p, 0, 10, a)
	var e cu.CUgraphNode
	r.ok(r.CuGraphAddEmptyNode(&e, g, nil, 0))
	x := r.instantiate(g)
	r.ok(r.CuGraphNodeSetEnabled(x, a, 0))
	var on uint32
	r.ok(r.CuGraphNodeGetEnabled(x, a, &on))
	if on != 0 {
		t.Error("still enabled")
	}
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphNodeSetEnabled(x, a, 1))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("launches", p, 21)
	r.want("an empty node", r.CuGraphNodeSetEnabled(x, e, 0), invalidValue)
}
