package graph_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func (k *kit) pool() *graph.Pool {
	k.Helper()
	p, err := graph.NewPool(k.c)
	k.ok(err)
	k.closeLater(p)
	return p
}

// Graphs whose nodes refer to bare addresses, as other libraries make them,
// hold the pool that the memory is registered in.
func TestPoolKeepsWhatIsRegisteredWhileAGraphLives(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool()
		b, out := k.memoryOf(8), k.memory()
		e, err := k.c.NewEvent()
		k.ok(err)
		k.ok(p.Register(b.Ref(), k.launch(k.plus, out, 1).Refs()[0], e))
		k.ok(p.Register(b.View(0, 1).Ref()))
		if p.Len() != 3 || !p.Has(b.Ref()) || p.Has(out.Ref()) {
			t.Errorf("%v", p)
		}
		sum, err := k.sum.Prepare(config, out, b.Ptr(), b.Ptr(), uint32(elems))
		k.ok(err)
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			return errors.Join(sc.Keep(p), sc.Do(sum))
		})
		k.ok(err)
		second := k.graph()
		k.ok(second.Keep(p))
		k.ok(b.Close())
		k.ok(e.Close())
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(g.Close())
		k.expectReason("clear", p.Clear(), driver.CUDA_ERROR_ILLEGAL_STATE, "graphs hold it")
		k.run(x)
		k.expect(out, 16)
		k.ok(x.Close())
		graph.WaitParked()
		if !p.InUse() {
			t.Error("the second graph does not hold the pool")
		}
		k.ok(second.Close())
		if p.InUse() {
			t.Error("held though all graphs are closed")
		}
		k.ok(p.Clear())
		if p.Len() != 0 {
			t.Errorf("%v after Clear", p)
		}
	})
}

// The things go with the last that holds them, whatever the order.
func TestPoolMayBeClosedBeforeItsGraphs(t *testing.T) {
	each(t, func(k *kit) {
		p, err := graph.NewPool(k.c)
		k.ok(err)
		b, out := k.memoryOf(8), k.memory()
		k.ok(p.Register(b.Ref()))
		sum, err := k.sum.Prepare(config, out, b.Ptr(), b.Ptr(), uint32(elems))
		k.ok(err)
		g := k.graph()
		k.add(g, sum)
		k.ok(g.Keep(p))
		x := k.exec(g)
		k.ok(b.Close())
		k.ok(p.Close())
		k.ok(p.Close())
		k.ok(g.Close())
		k.run(x)
		k.expect(out, 16)
		if err := p.Register(out.Ref()); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed pool: %v", err)
		}
		if err := p.Clear(); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed pool: %v", err)
		}
		if err := k.graph().Keep(p); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed pool: %v", err)
		}
	})
}

func TestPoolThatIsSealedTakesNothing(t *testing.T) {
	each(t, func(k *kit) {
		p, b := k.pool(), k.memory()
		k.ok(p.Seal())
		if err := p.Register(b.Ref()); !errors.Is(err, graph.ErrSealed) || !p.Sealed() || p.Len() != 0 {
			t.Errorf("registered in a sealed pool: %v, %v", err, p)
		}
		k.ok(p.Unseal())
		k.ok(p.Register(b.Ref()))
		if p.Len() != 1 || p.Sealed() {
			t.Errorf("%v", p)
		}
	})
}

func TestPoolTakesAllOrNothing(t *testing.T) {
	each(t, func(k *kit) {
		p, b, gone := k.pool(), k.memory(), k.memoryOf(1)
		k.ok(gone.Close())
		if err := p.Register(b.Ref(), gone.Ref()); !errors.Is(err, driver.ErrClosed) || p.Len() != 0 {
			t.Errorf("closed thing: %v, %v", err, p)
		}
		if err := p.Register(b.Ref(), nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || p.Len() != 0 {
			t.Errorf("nil: %v, %v", err, p)
		}
		var none *graph.Pool
		if err := none.Register(b.Ref()); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || none.Len() != 0 || none.Clear() == nil || none.Close() != nil {
			t.Errorf("nil pool: %v", err)
		}
	})
}

// A pool is shared by its pointer. Dropped by everybody it is a leak that is reported, and what it
// kept is released.
func TestDroppedPoolIsReported(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{})
	k := newKit(t, gputest.Context(t, d))
	p, err := graph.NewPool(k.c)
	k.ok(err)
	b := k.memoryOf(1)
	k.ok(p.Register(b.Ref()))
	k.ok(b.Close())
	runtime.GC()
	runtime.GC()
	if p.Len() != 1 {
		t.Fatalf("got %v", p)
	}
	p = nil
	if leaks := gputest.ExpectDropped(t, d, 1); len(leaks) != 1 || leaks[0].Kind != "keep-alive pool" {
		t.Errorf("dropped: %v", leaks)
	}
}

// Graphs keep Go values, memory and pools. They go when the graph and its execs are closed.
func TestGraphsKeepAnyGoValue(t *testing.T) {
	each(t, func(k *kit) {
		gone := make(chan string, 3)
		keep := func(name string) *[64]byte {
			v := new([64]byte)
			runtime.AddCleanup(v, func(name string) { gone <- name }, name)
			return v
		}
		b := k.memoryOf(1)
		g, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
			return sc.Keep(keep("of the scope"), b, k.launch(k.plus, b, 1).Refs())
		})
		k.ok(err)
		k.ok(g.Keep(keep("of the graph")))
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Run(background, k.s))
		k.ok(errors.Join(b.Close(), g.Close()))
		runtime.GC()
		runtime.GC()
		if len(gone) > 0 {
			t.Errorf("the value %s is gone while an exec is open", <-gone)
		}
		k.ok(x.Close())
		for range 2 {
			for end := time.Now().Add(5 * time.Second); len(gone) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
				runtime.GC()
			}
			if len(gone) == 0 {
				t.Fatal("a value stays when graph and exec are closed")
			}
			<-gone
		}
		if err := k.graph().Keep(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil: %v", err)
		}
	})
}

func TestPoolIsForAllGoroutines(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool()
		var wg sync.WaitGroup
		for range 8 {
			b := k.memory()
			wg.Go(func() {
				for range 50 {
					if err := p.Register(b.Ref()); err != nil {
						t.Error(err)
					}
					g, err := graph.New(k.c)
					if err != nil {
						t.Error(err)
						return
					}
					_ = p.Clear() // refused or not, as it happens
					if err := errors.Join(g.Keep(p), g.Close()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		k.ok(p.Clear())
	})
}

// destructor counts destructions.
type destructor struct{ n atomic.Int32 }

func (d *destructor) destroy() { d.n.Add(1) }

// expect waits for the number of destructions, and a little for one too many.
func (d *destructor) expect(k *kit, want int32) {
	k.Helper()
	for end := time.Now().Add(10 * time.Second); d.n.Load() < want && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond)
	if n := d.n.Load(); n != want {
		k.Errorf("%d destructions, want %d", n, want)
	}
}

func (k *kit) user(destroy func()) *driver.UserObject {
	k.Helper()
	u, err := k.c.NewUserObject(destroy)
	k.ok(err)
	k.closeLater(u)
	return u
}

func TestUserObjectLivesAsLongAsGraphsCloneAndExec(t *testing.T) {
	each(t, func(k *kit) {
		var d destructor
		u := k.user(d.destroy)
		g, err := graph.New(k.c)
		k.ok(err)
		b := k.memory()
		k.add(g, k.launch(k.plus, b, 1))
		k.ok(g.RetainUserObject(u, 2))
		k.ok(u.Close())
		twin, err := g.Clone()
		k.ok(err)
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(g.Close())
		d.expect(k, 0)
		k.ok(twin.Close())
		d.expect(k, 0)
		k.run(x)
		k.expect(b, 2)
		k.ok(x.Close())
		d.expect(k, 1)
	})
}

// Nothing is destroyed under a launch, though all handles are closed.
func TestUserObjectOutlivesTheLaunch(t *testing.T) {
	each(t, func(k *kit) {
		var d destructor
		gate := make(chan struct{})
		h, err := driver.NewHostFunc(k.c, func() { <-gate })
		k.ok(err)
		g, err := graph.New(k.c)
		k.ok(err)
		k.add(g, h)
		k.ok(g.MoveUserObject(k.user(d.destroy)))
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(g.Close())
		k.ok(x.Launch(k.s))
		k.ok(x.Close())
		d.expect(k, 0)
		close(gate)
		k.wait(k.s)
		d.expect(k, 1)
		graph.WaitParked()
	})
}

// The destructor may call CUDA, which the driver's thread may not.
func TestUserObjectDestructorMayCallCUDA(t *testing.T) {
	each(t, func(k *kit) {
		b, err := driver.Alloc[uint32](k.c, elems)
		k.ok(err)
		done := make(chan error, 1)
		g := k.graph()
		k.ok(g.MoveUserObject(k.user(func() { done <- errors.Join(b.Fill(3), b.Close()) })))
		k.ok(g.Close())
		select {
		case err := <-done:
			k.ok(err)
		case <-time.After(10 * time.Second):
			t.Fatal("the destructor did not come to an end")
		}
	})
}

func TestUserObjectReferencesAreCounted(t *testing.T) {
	each(t, func(k *kit) {
		var d destructor
		u := k.user(d.destroy)
		g := k.graph()
		const bad = driver.CUDA_ERROR_INVALID_VALUE
		k.expectReason("release of none", g.ReleaseUserObject(u, 1), bad, "holds 0")
		k.ok(g.RetainUserObject(u, 3))
		k.expectReason("release of too many", g.ReleaseUserObject(u, 4), bad, "holds 3")
		k.expectReason("no references", g.RetainUserObject(u, 0), bad, "0 references")
		k.ok(g.ReleaseUserObject(u, 2))
		twin, err := g.Clone()
		k.ok(err)
		k.closeLater(twin)
		k.ok(twin.ReleaseUserObject(u, 1))
		k.ok(u.Retain(2))
		k.expectReason("release of too many of the program's", u.Release(3), bad, "gave 2 away")
		k.ok(u.Release(2))
		k.expectReason("a negative number", u.Retain(-1), bad)
		k.ok(u.Close())
		k.ok(u.Close())
		if err := g.RetainUserObject(u, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed object: %v", err)
		}
		if err := u.Retain(1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed object: %v", err)
		}
		if err := g.RetainUserObject(nil, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil object: %v", err)
		}
		d.expect(k, 0)
		k.ok(g.Close())
		d.expect(k, 1)
	})
}

// C code brings its own destructor and what it is called with.
func TestUserObjectOfCCode(t *testing.T) {
	each(t, func(k *kit) {
		var d destructor
		data := new(int64)
		fn := cu.CUhostFn(loader.NewCallback(func(uintptr) { d.destroy() }))
		u, err := k.c.AdoptUserObject(unsafe.Pointer(data), fn)
		k.ok(err)
		k.closeLater(u)
		g := k.graph()
		k.ok(g.MoveUserObject(u))
		d.expect(k, 0)
		k.ok(g.Close())
		d.expect(k, 1)
		if _, err := k.c.AdoptUserObject(nil, 0); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("no destructor: %v", err)
		}
		if _, err := k.c.NewUserObject(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("no destructor: %v", err)
		}
	})
}

func TestUserObjectDestructorThatPanicsIsReported(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	dev := c.Device()
	other, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	u, err := other.NewUserObject(func() { panic("in the destructor") })
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	var errs []error
	for end := time.Now().Add(10 * time.Second); len(errs) == 0 && time.Now().Before(end); errs = other.CleanupErrors() {
		time.Sleep(time.Millisecond)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "in the destructor") {
		t.Errorf("cleanup errors: %v", errs)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestUserObjectOfAnotherDriverIsRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	other := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	err := k.graph().RetainUserObject(other.user(func() {}), 1)
	k.expectReason("another driver", err, driver.CUDA_ERROR_INVALID_VALUE, "another driver")
}
