package emulator_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

const invalidValue = cu.CUDA_ERROR_INVALID_VALUE

func TestManualGraphRunsInDependencyOrder(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	g := r.graph()
	a := r.addKernel(g, shift, p, 0, 1)
	c := r.addKernel(g, shift, p, 0, 3)
	b := r.addKernel(g, shift, p, 0, 2, a)
	r.ok(r.CuGraphAddDependencies(g, &b, &c, nil, 1))
	x := r.instantiate(g)
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	one := func(v uint32) uint32 { return 2*(2*(2*v+1)+2) + 3 }
	r.wantWords("two launches", p, one(one(0)))
}

func TestGraphQueries(t *testing.T) {
	r := newRig(t)
	g := r.graph()
	nodes := make([]cu.CUgraphNode, 4)
	r.ok(r.CuGraphAddEmptyNode(&nodes[0], g, nil, 0))
	r.ok(r.CuGraphAddEmptyNode(&nodes[1], g, nil, 0))
	r.ok(r.CuGraphAddEmptyNode(&nodes[2], g, &nodes[0], 2))
	r.ok(r.CuGraphAddEmptyNode(&nodes[3], g, &nodes[2], 1))
	var n uintptr
	r.ok(r.CuGraphGetRootNodes(g, nil, &n))
	if n != 2 {
		t.Errorf("%d roots", n)
	}
	many := make([]cu.CUgraphNode, 6)
	many[5] = 1
	n = 6
	r.ok(r.CuGraphGetNodes(g, &many[0], &n))
	if n != 4 || many[3] != nodes[3] || many[5] != 0 {
		t.Errorf("%d nodes: %x", n, many)
	}
	n = 2
	r.ok(r.CuGraphGetNodes(g, &many[0], &n))
	if n != 2 {
		t.Errorf("%d nodes in a short array", n)
	}
	r.ok(r.CuGraphNodeGetDependencies(nodes[2], nil, nil, &n))
	if n != 2 {
		t.Errorf("%d dependencies", n)
	}
	r.ok(r.CuGraphNodeGetDependentNodes(nodes[2], &many[0], nil, &n))
	if n != 1 || many[0] != nodes[3] {
		t.Errorf("%d dependents", n)
	}
	from, to := make([]cu.CUgraphNode, 3), make([]cu.CUgraphNode, 3)
	n = 3
	r.ok(r.CuGraphGetEdges(g, &from[0], &to[0], nil, &n))
	if n != 3 {
		t.Errorf("%d edges", n)
	}
	path := filepath.Join(t.TempDir(), "g.dot")
	r.ok(r.CuGraphDebugDotPrint(g, cstr(path), 0))
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "digraph") || !strings.Contains(string(text), "->") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestBadEdges(t *testing.T) {
	r := newRig(t)
	g, other := r.graph(), r.graph()
	var a, b, foreign, n cu.CUgraphNode
	r.ok(r.CuGraphAddEmptyNode(&a, g, nil, 0))
	r.ok(r.CuGraphAddEmptyNode(&b, g, &a, 1))
	r.ok(r.CuGraphAddEmptyNode(&foreign, other, nil, 0))
	r.want("foreign dependency", r.CuGraphAddEmptyNode(&n, g, &foreign, 1), invalidValue)
	r.want("foreign edge", r.CuGraphAddDependencies(g, &foreign, &b, nil, 1), invalidValue)
	twice := []cu.CUgraphNode{a, a}
	r.want("same dependency twice", r.CuGraphAddEmptyNode(&n, g, &twice[0], 2), invalidValue)
	r.want("edge that is there", r.CuGraphAddDependencies(g, &a, &b, nil, 1), invalidValue)
	r.want("edge to itself", r.CuGraphAddDependencies(g, &a, &a, nil, 1), invalidValue)
	r.want("removal of no edge", r.CuGraphRemoveDependencies(g, &b, &a, nil, 1), invalidValue)
	r.want("edge that closes a cycle", r.CuGraphAddDependencies(g, &b, &a, nil, 1), 0)
	var x cu.CUgraphExec
	params := cu.CUDA_GRAPH_INSTANTIATE_PARAMS{}
	r.want("instantiation of a cycle", r.CuGraphInstantiateWithParams(&x, g, &params), invalidValue)
	if params.Result_out != cu.CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE || params.HErrNode_out == 0 {
		t.Errorf("reason %v, node %#x", params.Result_out, params.HErrNode_out)
	}
	r.ok(r.CuGraphRemoveDependencies(g, &b, &a, nil, 1))
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.ok(r.CuGraphExecDestroy(x))
	r.want("flags", r.CuGraphInstantiate(&x, g, 1<<10), invalidValue)
	r.want("null graph", r.CuGraphAddEmptyNode(&n, 0, nil, 0), invalidValue)
	r.want("null exec", r.CuGraphLaunch(0, 0), invalidValue)
	r.ok(r.CuGraphDestroyNode(b))
	if len(r.nodes(g)) != 1 || r.edgeCount(g) != 0 {
		t.Error("the node is still there")
	}
}

func TestEdgeData(t *testing.T) {
	r := newRig(t)
	p, add := r.alloc(4), r.kernel("add")
	g := r.graph()
	a := r.addKernel(g, add, p, 0, 1)
	b := r.addKernel(g, add, p, 0, 1)
	data := cu.CUgraphEdgeData{From_port: cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, Type: byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)}
	r.ok(r.CuGraphAddDependencies(g, &a, &b, &data, 1))
	n := uintptr(1)
	var from, to cu.CUgraphNode
	r.want("lossy query", r.CuGraphGetEdges(g, &from, &to, nil, &n), cu.CUDA_ERROR_LOSSY_QUERY)
	var back cu.CUgraphEdgeData
	n = 1
	r.ok(r.CuGraphGetEdges(g, &from, &to, &back, &n))
	if back != data {
		t.Errorf("edge data %v", back)
	}
	bad := cu.CUgraphEdgeData{Type: 9}
	r.want("bad type", r.CuGraphAddDependencies(g, &b, &a, &bad, 1), invalidValue)
}

func TestKernelNodeParameters(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(8), r.stream()
	m := r.module(testPTX)
	store, add := r.function(m, "store"), r.function(m, "add")
	g := r.graph()
	n := r.addKernel(g, store, p, 0, 5)
	var params cu.CUDA_KERNEL_NODE_PARAMS
	r.ok(r.CuGraphKernelNodeGetParams(n, &params))
	list := unsafe.Slice(params.KernelParams, 3)
	if params.Func != store || params.GridDimX != 1 || *(*uint32)(list[2]) != 5 {
		t.Errorf("parameters %+v", params)
	}
	r.want("empty grid", r.CuGraphKernelNodeSetParams(n, &cu.CUDA_KERNEL_NODE_PARAMS{Func: store, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1, KernelParams: args(p, 0, 1)}), invalidValue)
	r.want("no function", r.CuGraphKernelNodeSetParams(n, &cu.CUDA_KERNEL_NODE_PARAMS{GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1}), cu.CUDA_ERROR_INVALID_HANDLE)
	x := r.instantiate(g)
	r.ok(r.CuGraphKernelNodeSetParams(n, kernelNode(store, p, 0, 6)))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("an executable keeps what it had", p, 5)
	r.ok(r.CuGraphExecKernelNodeSetParams(x, n, kernelNode(store, p, 1, 8)))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphExecKernelNodeSetParams(x, n, kernelNode(add, p, 1, 1)))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("changed twice", p, 5, 9)
	other := r.graph()
	m2 := r.addKernel(other, store, p, 0, 5)
	r.want("node of another graph", r.CuGraphExecKernelNodeSetParams(x, m2, kernelNode(store, p, 0, 6)), invalidValue)
	var e cu.CUgraphNode
	r.ok(r.CuGraphAddEmptyNode(&e, g, nil, 0))
	r.want("node that came later", r.CuGraphExecKernelNodeSetParams(x, e, kernelNode(store, p, 0, 6)), invalidValue)
	r.want("kernel parameters of an empty node", r.CuGraphKernelNodeGetParams(e, &params), invalidValue)
}

// A queued launch must run with the parameters that its nodes had when it was submitted.
func TestParametersOfQueuedLaunchesStay(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	g := r.graph()
	n := r.addKernel(g, shift, p, 0, 1)
	x := r.instantiate(g)
	gate := r.gate()
	gate.block(s)
	for i := range uint32(4) {
		r.ok(r.CuGraphExecKernelNodeSetParams(x, n, kernelNode(shift, p, 0, i)))
		r.ok(r.CuGraphLaunch(x, s))
	}
	gate.open()
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("launches", p, 2*(2*(2*0+1)+2)+3)
}

func TestAnExecutableNeverRunsBesideItself(t *testing.T) {
	r := newRig(t)
	a, b := r.stream(), r.stream()
	var inside, most, calls atomic.Int32
	fn := cu.CUhostFn(loader.NewCallback(func(uintptr) {
		most.Store(max(most.Load(), inside.Add(1)))
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		calls.Add(1)
	}))
	g := r.graph()
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddHostNode(&n, g, nil, 0, &cu.CUDA_HOST_NODE_PARAMS{Fn: fn}))
	x := r.instantiate(g)
	for range 5 {
		r.ok(r.CuGraphLaunch(x, a))
		r.ok(r.CuGraphLaunch(x, b))
	}
	r.ok(r.CuCtxSynchronize())
	if most.Load() != 1 || calls.Load() != 10 {
		t.Errorf("%d at a time, %d calls", most.Load(), calls.Load())
	}
}

func TestDestroyedExecutableFinishesItsLaunch(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	g := r.graph()
	r.addKernel(g, add, p, 0, 1)
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	gate := r.gate()
	gate.block(s)
	r.ok(r.CuGraphLaunch(x, s))
	if !onGPU { // a driver may wait for the launch when it destroys the executable graph
		r.ok(r.CuGraphExecDestroy(x))
	}
	gate.open()
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("launch", p, 1)
	if onGPU {
		r.ok(r.CuGraphExecDestroy(x))
	}
}

func TestChildGraphs(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	child := r.graph()
	in := r.addKernel(child, shift, p, 0, 1)
	g := r.graph()
	a := r.addKernel(g, shift, p, 0, 5)
	var c cu.CUgraphNode
	r.ok(r.CuGraphAddChildGraphNode(&c, g, &a, 1, child))
	r.addKernel(g, shift, p, 0, 7, c)
	var inner cu.CUgraph
	r.ok(r.CuGraphChildGraphNodeGetGraph(c, &inner))
	if inner == child || len(r.nodes(inner)) != 1 {
		t.Error("the child is not a copy")
	}
	r.want("destroy of a child", r.CuGraphDestroy(inner), invalidValue)
	if !onGPU { // a real driver crashes here
		r.want("a graph in itself", r.CuGraphAddChildGraphNode(new(cu.CUgraphNode), g, nil, 0, g), invalidValue)
	}
	x := r.instantiate(g)
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("child", p, 2*(2*5+1)+7)
	r.ok(r.CuGraphKernelNodeSetParams(in, kernelNode(shift, p, 0, 2)))
	r.ok(r.CuGraphExecChildGraphNodeSetParams(x, c, child))
	r.ok(r.CuMemsetD32(p, 0, 1))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("changed child", p, 2*(2*5+2)+7)
	r.ok(r.CuGraphExecKernelNodeSetParams(x, r.nodes(inner)[0], kernelNode(shift, p, 0, 3)))
	r.ok(r.CuMemsetD32(p, 0, 1))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("changed node of the child", p, 2*(2*5+3)+7)
}

func TestClone(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	g := r.graph()
	a := r.addKernel(g, shift, p, 0, 1)
	b := r.addKernel(g, shift, p, 0, 2, a)
	var clone cu.CUgraph
	r.ok(r.CuGraphClone(&clone, g))
	var tb cu.CUgraphNode
	r.ok(r.CuGraphNodeFindInClone(&tb, b, clone))
	if r.edgeCount(clone) != 1 || tb == b || tb != r.nodes(clone)[1] {
		t.Error("the clone differs")
	}
	r.want("find in a graph that is not a clone", r.CuGraphNodeFindInClone(&tb, tb, g), invalidValue)
	r.ok(r.CuGraphLaunch(r.instantiate(clone), s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("clone", p, 4)
	r.ok(r.CuGraphDestroy(clone))
}

func TestGraphsWithMemory(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	g := r.graph()
	alloc := cu.CUDA_MEM_ALLOC_NODE_PARAMS{Bytesize: 64}
	alloc.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	alloc.PoolProps.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	var a, f, m, c cu.CUgraphNode
	r.ok(r.CuGraphAddMemAllocNode(&a, g, nil, 0, &alloc))
	if alloc.Dptr == 0 {
		t.Fatal("no address")
	}
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: alloc.Dptr, ElementSize: 4, Width: 4, Height: 1, Value: 3}
	r.ok(r.CuGraphAddMemsetNode(&m, g, &a, 1, &set, r.ctx))
	k := r.addKernel(g, add, alloc.Dptr, 0, 4, m)
	move := cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: alloc.Dptr, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p,
		WidthInBytes: 4, Height: 1, Depth: 1,
	}
	r.ok(r.CuGraphAddMemcpyNode(&c, g, &k, 1, &move, r.ctx))
	var clone cu.CUgraph
	r.want("clone", r.CuGraphClone(&clone, g), cu.CUDA_ERROR_NOT_SUPPORTED)
	r.want("removal of a node", r.CuGraphDestroyNode(c), cu.CUDA_ERROR_NOT_SUPPORTED)
	parent := r.graph()
	var n cu.CUgraphNode
	r.want("as a child", r.CuGraphAddChildGraphNode(&n, parent, nil, 0, g), cu.CUDA_ERROR_NOT_SUPPORTED)

	// Without a free node, the memory remains allocated after the launch.
	var x, second cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.want("second executable", r.CuGraphInstantiate(&second, g, 0), cu.CUDA_ERROR_NOT_SUPPORTED)
	r.ok(r.CuGraphLaunch(x, s))
	r.want("launch while the memory is there", r.CuGraphLaunch(x, s), invalidValue)
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("result", p, 7)
	r.wantWords("memory of the graph", alloc.Dptr, 7, 3)
	var used uint64
	r.ok(r.CuDeviceGetGraphMemAttribute(r.dev, cu.CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, unsafe.Pointer(&used)))
	if used < 64 {
		t.Errorf("used: %d", used)
	}
	r.ok(r.CuMemFreeAsync(alloc.Dptr, s))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuMemFree(alloc.Dptr))
	r.ok(r.CuGraphExecDestroy(x))
	r.want("free node of what is freed outside", r.CuGraphAddMemFreeNode(&f, g, &c, 1, alloc.Dptr), invalidValue)

	// With AUTO_FREE_ON_LAUNCH, the graph can be launched again.
	r.ok(r.CuGraphInstantiate(&x, g, uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.ok(r.CuMemFreeAsync(alloc.Dptr, s))
	r.ok(r.CuGraphExecDestroy(x))

}

func TestGraphsThatFreeTheirMemory(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(4), r.stream()
	g := r.graph()
	alloc := cu.CUDA_MEM_ALLOC_NODE_PARAMS{Bytesize: 64}
	alloc.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	alloc.PoolProps.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	var a, f, c, n cu.CUgraphNode
	r.ok(r.CuGraphAddMemAllocNode(&a, g, nil, 0, &alloc))
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: alloc.Dptr, ElementSize: 4, Width: 4, Height: 1, Value: 3}
	r.ok(r.CuGraphAddMemsetNode(&c, g, &a, 1, &set, r.ctx))
	r.ok(r.CuGraphAddMemFreeNode(&f, g, &c, 1, alloc.Dptr))
	var x cu.CUgraphExec
	var used uint64
	r.want("second free node", r.CuGraphAddMemFreeNode(&n, g, &c, 1, alloc.Dptr), invalidValue)
	r.want("free of other memory", r.CuGraphAddMemFreeNode(&n, g, &c, 1, p), invalidValue)
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.want("free of what is free", r.CuMemFreeAsync(alloc.Dptr, s), invalidValue)
	r.ok(r.CuDeviceGetGraphMemAttribute(r.dev, cu.CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, unsafe.Pointer(&used)))
	if used != 0 && !onGPU { // a driver counts the memory until it is trimmed
		t.Errorf("used afterwards: %d", used)
	}
	r.ok(r.CuGraphExecDestroy(x))
	r.ok(r.CuDeviceGraphMemTrim(r.dev))
	var reserved uint64
	r.ok(r.CuDeviceGetGraphMemAttribute(r.dev, cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, unsafe.Pointer(&reserved)))
	if reserved != 0 {
		t.Errorf("reserved after the trim: %d", reserved)
	}
}

func TestQueuedLaunchKeepsItsMemory(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(4), r.stream()
	gate := make(chan struct{})
	hold := cu.CUhostFn(loader.NewCallback(func(uintptr) { <-gate }))
	var g cu.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	var params cu.CUgraphNodeParams
	params.Type = cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC
	alloc := params.Alloc()
	alloc.Bytesize = 64
	alloc.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	alloc.PoolProps.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	var a, f, c, m cu.CUgraphNode
	r.ok(r.CuGraphAddNode(&a, g, nil, nil, 0, &params))
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: alloc.Dptr, ElementSize: 4, Width: 4, Height: 1, Value: 3}
	r.ok(r.CuGraphAddMemsetNode(&c, g, &a, 1, &set, r.ctx))
	move := cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: alloc.Dptr, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p,
		WidthInBytes: 4, Height: 1, Depth: 1,
	}
	r.ok(r.CuGraphAddMemcpyNode(&m, g, &c, 1, &move, r.ctx))
	r.ok(r.CuGraphAddMemFreeNode(&f, g, &m, 1, alloc.Dptr))
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.ok(r.CuLaunchHostFunc(s, hold, nil))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphExecDestroy(x))
	r.ok(r.CuGraphDestroy(g))
	r.ok(r.CuDeviceGraphMemTrim(r.dev))
	close(gate)
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("result", p, 3)
}

func TestUserObjects(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	var destroyed atomic.Uint32
	fn := cu.CUhostFn(loader.NewCallback(func(uintptr) { destroyed.Add(1) }))
	var u cu.CUuserObject
	r.want("flags", r.CuUserObjectCreate(&u, nil, fn, 1, 0), invalidValue)
	r.want("count", r.CuUserObjectCreate(&u, nil, fn, 0, 1), invalidValue)
	r.ok(r.CuUserObjectCreate(&u, nil, fn, 1, 1))
	var g cu.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	r.ok(r.CuGraphRetainUserObject(g, u, 1, uint32(cu.CU_GRAPH_USER_OBJECT_MOVE)))
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddEmptyNode(&n, g, nil, 0))
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.ok(r.CuGraphDestroy(g))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	if destroyed.Load() != 0 {
		t.Error("destroyed while an executable refers to it")
	}
	r.ok(r.CuGraphExecDestroy(x))
	for range 1000 {
		if destroyed.Load() == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("destroyed %d times", destroyed.Load())
}

// The executable graph must keep the user objects of nested graphs, even after the nested graphs are
// destroyed.
func TestUserObjectsOfNestedGraphs(t *testing.T) {
	r := newRig(t)
	var destroyed atomic.Uint32
	fn := cu.CUhostFn(loader.NewCallback(func(uintptr) { destroyed.Add(1) }))
	var u cu.CUuserObject
	r.ok(r.CuUserObjectCreate(&u, nil, fn, 1, 1))
	var inner, g cu.CUgraph
	r.ok(r.CuGraphCreate(&inner, 0))
	r.ok(r.CuGraphRetainUserObject(inner, u, 1, uint32(cu.CU_GRAPH_USER_OBJECT_MOVE)))
	r.ok(r.CuGraphCreate(&g, 0))
	r.child(g, inner)
	x := r.instantiate(g)
	r.ok(r.CuGraphDestroy(inner))
	r.ok(r.CuGraphDestroy(g))
	time.Sleep(10 * time.Millisecond)
	if destroyed.Load() != 0 {
		t.Error("destroyed while an executable refers to it")
	}
	r.ok(r.CuGraphLaunch(x, 0))
	r.settle()
}

func TestTaggedNodes(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(16), r.stream(), r.kernel("add")
	ev := r.event(0)
	g := r.graph()
	var n, last cu.CUgraphNode
	addNode := func(p *cu.CUgraphNodeParams) {
		t.Helper()
		var deps []cu.CUgraphNode
		if last != 0 {
			deps = append(deps, last)
		}
		r.ok(r.CuGraphAddNode(&n, g, first(deps), nil, uintptr(len(deps)), p))
		last = n
	}
	k := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_KERNEL}
	keep := kernelNode(add, p, 0, 3)
	*k.Kernel() = cu.CUDA_KERNEL_NODE_PARAMS_v3(*keep)
	addNode(k)
	kernel := n
	m := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_MEMSET}
	*m.Memset() = cu.CUDA_MEMSET_NODE_PARAMS_v2{Dst: p + 4, ElementSize: 4, Width: 1, Height: 1, Value: 8, Ctx: r.ctx}
	addNode(m)
	c := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_MEMCPY}
	c.Memcpy().CopyCtx = r.ctx
	c.Memcpy().CopyParams = cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p + 8,
		WidthInBytes: 8, Height: 1, Depth: 1,
	}
	addNode(c)
	addNode(&cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY})
	e := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD}
	e.EventRecord().Event = ev
	addNode(e)
	x := r.instantiate(g)
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("tagged", p, 3, 8, 3, 8)
	r.want("event of the graph", r.CuEventQuery(ev), 0)
	keep = kernelNode(add, p, 0, 5)
	*k.Kernel() = cu.CUDA_KERNEL_NODE_PARAMS_v3(*keep)
	r.ok(r.CuGraphExecNodeSetParams(x, kernel, k))
	r.want("another type", r.CuGraphExecNodeSetParams(x, kernel, m), invalidValue)
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("changed", p, 8, 8, 8, 8)
	bad := &cu.CUgraphNodeParams{Type: 99}
	r.want("type 99", r.CuGraphAddNode(&n, g, nil, nil, 0, bad), invalidValue)
	m.Reserved2 = 1
	r.want("reserved field", r.CuGraphAddNode(&n, g, nil, nil, 0, m), invalidValue)
}

func TestLaunchOfAGraphIsNotCaptured(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	inner := r.graph()
	r.addKernel(inner, add, p, 0, 1)
	x := r.instantiate(inner)
	for what, call := range map[string]func() error{
		"launch": func() error { return r.CuGraphLaunch(x, s) },
		"upload": func() error { return r.CuGraphUpload(x, s) },
	} {
		r.ok(r.CuStreamBeginCapture(s, relaxed))
		r.want(what, call(), unsupported)
		r.want(what+": end", r.endCapture(s), invalidated)
	}
}

// Releasing the last reference to a user object must destroy it. Releasing more references than
// exist must fail.
func TestReferencesOfUserObjectsAreCounted(t *testing.T) {
	r := newRig(t)
	destroyed := make(chan uintptr, 4)
	fn := cu.CUhostFn(loader.NewCallback(func(data uintptr) { destroyed <- data }))
	data := new([4]byte)
	var u cu.CUuserObject
	r.ok(r.CuUserObjectCreate(&u, unsafe.Pointer(data), fn, 1, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)))
	r.ok(r.CuUserObjectRetain(u, 2))
	r.ok(r.CuUserObjectRelease(u, 2))
	g := r.graph()
	r.ok(r.CuGraphRetainUserObject(g, u, 2, 0))
	r.ok(r.CuUserObjectRelease(u, 1))
	select {
	case <-destroyed:
		t.Fatal("destroyed while a graph holds it")
	default:
	}
	r.ok(r.CuGraphReleaseUserObject(g, u, 1))
	r.ok(r.CuGraphReleaseUserObject(g, u, 1))
	last := func() {
		t.Helper()
		select {
		case got := <-destroyed:
			if got != uintptr(unsafe.Pointer(data)) {
				t.Errorf("destroyed with %#x", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("not destroyed with its last reference in 20 s")
		}
	}
	last()
	if r.emu != nil { // real drivers crash in these calls
		r.want("a reference too many", r.CuUserObjectRelease(u, 1), cu.CUDA_ERROR_INVALID_VALUE)
	}
	var other cu.CUuserObject
	r.ok(r.CuUserObjectCreate(&other, unsafe.Pointer(data), fn, 2, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)))
	r.want("none", r.CuUserObjectRelease(other, 0), cu.CUDA_ERROR_INVALID_VALUE)
	if r.emu != nil {
		r.want("more than there are", r.CuUserObjectRelease(other, 3), cu.CUDA_ERROR_INVALID_VALUE)
	}
	r.ok(r.CuUserObjectRelease(other, 1))
	r.ok(r.CuUserObjectRelease(other, 1))
	last()
}
