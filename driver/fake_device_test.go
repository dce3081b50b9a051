package driver_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// fakeDevice is a fake that also has modules and memory. It records the arguments of launches,
// copies and fills, but executes nothing. Tests that need results use the emulator.
type fakeDevice struct {
	*fake
	version    int32
	attributes map[cu.CUdevice_attribute]int32
	functions  map[cu.CUfunction_attribute]int32
	kernels    []string // names; a kernel's handle is its index + 1
	params     []uintptr
	ptr        driver.CUdeviceptr // address of the next allocation
	errorLog   string
	image      []byte // the most recently loaded image
	options    map[cu.CUjit_option]uintptr

	launch  fakeLaunch
	sets    []fakeSet
	copies  []fakeCopy
	region  cu.CUDA_MEMCPY3D
	shared  int32 // the latest value of CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
	perSM   int32
	pinned  [][]uint64 // host allocations
	reached driver.CUresult
}

type fakeLaunch struct {
	function    uintptr
	grid, block driver.Dim3
	shared      uint32
	stream      uintptr
	args        [][]byte
	attributes  []cu.CUlaunchAttribute
	ex          bool
}

type fakeSet struct {
	dst           uint64
	value         uint64
	width, height uintptr
	pitch         uintptr
	size          int
}

type fakeCopy struct {
	fn    cu.Function
	words [4]uintptr
}

func newFakeDevice() *fakeDevice {
	f := &fakeDevice{fake: newFake(), version: 13000, ptr: 0x10000, perSM: 2}
	f.attributes = map[cu.CUdevice_attribute]int32{
		cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:                    1<<31 - 1,
		cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:                    65535,
		cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:                    65535,
		cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:                   1024,
		cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:                   1024,
		cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:                   64,
		cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:             1024,
		cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:       48 << 10,
		cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: 227 << 10,
		cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:              4,
		cu.CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:                1,
		cu.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:                    1,
	}
	f.functions = map[cu.CUfunction_attribute]int32{
		cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:             512,
		cu.CU_FUNC_ATTRIBUTE_NUM_REGS:                          16,
		cu.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:                 1024,
		cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:     48 << 10,
		cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: 0,
	}
	f.defineCode()
	f.defineMemory()
	f.defineLaunches()
	f.defineTransfers()
	return f
}

func (f *fakeDevice) defineCode() {
	f.quiet(cu.FnCuDriverGetVersion, func(_ *fakeThread, a loader.Args) { *(*int32)(a.Ptr(0)) = f.version })
	f.on(cu.FnCuDeviceGetAttribute, func(a loader.Args) driver.CUresult {
		*(*int32)(a.Ptr(0)) = f.attributes[cu.CUdevice_attribute(a.Uint32(1))]
		return 0
	})
	f.on(cu.FnCuModuleLoadDataEx, f.loadModule)
	f.on(cu.FnCuModuleUnload, f.destroy("module"))
	f.on(cu.FnCuModuleGetGlobal, func(loader.Args) driver.CUresult { return cu.CUDA_ERROR_NOT_FOUND })
	f.on(cu.FnCuModuleGetFunction, func(a loader.Args) driver.CUresult {
		name := cText(a.Ptr(2))
		for i, k := range f.kernels {
			if k == name {
				*(*uintptr)(a.Ptr(0)) = uintptr(i + 1)
				return f.use(a.Word(1), "module")
			}
		}
		return driver.CUDA_ERROR_NOT_FOUND
	})
	f.on(cu.FnCuFuncLoad, func(loader.Args) driver.CUresult { return 0 })
	f.on(cu.FnCuFuncGetAttribute, func(a loader.Args) driver.CUresult {
		v, ok := f.functions[cu.CUfunction_attribute(a.Uint32(1))]
		if !ok && a.Uint32(1) >= uint32(cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) {
			return driver.CUDA_ERROR_INVALID_VALUE
		}
		*(*int32)(a.Ptr(0)) = v
		return 0
	})
	f.on(cu.FnCuFuncSetAttribute, func(a loader.Args) driver.CUresult {
		f.functions[cu.CUfunction_attribute(a.Uint32(1))] = a.Int32(2)
		f.shared = a.Int32(2)
		return 0
	})
	f.on(cu.FnCuFuncGetParamInfo, func(a loader.Args) driver.CUresult {
		i := a.Word(1)
		if i >= uintptr(len(f.params)) {
			return driver.CUDA_ERROR_INVALID_VALUE
		}
		*(*uintptr)(a.Ptr(2)), *(*uintptr)(a.Ptr(3)) = i*8, f.params[i]
		return 0
	})
	f.on(cu.FnCuOccupancyMaxActiveBlocksPerMultiprocessor, func(a loader.Args) driver.CUresult {
		*(*int32)(a.Ptr(0)) = f.perSM
		return 0
	})
}

func (f *fakeDevice) loadModule(a loader.Args) driver.CUresult {
	f.image = []byte(cText(a.Ptr(1)))
	f.options = map[cu.CUjit_option]uintptr{}
	n := int(a.Uint32(2))
	names := unsafe.Slice((*cu.CUjit_option)(a.Ptr(3)), n)
	values := unsafe.Slice((*uintptr)(a.Ptr(4)), n)
	buffers := unsafe.Slice((*unsafe.Pointer)(a.Ptr(4)), n)
	for i, o := range names {
		f.options[o] = values[i]
		if o == cu.CU_JIT_ERROR_LOG_BUFFER {
			copy(unsafe.Slice((*byte)(buffers[i]), len(f.errorLog)+1), f.errorLog+"\x00")
		}
	}
	if f.errorLog != "" {
		return driver.CUDA_ERROR_INVALID_PTX
	}
	*(*uintptr)(a.Ptr(0)) = f.make("module")
	return 0
}

func (f *fakeDevice) defineMemory() {
	alloc := func(a loader.Args) driver.CUresult {
		f.live[uintptr(f.ptr)] = "memory"
		*(*driver.CUdeviceptr)(a.Ptr(0)) = f.ptr
		f.ptr += driver.CUdeviceptr(a.Word(1)+255) &^ 255
		return 0
	}
	f.on(cu.FnCuMemAlloc, alloc)
	f.on(cu.FnCuMemAllocAsync, alloc)
	f.on(cu.FnCuMemFree, f.destroy("memory"))
	f.on(cu.FnCuMemFreeAsync, f.destroy("memory"))
	f.on(cu.FnCuStreamIsCapturing, func(a loader.Args) driver.CUresult {
		*(*uint32)(a.Ptr(1)) = 0
		if f.capture {
			*(*uint32)(a.Ptr(1)) = uint32(cu.CU_STREAM_CAPTURE_STATUS_ACTIVE)
		}
		return 0
	})
	f.on(cu.FnCuMemHostAlloc, func(a loader.Args) driver.CUresult {
		b := make([]uint64, (a.Word(1)+7)/8)
		f.pinned = append(f.pinned, b)
		f.live[uintptr(unsafe.Pointer(&b[0]))] = "host memory"
		*(*unsafe.Pointer)(a.Ptr(0)) = unsafe.Pointer(&b[0])
		return 0
	})
	f.on(cu.FnCuMemFreeHost, f.destroy("host memory"))
	f.on(cu.FnCuMemHostRegister, func(a loader.Args) driver.CUresult {
		f.live[a.Word(0)] = "registered memory"
		return 0
	})
	f.on(cu.FnCuMemHostUnregister, f.destroy("registered memory"))
	f.on(cu.FnCuMemHostGetDevicePointer, func(a loader.Args) driver.CUresult {
		*(*uintptr)(a.Ptr(0)) = a.Word(1)
		return 0
	})
	f.on(cu.FnCuPointerGetAttribute, func(a loader.Args) driver.CUresult { return f.reached })
}

func (f *fakeDevice) defineLaunches() {
	f.on(cu.FnCuLaunchKernel, func(a loader.Args) driver.CUresult {
		f.launch = fakeLaunch{
			function: a.Word(0),
			grid:     driver.Dim3{X: a.Uint32(1), Y: a.Uint32(2), Z: a.Uint32(3)},
			block:    driver.Dim3{X: a.Uint32(4), Y: a.Uint32(5), Z: a.Uint32(6)},
			shared:   a.Uint32(7), stream: a.Word(8), args: f.launch.args,
		}
		f.readArgs(a.Ptr(9))
		return f.use(f.launch.stream, "stream")
	})
	f.on(cu.FnCuLaunchKernelEx, func(a loader.Args) driver.CUresult {
		c := (*cu.CUlaunchConfig)(a.Ptr(0))
		f.launch = fakeLaunch{
			function: a.Word(1), ex: true, shared: c.SharedMemBytes, stream: uintptr(c.HStream),
			grid:       driver.Dim3{X: c.GridDimX, Y: c.GridDimY, Z: c.GridDimZ},
			block:      driver.Dim3{X: c.BlockDimX, Y: c.BlockDimY, Z: c.BlockDimZ},
			attributes: append(f.launch.attributes[:0], unsafe.Slice(c.Attrs, c.NumAttrs)...),
			args:       f.launch.args,
		}
		f.readArgs(a.Ptr(2))
		return 0
	})
}

// readArgs copies a launch's arguments. Their sizes are in f.params.
func (f *fakeDevice) readArgs(params unsafe.Pointer) {
	if params == nil {
		return
	}
	if f.launch.args == nil {
		f.launch.args = make([][]byte, len(f.params))
		for i, n := range f.params {
			f.launch.args[i] = make([]byte, n)
		}
	}
	for i, n := range f.params {
		p := *(*unsafe.Pointer)(unsafe.Add(params, uintptr(i)*8))
		copy(f.launch.args[i], unsafe.Slice((*byte)(p), n))
	}
}

func (f *fakeDevice) defineTransfers() {
	for _, fn := range []cu.Function{
		cu.FnCuMemcpyHtoDAsync, cu.FnCuMemcpyDtoHAsync, cu.FnCuMemcpyDtoDAsync,
		cu.FnCuMemcpyHtoD, cu.FnCuMemcpyDtoH,
	} {
		f.on(fn, func(a loader.Args) driver.CUresult {
			c := fakeCopy{fn: fn}
			for i := range a.Len() {
				c.words[i] = a.Word(i)
			}
			f.copies = append(f.copies[:0], c)
			return 0
		})
	}
	f.on(cu.FnCuMemcpy3DAsync, func(a loader.Args) driver.CUresult {
		f.region = *(*cu.CUDA_MEMCPY3D)(a.Ptr(0))
		return 0
	})
	for fn, size := range map[cu.Function]int{
		cu.FnCuMemsetD8Async: 1, cu.FnCuMemsetD16Async: 2, cu.FnCuMemsetD32Async: 4,
	} {
		f.on(fn, func(a loader.Args) driver.CUresult {
			f.sets = append(f.sets[:0], fakeSet{dst: a.Uint64(0), value: a.Uint64(1), width: a.Word(2), height: 1, size: size})
			return 0
		})
	}
	for fn, size := range map[cu.Function]int{
		cu.FnCuMemsetD2D8Async: 1, cu.FnCuMemsetD2D16Async: 2, cu.FnCuMemsetD2D32Async: 4,
	} {
		f.on(fn, func(a loader.Args) driver.CUresult {
			f.sets = append(f.sets, fakeSet{dst: a.Uint64(0), pitch: a.Word(1), value: a.Uint64(2), width: a.Word(3), height: a.Word(4), size: size})
			return 0
		})
	}
}

func cText(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

const axpyPTX = `//
.version 7.0
.target sm_70
.address_size 64

.visible .entry axpy(
	.param .u64 x,
	.param .u64 y,
	.param .f32 alpha,
	.param .u32 n,
	.param .align 4 .b8 shape[12],
	.param .f64 beta,
	.param .u16 half,
	.param .b32 bits
)
{
	ret;
}
.visible .entry nothing()
{
	ret;
}
.visible .entry fixed() .reqntid 32, 2
{
	ret;
}
`

var axpyParams = []uintptr{8, 8, 4, 4, 12, 8, 2, 4}

type shape struct{ W, H, D int32 }

type axpyFake struct {
	*fakeDevice
	c    *driver.Context
	s    *driver.Stream
	m    *driver.Module
	k    *driver.Kernel
	x, y *driver.Buffer[float32]
}

func newAxpy(t testing.TB) *axpyFake {
	t.Helper()
	f := newFakeDevice()
	f.kernels, f.params = []string{"axpy", "nothing", "fixed"}, axpyParams
	return f.load(t)
}

func (f *fakeDevice) load(t testing.TB) *axpyFake {
	t.Helper()
	a := &axpyFake{fakeDevice: f, c: f.open(t)}
	a.s = must(a.c.NewStream())(t)
	a.m = must(a.c.LoadModule([]byte(axpyPTX)))(t)
	a.k = must(a.m.Kernel("axpy"))(t)
	a.x = must(driver.Alloc[float32](a.c, 64))(t)
	a.y = must(driver.Alloc[float32](a.c, 64))(t)
	return a
}

func (a *axpyFake) config() driver.LaunchConfig {
	return driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(32)}
}

func (a *axpyFake) args() []any {
	return []any{a.x, a.y.View(8, 16), float32(2.5), uint32(64), shape{1, 2, 3}, 0.5, uint16(7), int32(-1)}
}

func (a *axpyFake) prepare(t testing.TB) *driver.Launch {
	t.Helper()
	return must(a.k.Prepare(a.config(), a.args()...))(t)
}
