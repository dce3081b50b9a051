package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestNilOperationsAreRefused(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	for name, op := range map[string]driver.Op{
		"launch": (*driver.Launch)(nil), "copy": (*driver.CopyOp)(nil), "fill": (*driver.FillOp)(nil),
		"memory operation": (*driver.MemOp)(nil), "event": (*driver.EventOp)(nil),
		"host function": (*driver.HostFunc)(nil), "semaphore": (*driver.SemaphoreOp)(nil),
	} {
		before := f.callCount()
		if err := op.Enqueue(s); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s enqueued: %v", name, err)
		}
		if err := s.Do(op); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s done: %v", name, err)
		}
		if f.callCount() != before {
			t.Errorf("%s: a driver call was made", name)
		}
	}
	for name, err := range map[string]error{
		"semaphore's value": (*driver.SemaphoreOp)(nil).SetValue(0, 1),
		"launch's argument": second((*driver.Launch)(nil).ArgIndex("n")),
		"graph memory":      (*driver.Stream)(nil).FreeGraphMemory(nil),
		"nothing":           s.Do(nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	noError(t, errors.Join(s.Close(), c.Close()))
}

func TestEmbeddedModuleThatIsNotUnloadedIsAnErrorOfClose(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	d := gputest.Driver(t, lib)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	must(c.Embedded("kernels of the test", []byte(workPTX)))(t)
	lib.FailCall(cu.FnCuModuleUnload.Symbol(), 1, uint32(driver.CUDA_ERROR_ECC_UNCORRECTABLE))
	err := c.Close()
	lib.Stop()
	if !errors.Is(err, driver.CUDA_ERROR_ECC_UNCORRECTABLE) {
		t.Errorf("got %v", err)
	}
}

// lateLibrary makes every lookup of a library's kernel fail with a compiler error. The error's log
// fills the log buffer. lateLibrary counts the modules that are loaded and unloaded.
type lateLibrary struct {
	loader.Library
	loaded, unloaded int
}

func (l *lateLibrary) Lookup(symbol string) (loader.Proc, error) {
	p, err := l.Library.Lookup(symbol)
	if err != nil {
		return p, err
	}
	switch symbol {
	case cu.FnCuLibraryLoadData.Symbol():
		return loader.FuncProc(func(a loader.Args) uintptr {
			n := int(a.Uint32(4))
			options, values := unsafe.Slice((*cu.CUjit_option)(a.Ptr(2)), n), unsafe.Slice((*unsafe.Pointer)(a.Ptr(3)), n)
			r := a.Forward(&p)
			var log unsafe.Pointer
			size := 0
			for i, o := range options {
				switch o {
				case cu.CU_JIT_ERROR_LOG_BUFFER:
					log = values[i]
				case cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
					size = int(firstLogBytes)
				}
			}
			copy(unsafe.Slice((*byte)(log), size-1), strings.Repeat("x", size))
			return r
		}), nil
	case cu.FnCuLibraryGetKernel.Symbol():
		return loader.FuncProc(func(loader.Args) uintptr { return uintptr(driver.CUDA_ERROR_INVALID_PTX) }), nil
	case cu.FnCuModuleLoadDataEx.Symbol():
		return loader.FuncProc(func(a loader.Args) uintptr { l.loaded++; return a.Forward(&p) }), nil
	case cu.FnCuModuleUnload.Symbol():
		return loader.FuncProc(func(a loader.Args) uintptr { l.unloaded++; return a.Forward(&p) }), nil
	}
	return p, nil
}

const firstLogBytes = 16 << 10

// To get the whole log, package driver compiles the image again as a module. If the second
// compilation unexpectedly succeeds, the package must unload that module and return the first
// error.
func TestCompilingAgainForTheLogLeavesNoModule(t *testing.T) {
	lib := &lateLibrary{Library: emulator.New(emulator.Config{})}
	c := gputest.Context(t, gputest.Driver(t, lib))
	l := must(c.LoadLibrary([]byte(workPTX)))(t)
	_, err := l.Kernel("set")
	wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "")
	noError(t, l.Close())
	if lib.loaded != 1 || lib.unloaded != 1 {
		t.Errorf("%d modules were loaded, %d unloaded", lib.loaded, lib.unloaded)
	}
}

func TestNamedErrorsKeepTheLog(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	_, err := c.LoadModule([]byte(".version 7.0\n.target sm_52\n.visible .entry k()\n{\n\tnonsense;\n}\n"))
	named := driver.Named("k.ptx", err)
	for _, verb := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(verb, named), "k.ptx: "+fmt.Sprintf(verb, err); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", verb, got, want)
		}
	}
	if !strings.Contains(fmt.Sprintf("%+v", named), "nonsense") {
		t.Error("the log is not in the text")
	}
	if !errors.Is(named, driver.CUDA_ERROR_INVALID_PTX) {
		t.Errorf("%v has lost its code", named)
	}
	if driver.Named("k.ptx", nil) != nil {
		t.Error("no error has become one")
	}
}

func TestObjectsAreNamedByKindAndSize(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	b := must(driver.Alloc[float32](c, 4))(t)
	op := must(driver.NewMemOp(c, driver.MemBarrier(0), driver.MemBarrier(0)))(t)
	for want, got := range map[string]string{
		"(4 elements)":                b.String(),
		"nil buffer of float32":       (*driver.Buffer[float32])(nil).String(),
		"memory operation of 2 steps": op.String(),
		"nil context":                 (*driver.Context)(nil).String(),
		"context 0x":                  c.String(),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it is called %q, want %q in it", got, want)
		}
	}
	if strings.Contains(b.String(), "nil") || (*driver.Context)(nil).Raw() != 0 || (&driver.Context{}).Raw() != 0 {
		t.Errorf("an open buffer is %q, or a context that is none has a handle", b)
	}
	noError(t, b.Close())
}

func TestSemaphoresAreImportedByTheirHandle(t *testing.T) {
	var kind cu.CUexternalSemaphoreHandleType
	var handle uintptr
	c := gputest.Watched(t, cu.FnCuImportExternalSemaphore, func(a loader.Args) {
		d := (*cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC)(a.Ptr(1))
		kind, handle = d.Type, *(*uintptr)(unsafe.Pointer(&d.Handle))
	})
	const fence = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE
	s, err := c.ImportSemaphoreHandle(fence, 0x1234)
	if kind != fence || handle != 0x1234 || (s == nil) == (err == nil) {
		t.Errorf("imported %v by %#x: %v, %v", kind, handle, s, err)
	}
	noError(t, s.Close())
	for _, h := range []uintptr{0, 1} {
		kind = 0
		if h == 0 {
			_, err = c.ImportSemaphoreHandle(fence, h)
		} else {
			_, err = c.ImportSemaphoreHandle(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, h)
		}
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE)
		if kind != 0 {
			t.Error("the driver was called")
		}
	}
}
