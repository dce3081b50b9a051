package kernelstest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/clock"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

type kit struct {
	testing.TB
	c     *driver.Context
	s     *driver.Stream
	clock *clock.Meter // of benchmarks: see meter
}

// each runs a test on the emulator and on the GPU.
func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(newKit(t, c)) })
}

func newKit(t testing.TB, c *driver.Context) *kit {
	t.Helper()
	k := &kit{TB: t, c: c}
	s, err := c.NewStream()
	k.ok(err)
	k.closeLater(s)
	k.s = s
	return k
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) closeLater(c interface{ Close() error }) {
	k.Cleanup(func() {
		if err := c.Close(); err != nil {
			k.Errorf("close: %v", err)
		}
	})
}

func (k *kit) made(l *driver.Launch, err error) *driver.Launch {
	k.Helper()
	k.ok(err)
	return l
}

func (k *kit) run(l *driver.Launch, err error) {
	k.Helper()
	k.ok(err)
	k.ok(k.s.Do(l))
	k.ok(k.s.Wait(context.Background()))
}

// replay creates a graph with the operation and launches the graph a number of times.
func (k *kit) replay(times int, l *driver.Launch, err error) {
	k.Helper()
	k.ok(err)
	g, err := graph.New(k.c)
	k.ok(err)
	k.closeLater(g)
	_, err = g.Add(l)
	k.ok(err)
	x, err := g.Instantiate()
	k.ok(err)
	k.closeLater(x)
	for range times {
		k.ok(x.Run(context.Background(), k.s))
	}
}

// refused checks that err matches CUDA_ERROR_INVALID_VALUE and contains the words.
func (k *kit) refused(err error, words ...string) {
	k.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("got %v, want an invalid value", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			k.Errorf("%q does not say %q", err, w)
		}
	}
}

// alloc returns memory for n elements. The test frees it when it ends.
func alloc[T kernels.Element](k *kit, n int) *driver.Buffer[T] {
	k.Helper()
	b, err := driver.Alloc[T](k.c, n)
	k.ok(err)
	k.closeLater(b)
	return b
}

// device copies v to device memory, skip elements after the start of a buffer, and returns the
// copy.
func device[T kernels.Element](k *kit, skip int, v []T) driver.View[T] {
	k.Helper()
	d := alloc[T](k, skip+len(v)).View(skip, skip+len(v))
	k.ok(d.CopyFrom(v))
	return d
}

func host[T kernels.Element](k *kit, m driver.MemoryOf[T]) []T {
	k.Helper()
	v := make([]T, m.All().Len())
	k.ok(m.All().CopyTo(v))
	return v
}

// sizes lists lengths below and above the sizes to which kernels round, such as packs, warps and
// blocks.
var sizes = []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 255, 257, 4099, 10007}

// large is a length for hardware only, because it takes too long on the emulator.
const large = 1000003

func (k *kit) lengths() []int {
	if k.emulated() {
		return sizes
	}
	return append(sizes[:len(sizes):len(sizes)], large)
}

func (k *kit) emulated() bool {
	name, err := k.c.Device().Name()
	k.ok(err)
	return strings.Contains(strings.ToLower(name), "emulat")
}

// random returns n numbers generated from a seed, about half of them negative.
func random(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64() * 3
	}
	return v
}
