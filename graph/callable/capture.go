package callable

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Output holds the value that a capture returned with its graph, such as the buffers that a replay
// writes. Only the first Take returns it, so that it has one owner.
type Output[T any] struct {
	mu    sync.Mutex
	value T
	there bool
}

// Take returns the value and true on the first call. Later calls return the zero value and false.
func (o *Output[T]) Take() (value T, ok bool) {
	if o == nil {
		return value, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var none T
	value, ok = o.value, o.there
	o.value, o.there = none, false
	return value, ok
}

// CaptureValue is like graph.Capture for a function that also returns a value. If the capture
// fails, the value is lost, so record must release the objects that it created if it returns an
// error.
func CaptureValue[T any](s *driver.Stream, mode graph.Mode, record func(*graph.Scope) (T, error), opts ...graph.CaptureOption) (*graph.Graph, *Output[T], error) {
	if record == nil {
		return nil, nil, refusal.Invalid("capture of %v: no function to record", s)
	}
	r, err := graph.Begin(s, mode, opts...) // must be called directly, because it records its caller for messages
	if err != nil {
		return nil, nil, err
	}
	defer r.Abort() // record panicked or called runtime.Goexit
	out := &Output[T]{there: true}
	if out.value, err = record(r.Scope()); err != nil {
		return nil, nil, refusal.Join([]error{err, r.Abort()})
	}
	g, err := r.End()
	if err != nil {
		return nil, nil, err
	}
	return g, out, nil
}

// Captured is a graph that was captured and is ready for launching.
type Captured[T any] struct {
	Graph  *graph.Graph
	Exec   *graph.Exec
	Output *Output[T]
}

// CaptureReady captures, instantiates and uploads a graph, and waits for s, so that the first
// launch costs as much as later ones. With the option WithUpload, it uploads in the given stream
// and waits for that stream. If a step fails, it destroys the results of the earlier steps.
func CaptureReady[T any](ctx context.Context, s *driver.Stream, mode graph.Mode, record func(*graph.Scope) (T, error), opts ...graph.Option) (*Captured[T], error) {
	g, out, err := CaptureValue(s, mode, record)
	if err != nil {
		return nil, err
	}
	c := &Captured[T]{Graph: g, Output: out}
	if err := c.ready(ctx, s, opts); err != nil {
		return nil, refusal.Join([]error{err, c.Close()})
	}
	return c, nil
}

func (c *Captured[T]) ready(ctx context.Context, s *driver.Stream, opts []graph.Option) (err error) {
	if c.Exec, err = c.Graph.Instantiate(opts...); err != nil {
		return err
	}
	if c.Exec.Uploaded() {
		err = c.Exec.Wait(ctx) // this also waits for the stream of WithUpload
	} else {
		if err := c.Exec.Upload(s); err != nil {
			return err
		}
		err = s.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("%v was uploaded: %w", c.Exec, err)
	}
	return nil
}

// Close destroys the executable graph and the graph. It does not close the output.
func (c *Captured[T]) Close() error {
	if c == nil {
		return nil
	}
	return refusal.Join([]error{c.Exec.Close(), c.Graph.Close()})
}

// StageValue is like Exec.Stage for a function that also returns a value, such as the buffer that
// the next launch reads. stage calls do to enqueue operations. If stage or an operation fails,
// StageValue returns no value. The next launch still runs after the operations already enqueued.
func StageValue[T any](x *graph.Exec, s *driver.Stream, stage func(do func(...driver.Op) error) (T, error)) (T, error) {
	var none T
	if stage == nil {
		return none, refusal.Invalid("cannot stage for %v: no function", x)
	}
	var failed error
	value, err := stage(func(ops ...driver.Op) error {
		err := x.Stage(s, ops...)
		failed = cmp.Or(failed, err)
		return err
	})
	if err = cmp.Or(err, failed); err != nil {
		return none, err
	}
	return value, nil
}
