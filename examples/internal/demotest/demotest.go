// Package demotest runs examples as tests.
package demotest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/internal/gputest"
)

// Run runs an example on the emulator and, if there is one, on a GPU. The example checks its own
// results, and Run checks that its output contains every string in want.
func Run(t *testing.T, example func(*demo.Demo) error, want ...string) {
	t.Helper()
	RunOn(t, 1, example, want...)
}

// RunOn is like Run, but for an example that uses several devices.
func RunOn(t *testing.T, devices int, example func(*demo.Demo) error, want ...string) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) { shows(t, devices, "emulator", example, want) })
	t.Run("gpu", func(t *testing.T) {
		gputest.GPUs(t, devices)
		shows(t, devices, "gpu", example, want)
	})
}

func shows(t *testing.T, devices int, device string, example func(*demo.Demo) error, want []string) {
	t.Helper()
	var out bytes.Buffer
	if err := demo.RunOn(devices, device, &out, example); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, w := range append(want, "Running on ") {
		if !strings.Contains(out.String(), w) {
			t.Errorf("it does not print %q:\n%s", w, out.String())
		}
	}
}
