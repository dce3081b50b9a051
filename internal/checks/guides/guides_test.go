package guides

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

const elements = 1000

// eachVectors runs a test on the emulator and on a GPU. All elements of x are one, and all
// of y zero.
func eachVectors(t *testing.T, test func(t *testing.T, v *vectors)) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(t, newVectors(t, c)) })
}

func newVectors(t *testing.T, c *driver.Context) *vectors {
	t.Helper()
	v := &vectors{ctx: c}
	v.stream = kept(t, must(c.NewStream())(t))
	v.module = kept(t, must(c.LoadModule(saxpyPTX))(t))
	v.x = kept(t, must(driver.Alloc[float32](c, elements))(t))
	v.y = kept(t, must(driver.Alloc[float32](c, elements))(t))
	v.saxpy = must(v.module.Kernel("saxpy"))(t)
	ok(t, v.x.Fill(1))
	ok(t, v.y.Fill(0))
	return v
}

// kept returns v, and closes it when the test ends.
func kept[T io.Closer](t *testing.T, v T) T {
	t.Helper()
	t.Cleanup(func() { ok(t, v.Close()) })
	return v
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds waits for the stream, and fails unless every element of y is want.
func (v *vectors) holds(t *testing.T, want float32) {
	t.Helper()
	ok(t, v.stream.Wait(context.Background()))
	ok(t, all(contents(t, v.y), want))
}

func contents(t *testing.T, b *driver.Buffer[float32]) []float32 {
	t.Helper()
	got := make([]float32, b.Len())
	ok(t, b.CopyTo(got))
	return got
}

func all(got []float32, want float32) error {
	for i, g := range got {
		if g != want {
			return fmt.Errorf("element %d is %v, it should be %v", i, g, want)
		}
	}
	return nil
}

func filled(n int, v float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = v
	}
	return s
}
