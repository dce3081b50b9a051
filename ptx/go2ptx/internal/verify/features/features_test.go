package features

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

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
		t.Fatal(err)
	}
}

// device provides a stream, and device memory that is freed at the end of the test.
type device struct {
	testing.TB
	c *driver.Context
	s *driver.Stream
}

func newDevice(t testing.TB, c *driver.Context) *device {
	s := must(c.NewStream())(t)
	t.Cleanup(func() { noError(t, s.Close()) })
	return &device{t, c, s}
}

func each(t *testing.T, test func(d *device)) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(newDevice(t, c)) })
}

func upload[T any](d *device, x ...T) *driver.Buffer[T] {
	d.Helper()
	b := must(driver.Alloc[T](d.c, len(x)))(d)
	d.Cleanup(func() { noError(d, b.Close()) })
	noError(d, b.CopyFrom(x))
	return b
}

func (d *device) wait() {
	d.Helper()
	noError(d, d.s.Wait(context.Background()))
}

func download[T any](d *device, b *driver.Buffer[T]) []T {
	d.Helper()
	d.wait()
	x := make([]T, b.Len())
	noError(d, b.CopyTo(x))
	return x
}
