package kernelfault_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// A module is loaded, faults and is closed. In each run, a different driver call fails. If the
// kernel was launched, the wait must return an error. Nothing may leak, and the context must still
// work.
func TestFailingDriverCalls(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	d := gputest.Driver(t, lib)
	text := ptxText(t, "index")
	for n := 1; ; n++ {
		c := must(must(d.Device(0))(t).PrimaryContext())(t)
		out := must(driver.Alloc[uint32](c, 32))(t)
		s := must(c.NewStream())(t)
		lib.FailNth(n, uint32(driver.CUDA_ERROR_UNKNOWN))
		launched, err := faultFlow(c, s, out, text)
		var failed faulty.Call
		for _, call := range lib.Stop() {
			if call.Failed {
				failed = call
			}
		}
		var f *driver.KernelFault
		switch {
		case failed.Symbol == "" && !errors.As(err, &f):
			t.Fatalf("without a failing call, the flow returned %v", err)
		case launched && err == nil:
			t.Errorf("%s (call %d) failed, and the wait returned no error", failed.Symbol, n)
		case !launched && err == nil:
			t.Errorf("%s (call %d) failed, and the load returned no error", failed.Symbol, n)
		}
		_ = s.Wait(context.Background()) // if the failing call belonged to the first wait, this wait returns the fault
		if launched, err := faultFlow(c, s, out, text); !launched || !errors.As(err, &f) || f.Line != 17 {
			t.Errorf("after %s (call %d) had failed, the flow returned %v", failed.Symbol, n, err)
		}
		lib.Count()
		ok(t, s.Close())
		ok(t, out.Close())
		ok(t, c.Close())
		lib.Stop()
		if failed.Symbol == "" {
			t.Logf("%d calls failed", n-1)
			break
		}
	}
}

// faultFlow loads a module, launches a kernel that faults, waits, and closes the module.
func faultFlow(c *driver.Context, s *driver.Stream, out *driver.Buffer[uint32], text []byte) (launched bool, err error) {
	m, err := c.LoadModule(text)
	if err != nil {
		return false, err
	}
	k, err := m.Kernel("index")
	if err == nil {
		err = k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, out, uint64(31), uint64(0))
		launched = err == nil
	}
	if launched {
		err = s.Wait(context.Background())
	}
	return launched, errors.Join(err, m.Close())
}

// When the context is closed, the memory of the slots and the stream for copies must be released.
func TestFaultMemoryIsReleased(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	d := gputest.Driver(t, lib)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	out, s := must(driver.Alloc[uint32](c, 32))(t), must(c.NewStream())(t)
	lib.Count()
	for range 100 { // the slots of closed modules are reused
		if launched, err := faultFlow(c, s, out, ptxText(t, "index")); !launched {
			t.Fatal(err)
		}
	}
	ok(t, s.Close())
	ok(t, out.Close())
	ok(t, c.Close())
	n := map[string]int{}
	for _, call := range lib.Stop() {
		name, _, _ := strings.Cut(call.Symbol, "_")
		n[name]++
	}
	if n["cuMemHostAlloc"] != 1 || n["cuMemFreeHost"] != 1 || n["cuStreamCreate"] != 1 || n["cuStreamDestroy"] != 2 {
		t.Errorf("the calls are %v", n)
	}
}
