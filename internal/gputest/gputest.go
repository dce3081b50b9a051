// Package gputest runs tests on every available driver: always on the emulator, and on a GPU if
// there is one. Only tests may import it, because it imports driver and the emulator.
//
// With PURECUDA_REQUIRE_GPU=1, tests fail without a GPU instead of being skipped. A larger number
// is the number of GPUs that must be present. If a test leaves an object open or drops it without
// closing it, the test fails with the stack of the object's creation.
package gputest

import (
	"fmt"
	"os"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// RequireGPU names the environment variable with the required number of GPUs. A test that needs no
// more than that many GPUs fails without them, instead of being skipped.
const RequireGPU = cudatest.RequireGPU

// Each runs test on the emulator and on the GPU. Each run receives the primary context of the first
// device, which is closed afterwards.
func Each(t *testing.T, test func(t *testing.T, c *driver.Context)) {
	t.Helper()
	EachDriver(t, func(t *testing.T, d *driver.Driver) { withContext(t, d, test) })
}

// EachDriver runs test on a new emulator and on the system's driver.
func EachDriver(t *testing.T, test func(t *testing.T, d *driver.Driver)) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) { test(t, Emulator(t, emulator.Config{})) })
	t.Run("gpu", func(t *testing.T) { test(t, GPU(t)) })
}

// OnEmulator runs test only on an emulator, for configurations that a GPU cannot have: more
// devices, less memory or an older version.
func OnEmulator(t *testing.T, cfg emulator.Config, test func(t *testing.T, c *driver.Context)) {
	t.Helper()
	withContext(t, Emulator(t, cfg), test)
}

// OnGPU runs test only on the GPU, for properties that an emulator does not have, such as timings
// and hardware limits.
func OnGPU(t *testing.T, test func(t *testing.T, c *driver.Context)) {
	t.Helper()
	withContext(t, GPU(t), test)
}

// Emulator returns an initialised emulated driver. When the test ends, it closes the driver and
// fails the test if objects leaked.
func Emulator(t testing.TB, cfg emulator.Config) *driver.Driver {
	t.Helper()
	if os.Getenv(CheckRaces) != "" {
		cfg.Check |= emulator.CheckSharedRaces | emulator.CheckGlobalRaces
	}
	emu := emulator.New(cfg)
	watchRaces(t, emu)
	return Driver(t, emu)
}

// Driver is like Emulator for any library, such as a wrapped emulator.
func Driver(t testing.TB, lib loader.Library) *driver.Driver {
	t.Helper()
	d, err := driver.New(Record(t, lib))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, "driver.Close", d.Close()) })
	CheckLeaks(t, d)
	return d
}

// GPU returns the system's driver. Without a usable GPU, it skips the test, or fails the test if
// RequireGPU requires a GPU. The driver stays open, because closing an initialised driver is not
// safe.
func GPU(t testing.TB) *driver.Driver {
	t.Helper()
	return GPUs(t, 1)
}

// GPUs is like GPU for tests that need n GPUs.
func GPUs(t testing.TB, n int) *driver.Driver {
	t.Helper()
	if err := driver.Available(); err != nil {
		missing(t, n, "no usable GPU: "+err.Error())
	}
	d, err := system(t)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.DeviceCount()
	if err != nil {
		t.Fatal(err)
	}
	if found < n {
		missing(t, n, fmt.Sprintf("%d GPU here, but the test needs %d", found, n))
	}
	CheckLeaks(t, d)
	return d
}

// missing skips a test that needs n GPUs, or fails the test if that many are required.
func missing(t testing.TB, n int, why string) {
	t.Helper()
	if required := cudatest.Required(t); required >= n {
		t.Fatalf("%s=%d: %s", RequireGPU, required, why)
	}
	t.Skip(why)
}

// Context returns the primary context of the first device of d and closes it
// when the test ends.
func Context(t testing.TB, d *driver.Driver) *driver.Context {
	t.Helper()
	return cudatest.Context(t, d, 0)
}

func withContext(t *testing.T, d *driver.Driver, test func(*testing.T, *driver.Context)) {
	t.Helper()
	test(t, Context(t, d))
}

func check(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
