//go:build linux && (amd64 || arm64) && !static

package cu_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// compile builds a shared library from C code and returns its path. It skips the test if there is
// no C compiler for this architecture.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "cc"))
	if err != nil {
		t.Skip("needs a C compiler ($CC or cc)")
	}
	machine, err := exec.Command(cc, "-dumpmachine").Output()
	if err != nil {
		t.Fatal(err)
	}
	if isAMD64 := strings.HasPrefix(string(machine), "x86_64"); isAMD64 != (runtime.GOARCH == "amd64") {
		t.Skipf("the C compiler is for %s", machine)
	}
	out := filepath.Join(t.TempDir(), "test.so")
	args := append([]string{"-shared", "-fPIC", "-O1", "-o", out, source}, flags...)
	if text, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}
