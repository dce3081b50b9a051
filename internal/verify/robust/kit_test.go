package robust

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

//go:embed kernels.ptx
var kernels []byte

var one = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

// childVariable names the environment variable that is set in a child process of a test.
const childVariable = "PURECUDA_ROBUST_CHILD"

// eachDoomed is like gputest.EachDriver, for tests after which the device no longer works. On a GPU
// each test runs in a child process. eachDoomed then checks that the device still works in this
// process.
func eachDoomed(t *testing.T, test func(t *testing.T, d *driver.Driver)) {
	t.Run("emulator", func(t *testing.T) { test(t, gputest.Emulator(t, emulator.Config{})) })
	t.Run("gpu", func(t *testing.T) {
		d := gputest.GPU(t)
		if os.Getenv(childVariable) != "" {
			test(t, d)
			return
		}
		c := gputest.Context(t, d)
		works(t, c)
		inChild(t)
		works(t, c)
	})
}

// inChild runs only the calling test in a new process, which must succeed.
func inChild(t *testing.T) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Each level of the test's name needs a separate pattern.
	name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.Command(path, "-test.run", name, "-test.v", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("child process:\n%s", out)
	if err != nil {
		t.Errorf("child process: %v", err)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("the child process did not run %s", t.Name())
	}
}

func works(t *testing.T, c *driver.Context) {
	t.Helper()
	b, err := driver.AllocFrom(c, []uint32{40})
	ok(t, err)
	defer closes(t, b)
	m, err := c.LoadModule(kernels)
	ok(t, err)
	defer closes(t, m)
	add, err := m.Kernel("add")
	ok(t, err)
	s, err := c.NewStream()
	ok(t, err)
	defer closes(t, s)
	ok(t, add.Launch(s, one, b, uint32(2)))
	ok(t, s.Wait(t.Context()))
	got := []uint32{0}
	ok(t, b.CopyTo(got))
	if got[0] != 42 {
		t.Errorf("40 and 2 is %d on %v", got[0], c.Device())
	}
	ok(t, c.Lost())
}

type closer interface{ Close() error }

func closes(t *testing.T, c closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// codeOf returns the driver's code in err, or success if err contains no code.
func codeOf(err error) (code driver.CUresult) {
	_ = errors.As(err, &code)
	return code
}

func second[T any](_ T, err error) error { return err }
