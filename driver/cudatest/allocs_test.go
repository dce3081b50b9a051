//go:build !purecuda_syscall && (amd64 || arm64)

package cudatest_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/internal/gputest"
)

// The tag purecuda_syscall excludes this test, because argument blocks escape to the heap with that
// tag.
func TestCountingAllocatesNothing(t *testing.T) {
	w := newWork(t, cudatest.Device(t, cudatest.OnEmulator()))
	d := w.c.Driver()
	var free, total uintptr
	if n := gputest.Allocs(0, 100, func() { ok(t, d.CuMemGetInfo(&free, &total)) }); n != 0 {
		t.Errorf("%v allocations for a call that is counted", n)
	}
}
