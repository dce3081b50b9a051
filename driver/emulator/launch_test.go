package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestLaunchSizesAreChecked(t *testing.T) {
	r := newRig(t)
	f, bounded, required := r.kernel("store"), r.kernel("bounded"), r.kernel("required")
	p := args(r.alloc(4), 0, 1)
	launch := func(f cu.CUfunction, gx, gy, gz, bx, by, bz, shared uint32) error {
		return r.CuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, 0, p, nil)
	}
	const invalid = cu.CUDA_ERROR_INVALID_VALUE
	r.want("empty grid", launch(f, 0, 1, 1, 1, 1, 1, 0), invalid)
	r.want("empty block", launch(f, 1, 1, 1, 1, 0, 1, 0), invalid)
	r.want("large block", launch(f, 1, 1, 1, 1025, 1, 1, 0), invalid)
	r.want("large product", launch(f, 1, 1, 1, 64, 32, 1, 0), invalid)
	r.want("deep block", launch(f, 1, 1, 1, 1, 1, 65, 0), invalid)
	r.want("tall grid", launch(f, 1, 65536, 1, 1, 1, 1, 0), invalid)
	r.want("deep grid", launch(f, 1, 1, 65536, 1, 1, 1, 0), invalid)
	r.want("wide grid", launch(f, 1<<31, 1, 1, 1, 1, 1, 0), invalid)
	r.want("above maxntid", launch(bounded, 1, 1, 1, 65, 1, 1, 0), invalid)
	r.want("not reqntid", launch(required, 1, 1, 1, 32, 1, 1, 0), invalid)
	r.want("reqntid", launch(required, 1, 1, 1, 64, 1, 1, 0), 0)
	r.want("shared memory above 48 KiB", launch(f, 1, 1, 1, 1, 1, 1, 48<<10+1), invalid)
	r.want("opt-in above the limit", r.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228<<10), invalid)
	r.ok(r.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100<<10))
	r.want("shared memory after opting in", launch(f, 1, 1, 1, 1, 1, 1, 100<<10), 0)
	r.want("no function", launch(0, 1, 1, 1, 1, 1, 1, 0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("no parameters", r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, nil, nil), invalid)
	r.want("cooperative and too large", r.CuLaunchCooperativeKernel(f, 1<<20, 1, 1, 1024, 1, 1, 0, 0, p), cu.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
	r.want("cooperative", r.CuLaunchCooperativeKernel(f, 4, 1, 1, 32, 1, 1, 0, 0, p), 0)
	r.ok(r.CuCtxSynchronize())
}

func TestArgumentsAsOneBuffer(t *testing.T) {
	r := newRig(t)
	p, f := r.alloc(8), r.kernel("store")
	block := &struct {
		p    uint64
		a, b uint32
	}{uint64(p), 1, 77}
	size := new(uintptr)
	*size = unsafe.Sizeof(*block)
	// The keys are stored as numbers, so that the garbage collector does not treat them as
	// addresses.
	extra := make([]unsafe.Pointer, 5)
	words := (*[5]uintptr)(unsafe.Pointer(&extra[0]))
	words[0], words[2], words[4] = cu.CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, cu.CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, cu.CU_LAUNCH_PARAM_END_AS_INT
	extra[1], extra[3] = unsafe.Pointer(block), unsafe.Pointer(size)
	r.ok(r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, nil, &extra[0]))
	r.wantWords("buffer", p, 0, 77)
	r.want("both forms", r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args(p, 0, 0), &extra[0]), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestArgumentsAreReadAtTheCall(t *testing.T) {
	r := newRig(t)
	p, s, f := r.alloc(4), r.stream(), r.kernel("store")
	l := &launchParams{ptr: uint64(p), b: 1}
	l.list = [3]unsafe.Pointer{unsafe.Pointer(&l.ptr), unsafe.Pointer(&l.a), unsafe.Pointer(&l.b)}
	g := r.gate()
	g.block(s)
	r.ok(r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, &l.list[0], nil))
	l.b = 2
	g.open()
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("argument", p, 1)
}

func TestLaunchEx(t *testing.T) {
	r := newRig(t)
	p, s, f := r.alloc(4), r.stream(), r.kernel("add")
	attrs := make([]cu.CUlaunchAttribute, 3)
	attrs[0].Id = cu.CU_LAUNCH_ATTRIBUTE_PRIORITY
	*attrs[0].Value.Priority() = -1
	attrs[1].Id = cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
	*attrs[1].Value.Cooperative() = 1
	attrs[2].Id = cu.CU_LAUNCH_ATTRIBUTE_IGNORE
	cfg := cu.CUlaunchConfig{
		GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1,
		HStream: s, Attrs: &attrs[0], NumAttrs: 3,
	}
	r.ok(r.CuLaunchKernelEx(&cfg, f, args(p, 0, 4), nil))
	attrs[2].Id = cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
	*attrs[2].Value.ClusterDim() = cu.CUlaunchAttributeValue_ClusterDim{X: 2, Y: 1, Z: 1}
	attrs[1].Id = cu.CU_LAUNCH_ATTRIBUTE_IGNORE
	r.want("grid no multiple of the cluster", r.CuLaunchKernelEx(&cfg, f, args(p, 0, 0), nil), cu.CUDA_ERROR_INVALID_CLUSTER_SIZE)
	cfg.GridDimX = 16
	*attrs[2].Value.ClusterDim() = cu.CUlaunchAttributeValue_ClusterDim{X: 16, Y: 1, Z: 1}
	r.want("cluster above the portable size", r.CuLaunchKernelEx(&cfg, f, args(p, 0, 0), nil), cu.CUDA_ERROR_INVALID_CLUSTER_SIZE)
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("launch", p, 4)
}

func TestFunctionAttributesAndParameters(t *testing.T) {
	r := newRig(t)
	m := r.module(testPTX)
	f := r.function(m, "store")
	var v int32
	r.ok(r.CuFuncGetAttribute(&v, cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f))
	if v != 1024 {
		t.Errorf("threads: %d", v)
	}
	r.ok(r.CuFuncGetAttribute(&v, cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, r.function(m, "bounded")))
	if v != 64 {
		t.Errorf("threads of a bounded kernel: %d", v)
	}
	r.ok(r.CuFuncGetAttribute(&v, cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, r.function(m, "required")))
	if v != 1024 {
		t.Errorf("threads of a kernel with a required block size: %d", v)
	}
	r.ok(r.CuFuncGetAttribute(&v, cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f))
	if v != 48<<10 {
		t.Errorf("dynamic shared memory: %d", v)
	}
	r.want("attribute 99", r.CuFuncGetAttribute(&v, 99, f), cu.CUDA_ERROR_INVALID_VALUE)
	var off, size uintptr
	r.ok(r.CuFuncGetParamInfo(f, 2, &off, &size))
	if off != 12 || size != 4 {
		t.Errorf("parameter 2 at %d, size %d", off, size)
	}
	r.want("parameter 3", r.CuFuncGetParamInfo(f, 3, &off, &size), cu.CUDA_ERROR_INVALID_VALUE)
	var back cu.CUmodule
	r.ok(r.CuFuncGetModule(&back, f))
	if back != m {
		t.Error("another module")
	}
	r.ok(r.CuFuncLoad(f))
	if r.emu != nil {
		r.want("load of no function", r.CuFuncLoad(0), cu.CUDA_ERROR_INVALID_HANDLE)
	}
	var state cu.CUfunctionLoadingState
	r.ok(r.CuFuncIsLoaded(&state, f))
	if state != cu.CU_FUNCTION_LOADING_STATE_LOADED {
		t.Errorf("state %v", state)
	}
	var name *byte
	r.ok(r.CuFuncGetName(&name, f))
	var blocks int32
	r.ok(r.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0))
	if blocks != 2 {
		t.Errorf("resident blocks of 1024 threads: %d", blocks)
	}
	r.ok(r.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 40<<10))
	if blocks != 5 {
		t.Errorf("resident blocks with 40 KiB: %d", blocks)
	}
	var grid, block int32
	r.ok(r.CuOccupancyMaxPotentialBlockSize(&grid, &block, f, 0, 0, 0))
	if block != 1024 || grid != 264 {
		t.Errorf("potential: grid %d of %d", grid, block)
	}
}

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

// With .blocksareclusters, the launch's grid counts clusters, and a block of one thread stands for
// the block size that the kernel requires.
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
	for _, how := range [][2]uint32{{0, 32}, {0, 1}, {2, 32}} { // launch attribute, number of threads
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

// Kernels in a graph for device launch must read the graph's handle. Other kernels must read zero.
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

func TestLaunchesOfTheOldKind(t *testing.T) {
	r := newRig(t)
	f, p, s := r.kernel("add"), r.alloc(8), r.stream()
	at := uint64(p)
	r.ok(r.CuFuncSetBlockShape(f, 1, 1, 1))
	r.ok(r.CuFuncSetSharedSize(f, 16))
	r.ok(r.CuParamSetSize(f, 16))
	r.ok(r.CuParamSetv(f, 0, unsafe.Pointer(&at), 8))
	r.ok(r.CuParamSeti(f, 8, 1))
	r.ok(r.CuParamSeti(f, 12, 5))
	r.ok(r.CuLaunch(f))
	r.settle()
	r.ok(r.CuLaunchGrid(f, 1, 1))
	r.settle()
	r.ok(r.CuParamSetf(f, 12, 1)) // the bits of 1.0
	r.ok(r.CuLaunchGridAsync(f, 1, 1, s))
	r.wantWords("three launches", p, 0, 10+0x3f800000)
	r.want("empty grid", r.CuLaunchGrid(f, 0, 1), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestParametersCanBeChangedAfterAnOldLaunch(t *testing.T) {
	r := newRig(t)
	f, p, s := r.kernel("add"), r.alloc(4), r.stream()
	g := r.gate()
	at := uint64(p)
	r.ok(r.CuFuncSetBlockShape(f, 1, 1, 1))
	r.ok(r.CuParamSetSize(f, 16))
	r.ok(r.CuParamSetv(f, 0, unsafe.Pointer(&at), 8))
	r.ok(r.CuParamSeti(f, 8, 0))
	r.ok(r.CuParamSeti(f, 12, 5))
	g.block(s)
	r.ok(r.CuLaunchGridAsync(f, 1, 1, s))
	r.ok(r.CuParamSeti(f, 12, 100))
	g.open()
	r.wantWords("the launch", p, 5)
}

// A declared kernel must be defined unless it is .extern, as ptxas requires.
func TestDeclaredKernels(t *testing.T) {
	const head = ".version 7.0\n.target sm_52\n.address_size 64\n"
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	for text, want := range map[string]cu.CUresult{
		".visible .entry k;": cu.CUDA_ERROR_INVALID_PTX,
		".entry k;":          cu.CUDA_ERROR_INVALID_PTX,
		".extern .entry k;":  cu.CUDA_SUCCESS,
		".visible .entry k;\n.visible .entry k(){ ret; }": cu.CUDA_SUCCESS,
	} {
		m, err := c.LoadModule([]byte(head + text))
		if code(err) != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Compilation must check the kernel's static shared memory against the limit of the device. The
// launch must check it against the limit of a block.
func TestStaticSharedMemoryAbove48KiB(t *testing.T) {
	const kib = 1 << 10
	for _, c := range []struct {
		capability     [2]int
		compiled, runs int // largest sizes that compile and run
	}{
		{[2]int{7, 5}, 64 * kib, 64 * kib},
		{[2]int{8, 0}, 164 * kib, 163 * kib},
		{[2]int{8, 6}, 100 * kib, 99 * kib},
		{[2]int{8, 9}, 164 * kib, 99 * kib},
		{[2]int{9, 0}, 164 * kib, 164 * kib},
	} {
		p, err := open(emulator.New(emulator.Config{ComputeCapability: c.capability}), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, bytes := range []int{48 * kib, 48*kib + 4, c.runs, c.runs + 4, c.compiled, c.compiled + 4} {
			if err := p.staticShared(bytes); bytes > c.compiled {
				if !errors.Is(err, cu.CUDA_ERROR_INVALID_PTX) {
					t.Errorf("%v: %d bytes: %v; want CUDA_ERROR_INVALID_PTX", c.capability, bytes, err)
				}
			} else if bytes > c.runs {
				if !errors.Is(err, cu.CUDA_ERROR_INVALID_VALUE) {
					t.Errorf("%v: %d bytes: %v; want CUDA_ERROR_INVALID_VALUE", c.capability, bytes, err)
				}
			} else if err != nil {
				t.Errorf("%v: %d bytes: %v", c.capability, bytes, err)
			}
		}
		p.d.Close()
	}
}

// staticShared runs a kernel that accesses the first and the last word of an array in shared
// memory.
func (p demo) staticShared(bytes int) error {
	m, err := p.c.LoadModule(fmt.Appendf(nil, `.version 6.3
.target sm_70
.address_size 64
.shared .align 4 .b8 s[%d];
.visible .entry k(.param .u64 out)
{
	.reg .b32 %%r<4>;
	.reg .b64 %%d;
	ld.param.u64 %%d, [out];
	st.shared.b32 [s], 40;
	st.shared.b32 [s+%d], 2;
	ld.shared.b32 %%r1, [s];
	ld.shared.b32 %%r2, [s+%d];
	add.s32 %%r3, %%r1, %%r2;
	st.global.b32 [%%d], %%r3;
	ret;
}
`, bytes, bytes-4, bytes-4))
	if err != nil {
		return err
	}
	defer m.Close()
	k, err := m.Kernel("k")
	if err != nil {
		return err
	}
	out, err := driver.Alloc[int32](p.c, 1)
	if err != nil {
		return err
	}
	defer out.Close()
	// The typed API has its own check, so the emulator's check is tested first.
	address := out.Ptr()
	params := []unsafe.Pointer{unsafe.Pointer(&address)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.d.CuCtxSetCurrent(p.c.Raw()); err != nil {
		return err
	}
	if err := p.d.CuLaunchKernel(k.Raw(), 1, 1, 1, 1, 1, 1, 0, 0, &params[0], nil); err != nil {
		return err
	}
	if err := p.d.CuCtxSynchronize(); err != nil {
		return err
	}
	if err := k.Launch(p.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, out); err != nil {
		return fmt.Errorf("the driver launches it, and then: %v", err)
	}
	if err := p.s.Wait(context.Background()); err != nil {
		return err
	}
	got := make([]int32, 1)
	if err := out.CopyTo(got); err != nil {
		return err
	}
	if got[0] != 42 {
		return fmt.Errorf("the kernel returned %d", got[0])
	}
	return nil
}

func TestEventsOfLaunchAttributes(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("a driver does not survive these")
	}
	p, s, ev := r.alloc(4), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
	attr := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}
	cfg := cu.CUlaunchConfig{GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1, HStream: s, Attrs: &attr, NumAttrs: 1}
	f := r.kernel("add")
	set := func(h cu.CUevent) { *(*cu.CUevent)(unsafe.Pointer(&attr.Value)) = h }
	set(0xdead0)
	r.want("no event", r.CuLaunchKernelEx(&cfg, f, args(p, 0, 1), nil), cu.CUDA_ERROR_INVALID_HANDLE)
	g := r.gate()
	g.block(s)
	set(ev)
	r.ok(r.CuLaunchKernelEx(&cfg, f, args(p, 0, 1), nil))
	r.want("before the launch", r.CuEventQuery(ev), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuEventSynchronize(ev))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("the launch", p, 1)
}

func bench(b *testing.B) (d *driver.Driver, ctx cu.CUcontext) {
	b.Helper()
	emu := emulator.New(emulator.Config{})
	d, err := driver.New(emu)
	if err == nil {
		err = d.CuInit(0)
	}
	if err == nil {
		err = d.CuDevicePrimaryCtxRetain(&ctx, 0)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { emu.Close() })
	return d.Bound(ctx), ctx
}

func BenchmarkGetCurrent(b *testing.B) {
	d, ctx := bench(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.CuCtxGetCurrent(&ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFillAndWait(b *testing.B) {
	d, _ := bench(b)
	var p cu.CUdeviceptr
	if err := d.CuMemAlloc(&p, 64); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.CuMemsetD32(p, 0, 16); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGraphLaunch(b *testing.B) {
	d, ctx := bench(b)
	var p cu.CUdeviceptr
	var g cu.CUgraph
	var x cu.CUgraphExec
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	check(d.CuMemAlloc(&p, 64))
	check(d.CuGraphCreate(&g, 0))
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 16, Height: 1}
	for range 100 {
		var n cu.CUgraphNode
		check(d.CuGraphAddMemsetNode(&n, g, nil, 0, &set, ctx))
	}
	check(d.CuGraphInstantiate(&x, g, 0))
	b.ReportAllocs()
	for b.Loop() {
		check(d.CuGraphLaunch(x, 0))
		check(d.CuStreamSynchronize(0))
	}
}
