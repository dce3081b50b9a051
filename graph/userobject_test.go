package graph_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

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
		fn := driver.CUhostFn(loader.NewCallback(func(uintptr) { d.destroy() }))
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
