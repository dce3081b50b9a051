//go:build !purecuda_syscall && (amd64 || arm64)

package kernelfault_test

import (
	"io"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// The tag purecuda_syscall excludes this test, because argument blocks then escape to the heap.

// A wait that prints must not allocate.
func TestPrintingDoesNotAllocate(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{Stdout: io.Discard}, func(t *testing.T, c *driver.Context) {
		m, s := must(c.LoadModule([]byte(printing)))(t), stream(t, c)
		ok(t, s.Wait(t.Context()))
		if n := gputest.Allocs(0, 100, func() { ok(t, s.Wait(t.Context())) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		ok(t, m.Close())
	})
}
