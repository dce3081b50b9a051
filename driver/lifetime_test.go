package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

func TestClosingTwiceDestroysOnce(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	for range 2 {
		noError(t, s.Close())
	}
	for range 2 {
		noError(t, c.Close())
	}
	if f.count("stream") != 0 || f.retained() != 0 || len(f.deadUses()) != 0 {
		t.Errorf("streams %d, retains %d, dead handles used %v", f.count("stream"), f.retained(), f.deadUses())
	}
}

func TestContextOutlivesItsObjects(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	e := must(c.NewEvent())(t)
	noError(t, c.Close())
	if f.retained() != 1 {
		t.Fatal("the context was released under its objects")
	}
	if _, err := c.NewStream(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed context made a stream, error %v", err)
	}
	noError(t, s.Record(e))
	noError(t, s.Wait(context.Background()))
	noError(t, s.Close())
	if f.retained() != 1 {
		t.Fatal("the context was released before its last object")
	}
	noError(t, e.Close())
	if f.retained() != 0 {
		t.Error("the context was not released with its last object")
	}
}

func TestClosedObjectsAnswerErrorsThatNameThem(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s, e := must(c.NewStream())(t), must(c.NewEvent())(t)
	open := must(c.NewEvent(driver.WithTiming()))(t)
	calls := map[string]func() error{
		"stream.Query":    func() error { _, err := s.Query(); return err },
		"stream.Wait":     func() error { return s.Wait(context.Background()) },
		"stream.Record":   func() error { return s.Record(open) },
		"stream.Do":       func() error { return s.Do(nil) },
		"stream.HostFunc": func() error { return s.HostFunc(func() {}) },
		"stream.Priority": func() error { _, err := s.Priority(); return err },
		"event.Query":     func() error { _, err := e.Query(); return err },
		"event.Wait":      func() error { return e.Wait(context.Background()) },
		"event.Elapsed":   func() error { _, err := open.Elapsed(e); return err },
		"context.MemInfo": func() error {
			free, total, err := c.MemInfo()
			if free != 0 || total != 0 {
				t.Errorf("%d bytes of %d are free in a closed context", free, total)
			}
			return err
		},
		"context.sync": func() error { return c.Synchronize(context.Background()) },
		"context.new":  func() error { _, err := c.NewEvent(); return err },
	}
	noError(t, errors.Join(s.Close(), e.Close(), c.Close()))
	for name, call := range calls {
		err := call()
		kind, _, _ := strings.Cut(name, ".")
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(fmt.Sprint(err), kind) {
			t.Errorf("%s of a closed object: %v", name, err)
		}
	}
	noError(t, open.Close())
	if len(f.deadUses()) != 0 {
		t.Errorf("dead handles reached the driver: %v", f.deadUses())
	}
}

func TestNilAndZeroObjectsAnswerErrors(t *testing.T) {
	var c *driver.Context
	calls := map[string]func() error{
		"nil context": func() error { _, err := c.NewStream(); return err },
		"nil peer":    func() error { return c.EnablePeerAccess(nil) },
		"host func":   func() error { _, err := driver.NewHostFunc(c, func() {}); return err },
		"nil driver":  func() error { _, err := (*driver.Driver)(nil).DeviceCount(); return err },
	}
	for _, s := range []*driver.Stream{nil, {}} {
		calls[fmt.Sprintf("query %t", s == nil)] = func() error { _, err := s.Query(); return err }
		calls[fmt.Sprintf("wait %t", s == nil)] = func() error { return s.Wait(context.Background()) }
		calls[fmt.Sprintf("record %t", s == nil)] = func() error { return s.Record(nil) }
		calls[fmt.Sprintf("host %t", s == nil)] = func() error { return s.HostFunc(func() {}) }
		noError(t, s.Close())
	}
	for _, e := range []*driver.Event{nil, {}} {
		calls[fmt.Sprintf("event %t", e == nil)] = func() error { return e.Wait(context.Background()) }
		noError(t, e.Close())
	}
	noError(t, c.Close())
	for name, call := range calls {
		err := call()
		if errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s: it was not closed: %v", name, err)
		}
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, ": make one with ")
	}
	for _, d := range []*driver.Driver{c.Driver(), c.Guarded()} {
		wantError(t, d.CuCtxSynchronize(), driver.CUDA_ERROR_INVALID_CONTEXT, "there is no driver")
	}
	if h := (*driver.UserObject)(nil).Raw(); h != 0 {
		t.Errorf("the handle of a nil user object is %#x", h)
	}
	if n := (driver.Declared{}).Bytes(); n != 0 {
		t.Errorf("declared memory without memory has %d bytes", n)
	}
	if _, err := (driver.Device{}).Name(); !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) {
		t.Errorf("zero device: %v", err)
	}
}

func TestFailedCreationReleasesTheContext(t *testing.T) {
	f := newFake()
	c := f.open(t)
	f.fail[cu.FnCuStreamCreateWithPriority] = driver.CUDA_ERROR_OUT_OF_MEMORY
	f.fail[cu.FnCuEventCreate] = driver.CUDA_ERROR_OUT_OF_MEMORY
	_, serr := c.NewStream()
	_, eerr := c.NewEvent()
	for _, err := range []error{serr, eerr} {
		var e *driver.Error
		if !errors.As(err, &e) || e.Result != driver.CUDA_ERROR_OUT_OF_MEMORY {
			t.Errorf("error %v", err)
		}
	}
	noError(t, c.Close())
	if f.retained() != 0 {
		t.Error("failed creations kept the context")
	}
}

func TestDestructionFailureIsReturnedOnce(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	f.fail[cu.FnCuStreamDestroy] = driver.CUDA_ERROR_ILLEGAL_ADDRESS
	if err := s.Close(); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) || !strings.Contains(err.Error(), "stream 0x") {
		t.Errorf("Close: %v", err)
	}
	noError(t, s.Close())
	noError(t, c.Close())
}

func TestDroppedObjectsAreReclaimedAndReported(t *testing.T) {
	f := newFake()
	gputest.CheckLeaks(t, nil) // installs the hook
	c := f.open(t)
	d := c.Device().Driver()
	dropStreams(t, c, 10)
	leaks := gputest.ExpectDropped(t, d, 10)
	if f.count("stream") != 0 {
		t.Errorf("%d dropped streams are left", f.count("stream"))
	}
	for _, l := range leaks {
		if l.Kind != "stream" || l.Handle == 0 || l.Context != fakeContext || !strings.Contains(l.String(), "dropStreams") {
			t.Errorf("report without kind, handle or stack: %v", l)
		}
	}
	if last := f.last(t, cu.FnCuStreamDestroy); last.context != fakeContext || !last.guarded {
		t.Errorf("destroyed by %+v, not bound and guarded", last)
	}
	noError(t, c.Close())
}

//go:noinline
func dropStreams(t *testing.T, c *driver.Context, n int) {
	for range n {
		must(c.NewStream())(t)
	}
}

func TestDroppedContextIsReleasedAfterItsObjects(t *testing.T) {
	f := newFake()
	gputest.CheckLeaks(t, nil)
	d := dropContext(t, f)
	gputest.ExpectDropped(t, d, 3)
	if f.retained() != 0 || f.count("stream") != 0 || f.count("event") != 0 {
		t.Errorf("left: %d contexts, %d streams, %d events", f.retained(), f.count("stream"), f.count("event"))
	}
	if f.last(t, cu.FnCuDevicePrimaryCtxRelease).fn != f.lastCall() {
		t.Error("the context was released before its objects")
	}
}

//go:noinline
func dropContext(t *testing.T, f *fake) *driver.Driver {
	c := f.open(t)
	must(c.NewStream())(t)
	must(c.NewEvent())(t)
	return c.Device().Driver()
}

func TestFailedReclaimIsKeptInTheContext(t *testing.T) {
	f := newFake()
	gputest.CheckLeaks(t, nil)
	c := f.open(t)
	f.fail[cu.FnCuStreamDestroy] = driver.CUDA_ERROR_LAUNCH_FAILED
	dropStreams(t, c, 1)
	leaks := gputest.ExpectDropped(t, c.Device().Driver(), 1)
	errs := c.CleanupErrors()
	if len(errs) != 1 || !errors.Is(errs[0], driver.CUDA_ERROR_LAUNCH_FAILED) {
		t.Errorf("CleanupErrors() = %v", errs)
	}
	if len(leaks) == 1 && !errors.Is(leaks[0].Err, driver.CUDA_ERROR_LAUNCH_FAILED) {
		t.Errorf("report says %v", leaks[0].Err)
	}
	noError(t, c.Close())
}

func TestOpenObjectsAreListedWithTheirStack(t *testing.T) {
	f := newFake()
	gputest.CheckLeaks(t, nil)
	c := f.open(t)
	s := must(c.NewStream())(t)
	found := func() (n int) {
		for _, l := range driver.OpenObjects() {
			if l.Device.Driver() == c.Device().Driver() && strings.Contains(l.Stack, "TestOpenObjects") {
				n++
			}
		}
		return n
	}
	if n := found(); n != 2 {
		t.Errorf("%d open objects, want the context and the stream", n)
	}
	noError(t, errors.Join(c.Close(), s.Close()))
	if n := found(); n != 0 {
		t.Errorf("%d objects are listed after Close", n)
	}
}

func TestConcurrentCloseAndUse(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	f.setBusy(uintptr(s.Raw()), true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.Wait(context.Background()); err != nil && !errors.Is(err, driver.ErrClosed) {
				t.Errorf("Wait: %v", err)
			}
		})
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	f.setBusy(uintptr(s.Raw()), false)
	wg.Wait()
	noError(t, c.Close())
	if f.count("stream") != 0 || f.retained() != 0 {
		t.Errorf("left: %d streams, %d contexts", f.count("stream"), f.retained())
	}
}

func TestCloseWaitsForNoOneAndSparesWaiters(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	f.setBusy(uintptr(s.Raw()), true)
	waited := make(chan error)
	go func() { waited <- s.Wait(context.Background()) }()
	eventually(t, "a wait", func() bool { return f.called(cu.FnCuEventQuery) })
	noError(t, s.Close())
	if f.count("stream") != 1 {
		t.Fatal("the stream was destroyed under a wait")
	}
	f.setBusy(uintptr(s.Raw()), false)
	noError(t, <-waited)
	eventually(t, "destruction by the last user", func() bool { return f.count("stream") == 0 })
	noError(t, c.Close())
}

func TestDisownedObjectsAreNotDestroyed(t *testing.T) {
	f := newFake()
	c := f.open(t)
	l := must(life.New(c.Lifetime(), "thing"))(t)
	object := new(int64)
	life.Own(object, l, 7, func(*cu.Driver) error { t.Error("destroyed"); return nil })
	if !l.Disown() || l.Disown() {
		t.Error("Disown is not once")
	}
	noError(t, l.Close())
	if err := l.Check(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Check after Disown: %v", err)
	}
	noError(t, c.Close())
	if f.retained() != 0 {
		t.Error("a disowned object kept the context")
	}
}

func TestChildKeepsItsParent(t *testing.T) {
	f := newFake()
	c := f.open(t)
	var order []string
	parent := must(life.New(c.Lifetime(), "parent"))(t)
	life.Own(new(int64), parent, 1, func(*cu.Driver) error { order = append(order, "parent"); return nil })
	child := must(parent.Child("child"))(t)
	life.Own(new(int64), child, 2, func(*cu.Driver) error { order = append(order, "child"); return nil })
	noError(t, errors.Join(c.Close(), parent.Close()))
	if len(order) != 0 || f.retained() != 1 {
		t.Fatalf("destroyed under the child: %v", order)
	}
	if _, err := parent.Child("late"); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed parent made a child: %v", err)
	}
	noError(t, child.Close())
	if fmt.Sprint(order) != "[child parent]" || f.retained() != 0 {
		t.Errorf("order %v, contexts left %d", order, f.retained())
	}
}

// defineOrderedMemory defines stream-ordered allocation. Every allocation returns the address
// 0x7000 + f.memory.
func (f *fake) defineOrderedMemory() {
	f.on(cu.FnCuStreamIsCapturing, func(a loader.Args) driver.CUresult {
		*(*uint32)(a.Ptr(1)) = uint32(cu.CU_STREAM_CAPTURE_STATUS_NONE)
		return 0
	})
	f.on(cu.FnCuMemAllocAsync, func(a loader.Args) driver.CUresult {
		*(*uintptr)(a.Ptr(0)) = 0x7000 + f.memory
		return 0
	})
	f.on(cu.FnCuMemFreeAsync, func(loader.Args) driver.CUresult { return 0 })
}

// Consecutive buffers share a leak watch. The watch must report leaked buffers, but not closed
// ones.
func TestDroppedMemoryIsNoticedAfterOthersWereClosed(t *testing.T) {
	f := newFake()
	gputest.CheckLeaks(t, nil)
	c := f.open(t)
	s := must(c.NewStream())(t)
	for range 5 {
		comesAndGoes(t, s, 20)
		noError(t, must(driver.AllocAsync[float32](s, 4))(t).FreeAsync(s))
		before := f.callCount()
		dropMemory(t, s, 3)
		leaks := gputest.ExpectDropped(t, c.Device().Driver(), 3)
		if n := f.countSince(before, cu.FnCuMemFreeAsync); n != 3 {
			t.Errorf("%d pieces of memory were freed, 3 were dropped", n)
		}
		for _, l := range leaks {
			if l.Kind != "buffer of float32" || l.Handle == 0 {
				t.Errorf("report %v", l)
			}
		}
	}
	closeAll(t, s, c)
}

//go:noinline
func comesAndGoes(t *testing.T, s *driver.Stream, n int) {
	for range n {
		noError(t, must(driver.AllocAsync[float32](s, 4))(t).Close())
		runtime.GC()
	}
}

//go:noinline
func dropMemory(t *testing.T, s *driver.Stream, n int) {
	for range n {
		must(driver.AllocAsync[float32](s, 4))(t)
	}
}

// Closing a closed buffer again must not affect a new buffer that has taken over its address and
// its leak watch.
func TestStaleBufferFreesNothing(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	stale := must(driver.AllocAsync[float32](s, 4))(t)
	view := stale.View(1, 2)
	noError(t, stale.Close())
	next := must(driver.AllocAsync[float32](s, 4))(t)
	before := f.callCount()
	noError(t, stale.Close())
	if err := stale.FreeAsync(s); err == nil {
		t.Error("memory that was freed could be freed again")
	}
	noError(t, view.Ref().Lifetime().Close())
	if n := f.countSince(before, cu.FnCuMemFreeAsync); n != 0 {
		t.Errorf("a stale buffer freed memory %d times", n)
	}
	if err := next.All().Err(); err != nil {
		t.Errorf("closing a stale buffer closed another: %v", err)
	}
	noError(t, next.Close())
	if n := f.countSince(before, cu.FnCuMemFreeAsync); n != 1 {
		t.Errorf("%d frees, want that of the buffer that was open", n)
	}
	closeAll(t, s, c)
}

// A buffer can be closed through its lifetime. Closing it this way also disarms its leak watch.
func TestClosedByItsLifetimeIsNotReported(t *testing.T) {
	f := newFake()
	gputest.CheckLeaks(t, nil)
	c := f.open(t)
	s := must(c.NewStream())(t)
	func() {
		b := must(driver.AllocAsync[float32](s, 4))(t)
		noError(t, b.Ref().Lifetime().Close())
	}()
	gputest.ExpectDropped(t, c.Device().Driver(), 0)
	closeAll(t, s, c)
}

// A code matches ErrContextLost if and only if its text says that the context is lost.
func TestCodesThatLoseTheContext(t *testing.T) {
	lost := 0
	for code := range driver.CUresult(1000) {
		is, says := errors.Is(code, driver.ErrContextLost), strings.Contains(code.Error(), "context is lost")
		if is != says {
			t.Errorf("%v: matches: %v, says so: %v", code, is, says)
		}
		if is {
			lost++
		}
	}
	if lost == 0 || errors.Is(driver.CUDA_ERROR_OUT_OF_MEMORY, driver.ErrContextLost) {
		t.Errorf("%d codes lose the context", lost)
	}
}

func TestLostOfAContextThatWorksOrIsClosed(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{})
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Lost(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for c, want := range map[*driver.Context]error{c: driver.ErrClosed, nil: driver.CUDA_ERROR_INVALID_VALUE} {
		if err := c.Lost(); !errors.Is(err, want) || errors.Is(err, driver.ErrContextLost) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A context that is closed during Lost does not count as lost.
func TestLostWhileTheContextIsClosed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	d := gputest.Driver(t, lib)
	c := must(must(d.Device(0))(t).NewContext(0))(t)
	asked := false
	lib.Before(func(symbol string) {
		if symbol == "cuMemGetInfo_v2" {
			asked = true
			noError(t, c.Close())
		}
	})
	defer lib.Before(nil)
	noError(t, c.Lost())
	if !asked {
		t.Error("the driver was not called")
	}
	wantError(t, c.Lost(), driver.ErrClosed)
}

// A service can call Lost in its health check.
func ExampleContext_Lost() {
	c := exampleContext()
	health := func() string {
		if err := c.Lost(); errors.Is(err, driver.ErrContextLost) {
			return "the process has to end"
		}
		return "fine"
	}
	fmt.Println(health())
	check(c.Close())
	// Output: fine
}
