package demotest

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
)

// patience is how long an example may take.
const patience = time.Minute

// rig runs an example that something goes wrong for.
type rig struct {
	testing.TB
	program    Program
	devices    int           // of the emulator
	goroutines int           // that there are without it
	dropped    *atomic.Int64 // objects that the garbage collector found
	grace      time.Duration // for what is given back on another goroutine
	stride     int           // from one call that fails to the next
}

func newRig(t testing.TB, devices int, program Program) *rig {
	t.Helper()
	r := &rig{TB: t, program: program, devices: devices, dropped: new(atomic.Int64), grace: 2 * time.Second, stride: stride()}
	previous := driver.SetLeakHook(func(driver.Leak) { r.dropped.Add(1) })
	t.Cleanup(func() { driver.SetLeakHook(previous) })
	// The first run makes what is made once.
	r.count()
	r.goroutines = runtime.NumGoroutine()
	return r
}

// on is the rig for a part of the test.
func (r *rig) on(t testing.TB) *rig {
	part := *r
	part.TB = t
	return &part
}

// library is an emulator whose calls may fail. It stays open when the example
// closes it, so that what was forgotten can be counted.
type library struct {
	*faulty.Library
	emulator *emulator.Emulator
	calls    atomic.Int64                      // so far
	atEnd    atomic.Int64                      // those before the example only closed what it had
	contexts atomic.Pointer[[]*driver.Context] // nil for an example that did not come so far
	lose     int64                             // the call before which the device is lost; 0 for none
	loseErr  error                             // that it could not be
}

func (r *rig) library(cfg emulator.Config) *library {
	cfg.Devices = r.devices
	e := emulator.New(cfg)
	l := &library{Library: faulty.Wrap(e), emulator: e}
	l.Ignore(exchange)
	l.Before(l.count)
	return l
}

// exchange is part of other calls and cannot fail.
const exchange = "cuThreadExchangeStreamCaptureMode"

func (l *library) count(symbol string) {
	if symbol != exchange && l.calls.Add(1) == l.lose {
		l.loseErr = lose(l.emulator)
	}
}

// closing notes that the example is through but for what it has to close.
func (l *library) closing(contexts ...*driver.Context) {
	l.atEnd.Store(l.calls.Load())
	l.contexts.Store(&contexts)
}

// cleanup is what all of the example's contexts were left with.
func (l *library) cleanup() error {
	var errs []error
	if contexts := l.contexts.Load(); contexts != nil {
		for _, c := range *contexts {
			errs = append(errs, c.CleanupErrors()...)
		}
	}
	return errors.Join(errs...)
}

func (l *library) Close() error { return nil }

// within waits for an example's end.
func (r *rig) within(ended <-chan error) error {
	r.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		r.Fatalf("the example does not end:\n%s", stacks[:runtime.Stack(stacks, true)])
		return nil
	}
}

// nothingLeft fails the test if the driver has something open, unless that is
// expected, or if the garbage collector had to find something. It closes the
// emulator.
func (r *rig) nothingLeft(when string, lib *library, expected func(left []string) bool) {
	r.Helper()
	left := lib.left()
	for end := time.Now().Add(r.grace); len(left) > 0 && time.Now().Before(end); left = lib.left() {
		if expected != nil && expected(left) {
			left = nil
			break
		}
		time.Sleep(time.Millisecond)
	}
	if len(left) > 0 {
		r.Errorf("%s: it leaves %v", when, left)
	}
	if n := r.dropped.Swap(0); n != 0 {
		r.Errorf("%s: %d objects were dropped without being closed", when, n)
	}
	if err := lib.emulator.Close(); err != nil {
		r.Errorf("%s: %v", when, err)
	}
}

func (l *library) left() (left []string) {
	for _, x := range l.emulator.Leaks() {
		left = append(left, x.String())
	}
	return left
}

// sameGoroutines fails the test if there are more goroutines than in the
// beginning.
func (r *rig) sameGoroutines() {
	r.Helper()
	for end := time.Now().Add(r.grace); runtime.NumGoroutine() > r.goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			r.Errorf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), r.goroutines, stacks[:runtime.Stack(stacks, true)])
			return
		}
	}
}
