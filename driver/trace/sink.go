package trace

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
)

// To returns a sink that writes one line for each call. Lines from concurrent calls are not mixed.
// Write errors are ignored, because they must not affect the traced call.
func To(w io.Writer) Sink {
	var mu sync.Mutex
	return func(c *Call) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintln(w, c)
	}
}

// Log returns a sink that logs one record for each call. The level is Warn if the call failed, and
// otherwise Debug. CUDA_ERROR_NOT_READY does not count as a failure.
func Log(l *slog.Logger) Sink {
	return func(c *Call) {
		level := slog.LevelDebug
		if c.Result != cu.CUDA_SUCCESS && c.Result != cu.CUDA_ERROR_NOT_READY {
			level = slog.LevelWarn
		}
		if l.Enabled(context.Background(), level) {
			l.LogAttrs(context.Background(), level, c.Function.String(), c.attrs()...)
		}
	}
}

func (c *Call) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("result", c.Result.String()), slog.Duration("took", c.Duration)}
	args := make([]any, 0, len(c.Args))
	for _, a := range c.Args {
		v := a.Value
		if a.Result != "" {
			v += " → " + a.Result
		}
		args = append(args, slog.String(a.Name, v))
	}
	return append(attrs, slog.Group("args", args...))
}

// Only returns a sink that passes on to another sink those calls for which keep returns true.
func Only(keep func(c *Call) bool, to Sink) Sink {
	return func(c *Call) {
		if keep(c) {
			to(c)
		}
	}
}

// WithoutScope returns a sink that passes on all calls except those that make a context current or
// change the capture mode. This module makes such calls around other calls. Without tracing, they
// are part of the same native call.
func WithoutScope(to Sink) Sink {
	return Only(func(c *Call) bool {
		switch c.Function {
		case cu.FnCuCtxGetCurrent, cu.FnCuCtxSetCurrent, cu.FnCuThreadExchangeStreamCaptureMode:
			return false
		}
		return true
	}, to)
}

// Recorder stores calls for tests to inspect. The zero Recorder is ready to use.
type Recorder struct {
	mu    sync.Mutex
	calls []Call
}

// Sink returns a sink that records calls. Pass it to Wrap.
func (r *Recorder) Sink() Sink {
	return func(c *Call) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, *c)
	}
}

// Calls returns the calls recorded so far, in the order in which they returned.
func (r *Recorder) Calls() []Call {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Reset removes the recorded calls.
func (r *Recorder) Reset() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

// Count returns the number of recorded calls to a function.
func (r *Recorder) Count(f cu.Function) int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i := range r.calls {
		if r.calls[i].Function == f {
			n++
		}
	}
	return n
}
