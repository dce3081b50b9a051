package gputest

import (
	"os"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
)

// CheckRaces names the environment variable that makes emulated devices look for data
// races, which then fail the test. Kernels take about 20 times as long.
const CheckRaces = "PURECUDA_CHECK_RACES"

// races holds the findings that a test expects of its emulators.
type races struct {
	expected func(f emulator.Finding) bool // nil: none
}

// racesOf has the expected races of tests with an emulator, by test name.
var racesOf sync.Map

// ExpectRace keeps races that the test causes on purpose from failing it. is
// distinguishes their findings from all others. If races are looked for, at least one
// must occur. On a GPU it does nothing.
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
	t.Fatal("a race is already expected: one function must cover all expected races")
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
