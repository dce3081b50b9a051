package robust

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/tools/robust/work"
)

// gpuVariable is the environment variable that makes the programs use the system's driver.
const gpuVariable = "PURECUDA_REQUIRE_GPU"

func emulated() bool { return os.Getenv(gpuVariable) == "" }

type builder struct {
	t   *testing.T
	dir string
}

// withCgo returns a builder for programs that need cgo. It skips the test if there is no C compiler
// or if the system is not Linux.
func withCgo(t *testing.T) builder {
	if runtime.GOOS != "linux" {
		t.Skip("these programs are for Linux")
	}
	if _, err := exec.LookPath(compiler()); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	return builder{t, t.TempDir()}
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

// build builds a package with CGO_ENABLED set to cgo, and returns the path of the result.
func (b builder) build(out, cgo string, flags ...string) string {
	path := filepath.Join(b.dir, out)
	cmd := exec.Command("go", append([]string{"build", "-o", path}, flags...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	b.done(cmd)
	return path
}

// run runs a program and checks that its output contains want.
func (b builder) run(want, program string, args ...string) {
	b.t.Helper()
	if out := b.done(exec.Command(program, args...)); !strings.Contains(out, want) {
		b.t.Errorf("%s does not say %q:\n%s", filepath.Base(program), want, out)
	}
}

func (b builder) done(cmd *exec.Cmd) string {
	b.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// device returns the arguments that select the device for a program.
func device() []string {
	if emulated() {
		return []string{"emulator"}
	}
	return nil
}

func TestOnce(t *testing.T) {
	if err := work.Once(emulated()); err != nil {
		t.Error(err)
	}
}

func TestCSharedLibrary(t *testing.T) {
	b := withCgo(t)
	lib := b.build("libadd.so", "1", "-buildmode=c-shared", "./cshared")
	host := filepath.Join(b.dir, "host")
	b.done(exec.Command(compiler(), "-o", host, "cshared/testdata/host.c", "-ldl", "-lpthread"))
	number := "0"
	if emulated() {
		number = "1"
	}
	b.run("c-shared: 0 failures", host, lib, number)
}

func TestPlugin(t *testing.T) {
	b := withCgo(t)
	lib := b.build("add.so", "1", "-buildmode=plugin", "./plugin")
	host := b.build("pluginhost", "1", "./pluginhost")
	b.run("plugin: it and its host work", host, append([]string{lib}, device()...)...)
}

func TestBesideCgo(t *testing.T) {
	b := withCgo(t)
	b.run("besidecgo:", b.build("besidecgo", "1", "./besidecgo"), device()...)
}

func TestBesidePurego(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this program is for Linux")
	}
	b := builder{t, t.TempDir()}
	b.run("besidepurego: both work", b.build("besidepurego", "0", "./besidepurego"), device()...)
}
