package emulator

import (
	"sync"
	"testing"
)

// Kernels of several devices may fail at the same time.
func TestNoFaultIsLost(t *testing.T) {
	const each, devices = 20000, 4
	e := New(Config{})
	x := &execution{e: e}
	var all sync.WaitGroup
	for range devices {
		all.Go(func() {
			for range each {
				x.noteFault(Finding{Kind: "a fault"}, errIllegalAddress)
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
