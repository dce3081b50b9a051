package gputest

import (
	"os"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
)

// CheckRaces names the environment variable that makes emulators check for data races. A race fails
// the test. Kernels run about 20 times slower.
const CheckRaces = "PURECUDA_CHECK_RACES"

// races holds the races that a test expects from its emulators.
type races struct {
	expected func(f emulator.Finding) bool // nil if no race is expected
}

// racesOf maps the name of each test that uses an emulator to its races.
var racesOf sync.Map

// ExpectRace allows the races that a test causes on purpose: the findings for which the predicate
// returns true. If CheckRaces is set, at least one such race must occur. On a GPU ExpectRace does
// nothing.
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

// watchRaces makes the test fail when it ends if a kernel on emu had an unexpected race, or if an
// expected race did not occur.
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
