package driver_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

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

// The ends of the ranges of options are taken, and what is beyond them is not.
func TestJITOptionsHaveTheirWholeRange(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	for name, o := range map[string]struct {
		option    cu.CUjit_option
		low, high int
	}{
		"JITMaxRegisters":               {cu.CU_JIT_MAX_REGISTERS, 1, 255},
		"JITOptLevel":                   {cu.CU_JIT_OPTIMIZATION_LEVEL, 0, 4},
		"JITThreadsPerBlock":            {cu.CU_JIT_THREADS_PER_BLOCK, 1, 1024},
		"JITMaxThreadsPerBlock":         {cu.CU_JIT_MAX_THREADS_PER_BLOCK, 1, 1024},
		"JITMinBlocksPerMultiprocessor": {cu.CU_JIT_MIN_CTA_PER_SM, 1, math.MaxInt32},
	} {
		for n, ok := range map[int]bool{o.low - 1: false, o.low: true, o.high: true, o.high + 1: false} {
			m, err := c.LoadModule([]byte(linkKernel), driver.WithJIT(o.option, n))
			if refused := errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE); refused == ok {
				t.Errorf("%s(%d): %v", name, n, err)
			}
			noError(t, m.Close())
		}
	}
}

// Whoever keeps what a launch refers to sees by its version that this changed.
func TestLaunchesHaveAnotherVersionWhenTheyReferToSomethingElse(t *testing.T) {
	w := newWork(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	k, b := w.kernel("set"), w.floats(1, 2)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	l := must(k.Prepare(cfg, b))(t)
	last := l.Block().Version
	changed := func(what string, want bool, err error) {
		t.Helper()
		noError(t, err)
		if v := l.Block().Version; (v != last) != want {
			t.Errorf("%s: version %d after %d", what, v, last)
		}
		last = l.Block().Version
	}
	changed("the same memory", false, driver.SetArg(l, 0, b))
	changed("other memory", true, driver.SetArg(l, 0, w.floats(3)))
	changed("an address", true, driver.SetArg(l, 0, b.Ptr()))
	changed("another address", false, driver.SetArg(l, 0, b.Ptr()+4))
	changed("memory again", true, driver.SetArg(l, 0, b))
	cfg.Cooperative = true
	changed("an attribute more", true, l.SetConfig(cfg))
	changed("the same attributes", false, l.SetConfig(cfg))
	cfg.Cooperative = false
	changed("an attribute less", true, l.SetConfig(cfg))
}

func TestMemoryOperationsWriteAndWaitForTheWholeWord(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	s := must(c.NewStream())(t)
	words, long := must(driver.AllocFrom(c, []uint32{0, 0, 0}))(t), must(driver.AllocFrom(c, []uint64{0, 0, 0}))(t)
	const v = 0x1234_5678_9abc_def0
	op := must(driver.NewMemOp(c, driver.WriteWord(long, 1, uint64(v), 0), driver.WriteWord(words, 2, uint32(0xfedc_ba98), 0)))(t)
	noError(t, s.Do(op))
	noError(t, c.Synchronize(t.Context()))
	got, half := make([]uint64, 3), make([]uint32, 3)
	noError(t, errors.Join(long.CopyTo(got), words.CopyTo(half)))
	if got[0] != 0 || got[1] != v || got[2] != 0 || half[0] != 0 || half[1] != 0 || half[2] != 0xfedc_ba98 {
		t.Errorf("memory holds %#x and %#x", got, half)
	}
	for what, step := range map[string]driver.MemStep{
		"nil memory": driver.WriteWord((*driver.Buffer[uint32])(nil), 0, 1, 0), "a word too far": driver.WriteWord(words, 3, 1, 0),
		"a word before": driver.WriteWord(words, -1, 1, 0),
	} {
		if op, err := driver.NewMemOp(c, step); err == nil || op != nil {
			t.Errorf("%s: %v, %v", what, op, err)
		}
	}
	noError(t, errors.Join(words.Close(), long.Close(), s.Close()))
	if op, err := driver.NewMemOp(c, driver.WriteWord(words, 0, 1, 0)); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("closed memory: %v, %v", op, err)
	}
}

// A semaphore is imported as the kind it was said to be, by the handle.
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

// The graph of a capture is told while it goes on; of one that is broken, that.
func TestTheGraphOfACaptureIsTold(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	s := must(c.NewStream())(t)
	if g, id, err := s.CaptureGraph(); g != 0 || id != 0 || err != nil {
		t.Errorf("without a capture: %#x, %d, %v", g, id, err)
	}
	d := c.Driver()
	noError(t, d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_RELAXED))
	g, id, err := s.CaptureGraph()
	if g == 0 || id == 0 || err != nil {
		t.Errorf("while capturing: %#x, %d, %v", g, id, err)
	}
	if d.CuStreamSynchronize(s.Raw()) == nil {
		t.Error("a wait for a stream that captures succeeded")
	}
	if g, id, err := s.CaptureGraph(); g != 0 || id != 0 || !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
		t.Errorf("of a broken capture: %#x, %d, %v", g, id, err)
	}
	var out driver.CUgraph
	if d.CuStreamEndCapture(s.Raw(), &out) == nil {
		t.Error("a broken capture ended well")
	}
	noError(t, s.Close())
}

// A kernel that is looked for after its driver was closed is an error.
func TestKernelsOfAClosedDriverAreNotFound(t *testing.T) {
	d := must(driver.New(emulator.New(emulator.Config{})))(t)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	m := must(c.LoadModule([]byte(workPTX)))(t)
	l := must(c.LoadLibrary([]byte(workPTX)))(t)
	_ = d.Close() // with what is open
	if k, err := m.Kernel("set"); err == nil {
		t.Errorf("a module has %v", k)
	}
	if k, err := l.Kernel("set"); err == nil {
		t.Errorf("a library has %v", k)
	}
	var none *driver.Library
	if _, err := none.Kernel("set"); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("a nil library: %v", err)
	}
}

// A device that is none, as after an error, is refused by each method.
func TestADeviceThatIsNoneIsRefused(t *testing.T) {
	var dev driver.Device
	for name, err := range map[string]error{
		"Name": second(dev.Name()), "UUID": second(dev.UUID()), "TotalMem": second(dev.TotalMem()), "Arch": second(dev.Arch()),
		"Attribute":  second(dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE)),
		"PCIBusID":   second(dev.PCIBusID()),
		"Properties": second(dev.Properties()), "PrimaryContext": second(dev.PrimaryContext()), "NewContext": second(dev.NewContext(0)),
		"GraphMemStats": second(dev.GraphMemStats()), "ResetGraphMemStats": dev.ResetGraphMemStats(), "TrimGraphMem": dev.TrimGraphMem(),
		"CanAccessPeer": second(dev.CanAccessPeer(dev)),
	} {
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
