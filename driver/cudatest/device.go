package cudatest

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// RequireGPU is the environment variable that has tests run on the system's
// driver: the number of GPUs that there have to be. Unset or 0, they run on the
// emulator.
const RequireGPU = "PURECUDA_REQUIRE_GPU"

// Option changes what device a test gets.
type Option func(*options)

type options struct {
	cfg      emulator.Config
	emulator bool
	gpu      bool
	devices  int
	sinks    []trace.Sink
	leaky    bool
	checks   *emulator.Check // nil: those of cfg, or all
	allowed  func(emulator.Finding) bool
}

// WithConfig describes the emulated machine. It means nothing on a GPU. A Check
// in it that is not 0 is used instead of all checks, see [WithChecks].
func WithConfig(cfg emulator.Config) Option { return func(o *options) { o.cfg = cfg } }

// OnEmulator has the test run on the emulator always: for what only an emulator
// can be asked for, and for exact numbers of instructions or simulated times.
func OnEmulator() Option { return func(o *options) { o.emulator = true } }

// OnGPU has the test run on a GPU only. Without one it is skipped, or fails if
// RequireGPU demands one.
func OnGPU() Option { return func(o *options) { o.gpu = true } }

// WithDevices is for tests about n devices: the emulator has as many, and with
// RequireGPU set to n or more so must the machine; with less, or without, such a
// test runs on the emulator.
func WithDevices(n int) Option { return func(o *options) { o.devices = n } }

// WithTrace shows every driver call to the sinks.
func WithTrace(sinks ...trace.Sink) Option {
	return func(o *options) { o.sinks = append(o.sinks, sinks...) }
}

// WithTraceTo writes a line for every driver call.
func WithTraceTo(w io.Writer) Option { return WithTrace(trace.To(w)) }

// WithChecks sets what the emulator looks for; what it finds fails the test.
// Without this option that is everything, emulator.CheckAll, and nothing in a
// benchmark. Races and unwritten memory make kernels some 20 times slower to look
// for; WithChecks(0) is for tests with large kernels, and for those that count the
// allocations of the process.
func WithChecks(c emulator.Check) Option { return func(o *options) { o.checks = &c } }

// AllowFindings is for tests that make mistakes on purpose: findings for which is
// returns true do not fail the test.
func AllowFindings(is func(emulator.Finding) bool) Option {
	return func(o *options) { o.allowed = is }
}

// AllowLeaks takes the check for leaks away, for tests of what happens to them.
func AllowLeaks() Option { return func(o *options) { o.leaky = true } }

// Device returns the primary context of the first device for one test. When the
// test ends, the context is closed, and leaks fail it.
func Device(t testing.TB, opts ...Option) *driver.Context {
	t.Helper()
	return Context(t, Driver(t, opts...), 0)
}

// Context returns the primary context of a device of d and closes it when the
// test ends.
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
		for _, err := range c.CleanupErrors() {
			t.Errorf("deferred cleanup: %v", err)
		}
		check(t, "Context.Close", c.Close())
	})
	return c
}

// Driver returns an initialised driver for one test, whose calls are counted.
// When the test ends, leaks fail it, and on the emulator so does what its checks
// found.
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
	// An emulator is closed; what it lists then nobody gave back. The system's
	// driver cannot be unloaded, and closing is only a mark.
	t.Cleanup(func() {
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

// library is the driver that the test runs on; the emulator itself, if it is
// one.
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
			t.Fatalf("%s=%d: %v", RequireGPU, required, err)
		}
		t.Skip(err)
	}
	lib, err := driver.SystemLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	return lib, nil
}

// longestKernel is how long a kernel may run in a test.
const longestKernel = time.Minute

// kernelTime is when a kernel counts as endless: while there is time left to say
// so before the whole test binary is ended.
func kernelTime(t testing.TB) time.Duration {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := d.Deadline(); ok {
			return min(longestKernel, max(time.Until(end)/2, time.Second))
		}
	}
	return longestKernel
}

// check is what the emulator looks for.
func (o *options) check(t testing.TB) emulator.Check {
	if o.checks != nil {
		return *o.checks
	}
	if _, ok := t.(*testing.B); ok || o.cfg.Check != 0 {
		return o.cfg.Check
	}
	return emulator.CheckAll
}

// missing says why the test can not run on GPUs.
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
		err = fmt.Errorf("%d GPU here, and the test is about %d", n, need)
	}
	return err
}

// Required returns the number of GPUs that the environment demands.
func Required(t testing.TB) int {
	t.Helper()
	value := os.Getenv(RequireGPU)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatalf("%s=%s is no number of GPUs", RequireGPU, value)
	}
	return n
}

// say logs what the test runs on.
func (o *options) say(t testing.TB, d *driver.Driver) {
	t.Helper()
	dev, err := d.Device(0)
	if err != nil { // a test about machines without devices
		t.Logf("on %s: %v", d.LibraryName(), err)
		return
	}
	name, err := dev.Name()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("on %s, driver for CUDA %d.%d (%s)", name, d.Version()/1000, d.Version()%1000/10, d.LibraryName())
}

// Emulator returns the emulator that a driver of this package is, for what only
// it can be asked: Stats, Profile, LastFault, SimulatedTime. It is nil on a GPU.
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
