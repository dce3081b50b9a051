// Package callable creates functions whose work runs as a CUDA graph. A [Func] records the work
// once for each shape of its input. Every later call copies its input to the device, replays the
// graph and returns the output.
//
//	f := func(t *callable.Trace[input]) (*driver.HostBuffer[float32], error) {
//		x := callable.StageSlice(t, func(in input) []float32 { return in.x })     // copied in each call
//		scale := callable.Constant(t, func(in input) float32 { return in.scale }) // another value updates the graph
//		t.Launch(kernel, cfg, x, uint32(x.Len()), scale)
//		return callable.Result(t, x), nil
//	}
//	call, err := callable.New(s, f, []input{example})
//	out, err := call.Call(ctx, in)
//
// A graph serves one shape of input. The shape consists of the lengths of staged slices and of the
// properties declared with [Shape]. A [Callable] keeps a graph for each of the most recently used
// shapes.
package callable

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// Func records the work of one call and returns where its output will be. It must read the call's
// input only through the Trace, so that later calls detect every change. Use StageSlice and
// StageScalar for data copied to the device in each call. Use Constant for values that become part
// of the recorded work, and Shape for properties that determine which work is recorded. A Func runs
// during a call of the Callable, so it must not use the Callable.
type Func[In, Out any] func(t *Trace[In]) (Out, error)

// Module computes an output from an input, like the modules of inference libraries. *Callable
// implements it.
type Module[In, Out any] interface {
	Forward(ctx context.Context, in In) (Out, error)
}

// Callable is a function whose recorded work is replayed by each call. A call copies its input to
// the device, launches the graph, waits and returns the output.
//
// If a call's constants differ from those of the previous call, the function is recorded again and
// the graph updated. Each shape of input has a variant with its own memory and graph. WithVariants
// limits the number of variants, and WithMemory their memory. Beyond a limit, the least recently
// called variant is closed.
//
// With the option [WithAdaptive], a shape is recorded only after several calls. Calls of shapes
// whose constants change too often enqueue their operations directly. These direct calls are called
// eager.
//
// A call that replays does not allocate Go memory. An eager call allocates one small object, in
// addition to the allocations of the function. Concurrent calls run one after the other, including
// the wait for the output. If a call's context ends before its turn, the call returns the context's
// cause. The next call of the same shape overwrites the memory that an output refers to, so
// goroutines that share a Callable should use CallWith.
type Callable[In, Out any] struct {
	s *driver.Stream
	f Func[In, Out]
	o options

	mu       turn
	closed   bool
	variants []*variant[In, Out] // in order of their last call, most recent first
	work     *eagerWork          // nil without WithAdaptive
	shelf    *shelf              // nil without WithArena
	stats    counts
}

// Stats counts the operations of a Callable.
type Stats struct {
	Calls        uint64 // calls enqueued
	Eager        uint64 // calls that enqueued their operations directly
	Replayed     uint64 // calls that launched a graph
	Recorded     uint64 // recordings of the function
	Updated      uint64 // recordings that led to an update of the graph
	Failed       uint64 // recordings that failed, or whose graph was too different for an update
	Instantiated uint64 // graphs instantiated, including after failed updates
	GivenUp      uint64 // shapes for which the Callable went back to eager calls
	Evicted      uint64 // variants closed to make room for other variants
	Variants     int    // current number of variants
	MemoryBytes  uint64 // memory of the variants, on the device and page-locked; see WithMemory
}

// New creates a Callable that enqueues its work in s, which must support capture. It prepares the
// Callable for the shapes of the examples. Without examples, the first call records. If an example
// fails, New releases everything.
//
// New has the same requirements as capture and instantiation. Updates of graphs work on every
// driver that this module supports.
func New[In, Out any](s *driver.Stream, f Func[In, Out], examples []In, opts ...Option) (*Callable[In, Out], error) {
	c := &Callable[In, Out]{s: s, f: f, mu: newTurn(), o: options{mode: graph.ModeRelaxed, max: defaultVariants, memory: math.MaxUint64}}
	absent.Apply(opts, &c.o)
	if err := c.accepts(len(examples)); err != nil {
		return nil, err
	}
	if err := c.newShelf(); err != nil {
		return nil, fmt.Errorf("callable: WithArena: %w", err)
	}
	c.prepareEager()
	made := false
	defer func() {
		if !made { // runs even if the function panicked or called runtime.Goexit
			_ = c.Close()
		}
	}()
	if err := c.Prepare(examples...); err != nil {
		return nil, refusal.Join([]error{err, c.Close()})
	}
	made = true
	return c, nil
}

// accepts rejects invalid arguments of New.
func (c *Callable[In, Out]) accepts(examples int) error {
	switch {
	case c.f == nil:
		return refusal.Invalid("callable: no function")
	case c.o.max < 1:
		return refusal.Invalid("callable: it must keep at least one variant, not %d", c.o.max)
	case c.o.memory == 0:
		return refusal.Invalid("callable: WithMemory(0): without memory, no call is possible")
	case c.o.first < 0:
		return refusal.Invalid("callable: WithAdaptive(%d): the number of eager calls must not be negative", c.o.first)
	case c.o.shares && c.o.arena.Context() == nil:
		return refusal.Invalid("callable: WithArena: the arena is nil or zero: make one with arena.New")
	case examples > c.o.max:
		return refusal.Invalid("callable: %d examples, but only %d variants are kept; raise WithVariants", examples, c.o.max)
	}
	if err := refusal.Uncapturable(c.s); err != nil {
		return fmt.Errorf("callable: %w", err)
	}
	switch {
	case !c.o.shares:
	case c.o.arena.Context() != c.s.Context():
		return refusal.Invalid("callable: WithArena: the arena and %v belong to different contexts", c.s)
	case c.s.Raw() == cu.CU_STREAM_PER_THREAD:
		return refusal.New(driver.CUDA_ERROR_NOT_SUPPORTED, "callable: WithArena needs a stream of its own, not %v", c.s)
	}
	return nil
}

// Prepare records the function for the shapes of the inputs in advance, so that calls with these
// shapes do not record. It launches nothing.
func (c *Callable[In, Out]) Prepare(inputs ...In) error {
	if !c.exists() {
		return aCallable.Error(c == nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range inputs {
		if err := c.ready(); err != nil {
			return c.failed(err)
		}
		if _, err := c.variant(c.find(inputs[i]), inputs[i]); err != nil {
			return c.failed(fmt.Errorf("input %d: %w", i, err))
		}
	}
	return nil
}

// Call copies the input to the device, replays the graph and waits for the output. The next call of
// the same shape overwrites the output's memory. If ctx ends first, Call returns its cause. The
// replay continues, and its output is lost.
func (c *Callable[In, Out]) Call(ctx context.Context, in In) (out Out, err error) {
	if !c.exists() {
		return out, aCallable.Error(c == nil)
	}
	if err := c.mu.lock(ctx); err != nil {
		return out, c.failed(err)
	}
	defer c.mu.Unlock()
	v, err := c.run(ctx, in)
	if err != nil {
		return out, c.failed(err)
	}
	return v.out, nil
}

// CallWith is like Call, for goroutines that share a Callable. It passes the output to the function
// use, and no other call can overwrite the output until use returns. use must not call the
// Callable.
func (c *Callable[In, Out]) CallWith(ctx context.Context, in In, use func(Out) error) error {
	if !c.exists() {
		return aCallable.Error(c == nil)
	}
	if err := c.mu.lock(ctx); err != nil {
		return c.failed(err)
	}
	defer c.mu.pass()
	v, err := c.run(ctx, in)
	if err != nil {
		return c.failed(err)
	}
	return use(v.out)
}

// Forward is the same as Call, and implements Module.
func (c *Callable[In, Out]) Forward(ctx context.Context, in In) (Out, error) {
	return c.Call(ctx, in)
}

// Start enqueues a call: it copies the input and launches the work, but does not wait. Work
// enqueued later in the Callable's stream runs after the replay, and may use outputs on the device.
// To get the output, call Pending.Wait.
//
// All calls of one shape copy their inputs through the same page-locked memory. ctx limits how long
// Start waits for the previous copy to finish.
func (c *Callable[In, Out]) Start(ctx context.Context, in In) (Pending[Out], error) {
	if !c.exists() {
		return Pending[Out]{}, aCallable.Error(c == nil)
	}
	if err := c.mu.lock(ctx); err != nil {
		return Pending[Out]{}, c.failed(err)
	}
	defer c.mu.Unlock()
	before := c.s.Lifetime().Faults().Now()
	v, err := c.send(ctx, in, true)
	if err == nil {
		v.faults, v.before = c.s.Lifetime().Faults(), before
		err = v.recordEnded(c.s)
	}
	if err != nil {
		return Pending[Out]{}, c.failed(err)
	}
	return Pending[Out]{&v.outcome, v.launched}, nil
}

// Stream returns the stream on which calls run.
func (c *Callable[In, Out]) Stream() *driver.Stream {
	if !c.exists() {
		return nil
	}
	return c.s
}

// Stats returns the counts so far. It does not wait for calls.
func (c *Callable[In, Out]) Stats() Stats {
	if !c.exists() {
		return Stats{}
	}
	return c.stats.load()
}

// Close releases the graphs and the memory of all variants. A replay in flight completes, and its
// resources are retained until then, but its output is lost.
func (c *Callable[In, Out]) Close() error {
	if !c.exists() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for _, v := range c.variants {
		errs = append(errs, v.close(c.s))
	}
	c.variants = nil
	c.stats.Variants.Store(0)
	c.stats.MemoryBytes.Store(0)
	errs = append(errs, c.work.close())
	return refusal.Join(errs)
}

func (c *Callable[In, Out]) exists() bool { return c != nil && c.f != nil }

func (c *Callable[In, Out]) failed(err error) error {
	return fmt.Errorf("callable on %v: %w", c.s, err)
}

// ErrOutputGone matches the error of a call whose output is no longer available: it was already
// returned, a later call of the same shape overwrote it, or the Callable was closed.
var ErrOutputGone = errors.New("the output is gone")
