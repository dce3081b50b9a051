//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

func TestSignalsEndTheProcessInOrder(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run("emulator "+signal.String(), func(t *testing.T) { endsBy(t, "emulator", signal) })
		t.Run("gpu "+signal.String(), func(t *testing.T) {
			gputest.GPU(t)
			endsBy(t, "gpu", signal)
		})
	}
}

func endsBy(t *testing.T, device string, signal syscall.Signal) {
	p := startProcess(t, "-device", device)
	p.address(t)
	if err := p.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	code, log := p.end()
	if code != 0 || !strings.Contains(log, "shutting down") {
		t.Errorf("it ends with %d:\n%s", code, log)
	}
}
