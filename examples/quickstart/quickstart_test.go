package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// The sizes are below a warp, next to multiples of a warp, and above the largest block. Some are
// not a multiple of the 256 columns in an iteration of the matrix-vector kernel.
func TestEveryWayAgreesWithTheReference(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for _, size := range []config{
			{dim: 17, hidden: 5, layers: 1},
			{dim: 33, hidden: 31, layers: 2},
			{dim: 128, hidden: 256, layers: 3},
			{dim: 255, hidden: 513, layers: 1},
			{dim: 1100, hidden: 40, layers: 1},
		} {
			r := runOn(t, c, size)
			var out bytes.Buffer
			if err := r.print(&out); err != nil {
				t.Errorf("dim %d, hidden %d: %v\n%s", size.dim, size.hidden, err, out.String())
			}
		}
	})
}

// runOn is like the function run, with a context that is already open.
func runOn(t *testing.T, c *driver.Context, size config) *report {
	t.Helper()
	b := benchOn(t, c, newModel(size))
	r, err := b.all(&machine{driver: c.Device().Driver(), context: c, emulated: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func benchOn(t *testing.T, c *driver.Context, m *model) *bench {
	t.Helper()
	k, err := loadKernels(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, k.Close()) })
	s, err := newStack(c, k, m, m.defaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, s.Close()) })
	return newBench(m, s, m.defaults(), 2)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestWrongResultIsReported(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := newModel(config{dim: 16, hidden: 32, layers: 1})
		b := benchOn(t, c, m)
		b.want[1][3] += 1e-3 // simulates a wrong result of the device
		if _, err := b.measure("launches", func() error { return b.stack.enqueue(b.stack.stream) }); err != nil {
			t.Fatal(err)
		}
		r := &report{bench: b}
		if err := r.print(io.Discard); !errors.Is(err, errComparison) {
			t.Errorf("print returned %v", err)
		}
	})
}

func TestEmulatorIsNamed(t *testing.T) {
	var out bytes.Buffer
	o := options{config: config{dim: 32, layers: 1}, device: "emulator", steps: 1}
	if err := run(o, &out); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, "emulator") {
		t.Errorf("the first line is %q", first)
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for _, o := range []options{
		{config: config{dim: minDim - 1, layers: 1}, device: "emulator"},
		{config: config{dim: minDim, layers: 0}, device: "emulator"},
		{config: config{dim: minDim, layers: 1}, device: "emulator", steps: -1},
		{config: config{dim: minDim, layers: 1}, device: "abacus"},
	} {
		if err := run(o, io.Discard); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// If an update had no effect, the comparison with the new scalars must fail.
func TestUpdateWithoutEffectIsReported(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := newModel(config{dim: 64, hidden: 128, layers: 12})
		b := benchOn(t, c, m)
		old := func() error { return b.stack.enqueue(b.stack.stream) }
		for name, changed := range map[string]scalars{
			"node":  m.defaults().withLastScale(updatedScale),
			"graph": m.defaults().withEpsilon(updatedEpsilon),
		} {
			b.failures = nil
			if err := b.check(name, changed, old); err != nil {
				t.Fatal(err)
			}
			if len(b.failures) == 0 {
				t.Errorf("%s: a step with the old scalars was taken for one with the new", name)
			}
		}
	})
}
