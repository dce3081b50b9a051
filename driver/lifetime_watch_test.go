package driver_test

import (
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// defineOrderedMemory has a pool of one address, which every allocation gets that
// f.memory is not for.
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

// Memory that comes and goes is watched by something that is handed on from
// buffer to buffer. It notices the one that is dropped, and only that.
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

// A buffer that was closed stays closed, whoever has its memory, its address or
// what watched it by then.
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

// A buffer that is closed by its lifetime alone takes its watch with it.
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
