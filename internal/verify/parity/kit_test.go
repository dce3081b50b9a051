package parity_test

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

//go:embed kernels.ptx
var kernels []byte

const elems = 32

var (
	background = context.Background()
	config     = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(elems)}
	errOwn     = errors.New("the program's own error")
	modes      = []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed}
)

type kit struct {
	testing.TB
	c                         *driver.Context
	s                         *driver.Stream
	plus, times, sum, strided *driver.Kernel
}

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(newKit(t, c)) })
}

func newKit(t testing.TB, c *driver.Context) *kit {
	t.Helper()
	k := &kit{TB: t, c: c}
	k.s = k.stream()
	m, err := c.LoadModule(kernels)
	k.ok(err)
	k.closeLater(m)
	for name, to := range map[string]**driver.Kernel{
		"plus": &k.plus, "times": &k.times, "sum": &k.sum, "strided": &k.strided,
	} {
		*to, err = m.Kernel(name)
		k.ok(err)
		k.ok((*to).Load()) // the first use may wait for the device
	}
	return k
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// want checks that err matches code and contains the given words.
func (k *kit) want(what string, err, code error, words ...string) {
	k.Helper()
	if !errors.Is(err, code) {
		k.Errorf("%s: got %v, want %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			k.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

type closer interface{ Close() error }

func (k *kit) closeLater(c closer) {
	k.Cleanup(func() {
		if err := c.Close(); err != nil {
			k.Errorf("close: %v", err)
		}
	})
}

// made returns the result of a call and closes it when the test ends.
func made[T closer](k *kit) func(c T, err error) T {
	return func(c T, err error) T {
		k.Helper()
		k.ok(err)
		k.closeLater(c)
		return c
	}
}

func must[T any](k *kit) func(v T, err error) T {
	return func(v T, err error) T {
		k.Helper()
		k.ok(err)
		return v
	}
}

func second[T any](_ T, err error) error { return err }

func (k *kit) stream() *driver.Stream {
	k.Helper()
	return made[*driver.Stream](k)(k.c.NewStream())
}

func (k *kit) event() *driver.Event {
	k.Helper()
	return made[*driver.Event](k)(k.c.NewEvent())
}

func (k *kit) memory(v uint32) *driver.Buffer[uint32] {
	k.Helper()
	b := made[*driver.Buffer[uint32]](k)(driver.Alloc[uint32](k.c, elems))
	k.ok(b.Fill(v))
	return b
}

func (k *kit) host() *driver.HostBuffer[uint32] {
	k.Helper()
	return made[*driver.HostBuffer[uint32]](k)(driver.AllocHost[uint32](k.c, elems))
}

func (k *kit) launch(f *driver.Kernel, b driver.Memory, v uint32) *driver.Launch {
	k.Helper()
	return must[*driver.Launch](k)(f.Prepare(config, b, uint32(elems), v))
}

// sumOf returns the operation d[i] = a[i] + b[0].
func (k *kit) sumOf(d, a, b driver.Memory) *driver.Launch {
	k.Helper()
	return must[*driver.Launch](k)(k.sum.Prepare(config, d, a, b, uint32(elems)))
}

func (k *kit) fill(b driver.MemoryOf[uint32], v uint32) *driver.FillOp {
	k.Helper()
	return must[*driver.FillOp](k)(driver.Fill(b, v))
}

func (k *kit) copy(dst, src driver.MemoryOf[uint32]) *driver.CopyOp {
	k.Helper()
	return must[*driver.CopyOp](k)(driver.CopyDevice(dst, src))
}

func (k *kit) wait(s *driver.Stream) {
	k.Helper()
	k.ok(s.Wait(background))
}

// expect waits for the kit's stream and checks that every element of b is want.
func (k *kit) expect(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, b.Len())
	k.ok(b.CopyTo(got))
	for i, v := range got {
		if v != want {
			k.Fatalf("element %d is %d, want %d", i, v, want)
		}
	}
}

func (k *kit) graph() *graph.Graph {
	k.Helper()
	return made[*graph.Graph](k)(graph.New(k.c))
}

func (k *kit) add(g *graph.Graph, op driver.Op, deps ...graph.Node) graph.Node {
	k.Helper()
	return must[graph.Node](k)(g.Add(op, deps...))
}

func (k *kit) capture(ops ...driver.Op) *graph.Graph {
	k.Helper()
	return made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return sc.Do(ops...)
	}))
}

func (k *kit) exec(g *graph.Graph, opts ...graph.Option) *graph.Exec {
	k.Helper()
	return made[*graph.Exec](k)(g.Instantiate(opts...))
}

func (k *kit) run(x *graph.Exec) {
	k.Helper()
	k.ok(x.Run(background, k.s))
}

func (k *kit) length(g *graph.Graph) int {
	k.Helper()
	return must[int](k)(g.Len())
}

// usable checks that a stream is not capturing and runs work.
func (k *kit) usable(s *driver.Stream) {
	k.Helper()
	status, _, _, err := s.CaptureStatus()
	k.ok(err)
	if status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		k.Fatalf("%v is left with capture status %v", s, status)
	}
	b := k.memory(1)
	k.ok(s.Do(k.launch(k.plus, b, 41)))
	k.wait(s)
	k.expect(b, 42)
}

// blocked makes a stream wait until release is called. If release is not called within 10 s, some
// call must be waiting for the stream. The test then fails, and the stream continues.
func (k *kit) blocked(s *driver.Stream) (release func()) {
	k.Helper()
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	k.ok(s.HostFunc(func() { <-gate }))
	late := time.AfterFunc(10*time.Second, func() {
		k.Errorf("something waited for %v, which is held up", s)
		open()
	})
	release = func() { late.Stop(); open() }
	k.Cleanup(release)
	return release
}

// onAGoroutine runs f on a new goroutine and waits for it.
func onAGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// altered wraps a real or emulated driver and replaces one function while a switch is on.
type altered struct {
	loader.Library
	symbol string
	answer func(a loader.Args, inner *loader.Proc) uintptr
	on     atomic.Bool
}

func (l *altered) Lookup(symbol string) (loader.Proc, error) {
	p, err := l.Library.Lookup(symbol)
	if err != nil || symbol != l.symbol {
		return p, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		if l.on.Load() {
			return l.answer(a, &p)
		}
		return a.Forward(&p)
	}), nil
}

// Close does nothing. The system's driver must stay open, and an emulator has nothing to close.
func (*altered) Close() error { return nil }

const injected = driver.CUDA_ERROR_UNKNOWN

// fails returns an error without making the call.
func fails(loader.Args, *loader.Proc) uintptr { return uintptr(injected) }

// failsAfterwards makes the call and then returns an error.
func failsAfterwards(a loader.Args, inner *loader.Proc) uintptr {
	a.Forward(inner)
	return uintptr(injected)
}

// alter runs a test on an emulator and on the GPU. Between on(true) and on(false), answer replaces
// the function symbol.
func alter(t *testing.T, symbol string, answer func(loader.Args, *loader.Proc) uintptr, test func(k *kit, on func(bool))) {
	t.Helper()
	with := func(t *testing.T, lib loader.Library) {
		a := &altered{Library: lib, symbol: symbol, answer: answer}
		k := newKit(t, gputest.Context(t, gputest.Driver(t, a)))
		test(k, a.on.Store)
	}
	t.Run("emulator", func(t *testing.T) { with(t, emulator.New(emulator.Config{})) })
	t.Run("gpu", func(t *testing.T) { with(t, gputest.GPU(t).Library()) })
}
