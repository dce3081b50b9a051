package emulator

import (
	"sync"
	"testing"
)

// Kernels of several devices may fail at the same time.
func TestNoFaultIsLost(t *testing.T) {
	const each, devices = 20000, 4
	e := New(Config{})
	var all sync.WaitGroup
	for range devices {
		all.Go(func() {
			for range each {
				e.noteFault(Finding{Kind: "a fault"})
			}
		})
	}
	all.Wait()
	if n := len(e.Findings()); n != each*devices {
		t.Errorf("%d findings of %d faults", n, each*devices)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
