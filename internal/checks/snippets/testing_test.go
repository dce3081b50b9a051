package snippets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

// [device]
func TestStep(t *testing.T) {
	c := cudatest.Device(t) // *driver.Context, closed when the test ends
	stream, x, exec := prepare(t, c)
	before := cudatest.CountsOf(c.Driver())
	if err := exec.Run(context.Background(), stream); err != nil {
		t.Fatal(err)
	}
	if n := cudatest.CountsOf(c.Driver()).Since(before); n.GraphLaunches != 1 || n.Copies() != 0 {
		t.Errorf("got %v, want 1 graph launch and no copies", n)
	}
	if got := contents(x); got[0] != 2 {
		t.Errorf("the step computed %v, want 2", got)
	}
}

// [end]

// prepare returns a stream, memory and an executable graph that uses both. They are closed when the
// test ends.
func prepare(t *testing.T, c *driver.Context) (*driver.Stream, *driver.Buffer[float32], *graph.Exec) {
	stream, x := must(c.NewStream()), ones(c)
	double := must(kernels.MulScalar(x, x, float32(2)))
	g := must(graph.Capture(stream, graph.ModeRelaxed, func(s *graph.Scope) error { return s.Do(double) }))
	exec := must(g.Instantiate())
	t.Cleanup(func() { check(exec.Close(), g.Close(), x.Close(), stream.Close()) })
	return stream, x, exec
}

func Example_testingTrace() {
	lib, w := emulator.New(emulator.Config{}), new(strings.Builder)
	// [trace]
	// lib comes from driver.SystemLibrary or emulator.New, and w is any io.Writer.
	drv := must(driver.New(trace.Wrap(lib, trace.WithoutScope(trace.To(w)))))
	// [end]
	check(drv.Close())
	fmt.Println(strings.Contains(w.String(), "cuInit(Flags=0) = CUDA_SUCCESS, "))
	// Output: true
}

func Example_testingEmulator() {
	// [emulator]
	emu := emulator.New(emulator.Config{}) // instead of driver.SystemLibrary
	defer emu.Close()
	drv := must(driver.New(emu))
	// [end]
	fmt.Println(drv.DeviceCount())
	// Output: 1 <nil>
}

func Example_testingFindings() {
	program := func(drv *driver.Driver) {
		ctx := must(must(drv.Device(0)).PrimaryContext())
		x, stream := ones(ctx), must(ctx.NewStream())
		module := must(ctx.LoadModule(affinePTX))
		check(must(module.Kernel("affine")).Launch(stream, config, x, uint32(elements+1), float32(1), float32(1)))
		if err := stream.Wait(context.Background()); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
			log.Fatal(err)
		}
		for _, c := range []io.Closer{module, x, stream, ctx} {
			_ = c.Close() // may fail, because the context is lost
		}
		check(drv.Close())
	}
	// [findings]
	emu := emulator.New(emulator.Config{Check: emulator.CheckAll})
	drv := must(driver.New(emu))
	program(drv)
	check(emu.Close())
	for _, f := range emu.Findings() {
		fmt.Println(f.Kind, f.Kernel, f.Thread) // printing f shows all of it in one line
	}
	// [end]

	// Output: illegal address affine [4 0 0]
}

func Example_testingSchedules() {
	run := func(emu *emulator.Emulator) error {
		drv, err := driver.New(emu)
		if err != nil {
			return err
		}
		return drv.Close()
	}
	// [schedules]
	err := emulator.Schedules(100, emulator.Config{Check: emulator.CheckAll}, func(emu *emulator.Emulator) error {
		return run(emu) // opens a driver on emu and checks a result
	})
	// with Config{Seed: 17, Workers: 1}: element 3 is 7, want 8
	// [end]
	fmt.Println(err)
	// Output: <nil>
}
