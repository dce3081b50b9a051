// Package callable makes functions whose work runs as a CUDA graph. A [Func]
// records the work once for each shape of its input, and every call after that
// copies its input to the device, replays the graph and returns the output.
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
// A graph serves one shape of input. [Shape] declares what decides the shape beside
// the lengths of staged slices, and a [Callable] keeps a graph for each of the
// shapes that were called last.
package callable

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// Func records the work of one call and returns where its output will be. It
// learns about the call's input through the Trace alone: StageSlice and
// StageScalar for what is copied to the device in each call, Constant for what
// becomes a part of the recorded work, Shape for what decides how the work looks.
// So it cannot depend on something that a later call changes unseen.
// It runs while the Callable is busy with the call, and must not use that.
type Func[In, Out any] func(t *Trace[In]) (Out, error)

// Module is the pattern of inference code: what turns an input into an output.
// A *Callable is one.
type Module[In, Out any] interface {
	Forward(ctx context.Context, in In) (Out, error)
}

// Callable is a function whose work was recorded and is replayed: a call copies
// its input to the device, launches the graph, waits and returns the output.
//
// A call whose constants differ from those of the call before records the
// function again and updates the graph. A call of another shape gets a variant
// of its own, with memory and a graph of its own. WithVariants bounds how many are
// kept, and the one that was not called for longest is closed.
//
// Calls that neither record nor evict allocate nothing. Calls from several
// goroutines are made one after the other, also while they wait: one whose context
// ends while it waits for its turn returns the cause. Memory that an
// output refers to is written again by the next call of the same shape:
// goroutines that share a Callable use CallWith.
type Callable[In, Out any] struct {
	s *driver.Stream
	f Func[In, Out]
	o options

	mu       turn
	closed   bool
	variants []*variant[In, Out] // the one that was called last is the first
	stats    Stats
}

// Stats counts what a Callable did.
type Stats struct {
	Calls        uint64 // launches that were sent
	Recorded     uint64 // times that the function ran
	Updated      uint64 // of those, how many an update of the graph followed
	Instantiated uint64 // graphs instantiated, also where an update was not possible
	Evicted      uint64 // variants closed to make room
	Variants     int    // there now
}

// New makes a Callable that works on s, which must be one that can be
// captured, and prepares it for the shapes of the examples. Without examples
// the first call records. If an example fails nothing is left.
//
// It needs what capture and instantiation need; graphs are updated on every
// driver that this module supports.
func New[In, Out any](s *driver.Stream, f Func[In, Out], examples []In, opts ...Option) (*Callable[In, Out], error) {
	c := &Callable[In, Out]{s: s, f: f, mu: newTurn(), o: options{mode: graph.ModeRelaxed, max: defaultVariants}}
	absent.Apply(opts, &c.o)
	if err := c.accepts(len(examples)); err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made { // also when the function panicked or left
			_ = c.Close()
		}
	}()
	if err := c.Prepare(examples...); err != nil {
		return nil, refusal.Join([]error{err, c.Close()})
	}
	made = true
	return c, nil
}

// accepts refuses what can never work.
func (c *Callable[In, Out]) accepts(examples int) error {
	switch {
	case c.f == nil:
		return refusal.Invalid("callable: no function")
	case c.o.max < 1:
		return refusal.Invalid("callable: it has to keep at least one variant, not %d", c.o.max)
	case examples > c.o.max:
		return refusal.Invalid("callable: %d examples, but only %d variants are kept; raise WithVariants", examples, c.o.max)
	}
	if err := refusal.Uncapturable(c.s); err != nil {
		return fmt.Errorf("callable: %w", err)
	}
	return nil
}

// Prepare records the function for the shapes of inputs, so that their first
// calls do not have to. Nothing is called.
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
		if _, err := c.variant(inputs[i]); err != nil {
			return c.failed(fmt.Errorf("input %d: %w", i, err))
		}
	}
	return nil
}

// Call copies the input to the device, replays and waits for the output, whose
// memory is written again by the next call of the same shape. If ctx ends first
// its cause is returned; the replay goes on then, and its output is lost.
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

// CallWith is Call for goroutines that share a Callable: use gets the output
// before another call can write it. It must not call the Callable.
func (c *Callable[In, Out]) CallWith(ctx context.Context, in In, use func(Out) error) error {
	if !c.exists() {
		return aCallable.Error(c == nil)
	}
	if err := c.mu.lock(ctx); err != nil {
		return c.failed(err)
	}
	defer c.mu.Unlock()
	v, err := c.run(ctx, in)
	if err != nil {
		return c.failed(err)
	}
	return use(v.out)
}

// Forward is Call by the name that modules have for it.
func (c *Callable[In, Out]) Forward(ctx context.Context, in In) (Out, error) {
	return c.Call(ctx, in)
}

// Start is Call without the wait: it copies the input and launches. What is sent
// to the Callable's stream afterwards runs behind the replay, and may use
// outputs on the device. The Pending hands out the output.
//
// ctx bounds the time that the copy of the input waits for the one of the call
// before, whose page-locked memory it uses again.
func (c *Callable[In, Out]) Start(ctx context.Context, in In) (Pending[Out], error) {
	if !c.exists() {
		return Pending[Out]{}, aCallable.Error(c == nil)
	}
	if err := c.mu.lock(ctx); err != nil {
		return Pending[Out]{}, c.failed(err)
	}
	defer c.mu.Unlock()
	v, err := c.send(ctx, in, true)
	if err == nil {
		err = v.mark(c.s)
	}
	if err != nil {
		return Pending[Out]{}, c.failed(err)
	}
	return Pending[Out]{&v.outcome, v.launched}, nil
}

// Stream returns the stream that calls work on.
func (c *Callable[In, Out]) Stream() *driver.Stream {
	if !c.exists() {
		return nil
	}
	return c.s
}

// Stats returns what was done so far.
func (c *Callable[In, Out]) Stats() Stats {
	if !c.exists() {
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Variants = len(c.variants)
	return stats
}

// Close gives back the graphs and the memory of all variants. A replay that is
// under way ends, and what it uses is kept until then; its output is lost.
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
	return refusal.Join(errs)
}

// exists reports whether c is a callable of New's making.
func (c *Callable[In, Out]) exists() bool { return c != nil && c.f != nil }

func (c *Callable[In, Out]) failed(err error) error {
	return fmt.Errorf("callable on %v: %w", c.s, err)
}

// ErrOutputGone is matched when the output of a call cannot be had: it was
// handed out, a later call of the same shape wrote over it, or it was closed.
var ErrOutputGone = errors.New("the output is gone")
