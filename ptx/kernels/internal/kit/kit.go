// Package kit contains what the tests of kernels in Go share.
package kit

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
)

// A Kit runs kernels of one test. Everything that it makes is closed when the test ends.
type Kit struct {
	testing.TB
	Context *driver.Context
	stream  *driver.Stream
	module  func(*driver.Context) (*driver.Module, error)
}

// New returns a Kit for the kernels of a module.
func New(t testing.TB, module func(*driver.Context) (*driver.Module, error)) *Kit {
	t.Helper()
	k := &Kit{TB: t, Context: cudatest.Device(t), module: module}
	s, err := k.Context.NewStream()
	k.OK(err)
	k.closeLater(s)
	k.stream = s
	return k
}

// With returns the same Kit for another test, usually a subtest.
func (k *Kit) With(t testing.TB) *Kit {
	c := *k
	c.TB = t
	return &c
}

// OK ends the test if there is an error.
func (k *Kit) OK(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *Kit) closeLater(c interface{ Close() error }) {
	k.Cleanup(func() {
		if err := c.Close(); err != nil {
			k.Error(err)
		}
	})
}

// Run launches a kernel and waits for it.
func (k *Kit) Run(kernel string, cfg driver.LaunchConfig, args ...any) {
	k.Helper()
	m, err := k.module(k.Context)
	k.OK(err)
	f, err := m.Kernel(kernel)
	k.OK(err)
	op, err := f.Prepare(cfg, args...)
	k.OK(err)
	k.OK(k.stream.Do(op))
	k.OK(k.stream.Wait(context.Background()))
}

// Empty returns device memory for n elements, which is not initialized.
func Empty[T any](k *Kit, n int) driver.View[T] {
	k.Helper()
	b, err := driver.Alloc[T](k.Context, max(n, 1))
	k.OK(err)
	k.closeLater(b)
	return b.View(0, n)
}

// Device copies v to device memory, skip elements after the start of a buffer.
func Device[T any](k *Kit, skip int, v []T) driver.View[T] {
	k.Helper()
	d := Empty[T](k, skip+len(v)).View(skip, skip+len(v))
	k.OK(d.CopyFrom(v))
	return d
}

// Host copies device memory to the host.
func Host[T any](k *Kit, m driver.View[T]) []T {
	k.Helper()
	v := make([]T, m.Len())
	k.OK(m.CopyTo(v))
	return v
}
