package driver_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestNumbersOfJITOptionsReachTheDriver(t *testing.T) {
	got := map[driver.CUjit_option]uintptr{}
	c := gputest.Watched(t, driver.FnCuModuleLoadDataEx, func(a loader.Args) {
		n := int(a.Uint32(2))
		options := unsafe.Slice((*driver.CUjit_option)(a.Ptr(3)), n)
		values := unsafe.Slice((*uintptr)(a.Ptr(4)), n)
		for i, o := range options {
			got[o] = values[i]
		}
	})
	m := must(c.LoadModule([]byte(".version 7.0\n.target sm_50\n.address_size 64\n"),
		driver.JITMaxRegisters(32), driver.JITThreadsPerBlock(64), driver.JITOptLevel(2), driver.JITDebugInfo(),
		driver.JITLineInfo(), driver.JITVerbose(), driver.JITPositionIndependent(),
		driver.JITFallback(driver.CU_PREFER_BINARY), driver.JITCacheMode(driver.CU_JIT_CACHE_OPTION_CG),
		driver.JITMinBlocksPerMultiprocessor(3), driver.JITMaxThreadsPerBlock(128), driver.JITOverrideDirectives()))(t)
	noError(t, m.Close())
	for option, want := range map[driver.CUjit_option]uintptr{
		driver.CU_JIT_MAX_REGISTERS:             32,
		driver.CU_JIT_OPTIMIZATION_LEVEL:        2,
		driver.CU_JIT_GENERATE_DEBUG_INFO:       1,
		driver.CU_JIT_GENERATE_LINE_INFO:        1,
		driver.CU_JIT_LOG_VERBOSE:               1,
		driver.CU_JIT_POSITION_INDEPENDENT_CODE: 1,
		driver.CU_JIT_FALLBACK_STRATEGY:         uintptr(driver.CU_PREFER_BINARY),
		driver.CU_JIT_CACHE_MODE:                uintptr(driver.CU_JIT_CACHE_OPTION_CG),
		driver.CU_JIT_MIN_CTA_PER_SM:            3,
		driver.CU_JIT_MAX_THREADS_PER_BLOCK:     128,
		driver.CU_JIT_OVERRIDE_DIRECTIVE_VALUES: 1,
	} {
		if v, there := got[option]; !there || v != want {
			t.Errorf("%v: value %d, passed: %v; want %d", option, v, there, want)
		}
	}
	if _, there := got[driver.CU_JIT_THREADS_PER_BLOCK]; !there {
		t.Error("CU_JIT_THREADS_PER_BLOCK was not passed") // its value is also an output
	}
}

func TestHostMemoryOptionsReachTheDriver(t *testing.T) {
	var flags uint32
	see := func(a loader.Args) { flags = a.Uint32(2) }
	c := gputest.Watched(t, driver.FnCuMemHostAlloc, see)
	noError(t, must(driver.AllocHost[byte](c, 64, driver.WriteCombined()))(t).Close())
	if flags&driver.CU_MEMHOSTALLOC_WRITECOMBINED == 0 {
		t.Errorf("flags %#x have no write-combining", flags)
	}
	c = gputest.Watched(t, driver.FnCuMemHostRegister, see)
	noError(t, must(driver.RegisterHost(c, make([]byte, 4096), driver.ReadOnlyHost()))(t).Close())
	if flags&driver.CU_MEMHOSTREGISTER_READ_ONLY == 0 {
		t.Errorf("flags %#x are not read-only", flags)
	}
}

func TestPoolOptionsReachTheDriver(t *testing.T) {
	var props driver.CUmemPoolProps
	c := gputest.Watched(t, driver.FnCuMemPoolCreate, func(a loader.Args) { props = *(*driver.CUmemPoolProps)(a.Ptr(1)) })
	p := must(c.NewMemPool(driver.WithMaxSize(1 << 20)))(t)
	noError(t, p.Close())
	if props.MaxSize != 1<<20 {
		t.Errorf("size %d", props.MaxSize)
	}
	// The emulator has no other process to share with.
	_, err := c.NewMemPool(driver.WithShareable(driver.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
	wantError(t, err, driver.CUDA_ERROR_NOT_SUPPORTED, "memory pool")
	if props.HandleTypes != driver.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR {
		t.Errorf("handle %v", props.HandleTypes)
	}
}

func TestInterprocessEventsHaveNoTiming(t *testing.T) {
	var flags uint32
	c := gputest.Watched(t, driver.FnCuEventCreate, func(a loader.Args) { flags = a.Uint32(1) })
	noError(t, must(c.NewEvent(driver.WithInterprocess()))(t).Close())
	if want := uint32(driver.CU_EVENT_INTERPROCESS | driver.CU_EVENT_DISABLE_TIMING); flags&want != want {
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
