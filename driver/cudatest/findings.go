package cudatest

import (
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
)

// reportFindings fails the test for each mistake that the emulator found, with the line of the
// program that submitted the work. It skips leaks, which CheckLeaks and reportLeaks report.
func (o *options) reportFindings(t testing.TB, e *emulator.Emulator) {
	t.Helper()
	for _, f := range e.Findings() {
		switch {
		case f.Kind == "leak" || o.allowed != nil && o.allowed(f):
		case f.At != "":
			t.Errorf("%s: %v", f.At, f)
		default:
			t.Errorf("%v", f)
		}
	}
}
