package emulator_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// load returns the result and the error log of loading an image.
func (r *rig) load(image string) (cu.CUresult, string) {
	b := append([]byte(image), make([]byte, 64)...)
	log := make([]byte, 4096)
	options := []cu.CUjit_option{cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}
	values := make([]unsafe.Pointer, 2)
	values[0] = unsafe.Pointer(&log[0])
	*(*uintptr)(unsafe.Pointer(&values[1])) = uintptr(len(log))
	var m cu.CUmodule
	err := r.CuModuleLoadDataEx(&m, unsafe.Pointer(&b[0]), 2, &options[0], &values[0])
	if err == nil {
		r.ok(r.CuModuleUnload(m))
	}
	text, _, _ := strings.Cut(string(log), "\x00")
	return code(err), text
}

func TestBadImages(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		what, image string
		want        cu.CUresult
		log         string
	}{
		{"text that is not PTX", "hello, world", cu.CUDA_ERROR_INVALID_IMAGE, ""},
		{"empty text", "", cu.CUDA_ERROR_INVALID_IMAGE, ""},
		{"syntax error", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { this is wrong; }", cu.CUDA_ERROR_INVALID_PTX, "line 4"},
		{"unknown instruction", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() {\nfoo.u32 1, 2;\nret; }", cu.CUDA_ERROR_INVALID_PTX, "line 5"},
		{"undeclared register", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() {\nmov.u32 %r1, 2;\nret; }", cu.CUDA_ERROR_INVALID_PTX, "line 5"},
		{"newer PTX", ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry f() { ret; }", cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ""},
		{"newer target", ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry f() { ret; }", cu.CUDA_ERROR_INVALID_PTX, ""},
		{"no kernels", ".version 7.0\n.target sm_70\n.address_size 64\n", 0, ""},
	} {
		got, log := r.load(c.image)
		if got != c.want || !strings.Contains(log, c.log) {
			t.Errorf("%s: got %v (%d), want %v (%d); log: %s", c.what, got, uint32(got), c.want, uint32(c.want), log)
		}
		t.Logf("%s: %v %q", c.what, got, log)
	}
	if !onGPU {
		got, log := r.load("\x7fELF and machine code")
		if got != cu.CUDA_ERROR_NO_BINARY_FOR_GPU || !strings.Contains(log, "PTX") {
			t.Errorf("cubin: %v, log %q", got, log)
		}
	}
}

func TestModuleNames(t *testing.T) {
	r := newRig(t)
	m := r.module(testPTX)
	var f cu.CUfunction
	var p cu.CUdeviceptr
	var size uintptr
	r.want("no such kernel", r.CuModuleGetFunction(&f, m, cstr("no")), cu.CUDA_ERROR_NOT_FOUND)
	r.want("no such variable", r.CuModuleGetGlobal(&p, &size, m, cstr("no")), cu.CUDA_ERROR_NOT_FOUND)
	r.ok(r.CuModuleGetGlobal(&p, &size, m, cstr("counter")))
	if size != 4 {
		t.Errorf("size of a variable: %d", size)
	}
	r.wantWords("initial value", p, 7)
	r.ok(r.launch(r.function(m, "add"), 0, p, 0, 5))
	r.wantWords("changed value", p, 12)
	var n uint32
	r.ok(r.CuModuleGetFunctionCount(&n, m))
	if n != 8 {
		t.Errorf("%d kernels", n)
	}
}

func TestUnloadedModuleIsGone(t *testing.T) {
	r := newRig(t)
	if onGPU {
		t.Skip("a driver does not survive it")
	}
	image := append([]byte(testPTX), 0)
	var m cu.CUmodule
	r.ok(r.CuModuleLoadData(&m, unsafe.Pointer(&image[0])))
	f := r.function(m, "add")
	r.ok(r.CuModuleUnload(m))
	r.want("launch", r.launch(f, 0, r.alloc(4), 0, 0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("second unload", r.CuModuleUnload(m), cu.CUDA_ERROR_INVALID_HANDLE)
}

func TestLibrariesAndTheirKernels(t *testing.T) {
	r := newRig(t)
	image := append([]byte(testPTX), 0)
	var lib cu.CUlibrary
	r.ok(r.CuLibraryLoadData(&lib, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0))
	var k cu.CUkernel
	r.ok(r.CuLibraryGetKernel(&k, lib, cstr("add")))
	r.want("no such kernel", r.CuLibraryGetKernel(new(cu.CUkernel), lib, cstr("no")), cu.CUDA_ERROR_NOT_FOUND)
	var f cu.CUfunction
	r.ok(r.CuKernelGetFunction(&f, k))
	p := r.alloc(4)
	r.ok(r.launch(f, 0, p, 0, 1))
	r.ok(r.launch(cu.CUfunction(k), 0, p, 0, 2))
	r.wantWords("launches", p, 3)
	var n uint32
	r.ok(r.CuLibraryGetKernelCount(&n, lib))
	if n != 8 {
		t.Errorf("%d kernels", n)
	}
	var v int32
	r.ok(r.CuKernelGetAttribute(&v, cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, r.dev))
	r.ok(r.CuLibraryUnload(lib))
}
