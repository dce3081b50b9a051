package driver_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestNumbersOfJITOptionsReachTheDriver(t *testing.T) {
	got := map[cu.CUjit_option]uintptr{}
	c := gputest.Watched(t, cu.FnCuModuleLoadDataEx, func(a loader.Args) {
		n := int(a.Uint32(2))
		options := unsafe.Slice((*cu.CUjit_option)(a.Ptr(3)), n)
		values := unsafe.Slice((*uintptr)(a.Ptr(4)), n)
		for i, o := range options {
			got[o] = values[i]
		}
	})
	m := must(c.LoadModule([]byte(".version 7.0\n.target sm_50\n.address_size 64\n"),
		driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 32), driver.WithJIT(cu.CU_JIT_THREADS_PER_BLOCK, 64), driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 2), driver.WithJIT(cu.CU_JIT_GENERATE_DEBUG_INFO, 1),
		driver.WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1), driver.WithJIT(cu.CU_JIT_LOG_VERBOSE, 1), driver.WithJIT(cu.CU_JIT_POSITION_INDEPENDENT_CODE, 1),
		driver.WithJIT(cu.CU_JIT_FALLBACK_STRATEGY, int(cu.CU_PREFER_BINARY)), driver.WithJIT(cu.CU_JIT_CACHE_MODE, int(cu.CU_JIT_CACHE_OPTION_CG)),
		driver.WithJIT(cu.CU_JIT_MIN_CTA_PER_SM, 3), driver.WithJIT(cu.CU_JIT_MAX_THREADS_PER_BLOCK, 128), driver.WithJIT(cu.CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1)))(t)
	noError(t, m.Close())
	for option, want := range map[cu.CUjit_option]uintptr{
		cu.CU_JIT_MAX_REGISTERS:             32,
		cu.CU_JIT_OPTIMIZATION_LEVEL:        2,
		cu.CU_JIT_GENERATE_DEBUG_INFO:       1,
		cu.CU_JIT_GENERATE_LINE_INFO:        1,
		cu.CU_JIT_LOG_VERBOSE:               1,
		cu.CU_JIT_POSITION_INDEPENDENT_CODE: 1,
		cu.CU_JIT_FALLBACK_STRATEGY:         uintptr(cu.CU_PREFER_BINARY),
		cu.CU_JIT_CACHE_MODE:                uintptr(cu.CU_JIT_CACHE_OPTION_CG),
		cu.CU_JIT_MIN_CTA_PER_SM:            3,
		cu.CU_JIT_MAX_THREADS_PER_BLOCK:     128,
		cu.CU_JIT_OVERRIDE_DIRECTIVE_VALUES: 1,
	} {
		if v, there := got[option]; !there || v != want {
			t.Errorf("%v: value %d, passed: %v; want %d", option, v, there, want)
		}
	}
	if _, there := got[cu.CU_JIT_THREADS_PER_BLOCK]; !there {
		t.Error("CU_JIT_THREADS_PER_BLOCK was not passed") // its value is also an output
	}
}

func TestHostMemoryOptionsReachTheDriver(t *testing.T) {
	var flags uint32
	see := func(a loader.Args) { flags = a.Uint32(2) }
	c := gputest.Watched(t, cu.FnCuMemHostAlloc, see)
	noError(t, must(driver.AllocHost[byte](c, 64, driver.WithWriteCombined()))(t).Close())
	if flags&cu.CU_MEMHOSTALLOC_WRITECOMBINED == 0 {
		t.Errorf("flags %#x have no write-combining", flags)
	}
	c = gputest.Watched(t, cu.FnCuMemHostRegister, see)
	noError(t, must(driver.RegisterHost(c, make([]byte, 4096), driver.WithReadOnly()))(t).Close())
	if flags&cu.CU_MEMHOSTREGISTER_READ_ONLY == 0 {
		t.Errorf("flags %#x are not read-only", flags)
	}
}

func TestPoolOptionsReachTheDriver(t *testing.T) {
	var props cu.CUmemPoolProps
	c := gputest.Watched(t, cu.FnCuMemPoolCreate, func(a loader.Args) { props = *(*cu.CUmemPoolProps)(a.Ptr(1)) })
	p := must(c.NewMemPool(driver.WithMaxSize(1 << 20)))(t)
	noError(t, p.Close())
	if props.MaxSize != 1<<20 {
		t.Errorf("size %d", props.MaxSize)
	}
	// The emulator has no other process to share with.
	_, err := c.NewMemPool(driver.WithShareable(cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
	wantError(t, err, driver.CUDA_ERROR_NOT_SUPPORTED, "memory pool")
	if props.HandleTypes != cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR {
		t.Errorf("handle %v", props.HandleTypes)
	}
}

func TestInterprocessEventsHaveNoTiming(t *testing.T) {
	var flags uint32
	c := gputest.Watched(t, cu.FnCuEventCreate, func(a loader.Args) { flags = a.Uint32(1) })
	noError(t, must(c.NewEvent(driver.WithInterprocess()))(t).Close())
	if want := uint32(cu.CU_EVENT_INTERPROCESS | cu.CU_EVENT_DISABLE_TIMING); flags&want != want {
		t.Errorf("flags %#x, want %#x among them", flags, want)
	}
}

func TestTensorMapIsAlignedAsInC(t *testing.T) {
	for range 64 {
		if at := uintptr(unsafe.Pointer(driver.NewCUtensorMap())); at%128 != 0 {
			t.Fatalf("a tensor map lies at %#x", at)
		}
	}
}
