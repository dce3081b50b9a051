package gputest

import (
	"os"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
)

// CheckRaces is the environment variable that has emulated devices look for
// data races, which then fail the test. Kernels take some 20 times as long.
const CheckRaces = "PURECUDA_CHECK_RACES"

// races is what is expected of the emulators of a test.
type races struct {
	expected func(f emulator.Finding) bool // nil: none
}

// racesOf are the races of tests with an emulator, by the tests' names.
var racesOf sync.Map

// ExpectRace has races that the test means to have not fail it: is tells their
// findings from all others. If races are looked for, there has to be one. On a GPU
// it does nothing.
func ExpectRace(t testing.TB, is func(f emulator.Finding) bool) {
	t.Helper()
	r, emulated := racesOf.Load(t.Name())
	if !emulated {
		return
	}
	if r := r.(*races); r.expected == nil {
		r.expected = is
		return
	}
	t.Fatal("a race is expected already: one function says all that is expected")
}

// watchRaces fails the test when it ends if its kernels raced.
func watchRaces(t testing.TB, emu *emulator.Emulator) {
	known, _ := racesOf.LoadOrStore(t.Name(), new(races))
	r := known.(*races)
	t.Cleanup(func() {
		t.Helper()
		racesOf.Delete(t.Name())
		came := false
		for _, f := range emu.Findings() {
			switch {
			case f.Kind != "data race":
			case r.expected != nil && r.expected(f):
				came = true
			default:
				t.Error(f)
			}
		}
		if r.expected != nil && !came && os.Getenv(CheckRaces) != "" {
			t.Error("the race that the test expects was not found")
		}
	})
}
