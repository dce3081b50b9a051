package cudatest

import (
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
)

// reportFindings fails the test for each of the emulator's findings, except allowed ones. A message
// begins with the source line in the kernel. If that is unknown, it begins with the line in the
// program that enqueued the work, if known. Leaks are skipped, because CheckLeaks and reportLeaks
// report them.
func (o *options) reportFindings(t testing.TB, e *emulator.Emulator) {
	t.Helper()
	for _, f := range e.Findings() {
		switch {
		case f.Kind == "leak" || o.allowed != nil && o.allowed(f):
		case f.At != "" && f.Source != "":
			t.Errorf("%v; enqueued at %s", f, f.At)
		case f.At != "":
			t.Errorf("%s: %v", f.At, f)
		default:
			t.Errorf("%v", f)
		}
	}
}
