package main

import (
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// On the emulator every service must return the right words, and count its calls.
func TestServicesOnTheEmulator(t *testing.T) {
	for _, waits := range []string{"auto", "blocking"} {
		d, err := driver.New(emulator.New(emulator.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		s, err := open(d, waits)
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"pool", "callable"} {
			call, err := s.entry(how, 1)
			if err != nil {
				t.Fatal(err)
			}
			for { // repeats until the machine is fast enough to complete a call within the window
				r, err := s.measure(call, 2, 300)
				if err != nil || r.wrong != 0 {
					t.Fatalf("%s: %+v, %v", how, r, err)
				}
				if r.calls > 0 {
					if r.p50 == 0 || r.p50 > r.p99 || r.p99 > r.p999 || r.seconds != 0.3 || runtime.GOOS == "linux" && r.threads == 0 {
						t.Errorf("%s: %+v", how, r)
					}
					break
				}
			}
		}
	}
}

func TestUnknownServicesAreRefused(t *testing.T) {
	s := &service{entries: map[string]entry{}}
	if _, err := s.entry("threads", 1); err == nil {
		t.Error("there is a service of that name")
	}
}
