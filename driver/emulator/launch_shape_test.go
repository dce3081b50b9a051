package emulator_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

const gridOfClusters = `.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) .reqntid 32, 1, 1 .reqnctapercluster 2, 1, 1 .blocksareclusters {
	.reg .b32 %r<8>;
	.reg .b64 %d<4>;
	ld.param.u64 %d1, [p];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %d2, %r1, 16;
	add.u64 %d1, %d1, %d2;
	mov.u32 %r2, %nctaid.x;
	mov.u32 %r3, %nclusterid.x;
	mov.u32 %r4, %clusterid.x;
	mov.u32 %r5, %ntid.x;
	st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
	ret;
}
.visible .entry g(.param .u64 p) {
	.reg .b64 %d<4>;
	ld.param.u64 %d1, [p];
	mov.u64 %d2, %current_graph_exec;
	st.global.u64 [%d1], %d2;
	ret;
}
`

// A grid of .blocksareclusters counts clusters. A block of one thread stands for the block that the
// kernel requires.
func TestGridsThatCountClusters(t *testing.T) {
	r := newRig(t)
	f := r.function(r.module(gridOfClusters), "k")
	mem := r.alloc(16 * 8)
	launch := func(cluster, threads uint32) error {
		r.ok(r.CuMemsetD32(mem, 0, 4*8))
		r.ok(r.CuCtxSynchronize())
		p := mem
		args := []unsafe.Pointer{unsafe.Pointer(&p)}
		at := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}
		*(*[3]uint32)(unsafe.Pointer(&at.Value)) = [3]uint32{cluster, 1, 1}
		cfg := cu.CUlaunchConfig{GridDimX: 3, GridDimY: 1, GridDimZ: 1, BlockDimX: threads, BlockDimY: 1, BlockDimZ: 1, Attrs: &at}
		cfg.NumAttrs = min(cluster, 1)
		return r.CuLaunchKernelEx(&cfg, f, &args[0], nil)
	}
	for _, how := range [][2]uint32{{0, 32}, {0, 1}, {2, 32}} { // attribute, threads
		r.ok(launch(how[0], how[1]))
		r.ok(r.CuCtxSynchronize())
		got := make([]uint32, 4*8)
		r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&got[0]), mem, 4*8*4))
		want := []uint32{6, 3, 0, 32, 6, 3, 0, 32, 6, 3, 1, 32, 6, 3, 1, 32, 6, 3, 2, 32, 6, 3, 2, 32, 0, 0, 0, 0, 0, 0, 0, 0}
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", how, got, want)
		}
	}
	r.want("another block", launch(0, 64), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("a smaller cluster", launch(1, 32), cu.CUDA_ERROR_INVALID_CLUSTER_SIZE)
	r.want("a larger cluster", launch(4, 32), cu.CUDA_ERROR_INVALID_CLUSTER_SIZE)
}

// Kernels of a graph that a device may launch see its handle. Others see zero.
func TestKernelsSeeTheGraphTheyAreIn(t *testing.T) {
	r := newRig(t)
	f := r.function(r.module(gridOfClusters), "g")
	mem := r.alloc(8)
	seen := func() (x uint64) {
		r.ok(r.CuCtxSynchronize())
		r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&x), mem, 8))
		return x
	}
	p := mem
	args := []unsafe.Pointer{unsafe.Pointer(&p)}
	r.ok(r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, &args[0], nil))
	if x := seen(); x != 0 {
		t.Errorf("outside of a graph: %#x", x)
	}
	g := r.graph()
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddKernelNode(&n, g, nil, 0, &cu.CUDA_KERNEL_NODE_PARAMS{
		Func: f, GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1, KernelParams: &args[0]}))
	for _, flags := range []uint64{0, uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)} {
		var x cu.CUgraphExec
		r.ok(r.CuGraphInstantiateWithFlags(&x, g, flags))
		r.ok(r.CuGraphUpload(x, 0))
		r.ok(r.CuGraphLaunch(x, 0))
		want := uint64(0)
		if flags != 0 {
			want = uint64(x)
		}
		if got := seen(); got != want {
			t.Errorf("flags %d: %#x, want %#x", flags, got, want)
		}
		r.ok(r.CuGraphExecDestroy(x))
	}
}

func TestDestroyedGraphsAreInvalidValues(t *testing.T) {
	r := newRig(t)
	var g, clone cu.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiateWithFlags(&x, g, 0))
	r.ok(r.CuGraphExecDestroy(x))
	r.ok(r.CuGraphDestroy(g))
	const invalid = cu.CUDA_ERROR_INVALID_VALUE
	var n cu.CUgraphNode
	var number uintptr
	for _, h := range []cu.CUgraph{g, 0} {
		r.want("destroy", r.CuGraphDestroy(h), invalid)
		r.want("nodes", r.CuGraphGetNodes(h, nil, &number), invalid)
		r.want("add", r.CuGraphAddEmptyNode(&n, h, nil, 0), invalid)
		r.want("clone", r.CuGraphClone(&clone, h), invalid)
		r.want("instantiate", r.CuGraphInstantiateWithFlags(&x, h, 0), invalid)
	}
	r.want("destroy an executable graph", r.CuGraphExecDestroy(x), invalid)
}
