// Command servebench is a service in Go: many goroutines call a recorded function, through a
// serve.Pool or a Callable. bench/c/serve.c is the same service in C.
//
// A call copies 4 KiB to the device, launches a graph that adds one to each word with every
// kernel, and copies 4 KiB back. Servebench prints "ready" with a description, and then reads
// commands from standard input:
//
//	<pool or callable> <callers> <replicas> <milliseconds> <microseconds>
//
// Between two calls, a caller works for the given number of microseconds. result.print describes
// the reply to a command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
)

const (
	kernels = 160
	words   = 1024
	block   = 256
	most    = 1024 // maximum number of callers
)

func main() { child.Main(run) }

func run() error {
	waits := "auto"
	if len(os.Args) > 2 {
		waits = os.Args[2]
	}
	d, err := driver.Open()
	if err != nil {
		return err
	}
	s, err := open(d, waits)
	if err != nil {
		return err
	}
	name, err := s.context.Device().Name()
	if err != nil {
		return err
	}
	if name == "a driver that does nothing" {
		s.added = 0
	}
	version := s.context.Device().Driver().Version()
	fmt.Printf("ready %s, GOMAXPROCS %d, context flags %s, %s, driver %d.%d\n",
		runtime.Version(), runtime.GOMAXPROCS(0), waits, name, version/1000, version%1000/10)
	for {
		var how string
		var callers, replicas, ms, us int
		switch _, err := fmt.Scan(&how, &callers, &replicas, &ms, &us); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading a command: %w", err)
		case callers < 1 || callers > most || replicas < 1 || ms < 1:
			return fmt.Errorf("%s: %d callers, %d replicas, %d ms", how, callers, replicas, ms)
		}
		call, err := s.entry(how, replicas)
		if err != nil {
			return err
		}
		s.between = time.Duration(us) * time.Microsecond
		result, err := s.measure(call, callers, ms)
		if err != nil {
			return fmt.Errorf("%s, %d callers, %d replicas: %w", how, callers, replicas, err)
		}
		result.print()
	}
}

type (
	output = *driver.HostBuffer[uint32]
	// entry is Pool.Call or Callable.CallWith.
	entry func(ctx context.Context, in []uint32, use func(output) error) error
)

type service struct {
	context *driver.Context
	bump    *driver.Kernel
	entries map[string]entry // entries that were created on first use and are kept
	added   uint32           // amount that a call adds to each word
	between time.Duration    // time that a caller works between two calls
}

func open(d *driver.Driver, waits string) (*service, error) {
	device, err := d.Device(0)
	if err != nil {
		return nil, err
	}
	flags := map[string]cu.CUctx_flags{"spin": cu.CU_CTX_SCHED_SPIN, "yield": cu.CU_CTX_SCHED_YIELD, "blocking": cu.CU_CTX_SCHED_BLOCKING_SYNC}
	if err := d.CuDevicePrimaryCtxSetFlags(device.Raw(), uint32(flags[waits])); err != nil {
		return nil, err
	}
	s := &service{added: kernels, entries: map[string]entry{}}
	if s.context, err = device.PrimaryContext(); err != nil {
		return nil, err
	}
	module, err := s.context.LoadModule(child.AddPTX)
	if err != nil {
		return nil, err
	}
	s.bump, err = module.Kernel("bump")
	return s, err
}

// step records the work of one call.
func (s *service) step(t *callable.Trace[[]uint32]) (output, error) {
	x := callable.StageSlice(t, func(in []uint32) []uint32 { return in })
	cfg := driver.LaunchConfig{Grid: driver.D1(words / block), Block: driver.D1(block)}
	for range kernels {
		t.Launch(s.bump, cfg, x, uint32(x.Len()))
	}
	return callable.Result(t, x), nil
}

// entry returns the function that callers call.
func (s *service) entry(how string, replicas int) (entry, error) {
	name := fmt.Sprint(how, replicas)
	if call := s.entries[name]; call != nil {
		return call, nil
	}
	example := [][]uint32{make([]uint32, words)}
	var call entry
	switch how {
	case "pool":
		pool, err := serve.New(s.context, s.step, example, serve.WithReplicas(replicas), serve.WithQueue(most))
		if err != nil {
			return nil, err
		}
		call = func(ctx context.Context, in []uint32, use func(output) error) error { return pool.Call(ctx, in, use) }
	case "callable":
		stream, err := s.context.NewStream()
		if err != nil {
			return nil, err
		}
		c, err := callable.New(stream, s.step, example)
		if err != nil {
			return nil, err
		}
		call = c.CallWith
	default:
		return nil, fmt.Errorf("there is no %q", how)
	}
	s.entries[name] = call
	return call, nil
}
