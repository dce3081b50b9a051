// Package graphtest contains helpers for the tests of package graph and of the packages below it.
// They include kernels, a stream and memory on every driver, and a driver that does nothing.
package graphtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Kit is a context with a stream and the test kernels.
type Kit struct {
	testing.TB
	C                *driver.Context
	S                *driver.Stream
	Plus, Times, Sum *driver.Kernel
}

// NewKit returns a Kit that is closed at the end of the test.
func NewKit(t testing.TB, c *driver.Context) *Kit {
	t.Helper()
	k := &Kit{TB: t, C: c}
	k.S = k.Stream()
	m, err := c.LoadModule([]byte(Kernels))
	k.OK(err)
	k.CloseLater(m)
	for name, to := range map[string]**driver.Kernel{"plus": &k.Plus, "times": &k.Times, "sum": &k.Sum} {
		*to, err = m.Kernel(name)
		k.OK(err)
	}
	return k
}

// OK ends the test if err is not nil.
func (k *Kit) OK(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// CloseLater closes c at the end of the test.
func (k *Kit) CloseLater(c interface{ Close() error }) {
	k.Cleanup(func() {
		if err := c.Close(); err != nil {
			k.Errorf("close: %v", err)
		}
	})
}

// Stream returns a new stream.
func (k *Kit) Stream() *driver.Stream {
	k.Helper()
	s, err := k.C.NewStream()
	k.OK(err)
	k.CloseLater(s)
	return s
}

// Memory returns device memory filled with ones.
func (k *Kit) Memory() *driver.Buffer[uint32] {
	k.Helper()
	b := k.MemoryOf(1)
	k.CloseLater(b)
	return b
}

// MemoryOf returns device memory filled with v, which the caller closes.
func (k *Kit) MemoryOf(v uint32) *driver.Buffer[uint32] {
	k.Helper()
	b, err := driver.Alloc[uint32](k.C, Elems)
	k.OK(err)
	k.OK(b.Fill(v))
	return b
}

// Launch returns a launch of f on b with the operand v. f is Plus or Times.
func (k *Kit) Launch(f *driver.Kernel, b driver.Memory, v uint32) *driver.Launch {
	k.Helper()
	l, err := f.Prepare(Config, b, uint32(Elems), v)
	k.OK(err)
	return l
}

// Wait waits for a stream.
func (k *Kit) Wait(s *driver.Stream) {
	k.Helper()
	k.OK(s.Wait(context.Background()))
}

// Expect waits for the kit's stream and checks that all elements equal want.
func (k *Kit) Expect(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.Wait(k.S)
	got := make([]uint32, b.Len())
	k.OK(b.CopyTo(got))
	for i, v := range got {
		if v != want {
			k.Fatalf("element %d is %d, want %d", i, v, want)
		}
	}
}

// Eventually waits until done returns true, for effects of other threads or goroutines.
func (k *Kit) Eventually(what string, done func() bool) {
	k.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			k.Fatalf("%s: not in 20 s", what)
		}
	}
}

// Graph returns an empty graph.
func (k *Kit) Graph() *graph.Graph {
	k.Helper()
	g, err := graph.New(k.C)
	k.OK(err)
	k.CloseLater(g)
	return g
}

// Capture captures the work that record enqueues in the kit's stream.
func (k *Kit) Capture(record func(sc *graph.Scope) error) *graph.Graph {
	k.Helper()
	g, err := graph.Capture(k.S, graph.ModeThreadLocal, record)
	k.OK(err)
	k.CloseLater(g)
	return g
}

// Exec instantiates a graph for the duration of the test.
func (k *Kit) Exec(g *graph.Graph, opts ...graph.Option) *graph.Exec {
	k.Helper()
	x, err := g.Instantiate(opts...)
	k.OK(err)
	k.CloseLater(x)
	return x
}

// Run launches an exec on the kit's stream and waits.
func (k *Kit) Run(x *graph.Exec) {
	k.Helper()
	k.OK(x.Run(context.Background(), k.S))
}

// Usable checks that a stream is not capturing and runs work.
func (k *Kit) Usable(s *driver.Stream) {
	k.Helper()
	status, _, _, err := s.CaptureStatus()
	k.OK(err)
	if status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		k.Fatalf("%v is left with capture status %v", s, status)
	}
	b := k.Memory()
	k.OK(s.Do(k.Launch(k.Plus, b, 41)))
	k.Wait(s)
	got := make([]uint32, Elems)
	k.OK(b.CopyTo(got))
	if got[0] != 42 {
		k.Fatalf("%v took work and did not run it: %d", s, got[0])
	}
}

// None checks that f does not allocate more than AllocsAllowed. It returns how often it has called f, 201 times or more.
func (k *Kit) None(what string, f func()) (calls int) {
	k.Helper()
	k.Most(0, what, func() { calls++; f() })
	return calls
}

// Each runs a test on every driver, each time with a new kit.
func Each(t *testing.T, test func(k *Kit)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(NewKit(t, c)) })
}

// Block enqueues work in s that ends when the returned function is called.
func Block(t testing.TB, s *driver.Stream) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	h, err := driver.NewHostFunc(s.Context(), func() { <-gate })
	if err == nil {
		err = s.Do(h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { close(gate) })
}
