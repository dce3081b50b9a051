//go:build !purecuda_syscall && (amd64 || arm64)

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// On a GPU, this test measures the whole call path. The fake driver does not record calls here, so
// with it the test measures only this package.
func TestStreamsAndEventsDoNotAllocate(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		f := newFake()
		f.silence()
		c := f.open(t)
		steadyState(t, c)
		noError(t, c.Close())
	})
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, steadyState) })
}

func steadyState(t *testing.T, c *driver.Context) {
	s, e := must(c.NewStream())(t), must(c.NewEvent())(t)
	defer closeAll(t, s, e)
	record, wait := driver.RecordOp(e), driver.WaitOp(e)
	cancellable, cancel := context.WithCancel(t.Context())
	defer cancel()
	noError(t, s.Wait(cancellable)) // the first wait creates the shared wait state
	for name, call := range map[string]func() error{
		"Record":         func() error { return s.Record(e) },
		"WaitEvent":      func() error { return s.WaitEvent(e) },
		"Do record":      func() error { return s.Do(record) },
		"Do wait":        func() error { return s.Do(wait) },
		"Stream.Query":   func() error { _, err := s.Query(); return err },
		"Event.Query":    func() error { _, err := e.Query(); return err },
		"Stream.Wait":    func() error { return s.Wait(context.Background()) },
		"Wait, could be": func() error { return s.Wait(cancellable) },
		"Event.Wait":     func() error { return e.Wait(context.Background()) },
		"LegacyStream":   func() error { return c.LegacyStream().Record(e) },
	} {
		noError(t, call())
		noError(t, c.Synchronize(context.Background()))
		if n := gputest.Allocs(0, 100, func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// No wait allocates, whether it polls, blocks, or waits concurrently with others.
func TestWaitingDoesNotAllocate(t *testing.T) {
	cancellable, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, of := range []struct {
		slots, few int
		sleepy     bool
		ctx        context.Context
	}{
		{slots: 0, few: 2},
		{slots: 1, few: 2},
		{slots: 0, few: 2, ctx: cancellable},
		{slots: 0, few: 0}, // a goroutine that polls for all waits
		{slots: 0, few: 0, ctx: cancellable},
		{slots: 1, few: 0, sleepy: true, ctx: cancellable}, // a goroutine that blocks
	} {
		restoreSlots, restoreFew := driver.SetBlockingSlots(of.slots), driver.SetFewWaits(of.few)
		f := newFake()
		if of.sleepy {
			f.on(cu.FnCuCtxGetFlags, func(a loader.Args) driver.CUresult {
				*(*uint32)(a.Ptr(0)) = uint32(cu.CU_CTX_SCHED_BLOCKING_SYNC)
				return 0
			})
		}
		f.silence()
		c := f.open(t)
		s := must(c.NewStream())(t)
		f.busyFor = 3
		noError(t, s.Wait(of.ctx))
		if n := gputest.Allocs(0, 100, func() {
			if err := s.Wait(of.ctx); err != nil {
				t.Error(err)
			}
			for range 3 {
				runtime.Gosched() // let the polling goroutine end, so that the next wait starts a new one
			}
		}); n > lostPooled {
			t.Errorf("%+v: %v allocations", of, n)
		}
		restoreSlots()
		restoreFew()
		closeAll(t, s, c)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	cfg := a.config()
	cfg.Priority = -1
	ex := must(a.k.Prepare(cfg, a.args()...))(t)
	host := must(driver.AllocHost[float32](a.c, 64))(t)
	up := must(driver.Upload(a.x, host))(t)
	down := must(driver.Download(host, a.x))(t)
	fill := must(driver.Fill(a.x, 0))(t)
	view := a.y.View(1, 2)
	a.silence()
	for name, f := range map[string]func() error{
		"launch":           func() error { return a.s.Do(l) },
		"launch ex":        func() error { return a.s.Do(ex) },
		"upload":           func() error { return a.s.Do(up) },
		"download":         func() error { return a.s.Do(down) },
		"fill":             func() error { return a.s.Do(fill) },
		"set buffer":       func() error { return driver.SetArg(l, 0, a.x) },
		"set view":         func() error { return driver.SetArg(l, 1, view) },
		"set number":       func() error { return driver.SetArg(l, 2, float32(3)) },
		"set struct":       func() error { return driver.SetArg(l, 4, shape{1, 1, 1}) },
		"set small number": func() error { return driver.SetArg(l, 6, uint16(3)) },
		"take a view":      func() error { return a.y.View(3, 9).Err() },
	} {
		if n := gputest.Allocs(0, 100, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestRealDriverSteadyStateDoesNotAllocate(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(1, 2)
		host := closing[*driver.HostBuffer[float32]](w)(driver.AllocHost[float32](c, 2))
		l := must(w.kernel("axpy").Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, x, y, float32(2), uint32(2)))(t)
		up, fill := must(driver.Upload(x, host))(t), must(driver.Fill(y, 0))(t)
		if n := gputest.Allocs(0, 100, func() {
			noError(t, firstOf(driver.SetArg(l, 2, float32(1)), w.s.Do(l)))
			noError(t, firstOf(w.s.Do(up), w.s.Do(fill)))
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		w.wait()
	})
}

// A stream-ordered allocation allocates two objects on Go's heap, the buffer and its lifetime.
// Neither has a cleanup.
func TestStreamOrderedMemoryAllocatesTwoObjects(t *testing.T) {
	defer driver.SetLeakHook(driver.SetLeakHook(nil)) // a leak hook records stacks, which allocates
	f := newFake()
	f.silence()
	c := f.open(t)
	s := must(c.NewStream())(t)
	for name, free := range map[string]func(*driver.Buffer[float32]) error{
		"Close":     (*driver.Buffer[float32]).Close,
		"FreeAsync": func(b *driver.Buffer[float32]) error { return b.FreeAsync(s) },
	} {
		if n := gputest.Allocs(0, 1000, func() {
			b, err := driver.AllocAsync[float32](s, 1000)
			if err == nil {
				err = free(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}); n > 2+lostPooled {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	closeAll(t, s, c)
}

// Reusing a buffer allocates nothing while the pool returns the same address. At another address,
// AllocAsyncInto allocates a new buffer.
func TestKeptStreamOrderedMemoryAllocatesNothing(t *testing.T) {
	defer driver.SetLeakHook(driver.SetLeakHook(nil)) // a leak hook records stacks, which allocates
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	var b driver.Buffer[float32]
	frees := func() int { return f.countSince(0, cu.FnCuMemFreeAsync) }
	noError(t, driver.AllocAsyncInto(s, &b, 1000))
	was := b.View(0, 1)
	if err := driver.AllocAsyncInto(s, &b, 1000); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("an open buffer was allocated into: %v", err)
	}
	noError(t, b.Close())
	noError(t, b.Close())
	noError(t, driver.AllocAsyncInto(s, &b, 1000))
	noError(t, was.Err()) // the address is the same, so the view works again
	if n := frees(); n != 1 {
		t.Errorf("%d frees, want 1", n)
	}
	noError(t, b.FreeAsync(s))
	f.memory = 0x1000
	noError(t, driver.AllocAsyncInto(s, &b, 1000))
	if err := was.Err(); !errors.Is(err, driver.ErrClosed) || b.Ptr() != 0x8000 {
		t.Errorf("a view of memory that the buffer no longer has: %v; it is at %#x", err, b.Ptr())
	}
	noError(t, b.Close())
	noError(t, driver.AllocAsyncInto(s, &b, 10)) // a different size
	if b.Len() != 10 || b.All().Err() != nil {
		t.Errorf("%v", &b)
	}
	noError(t, b.Close())
	noError(t, driver.AllocAsyncInto(s, &b, 0))
	noError(t, b.Close())
	if n := frees(); n != 4 {
		t.Errorf("%d frees, want 4", n)
	}
	other := must(c.NewStream())(t)
	noError(t, driver.AllocAsyncInto(other, &b, 10))
	noError(t, other.Close())
	noError(t, b.Close())
	if err := driver.AllocAsyncInto(other, &b, 10); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("in a closed stream: %v", err)
	}
	if err := driver.AllocAsyncInto[float32](s, nil, 10); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("into nil: %v", err)
	}
	f.fail[cu.FnCuMemAllocAsync] = driver.CUDA_ERROR_OUT_OF_MEMORY
	for range 2 {
		if err := driver.AllocAsyncInto(s, &b, 10); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("without memory: %v", err)
		}
	}
	delete(f.fail, cu.FnCuMemAllocAsync)
	f.silence()
	for name, free := range map[string]func() error{
		"Close": b.Close, "FreeAsync": func() error { return b.FreeAsync(s) },
	} {
		if n := gputest.Allocs(0, 1000, func() {
			if err := errors.Join(driver.AllocAsyncInto(s, &b, 1000), free()); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	closeAll(t, s, c)
}

// Looking up a kernel allocates only the Kernel. Its name and its parameters are not allocated
// separately.
func TestLoadingManyKernelsAllocatesLittle(t *testing.T) {
	defer driver.SetLeakHook(driver.SetLeakHook(nil)) // a leak hook records stacks, which allocates
	const n = 100
	var text strings.Builder
	text.WriteString(".version 7.0\n.target sm_50\n.address_size 64\n")
	names := make([]string, n)
	for k := range n {
		names[k] = fmt.Sprintf("kernel%d", k)
		fmt.Fprintf(&text, ".visible .entry %s(.param .u64 p%d, .param .f32 q%[2]d, .param .align 4 .b8 r%[2]d[12])\n.maxntid %[3]d, 1, 1\n{\n%s\tret;\n}\n",
			names[k], k, 32*(k%4+1), strings.Repeat("\tmov.u32 %r1, %r1;\n", 20))
	}
	f := newFakeDevice()
	handle := func(a loader.Args) driver.CUresult { *(*uintptr)(a.Ptr(0)) = 1; return 0 }
	f.on(cu.FnCuModuleLoadDataEx, handle)
	f.on(cu.FnCuModuleGetFunction, handle)
	f.on(cu.FnCuModuleUnload, func(loader.Args) driver.CUresult { return 0 })
	f.silence()
	c := f.open(t)
	src := []byte(text.String())
	var m *driver.Module
	const most = 150
	allocs := gputest.Allocs(most, 20, func() {
		if m != nil {
			noError(t, m.Close())
		}
		m = must(c.LoadModule(src))(t)
		for _, name := range names {
			must(m.Kernel(name))(t)
		}
	})
	if allocs > most {
		t.Errorf("%v allocations", allocs)
	}
	for k, name := range names {
		kernel := must(m.Kernel(name))(t)
		params, known := kernel.Params()
		if !known || len(params) != 3 || params[0].String() != fmt.Sprintf("p%d .u64", k) || params[2].String() != fmt.Sprintf("r%d .b8[12]", k) || params[2].Offset != 12 {
			t.Fatalf("%s has %v", name, params)
		}
		if sig, _ := kernel.Signature(); kernel.Name() != name || sig.MaxThreads[0] != 32*(k%4+1) {
			t.Fatalf("%s has %+v", kernel.Name(), sig)
		}
		if again := must(m.Kernel(name))(t); again != kernel {
			t.Fatalf("%s is another kernel at the second lookup", name)
		}
	}
	noError(t, m.Close())
	noError(t, c.Close())
}
