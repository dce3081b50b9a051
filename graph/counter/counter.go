// Package counter provides counters that advance on the device. A replayed graph does the same work
// each time, so a random number generator in it needs an offset that differs from replay to replay.
// A [Counter] provides the offset without work on the host:
//
//	draws, err := counter.New(ctx, 0)
//	take, err := draws.Take(at, n)              // at: one uint64 in device memory
//	noise, err := kernel.Prepare(cfg, x, seed, at, ...)
//	g, err := graph.Capture(s, mode, func(sc *graph.Scope) error { return sc.Do(take, noise) })
//
// Each replay takes the next n numbers. In this example, the kernel reads the first of them from at
// and uses them as the counters of a counter-based generator such as Philox.
//
// The operations are ordinary launches for streams, captures and graphs built by hand. In a
// function for package callable, use callable.Take.
package counter

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/devicecode"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

var aCounter = absent.Kind{Name: "counter", Make: "counter.New", Code: driver.CUDA_ERROR_INVALID_VALUE}

// Counter is a number in device memory that advances on the device. Its operations are atomic, so
// graphs and streams that run at the same time can share a Counter and never take the same number.
// After 2⁶⁴−1, the number continues at 0.
//
// Take takes effect once it is enqueued, even if the program cancels the wait for it. A recorded
// Take has no effect until the graph is launched. Several goroutines may use a Counter.
type Counter struct{ number *driver.Buffer[uint64] }

// New creates a Counter whose next number is start. It allocates and waits for a copy, so call it
// outside captures.
func New(c *driver.Context, start uint64) (*Counter, error) {
	b, err := driver.AllocFrom(c, []uint64{start})
	if err != nil {
		return nil, fmt.Errorf("cannot create a counter: %w", err)
	}
	return &Counter{b}, nil
}

// Take returns an operation that takes n numbers. It stores the first of the numbers in the first
// element of into, and advances the Counter by n. Operations that run at the same time need
// different memory for into. SetArg can change n, which is argument 2 of the Launch.
func (c *Counter) Take(into driver.MemoryOf[uint64], n uint64) (*driver.Launch, error) {
	if !c.exists() {
		return nil, aCounter.Error(c == nil)
	}
	if into == nil {
		return nil, c.failed(refusal.Invalid("there is no memory for the number"))
	}
	v := into.All()
	if err := v.Err(); err != nil {
		return nil, c.failed(err)
	}
	return c.prepare("counter_take", driver.Out(v.View(0, 1)), c.number, n)
}

// Set returns an operation that makes v the next number. SetArg can change v, which is argument 1
// of the Launch. A Take that runs at the same time takes its numbers either before or after the
// change.
func (c *Counter) Set(v uint64) (*driver.Launch, error) {
	if !c.exists() {
		return nil, aCounter.Error(c == nil)
	}
	return c.prepare("counter_set", c.number, v)
}

func (c *Counter) prepare(name string, args ...any) (*driver.Launch, error) {
	k, err := devicecode.Counter(c.number.Context(), name)
	if err != nil {
		return nil, c.failed(err)
	}
	l, err := k.Prepare(devicecode.OneThread, args...)
	if err != nil {
		return nil, c.failed(err)
	}
	return l, nil
}

// Number returns a view of the device memory that contains the next number, for copies to the host.
func (c *Counter) Number() driver.View[uint64] {
	if !c.exists() {
		return driver.View[uint64]{}
	}
	return c.number.All()
}

// Close releases the Counter. Graphs that use the Counter retain its memory.
func (c *Counter) Close() error {
	if !c.exists() {
		return nil
	}
	return c.number.Close()
}

// String describes the Counter.
func (c *Counter) String() string {
	if !c.exists() {
		return "no counter"
	}
	return fmt.Sprintf("counter in %v", c.number)
}

func (c *Counter) exists() bool { return c != nil && c.number != nil }

func (c *Counter) failed(err error) error { return fmt.Errorf("%v: %w", c, err) }
