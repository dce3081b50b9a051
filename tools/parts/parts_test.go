package parts

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// command runs a program in the repository and returns its output. It skips the test if the
// program is not installed.
func command(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	// If make runs this test, its flags must not reach the make that the test runs.
	cmd.Env = append(os.Environ(), append(env, "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=", "REQUIRE_ALL=")...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPartsThatCannotRunAreCounted(t *testing.T) {
	flags := []string{"test", "TEST_PARTS=race header-check", "HAVE_CC=", "CUDA_INCLUDE=" + t.TempDir(), "BUILD=" + t.TempDir()}
	out, err := command(t, nil, "make", flags...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"NOT RUN race: no C compiler", "NOT RUN header-check: no cuda.h in ", "test: 0 of 2 parts passed, 2 not run\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what make prints:\n%s", want, out)
		}
	}
	if out, err := command(t, nil, "make", append(flags, "REQUIRE_ALL=1")...); err == nil {
		t.Errorf("parts that did not run were required, and make passes:\n%s", out)
	}
}

// If an example has nothing to show on a machine, the script must count it as not run.
func TestExamplesThatShowNothingAreNotRun(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join(root, "scripts", "gpu-run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "run.sh"), script)
	var parts bytes.Buffer
	w := tar.NewWriter(&parts)
	for name, text := range map[string]string{
		"commit":  "0123456",
		"first":   "#!/bin/sh\necho right\n",
		"03-good": "#!/bin/sh\necho right on $2\n",
		"04-bad":  "#!/bin/sh\necho wrong\nexit 1\n",
		"16-nccl": "#!/bin/sh\necho There is nothing to show: two GPUs are needed.\n",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	packed := exec.Command("xz", "-c")
	packed.Stdin = &parts
	archive, err := packed.Output()
	if err != nil {
		t.Skip("xz: ", err)
	}
	write(t, filepath.Join(dir, "parts.tar.xz"), archive)
	out, err := command(t, nil, "sh", filepath.Join(dir, "run.sh"), "examples")
	if err == nil {
		t.Error("an example failed, and the run did not")
	}
	for _, want := range []string{"PASS example first\n", "PASS example 03-good\n", "FAIL example 04-bad (status 1)\n",
		"NOT RUN example 16-nccl: There is nothing to show: two GPUs are needed.\n", "2 passed, 1 failed, 1 not run\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what the run prints:\n%s", want, out)
		}
	}
	shown, err := os.ReadFile(filepath.Join(dir, "out", "examples.txt"))
	if err != nil || !strings.Contains(string(shown), "$ 03-good -device gpu\nright on gpu\n") {
		t.Errorf("examples.txt is %q, %v", shown, err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
