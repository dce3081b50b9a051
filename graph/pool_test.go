package graph_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func (k *kit) pool() *graph.Pool {
	k.Helper()
	p, err := graph.NewPool(k.C)
	k.OK(err)
	k.CloseLater(p)
	return p
}

// Nodes recorded by other libraries refer to memory by raw address. Memory registered in a pool
// that the graph retains must stay allocated.
func TestPoolKeepsWhatIsRegisteredWhileAGraphLives(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool()
		b, out := k.MemoryOf(8), k.Memory()
		e, err := k.C.NewEvent()
		k.OK(err)
		k.OK(p.Register(b.Ref(), k.Launch(k.Plus, out, 1).Uses().Refs[0], e))
		k.OK(p.Register(b.View(0, 1).Ref()))
		if p.Len() != 3 || !p.Has(b.Ref()) || p.Has(out.Ref()) {
			t.Errorf("%v", p)
		}
		sum, err := k.Sum.Prepare(config, out, b.Ptr(), b.Ptr(), uint32(elems))
		k.OK(err)
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			return errors.Join(sc.Keep(p), sc.Do(sum))
		})
		k.OK(err)
		second := k.Graph()
		k.OK(second.Keep(p))
		k.OK(b.Close())
		k.OK(e.Close())
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(g.Close())
		k.ExpectReason("clear", p.Clear(), driver.CUDA_ERROR_ILLEGAL_STATE, "graphs hold it")
		k.Run(x)
		k.Expect(out, 16)
		k.OK(x.Close())
		inflight.Waiting.Wait()
		if !p.InUse() {
			t.Error("the second graph does not hold the pool")
		}
		k.OK(second.Close())
		if p.InUse() {
			t.Error("held though all graphs are closed")
		}
		k.OK(p.Clear())
		if p.Len() != 0 {
			t.Errorf("%v after Clear", p)
		}
	})
}

// The contents must be released when the last graph or pool that refers to them is closed, in
// whatever order they are closed.
func TestPoolMayBeClosedBeforeItsGraphs(t *testing.T) {
	each(t, func(k *kit) {
		p, err := graph.NewPool(k.C)
		k.OK(err)
		b, out := k.MemoryOf(8), k.Memory()
		k.OK(p.Register(b.Ref()))
		sum, err := k.Sum.Prepare(config, out, b.Ptr(), b.Ptr(), uint32(elems))
		k.OK(err)
		g := k.Graph()
		k.Add(g, sum)
		k.OK(g.Keep(p))
		x := k.Exec(g)
		k.OK(b.Close())
		k.OK(p.Close())
		k.OK(p.Close())
		k.OK(g.Close())
		k.Run(x)
		k.Expect(out, 16)
		if err := p.Register(out.Ref()); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed pool: %v", err)
		}
		if err := p.Clear(); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed pool: %v", err)
		}
		if err := k.Graph().Keep(p); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed pool: %v", err)
		}
	})
}

func TestPoolThatIsSealedTakesNothing(t *testing.T) {
	each(t, func(k *kit) {
		p, b := k.pool(), k.Memory()
		k.OK(p.Seal())
		if err := p.Register(b.Ref()); !errors.Is(err, graph.ErrSealed) || !p.Sealed() || p.Len() != 0 {
			t.Errorf("registered in a sealed pool: %v, %v", err, p)
		}
		k.OK(p.Unseal())
		k.OK(p.Register(b.Ref()))
		if p.Len() != 1 || p.Sealed() {
			t.Errorf("%v", p)
		}
	})
}

func TestPoolTakesAllOrNothing(t *testing.T) {
	each(t, func(k *kit) {
		p, b, gone := k.pool(), k.Memory(), k.MemoryOf(1)
		k.OK(gone.Close())
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

// Copies of the pointer share one pool. If the program drops all of them, the leak must be reported
// and the pool's contents released.
func TestDroppedPoolIsReported(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{})
	k := newKit(t, gputest.Context(t, d))
	p, err := graph.NewPool(k.C)
	k.OK(err)
	b := k.MemoryOf(1)
	k.OK(p.Register(b.Ref()))
	k.OK(b.Close())
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

func TestGraphsKeepAnyGoValue(t *testing.T) {
	each(t, func(k *kit) {
		gone := make(chan string, 3)
		keep := func(name string) *[64]byte {
			v := new([64]byte)
			runtime.AddCleanup(v, func(name string) { gone <- name }, name)
			return v
		}
		b := k.MemoryOf(1)
		g, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
			return sc.Keep(keep("of the scope"), b, k.Launch(k.Plus, b, 1).Uses().Refs)
		})
		k.OK(err)
		k.OK(g.Keep(keep("of the graph")))
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(x.Run(background, k.S))
		k.OK(errors.Join(b.Close(), g.Close()))
		runtime.GC()
		runtime.GC()
		if len(gone) > 0 {
			t.Errorf("the value %s is gone while an exec is open", <-gone)
		}
		k.OK(x.Close())
		for range 2 {
			for end := time.Now().Add(5 * time.Second); len(gone) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
				runtime.GC()
			}
			if len(gone) == 0 {
				t.Fatal("a value stays when graph and exec are closed")
			}
			<-gone
		}
		if err := k.Graph().Keep(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil: %v", err)
		}
	})
}

func TestPoolIsForAllGoroutines(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool()
		var wg sync.WaitGroup
		for range 8 {
			b := k.Memory()
			wg.Go(func() {
				for range 50 {
					if err := p.Register(b.Ref()); err != nil {
						t.Error(err)
					}
					g, err := graph.New(k.C)
					if err != nil {
						t.Error(err)
						return
					}
					_ = p.Clear() // may return an error
					if err := errors.Join(g.Keep(p), g.Close()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		k.OK(p.Clear())
	})
}

func TestUserObjectLivesAsLongAsGraphsCloneAndExec(t *testing.T) {
	each(t, func(k *kit) {
		var d graphtest.Destructor
		u := k.User(d.Destroy)
		g, err := graph.New(k.C)
		k.OK(err)
		b := k.Memory()
		k.Add(g, k.Launch(k.Plus, b, 1))
		k.OK(g.RetainUserObject(u, 2))
		k.OK(u.Close())
		clone, err := g.Clone()
		k.OK(err)
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(g.Close())
		d.Expect(k.Kit, 0)
		k.OK(clone.Close())
		d.Expect(k.Kit, 0)
		k.Run(x)
		k.Expect(b, 2)
		k.OK(x.Close())
		d.Expect(k.Kit, 1)
	})
}

// A user object must outlive a launch that uses it, even if all handles are closed.
func TestUserObjectOutlivesTheLaunch(t *testing.T) {
	each(t, func(k *kit) {
		var d graphtest.Destructor
		gate := make(chan struct{})
		h, err := driver.NewHostFunc(k.C, func() { <-gate })
		k.OK(err)
		g, err := graph.New(k.C)
		k.OK(err)
		k.Add(g, h)
		k.OK(g.MoveUserObject(k.User(d.Destroy)))
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(g.Close())
		k.OK(x.Launch(k.S))
		k.OK(x.Close())
		d.Expect(k.Kit, 0)
		close(gate)
		k.Wait(k.S)
		d.Expect(k.Kit, 1)
		inflight.Waiting.Wait()
	})
}

// The destructor may call CUDA, although the driver's own callback thread may not.
func TestUserObjectDestructorMayCallCUDA(t *testing.T) {
	each(t, func(k *kit) {
		b, err := driver.Alloc[uint32](k.C, elems)
		k.OK(err)
		done := make(chan error, 1)
		g := k.Graph()
		k.OK(g.MoveUserObject(k.User(func() { done <- errors.Join(b.Fill(3), b.Close()) })))
		k.OK(g.Close())
		select {
		case err := <-done:
			k.OK(err)
		case <-time.After(10 * time.Second):
			t.Fatal("the destructor did not come to an end")
		}
	})
}

func TestUserObjectReferencesAreCounted(t *testing.T) {
	each(t, func(k *kit) {
		var d graphtest.Destructor
		u := k.User(d.Destroy)
		g := k.Graph()
		const bad = driver.CUDA_ERROR_INVALID_VALUE
		k.ExpectReason("release of none", g.ReleaseUserObject(u, 1), bad, "holds 0")
		k.OK(g.RetainUserObject(u, 3))
		k.ExpectReason("release of too many", g.ReleaseUserObject(u, 4), bad, "holds 3")
		k.ExpectReason("no references", g.RetainUserObject(u, 0), bad, "0 references")
		k.OK(g.ReleaseUserObject(u, 2))
		clone, err := g.Clone()
		k.OK(err)
		k.CloseLater(clone)
		k.OK(clone.ReleaseUserObject(u, 1))
		k.OK(u.Retain(2))
		k.ExpectReason("release of too many of the program's", u.Release(3), bad, "Retain added only 2")
		k.OK(u.Release(2))
		k.ExpectReason("a negative number", u.Retain(-1), bad)
		k.OK(u.Close())
		k.OK(u.Close())
		if err := g.RetainUserObject(u, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed object: %v", err)
		}
		if err := u.Retain(1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed object: %v", err)
		}
		if err := g.RetainUserObject(nil, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil object: %v", err)
		}
		d.Expect(k.Kit, 0)
		k.OK(g.Close())
		d.Expect(k.Kit, 1)
	})
}

// C code may supply its own destructor and argument for a user object.
func TestUserObjectOfCCode(t *testing.T) {
	each(t, func(k *kit) {
		var d graphtest.Destructor
		data := new(int64)
		fn := cu.CUhostFn(loader.NewCallback(func(uintptr) { d.Destroy() }))
		u, err := k.C.AdoptUserObject(unsafe.Pointer(data), fn)
		k.OK(err)
		k.CloseLater(u)
		g := k.Graph()
		k.OK(g.MoveUserObject(u))
		d.Expect(k.Kit, 0)
		k.OK(g.Close())
		d.Expect(k.Kit, 1)
		if _, err := k.C.AdoptUserObject(nil, 0); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("no destructor: %v", err)
		}
		if _, err := k.C.NewUserObject(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
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
	err := k.Graph().RetainUserObject(other.User(func() {}), 1)
	k.ExpectReason("another driver", err, driver.CUDA_ERROR_INVALID_VALUE, "another driver")
}
