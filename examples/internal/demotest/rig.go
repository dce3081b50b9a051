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

// patience is the longest time that an example may take.
const patience = time.Minute

// rig runs an example with faults.
type rig struct {
	testing.TB
	program    Program
	devices    int           // number of devices of the emulator
	goroutines int           // number of goroutines before the first fault
	dropped    *atomic.Int64 // number of objects found by the garbage collector
	grace      time.Duration // how long to wait for releases on other goroutines
	stride     int           // one in this many calls fails
}

func newRig(t testing.TB, devices int, program Program) *rig {
	t.Helper()
	r := &rig{TB: t, program: program, devices: devices, dropped: new(atomic.Int64), grace: 2 * time.Second, stride: stride()}
	previous := driver.SetLeakHook(func(driver.Leak) { r.dropped.Add(1) })
	t.Cleanup(func() { driver.SetLeakHook(previous) })
	// The first run initializes everything that the process initializes once.
	r.count()
	r.goroutines = runtime.NumGoroutine()
	return r
}

// on returns a copy of the rig that reports to t.
func (r *rig) on(t testing.TB) *rig {
	part := *r
	part.TB = t
	return &part
}

// library is an emulator whose calls can fail. Its Close does nothing, so that the rig can
// count the objects left open.
type library struct {
	*faulty.Library
	emulator *emulator.Emulator
	calls    atomic.Int64                      // number of calls so far
	atEnd    atomic.Int64                      // number of calls before the final cleanup
	contexts atomic.Pointer[[]*driver.Context] // nil if the example failed before it opened a context
	lose     int64                             // number of the call before which to lose the device; 0 means never
	loseErr  error                             // reason why the device could not be lost
}

func (r *rig) library(cfg emulator.Config) *library {
	cfg.Devices = r.devices
	e := emulator.New(cfg)
	l := &library{Library: faulty.Wrap(e), emulator: e}
	l.Ignore(exchange)
	l.Before(l.count)
	return l
}

// exchange is a call that guards other calls. It cannot fail.
const exchange = "cuThreadExchangeStreamCaptureMode"

func (l *library) count(symbol string) {
	if symbol != exchange && l.calls.Add(1) == l.lose {
		l.loseErr = lose(l.emulator)
	}
}

// closing records that only the example's final cleanup remains.
func (l *library) closing(contexts ...*driver.Context) {
	l.atEnd.Store(l.calls.Load())
	l.contexts.Store(&contexts)
}

// cleanup returns the cleanup errors of all of the example's contexts.
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

// within waits until the example ends and returns its error. It fails the test after a time
// limit.
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

// nothingLeft closes the emulator. It fails the test if the garbage collector found an
// object, or if an object is open in the driver and expected does not accept it.
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

// sameGoroutines fails the test if there are more goroutines than before the first fault.
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
