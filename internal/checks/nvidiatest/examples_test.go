//go:build nvidia

package nvidiatest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/loader"
)

// programs builds every example and returns the paths of the programs.
func programs(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Glob("../../../examples/[0-9q]*/main.go") // the numbered examples and the quickstart
	if err != nil || len(sources) < 10 {
		t.Fatalf("%d examples found (%v)", len(sources), err)
	}
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, s := range sources {
		args = append(args, "./examples/"+filepath.Base(filepath.Dir(s)))
	}
	build := exec.Command("go", args...)
	build.Dir = "../../.." // the main module, which has the examples
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != len(sources) {
		t.Fatalf("%d programs of %d examples (%v)", len(files), len(sources), err)
	}
	return files
}

// start runs a program with a driver library, and returns its output and exit status.
func start(t *testing.T, program, library, device string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-device", device)
	cmd.Env = append(os.Environ(), loader.PathVariable+"="+library)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// An example that requires a GPU must not crash without one. It must report in one line what is
// missing, a GPU or a library, and how to fix that.
func TestNVIDIAExamplesSayThatThereIsNoDevice(t *testing.T) {
	for _, program := range programs(t) {
		for _, g := range generations {
			t.Run(filepath.Base(program)+"/"+g.name, func(t *testing.T) {
				out, status := start(t, program, part(t, g.library), "gpu")
				lacks := status == 0 && strings.Contains(out, "There is nothing to ")
				last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
				if !lacks && (status != 1 || !strings.Contains(last, "CUDA_ERROR_NO_DEVICE") || !strings.Contains(last, "check nvidia-smi")) {
					t.Errorf("ended with %d:\n%s", status, out)
				}
			})
		}
	}
}

// If an example may choose the device, it must run on the emulator and report why.
func TestNVIDIAExamplesGoOnWithoutADevice(t *testing.T) {
	library := part(t, generations[len(generations)-1].library)
	for _, program := range programs(t) {
		t.Run(filepath.Base(program), func(t *testing.T) {
			out, status := start(t, program, library, "auto")
			if status != 0 || !strings.Contains(out, "emulator") {
				t.Errorf("ended with %d:\n%s", status, out)
			}
		})
	}
}
