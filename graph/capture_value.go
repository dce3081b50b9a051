package graph

import (
	"context"
	"fmt"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// Output is what a capture returned beside its graph: the buffers that a replay
// writes, for instance. It is handed out once, so that it has one owner.
type Output[T any] struct {
	mu    sync.Mutex
	value T
	there bool
}

// Take returns the value and true the first time, then the zero value and false.
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

// CaptureValue is Capture of a function that also returns a value. If the capture fails, there is
// no value: record must release what it created.
func CaptureValue[T any](s *driver.Stream, mode Mode, record func(*Scope) (T, error)) (*Graph, *Output[T], error) {
	if record == nil {
		return nil, nil, invalid("capture of %v: no function to record", s)
	}
	out := &Output[T]{there: true}
	g, err := capture(s, mode, func(sc *Scope) (err error) {
		out.value, err = record(sc)
		return err
	}, entry(record))
	if err != nil {
		return nil, nil, err
	}
	return g, out, nil
}

// Captured is a graph that was captured and prepared for launching.
type Captured[T any] struct {
	Graph  *Graph
	Exec   *Exec
	Output *Output[T]
}

// CaptureReady captures, instantiates and uploads a graph, and waits for s, so that the first
// launch costs as much as later ones. With the option WithUpload it uploads in another stream and
// waits for that. If a step fails, it destroys the results of the earlier steps.
func CaptureReady[T any](ctx context.Context, s *driver.Stream, mode Mode, record func(*Scope) (T, error), opts ...Option) (*Captured[T], error) {
	g, out, err := CaptureValue(s, mode, record)
	if err != nil {
		return nil, err
	}
	c := &Captured[T]{Graph: g, Output: out}
	if err := c.ready(ctx, s, opts); err != nil {
		return nil, join([]error{err, c.Close()})
	}
	return c, nil
}

func (c *Captured[T]) ready(ctx context.Context, s *driver.Stream, opts []Option) (err error) {
	if c.Exec, err = c.Graph.Instantiate(opts...); err != nil {
		return err
	}
	if up := c.Exec.opts.upload; up != nil {
		s = up
	} else if err := c.Exec.Upload(s); err != nil {
		return err
	}
	if err := s.Wait(ctx); err != nil {
		return fmt.Errorf("%v was uploaded on %v: %w", c.Exec, s, err)
	}
	return nil
}

// Close destroys the executable graph and the graph. It does not close the output.
func (c *Captured[T]) Close() error {
	if c == nil {
		return nil
	}
	return join([]error{c.Exec.Close(), c.Graph.Close()})
}
