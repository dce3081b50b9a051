package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// updateCase is a graph, a changed graph, and the expected result of an update.
type updateCase struct {
	name          string
	base, changed func(b *builder) []cu.CUgraphNode
	want          cu.CUgraphExecUpdateResult
	node, from    int // which of the changed graph's nodes are named; -1: none
}

// builder adds nodes to a graph.
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

// The expected results are those of driver 580 on an H200.
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
