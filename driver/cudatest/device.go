package cudatest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// RequireGPU is the environment variable that makes tests run on the system's driver. Its value is
// the required number of GPUs. If it is unset or 0, tests run on the emulator.
const RequireGPU = "PURECUDA_REQUIRE_GPU"

// Option changes the driver or device of a test.
type Option func(*options)

type options struct {
	cfg      emulator.Config
	emulator bool
	gpu      bool
	devices  int
	sinks    []trace.Sink
	leaky    bool
	checks   *emulator.Check // if nil, the checks in cfg, or all checks if cfg has none
	allowed  func(emulator.Finding) bool
}

// WithConfig sets the configuration of the emulated machine. It has no effect on a GPU. If
// cfg.Check is not 0, the emulator makes those checks instead of all checks: see [WithChecks].
func WithConfig(cfg emulator.Config) Option { return func(o *options) { o.cfg = cfg } }

// OnEmulator makes the test always run on the emulator. Use it for features that only the emulator
// has, and for exact instruction counts or simulated times.
func OnEmulator() Option { return func(o *options) { o.emulator = true } }

// OnGPU makes the test run only on a GPU. Without a GPU, the test is skipped. If RequireGPU
// requires a GPU, the test fails instead.
func OnGPU() Option { return func(o *options) { o.gpu = true } }

// WithDevices makes the test run with n devices. If RequireGPU is at least n, the test runs on the
// machine's GPUs and fails if there are fewer than n. Otherwise it runs on an emulator with at
// least n devices.
func WithDevices(n int) Option { return func(o *options) { o.devices = n } }

// WithTrace passes every driver call to the sinks.
func WithTrace(sinks ...trace.Sink) Option {
	return func(o *options) { o.sinks = append(o.sinks, sinks...) }
}

// WithTraceTo writes a line to w for every driver call.
func WithTraceTo(w io.Writer) Option { return WithTrace(trace.To(w)) }

// WithChecks sets the checks that the emulator makes. A finding fails the test. By default the
// emulator makes all checks (emulator.CheckAll), or none in a benchmark. The checks for races and
// for reads of unwritten memory make kernels about 20 times slower. Use WithChecks(0) in tests with
// large kernels and in tests that count allocations.
func WithChecks(c emulator.Check) Option { return func(o *options) { o.checks = &c } }

// AllowFindings is for tests that make mistakes on purpose. A finding for which the function
// returns true does not fail the test.
func AllowFindings(is func(emulator.Finding) bool) Option {
	return func(o *options) { o.allowed = is }
}

// AllowLeaks turns off the leak check. It is for tests about leaks.
func AllowLeaks() Option { return func(o *options) { o.leaky = true } }

// Device returns the primary context of the first device. At the end of the test, Device closes the
// context, and leaks fail the test.
func Device(t testing.TB, opts ...Option) *driver.Context {
	t.Helper()
	return Context(t, Driver(t, opts...), 0)
}

// Context returns the primary context of a device of d, and closes it at the end of the test.
func Context(t testing.TB, d *driver.Driver, device int) *driver.Context {
	t.Helper()
	dev, err := d.Device(device)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Helper()
		for _, err := range c.CleanupErrors() {
			t.Errorf("deferred cleanup: %v", err)
		}
		check(t, "Context.Close", c.Close())
	})
	return c
}

// Driver returns an initialised driver and counts its calls. At the end of the test, leaks fail the
// test. On the emulator, findings of the checks also fail it.
func Driver(t testing.TB, opts ...Option) *driver.Driver {
	t.Helper()
	var o options
	absent.Apply(opts, &o)
	lib, emu := o.library(t)
	if len(o.sinks) > 0 {
		lib = trace.Wrap(lib, o.sinks...)
	}
	d, err := driver.New(newCounter(lib, emu))
	if err != nil {
		t.Fatal(err)
	}
	// Closing an emulator destroys its machine. Objects that the emulator still lists afterwards
	// have been leaked. The system's driver cannot be unloaded, so closing it only marks it as
	// closed.
	t.Cleanup(func() {
		t.Helper() // so that messages contain the line that opened the driver
		check(t, "driver.Close", d.Close())
		if emu != nil {
			o.reportFindings(t, emu)
		}
		if emu != nil && !o.leaky && !t.Failed() {
			reportLeaks(t, emu)
		}
	})
	o.say(t, d)
	if !o.leaky {
		CheckLeaks(t, d)
	}
	return d
}

// library returns the driver library for the test. It also returns the emulator if the test runs on
// it.
func (o *options) library(t testing.TB) (loader.Library, *emulator.Emulator) {
	t.Helper()
	required := Required(t)
	need := max(o.devices, 1)
	if o.emulator || !o.gpu && required < need {
		o.cfg.Devices = max(o.cfg.Devices, o.devices)
		o.cfg.Check = o.check(t)
		if o.cfg.Limits.KernelTime == 0 {
			o.cfg.Limits.KernelTime = kernelTime(t)
		}
		e := emulator.New(o.cfg)
		return e, e
	}
	if err := o.missing(need); err != nil {
		if required >= need {
			t.Fatalf("%s=%d: %s", RequireGPU, required, complete(err))
		}
		t.Skip(err)
	}
	lib, err := driver.SystemLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	return lib, nil
}

const longestKernel = time.Minute

// kernelTime returns the time after which a kernel is considered endless. It is shorter than the
// test binary's own timeout, so that the test can still report the kernel.
func kernelTime(t testing.TB) time.Duration {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := d.Deadline(); ok {
			return min(longestKernel, max(time.Until(end)/2, time.Second))
		}
	}
	return longestKernel
}

func (o *options) check(t testing.TB) emulator.Check {
	if o.checks != nil {
		return *o.checks
	}
	if _, ok := t.(*testing.B); ok || o.cfg.Check != 0 {
		return o.cfg.Check
	}
	return emulator.CheckAll
}

// missing returns the reason why the test cannot run on GPUs, or nil.
func (o *options) missing(need int) error {
	if err := driver.Available(); err != nil {
		return fmt.Errorf("no usable GPU: %w", err)
	}
	d, err := driver.Open()
	if err != nil {
		return err
	}
	n, err := d.DeviceCount()
	if err == nil && n < need {
		err = fmt.Errorf("%d GPU here, but the test needs %d", n, need)
	}
	return err
}

// complete returns the full text of an error, including all libraries that were tried. Someone who
// reads a test's log cannot ask for the details later.
func complete(err error) string {
	var tried *loader.OpenError
	if errors.As(err, &tried) {
		return strings.Replace(err.Error(), tried.Error(), fmt.Sprintf("%+v", tried), 1)
	}
	return err.Error()
}

// Required returns the number of GPUs that RequireGPU requires. A value that is not a number fails
// the test.
func Required(t testing.TB) int {
	t.Helper()
	value := os.Getenv(RequireGPU)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatalf("%s=%s is not a number of GPUs", RequireGPU, value)
	}
	return n
}

func (o *options) say(t testing.TB, d *driver.Driver) {
	t.Helper()
	dev, err := d.Device(0)
	if err != nil { // the test emulates a machine without devices
		t.Logf("on %s: %v", d.Library().Name(), err)
		return
	}
	name, err := dev.Name()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("on %s, driver for CUDA %d.%d (%s)", name, d.Version()/1000, d.Version()%1000/10, d.Library().Name())
	if _, ok := t.(*testing.B); ok {
		// Package testing calls a benchmark function several times.
		if _, said := benchmarks.LoadOrStore(t.Name()+text, true); said {
			return
		}
	}
	t.Log(text)
}

// benchmarks contains the benchmarks that have already logged where they run.
var benchmarks sync.Map

// Emulator returns the emulator of a driver of this package, or nil on a GPU. The emulator has
// methods that a GPU cannot offer, such as Stats, Profile, LastFault and SimulatedTime.
func Emulator(d *driver.Driver) *emulator.Emulator {
	if c, ok := d.Library().(*counter); ok {
		return c.emu
	}
	e, _ := d.Library().(*emulator.Emulator)
	return e
}

func check(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
