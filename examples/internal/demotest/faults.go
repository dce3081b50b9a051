package demotest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/loader"
)

// Faults runs an example repeatedly on the emulator, each time with a fault. In different runs,
// each driver call fails, the device is lost before some of the calls, and memory runs out. Each
// run must end and return an error that names the cause. It must leave no open driver object, no
// object for the garbage collector to clean up, and no goroutine.
func Faults(t *testing.T, example func(*demo.Demo) error) {
	t.Helper()
	newRig(t, 1, program(example)).all(t)
}

// FaultsOn is like Faults, but for an example that uses several devices.
func FaultsOn(t *testing.T, devices int, example func(*demo.Demo) error) {
	t.Helper()
	newRig(t, devices, program(example)).all(t)
}

// SomeFaults is like Faults, but for an example with a slow start. It makes the first call of each
// function fail. Of the other calls, it makes one in `every` fail.
func SomeFaults(t *testing.T, every int, example func(*demo.Demo) error) {
	t.Helper()
	r := newRig(t, 1, program(example))
	r.stride *= every
	r.all(t)
}

func program(example func(*demo.Demo) error) Program {
	return func(lib loader.Library, out io.Writer, closing func(...*driver.Context)) error {
		return demo.RunWith(lib, out, func(d *demo.Demo) error {
			defer func() { closing(d.Opened()...) }() // includes the contexts that the example opens
			return example(d)
		})
	}
}

// FaultsOf is like Faults, but for a program that opens and closes the given library. Before its
// final cleanup, the program must call closing with its contexts.
func FaultsOf(t *testing.T, program Program) {
	t.Helper()
	newRig(t, 1, program).all(t)
}

func (r *rig) all(t *testing.T) {
	t.Helper()
	calls := r.count()
	t.Logf("%d driver calls", len(calls))
	t.Run("every call fails", func(t *testing.T) { r.on(t).everyCall(calls) })
	t.Run("the device is lost", func(t *testing.T) { r.on(t).lostDevice(len(calls)) })
	t.Run("memory runs out", func(t *testing.T) { r.on(t).littleMemory(calls) })
	r.sameGoroutines()
}

// Program is a program that FaultsOf can run.
type Program func(lib loader.Library, out io.Writer, closing func(...*driver.Context)) error

// codes lists the errors that injected faults return.
var codes = []driver.CUresult{driver.CUDA_ERROR_UNKNOWN, driver.CUDA_ERROR_OUT_OF_MEMORY, driver.CUDA_ERROR_LAUNCH_FAILED}

// count runs the example without faults and returns its driver calls.
func (r *rig) count() []faulty.Call {
	r.Helper()
	lib := r.library(emulator.Config{})
	lib.Count()
	err, out := r.run(lib)
	calls := lib.Stop()
	if err != nil || len(calls) == 0 {
		r.Fatalf("without a fault: %d calls, %v\n%s", len(calls), err, out)
	}
	r.nothingLeft("nothing goes wrong", lib, nil)
	return calls
}

// everyCall makes the first call of each function fail, with every code unless -short is set. Of the
// other calls, it makes one in r.stride fail, each with one of the codes.
func (r *rig) everyCall(calls []faulty.Call) {
	seen := map[string]bool{}
	for i, call := range calls {
		var with []driver.CUresult
		switch {
		case !seen[call.Symbol] && stride() == 1:
			with = codes
		case !seen[call.Symbol] || i%r.stride == 0:
			with = codes[i/r.stride%len(codes):][:1]
		}
		seen[call.Symbol] = true
		for _, code := range with {
			r.failOnce(i+1, code)
		}
	}
}

func (r *rig) failOnce(nth int, code driver.CUresult) {
	lib := r.library(emulator.Config{})
	lib.FailNth(nth, uint32(code))
	err, out := r.run(lib)
	failed, stack := "", ""
	for _, c := range lib.Stop() {
		if c.Failed {
			failed, stack = c.Symbol, c.Stack
		}
	}
	what := fmt.Sprintf("call %d (%s) fails with %v", nth, failed, code)
	switch {
	case failed == "" && err != nil: // a wait that ended earlier made fewer calls
		r.Errorf("call %d was not made, and yet the example ended with %v", nth, err)
	case failed == "":
	case err == nil && int64(nth) > lib.atEnd.Load() && (!faulty.GivesBack(failed) || r.told(lib, code)):
	case err == nil && givenUp(failed, stack):
	case err == nil:
		r.Errorf("%s, and the example does not say so:\n%s", what, out)
	case !binds(failed) && !(errors.Is(err, code) && saysWhich(err, failed)):
		r.Errorf("%s, and the cause is lost: %v", what, err)
	}
	r.nothingLeft(what, lib, func(left []string) bool { return binds(failed) && len(left) <= 2 })
}

// givenUp reports whether the call may belong to a cancelled wait, whose error no caller receives.
// Such a wait may still be queried once by the goroutine that polls for many waits.
func givenUp(symbol, stack string) bool {
	return binds(symbol) || strings.Contains(stack, "driver.(*poller).run(") || symbol == cu.FnCuEventSynchronize.Symbol()
}

// told reports whether one of the contexts recorded the error as a cleanup error. An object that is
// in use when it is closed is released later, perhaps after the example, so Close cannot return the
// error.
func (r *rig) told(lib *library, code driver.CUresult) bool {
	for end := time.Now().Add(r.grace); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if errors.Is(lib.cleanup(), code) {
			return true
		}
	}
	return false
}

// saysWhich reports whether an error contains the name of the failed function.
func saysWhich(err error, symbol string) bool {
	name, _, _ := strings.Cut(symbol, "_v")
	return strings.Contains(err.Error(), name)
}

// binds reports whether the call only makes a context current for another call. If that fails for a
// call that releases an object, the object cannot be released.
func binds(symbol string) bool { return symbol == "cuCtxGetCurrent" || symbol == "cuCtxSetCurrent" }

// lostDevice loses the device before some of the calls: a kernel traps in a separate stream.
// From then on, the driver returns CUDA_ERROR_LAUNCH_FAILED. An example that is already
// closing its objects need not report the error.
func (r *rig) lostDevice(calls int) {
	points := 12
	if testing.Short() {
		points = 4
	}
	for nth := 1; nth <= calls; nth += max(1, calls/points) {
		lib := r.library(emulator.Config{})
		lib.lose = int64(nth)
		err, out := r.run(lib)
		what := fmt.Sprintf("the device is lost before call %d", nth)
		switch {
		case lib.loseErr != nil:
			r.Errorf("%s: %v", what, lib.loseErr)
		case err == nil && lib.atEnd.Load() >= int64(nth):
			r.Errorf("%s, and the example does not say so:\n%s", what, out)
		case err != nil && !errors.Is(err, driver.CUDA_ERROR_LAUNCH_FAILED):
			r.Errorf("%s, and the cause is lost: %v", what, err)
		}
		r.nothingLeft(what, lib, nil)
	}
}

// littleMemory runs the example repeatedly, each time with less device memory. If it allocates
// memory, it must fail at some limit.
func (r *rig) littleMemory(calls []faulty.Call) {
	ranOut := false
	for limit := uint64(1 << 24); limit > 0; limit /= 16 {
		lib := r.library(emulator.Config{LimitMemory: limit})
		err, out := r.run(lib)
		ranOut = ranOut || err != nil
		if err != nil && !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			r.Errorf("with %d bytes: %v\n%s", limit, err, out)
		}
		r.nothingLeft(fmt.Sprintf("with %d bytes", limit), lib, nil)
	}
	allocates := func(c faulty.Call) bool { return strings.HasPrefix(c.Symbol, "cuMemAlloc") }
	if !ranOut && slices.ContainsFunc(calls, allocates) {
		r.Error("with a byte of memory the example ends as if there were enough")
	}
}

// run runs the example and fails the test if the example does not end.
//
//lint:ignore ST1008 the error is what a caller looks at first
func (r *rig) run(lib *library) (error, string) {
	r.Helper()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- r.program(lib, &out, lib.closing) }()
	return r.within(ended), out.String()
}
