package example

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

type rig struct {
	*testing.T
	c  *driver.Context
	s  *driver.Stream
	ks *Kernels
}

func newRig(t *testing.T, c *driver.Context) *rig {
	t.Helper()
	ks := must(LoadKernels(c))(t)
	t.Cleanup(func() { noError(t, ks.Close()) })
	s := must(c.NewStream())(t)
	t.Cleanup(func() { noError(t, s.Close()) })
	return &rig{t, c, s, ks}
}

func (r *rig) floats(v ...float32) *driver.Buffer[float32] { return buffer(r, v) }

func buffer[T any](r *rig, v []T) *driver.Buffer[T] {
	r.Helper()
	b := must(driver.AllocFrom(r.c, v))(r.T)
	r.Cleanup(func() { noError(r.T, b.Close()) })
	return b
}

// wants waits for the stream and compares the memory with the expected elements.
func wants[T comparable](r *rig, m driver.MemoryOf[T], want ...T) {
	r.Helper()
	noError(r.T, r.s.Wait(context.Background()))
	got := make([]T, m.All().Len())
	noError(r.T, m.All().CopyTo(got))
	for i := range got {
		if got[i] != want[i] {
			r.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return v
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%+v", err)
	}
}

func TestLaunchersComputeDirectlyAsOperationsAndPrepared(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		axpy, x, y := r.ks.Axpy, r.floats(1, 2, 3), r.floats(10, 20, 30)
		noError(t, axpy.Do(r.s, axpy.Grid(3), x.All(), y.All(), 2, 3))
		op := must(axpy.Op(axpy.Grid(3), x, y, 1, 2))(t)
		noError(t, r.s.Do(op))
		args := must(axpy.Prepare(axpy.Grid(3), x, y, 0, 3))(t)
		noError(t, args.Alpha.Set(100))
		noError(t, args.X.Set(x.View(2, 3)))
		noError(t, args.N.Set(1))
		noError(t, r.s.Do(args.Launch))
		wants(r, y, 10+3*1+300, 20+3*2, 30+2*3)
	})
}

func checkRefusal(t testing.TB, want string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v and does not say %q", err, want)
	}
}

func TestLaunchersAreUsedByManyGoroutines(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		axpy, x := r.ks.Axpy, r.floats(1)
		var ys [8]*driver.Buffer[float32]
		for i := range ys {
			ys[i] = r.floats(0)
		}
		var all sync.WaitGroup
		for i, y := range ys {
			all.Go(func() {
				for range 50 {
					if err := axpy.Do(r.s, axpy.Grid(1), x.All(), y.All(), float32(i), 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for i, y := range ys {
			wants(r, y, 50*float32(i))
		}
	})
}
