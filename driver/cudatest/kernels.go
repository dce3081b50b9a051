package cudatest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CheckKernels fails the test if the files that go2ptx generated in the given folders are out of
// date, that is, if go2ptx would now generate something else. If no folder is given, it checks the
// test's own folder. CheckKernels runs the go command. It skips the test if there is no go command
// or a folder does not exist, for example because the test binary runs on another machine.
//
//	func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
//
// Make it the first test of the package: if it fails, the other tests run the old kernels.
func CheckKernels(t testing.TB, folders ...string) {
	t.Helper()
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, dir := range folders {
		if found, err := filepath.Glob(filepath.Join(dir, "*.go")); err != nil || len(found) == 0 {
			t.Skipf("the source of the kernels is not in %s", dir)
		}
		cmd := exec.Command("go", "run", "github.com/purecuda/cuda/ptx/cmd/go2ptx", "-check", ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=") // the command must run on this platform
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("there is no go command")
		}
		if err != nil {
			t.Errorf("kernels in %s: %s", dir, bytes.TrimSpace(out.Bytes()))
		}
	}
}
