package cudatest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CheckKernels fails the test if the files that go2ptx generated in a folder differ from what it
// generates now, from the kernels as they are. Without folders, it checks that of the test. It uses
// the go command, and skips the test if there is none or if the folder is not there, as when a test
// binary runs on another machine.
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
		cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=") // the command runs here
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
