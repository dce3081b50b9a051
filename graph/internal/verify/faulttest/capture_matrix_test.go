package faulttest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// form is one of the ways to capture. Each form closes the objects it creates.
type form struct {
	name string
	run  func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error
}

var forms = []form{
	{"Capture", func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error {
		g, err := graph.Capture(s, mode, record)
		if err != nil && g != nil {
			k.Errorf("a graph and an error: %v", err)
		}
		return errors.Join(err, g.Close())
	}},
	{"CaptureValue", func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error {
		g, out, err := callable.CaptureValue(s, mode, func(sc *graph.Scope) (int, error) { return 1, record(sc) })
		if err != nil && (g != nil || out != nil) {
			k.Errorf("a graph or an output, and an error: %v", err)
		}
		return errors.Join(err, g.Close())
	}},
	{"CaptureReady", func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error {
		c, err := callable.CaptureReady(background, s, mode, func(sc *graph.Scope) (int, error) { return 1, record(sc) })
		if err != nil && c != nil {
			k.Errorf("something captured, and an error: %v", err)
		}
		return errors.Join(err, c.Close())
	}},
	{"CaptureInto", func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error {
		g, err := graph.New(k.C)
		if err != nil {
			return err
		}
		defer g.Close()
		last, err := graphtest.CaptureInto(g, s, mode, nil, record)
		if err != nil && last != nil {
			k.Errorf("nodes and an error: %v", err)
		}
		return err
	}},
	{"Begin and End", func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error {
		r, err := graph.Begin(s, mode)
		if err != nil {
			return err
		}
		defer r.Abort()
		if err := record(r.Scope()); err != nil {
			return err
		}
		g, err := r.End()
		return errors.Join(err, g.Close())
	}},
	{"BeginInto and End", func(k *kit, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) error) error {
		g, err := graph.New(k.C)
		if err != nil {
			return err
		}
		defer g.Close()
		r, err := graphtest.BeginInto(g, s, mode)
		if err != nil {
			return err
		}
		defer r.Abort()
		if err := record(r.Scope()); err != nil {
			return err
		}
		_, err = r.End()
		return err
	}},
}

// matrix runs a test with each form of capture on each driver. After the test, the memory must
// still contain ones, and the stream must work.
func matrix(t *testing.T, mode graph.Mode, test func(k *kit, run func(record func(*graph.Scope) error) error, b *driver.Buffer[uint32])) {
	t.Helper()
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			each(t, func(k *kit) {
				b := k.Memory()
				test(k, func(record func(*graph.Scope) error) error { return f.run(k, k.S, mode, record) }, b)
				k.Usable(k.S)
				k.Expect(b, 1)
			})
		})
	}
}

func TestMatrixNothingFails(t *testing.T) {
	for _, mode := range graphtest.Modes {
		matrix(t, mode, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
			k.OK(run(func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Plus, b, 1)) }))
		})
	}
}

func TestMatrixTheFunctionFails(t *testing.T) {
	matrix(t, graph.ModeGlobal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		err := run(func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			return graphtest.ErrRecord
		})
		if !errors.Is(err, graphtest.ErrRecord) || err.Error() != graphtest.ErrRecord.Error() {
			k.Errorf("got %v, want the function's error alone", err)
		}
	})
}

func TestMatrixAnOperationFails(t *testing.T) {
	matrix(t, graph.ModeThreadLocal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		closed := k.MemoryOf(1)
		op := k.Launch(k.Times, closed, 1)
		k.OK(closed.Close())
		err := run(func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			return sc.Do(op)
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "times") {
			k.Errorf("got %v, want ErrClosed that names the launch", err)
		}
	})
}

func TestMatrixTheFunctionPanics(t *testing.T) {
	matrix(t, graph.ModeThreadLocal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		op := k.Launch(k.Plus, b, 1)
		var value any
		func() {
			defer func() { value = recover() }()
			err := run(func(sc *graph.Scope) error {
				k.OK(sc.Do(op))
				panic("boom")
			})
			k.Errorf("it returned %v", err)
		}()
		if value != "boom" {
			k.Errorf("the panic became %v", value)
		}
	})
}

func TestMatrixTheGoroutineExits(t *testing.T) {
	for _, mode := range graphtest.Modes {
		matrix(t, mode, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
			op := k.Launch(k.Plus, b, 1)
			done := make(chan bool)
			go func() {
				returned := false
				defer func() { done <- returned }()
				err := run(func(sc *graph.Scope) error {
					if err := sc.Do(op); err != nil {
						k.Error(err)
					}
					runtime.Goexit()
					return nil
				})
				returned = true
				k.Errorf("it returned %v", err)
			}()
			if <-done {
				k.Error("the goroutine went on")
			}
		})
	}
}

func TestMatrixTheCaptureIsInvalidated(t *testing.T) {
	matrix(t, graph.ModeGlobal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		err := run(func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			_, _ = driver.Alloc[byte](k.C, 64)
			return nil
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuMemAlloc") {
			k.Errorf("got %v, want 901 that names cuMemAlloc", err)
		}
	})
}

// After a capture was invalidated, further recording must fail with an error that names the call at
// fault.
func TestMatrixWorkAfterTheCaptureWasInvalidated(t *testing.T) {
	matrix(t, graph.ModeGlobal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		err := run(func(sc *graph.Scope) error {
			_, _ = driver.Alloc[byte](k.C, 64)
			if sc.Active() {
				k.Error("the scope is active")
			}
			if status, _, err := sc.Status(); err != nil || status != cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED {
				k.Errorf("status %v, %v", status, err)
			}
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuMemAlloc") {
			k.Errorf("got %v, want 901 that names cuMemAlloc", err)
		}
	})
}

func TestMatrixTheFunctionFailsAndTheCaptureIsInvalidated(t *testing.T) {
	matrix(t, graph.ModeGlobal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		err := run(func(sc *graph.Scope) error {
			_, _ = driver.Alloc[byte](k.C, 64)
			return graphtest.ErrRecord
		})
		if !errors.Is(err, graphtest.ErrRecord) || !strings.HasPrefix(err.Error(), graphtest.ErrRecord.Error()) {
			k.Errorf("got %v, want the function's error first", err)
		}
	})
}

func TestMatrixAStreamIsNotJoined(t *testing.T) {
	matrix(t, graph.ModeRelaxed, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		other := k.Stream()
		err := run(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			return f.Do(k.Launch(k.Plus, b, 1))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED) || !strings.Contains(err.Error(), other.String()) {
			k.Errorf("got %v, want 904 that names %v", err, other)
		}
		k.Usable(other)
	})
}

func TestMatrixTheFunctionFailsAndAStreamIsNotJoined(t *testing.T) {
	matrix(t, graph.ModeGlobal, func(k *kit, run func(func(*graph.Scope) error) error, b *driver.Buffer[uint32]) {
		other := k.Stream()
		err := run(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			k.OK(f.Do(k.Launch(k.Plus, b, 1)))
			return graphtest.ErrRecord
		})
		if !errors.Is(err, graphtest.ErrRecord) || !strings.HasPrefix(err.Error(), graphtest.ErrRecord.Error()) {
			k.Errorf("got %v, want the function's error first", err)
		}
		k.Usable(other)
	})
}

// A stream that is closed during its capture must be destroyed only after the capture, because
// ending the capture of a destroyed stream would crash the process.
func TestMatrixTheStreamIsClosedDuringTheCapture(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			each(t, func(k *kit) {
				b := k.Memory()
				s, err := k.C.NewStream()
				k.OK(err)
				op := k.Launch(k.Plus, b, 1)
				err = f.run(k, s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
					k.OK(sc.Do(op))
					k.OK(s.Close())
					err := sc.Do(op)
					if !errors.Is(err, driver.ErrClosed) {
						k.Errorf("work for a closed stream: %v", err)
					}
					return err
				})
				if !errors.Is(err, driver.ErrClosed) {
					k.Errorf("got %v", err)
				}
			})
		})
	}
}

// faultyForms runs a test with each form on an emulator with injected failures.
func faultyForms(t *testing.T, test func(k *kit, lib *faulty.Library, run func(func(*graph.Scope) error) error)) {
	t.Helper()
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			lib := faulty.Wrap(emulator.New(emulator.Config{}))
			k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
			test(k, lib, func(record func(*graph.Scope) error) error {
				return f.run(k, k.S, graph.ModeThreadLocal, record)
			})
			k.Usable(k.S)
		})
	}
}

func TestMatrixTheEndFails(t *testing.T) {
	faultyForms(t, func(k *kit, lib *faulty.Library, run func(func(*graph.Scope) error) error) {
		lib.FailCall("cuStreamEndCapture", 1, uint32(graphtest.Injected))
		err := run(func(*graph.Scope) error { return nil })
		lib.Stop()
		if !errors.Is(err, graphtest.Injected) {
			k.Errorf("got %v", err)
		}
	})
}

func TestMatrixTheFunctionFailsAndTheEndFails(t *testing.T) {
	faultyForms(t, func(k *kit, lib *faulty.Library, run func(func(*graph.Scope) error) error) {
		lib.FailCall("cuStreamEndCapture", 1, uint32(graphtest.Injected))
		err := run(func(*graph.Scope) error { return graphtest.ErrRecord })
		lib.Stop()
		if !errors.Is(err, graphtest.ErrRecord) || !strings.HasPrefix(err.Error(), graphtest.ErrRecord.Error()) {
			k.Errorf("got %v, want the function's error first", err)
		}
	})
}

func TestMatrixTheEndGivesNoGraph(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			k := newKit(t, gputest.Context(t, graphtest.NullDriver(t)))
			err := f.run(k, k.S, graph.ModeThreadLocal, func(*graph.Scope) error { return nil })
			if !errors.Is(err, graph.ErrEmptyCapture) || !strings.Contains(err.Error(), k.S.String()) {
				t.Errorf("got %v, want ErrEmptyCapture that names the stream", err)
			}
		})
	}
}

// readyFails makes the first call of symbol fail during callable.CaptureReady.
func readyFails(t *testing.T, symbol string, opts func(k *kit) []graph.Option) {
	t.Helper()
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	more := opts(k)
	lib.FailCall(symbol, 1, uint32(graphtest.Injected))
	c, err := callable.CaptureReady(background, k.S, graph.ModeGlobal, func(sc *graph.Scope) (int, error) {
		return 1, sc.Do(k.Launch(k.Plus, b, 1))
	}, more...)
	lib.Stop()
	if c != nil || !errors.Is(err, graphtest.Injected) {
		t.Errorf("got %v, %v", c, err)
	}
	k.Usable(k.S)
	k.Expect(b, 1)
}

func noOptions(*kit) []graph.Option { return nil }

func uploadElsewhere(k *kit) []graph.Option { return []graph.Option{graph.WithUpload(k.Stream())} }

func TestMatrixInstantiateFails(t *testing.T) {
	readyFails(t, "cuGraphInstantiateWithParams", noOptions)
}

func TestMatrixUploadFails(t *testing.T) {
	readyFails(t, "cuGraphUpload", noOptions)
}

func TestMatrixInstantiateWithUploadFails(t *testing.T) {
	readyFails(t, "cuGraphInstantiateWithParams", uploadElsewhere)
}

func TestMatrixTheWaitFails(t *testing.T) {
	readyFails(t, "cuStreamQuery", noOptions)
}

func TestMatrixTheWaitIsCancelled(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		ctx, cancel := context.WithCancelCause(background)
		cancel(graphtest.ErrRecord)
		k.OK(k.S.Do(k.Launch(k.Plus, b, 0))) // loads the kernel now, because loading may wait for the device
		k.Wait(k.S)
		hold := make(chan struct{})
		var once sync.Once
		release := func() { once.Do(func() { close(hold) }) }
		defer time.AfterFunc(20*time.Second, release).Stop()
		k.OK(k.S.HostFunc(func() { <-hold }))
		c, err := callable.CaptureReady(ctx, k.S, graph.ModeThreadLocal, func(sc *graph.Scope) (int, error) {
			return 1, sc.Do(k.Launch(k.Plus, b, 1))
		})
		release()
		if c != nil || !errors.Is(err, graphtest.ErrRecord) {
			k.Errorf("got %v, %v, want the cause of the cancellation", c, err)
		}
		k.Usable(k.S)
	})
}
