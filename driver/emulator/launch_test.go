package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
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
	// Keys stored as pointers are written as numbers, so that the collector does not take them for
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
