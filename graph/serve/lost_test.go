package serve_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

const trapPTX = `
.version 7.0
.target sm_52
.address_size 64
.visible .entry trapif(.param .u64 p)
{
	.reg .pred %q;
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd1, %rd1;
	ld.global.u32 %r1, [%rd1];
	setp.ne.u32 %q, %r1, 666;
	@%q ret;
	trap;
}
`

// Of 16 calls, four run in four replicas and twelve wait. Then one or four kernels trap. The test
// prints what each call sees.
func TestLostContextFailsAllCalls(t *testing.T) {
	for name, traps := range map[string]int{"one kernel traps": 1, "four kernels trap": 4} {
		t.Run(name, func(t *testing.T) {
			eachDoomed(t, func(t *testing.T, d *driver.Driver) { loseContext(t, d, traps) })
		})
	}
}

// inChildProcess names the environment variable that is set in the child processes of eachDoomed.
const inChildProcess = "PURECUDA_SERVE_CHILD"

// eachDoomed is like gputest.EachDriver, for tests that end the use of the device. On a GPU, each
// test runs in a child process.
func eachDoomed(t *testing.T, test func(t *testing.T, d *driver.Driver)) {
	t.Run("emulator", func(t *testing.T) { test(t, gputest.Emulator(t, emulator.Config{})) })
	t.Run("gpu", func(t *testing.T) {
		d := gputest.GPU(t)
		if os.Getenv(inChildProcess) != "" {
			test(t, d)
			return
		}
		path, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$" // a pattern for each level of the name
		cmd := exec.Command(path, "-test.run", name, "-test.v", "-test.timeout", "60s")
		cmd.Env = append(os.Environ(), inChildProcess+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("child process:\n%s", out)
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("child process: %v", err)
		}
	})
}

// load loads the kernels of a kit, except the ones that graphtest.NewKit loads. It also loads a
// kernel that traps if the first element of its buffer is trapping. The caller must close the
// modules, also after an error.
func (k *kit) load() (trap *driver.Kernel, modules []interface{ Close() error }, err error) {
	for _, l := range []struct {
		ptx, name string
		to        **driver.Kernel
	}{{trapPTX, "trapif", &trap}, {graphtest.Kernels, "times", &k.Times}, {graphtest.Kernels, "plus", &k.Plus}} {
		m, err := k.C.LoadModule([]byte(l.ptx))
		if err != nil {
			return nil, modules, err
		}
		modules = append(modules, m)
		if *l.to, err = m.Kernel(l.name); err != nil {
			return nil, modules, err
		}
	}
	return trap, modules, nil
}

// loseContext makes the kernels of the first calls trap.
func loseContext(t *testing.T, d *driver.Driver, traps int) {
	const replicas, calls = 4, 16
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{Kit: &graphtest.Kit{TB: t, C: c}}
	trap, modules, err := k.load()
	k.OK(err)
	gated, open, _ := k.gated()
	f := func(t *callable.Trace[[]uint32]) (output, error) {
		x := callable.StageSlice(t, func(in []uint32) []uint32 { return in[:1] })
		out, err := gated(t)
		t.Launch(trap, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, x)
		return out, err
	}
	p, err := serve.New(c, f, [][]uint32{ramp(8, 0)}, serve.WithReplicas(replicas))
	k.OK(err)
	var results []<-chan error
	for i := range calls {
		in := ramp(8, 0)
		if i < traps {
			in[0] = 666
		}
		result := make(chan error, 1)
		go func() { result <- call(background, p, in) }()
		results = append(results, result)
		k.until(p, "the next call", func(s serve.Stats) bool { return s.Busy+s.Queued == i+1 })
	}
	open()
	var lost *serve.LostError
	failed, seen := 0, map[string]int{}
	for i, r := range results {
		err := <-r
		seen[fmt.Sprintf("%-45s | %s", whenTrapped(i, traps, replicas), kindOf(err))]++
		if err == nil { // the call ended before the trap, so its output must be correct
			if traps == 4 || i == 0 {
				t.Errorf("call %d returned no error", i+1)
			}
			continue
		}
		failed++
		if lost == nil && !errors.As(err, &lost) {
			t.Fatalf("call %d: %v", i+1, err)
		}
		if err != error(lost) {
			t.Errorf("call %d: got another error: %v", i+1, err)
		}
	}
	if failed == 0 || lost == nil {
		t.Fatal("no call failed")
	}
	after := call(background, p, ramp(8, 0))
	for _, err := range []error{lost, after, p.Prepare(ramp(2, 0))} {
		if !errors.Is(err, driver.CUDA_ERROR_LAUNCH_FAILED) || !errors.Is(err, driver.ErrContextLost) || err != error(lost) {
			t.Errorf("got %v", err)
		}
	}
	if text := lost.Error(); lost.Call == 0 || lost.Others > 3 || !strings.Contains(text, "process must end") || !strings.Contains(text, "lost in call ") {
		t.Errorf("the error says %q", text)
	}
	seen[fmt.Sprintf("%-45s | %s", "arrived later", kindOf(after))]++
	table := ""
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		table += fmt.Sprintf("%3d | %s\n", seen[what], what)
	}
	t.Logf("%d of %d calls: %v\ncalls | when the kernel trapped | returned\n%s", failed, calls, lost, table)
	// Close returns the driver's code for objects that could not be destroyed.
	if err := p.Close(); err != nil && (!errors.Is(err, driver.CUDA_ERROR_LAUNCH_FAILED) || strings.Contains(err.Error(), "\n")) {
		t.Errorf("Close: %v", err)
	}
	if err := call(background, p, ramp(8, 0)); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	// Waiting calls must be refused. They must not try to create replicas in a lost context.
	if s := p.Stats(); s.Busy != 0 || s.Queued != 0 || s.Rebuilt != 0 || s.BuildsFailed != 0 || s.Failed+s.Refused.Lost != uint64(failed+2) {
		t.Errorf("did %+v", s)
	}
	for _, m := range append(modules, c) {
		_ = m.Close() // fails because the context is lost
	}
}

// whenTrapped describes the state of call i at the time when a kernel traps.
func whenTrapped(i, traps, replicas int) string {
	switch {
	case i < traps:
		return "1 ran, and its kernel trapped"
	case i < replicas:
		return "2 ran in another replica"
	}
	return "3 waited in the queue"
}

func kindOf(err error) string {
	var lost *serve.LostError
	switch {
	case err == nil:
		return "the right output"
	case errors.As(err, &lost):
		return fmt.Sprintf("the LostError of call %d", lost.Call)
	}
	return err.Error()
}

// On a driver that refuses new contexts, a Pool with WithRestart must say that the process must end.
// On another driver, it must serve again.
func TestRestartOnThisDriver(t *testing.T) {
	eachDoomed(t, func(t *testing.T, d *driver.Driver) {
		w := &program{kit: &kit{Kit: &graphtest.Kit{TB: t}}, d: d}
		p := w.pool(0, serve.WithReplicas(2))
		first := w.lose(p)
		err := call(background, p, ramp(8, 3))
		t.Logf("the call whose kernel trapped: %v", first)
		t.Logf("the next call: %v", err)
		var lost *serve.LostError
		if err != nil && (!errors.As(err, &lost) || lost.Restarting || !strings.Contains(err.Error(), "the process must end, because a new context fails as well")) {
			t.Errorf("got %v", err)
		}
	})
}
