package serve_test

import (
	"errors"
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

// Of 16 calls, four run in four replicas and twelve wait when one or four kernels trap. The test
// runs only on the emulator, because after a trap this process could not use its GPU any more.
func TestLostContextFailsAllCalls(t *testing.T) {
	t.Run("one kernel traps", func(t *testing.T) { loseContext(t, 1) })
	t.Run("four kernels trap", func(t *testing.T) { loseContext(t, 4) })
}

// loseContext makes the kernels of the first calls trap.
func loseContext(t *testing.T, traps int) {
	d := gputest.Emulator(t, emulator.Config{})
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{Kit: &graphtest.Kit{TB: t, C: c}}
	load := func(ptx, name string) (*driver.Module, *driver.Kernel) {
		m, err := c.LoadModule([]byte(ptx))
		k.OK(err)
		f, err := m.Kernel(name)
		k.OK(err)
		return m, f
	}
	trapping, trap := load(trapPTX, "trapif")
	arithmetic, times := load(graphtest.Kernels, "times")
	k.Times = times
	k.Plus, err = arithmetic.Kernel("plus")
	k.OK(err)
	gated, open, _ := k.gated()
	f := func(t *callable.Trace[[]uint32]) (output, error) {
		x := callable.StageSlice(t, func(in []uint32) []uint32 { return in[:1] })
		out, err := gated(t)
		t.Launch(trap, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, x)
		return out, err
	}
	p, err := serve.New(c, f, [][]uint32{ramp(8, 0)}, serve.WithReplicas(4))
	k.OK(err)
	var results []<-chan error
	for i := range 16 {
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
	failed := 0
	for i, r := range results {
		err := <-r
		if err == nil { // the call finished before the trap, and its output was right
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
	t.Logf("%d of 16 calls: %v", failed, lost)
	_ = p.Close() // returns the driver's code for objects that could not be destroyed
	if err := call(background, p, ramp(8, 0)); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	// Waiting calls must be refused. They must not try to create replicas in a lost context.
	if s := p.Stats(); s.Busy != 0 || s.Queued != 0 || s.Rebuilt != 0 || s.BuildsFailed != 0 || s.Failed+s.Refused.Lost != uint64(failed+2) {
		t.Errorf("did %+v", s)
	}
	_, _, _ = trapping.Close(), arithmetic.Close(), c.Close() // return the driver's code as well
}
