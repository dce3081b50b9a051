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

// Take returns the value and true, the first time, and then nothing.
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

// CaptureValue is Capture of a function that returns a value besides. If the
// capture fails in whatever way, there is none: what the function made by then
// is the function's to give back.
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

// Captured is a graph that was captured and made ready to be launched.
type Captured[T any] struct {
	Graph  *Graph
	Exec   *Exec
	Output *Output[T]
}

// CaptureReady captures, instantiates and uploads, and waits for s, so that the
// first launch costs what later ones do and everything the function did before
// is over. With the option WithUpload the upload goes to another stream, which
// is waited for. If a step fails, what the steps before made is destroyed.
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

// Close destroys the executable graph and the graph. The output is not theirs.
func (c *Captured[T]) Close() error {
	if c == nil {
		return nil
	}
	return join([]error{c.Exec.Close(), c.Graph.Close()})
}
