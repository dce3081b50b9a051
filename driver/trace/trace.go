package trace

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// Call is a completed call to a driver function.
type Call struct {
	Function cu.Function
	Args     []Arg
	Result   cu.CUresult
	Start    time.Time
	Duration time.Duration
	// Thread is the ID of the OS thread that made the call, or of the goroutine if the thread
	// cannot be determined.
	Thread uint64
}

// Arg is one argument of a call, as text.
type Arg struct {
	Name string
	// Value is the argument as it was passed: handles and pointers in hexadecimal, enums by
	// name, C strings quoted, structs with their nonzero fields.
	Value string
	// Result is the value that a successful call wrote through the pointer. It is empty if the
	// function does not write through the pointer or writes text into a buffer.
	Result string
}

// String returns the call on one line:
//
//	cuMemAlloc(dptr=0xc000012345 → 0x700000000000, bytesize=1024) = CUDA_SUCCESS, 3.1µs
func (c *Call) String() string {
	if c == nil {
		return "no call"
	}
	var b strings.Builder
	b.WriteString(c.Function.String())
	for i, a := range c.Args {
		b.WriteString([]string{"(", ", "}[min(i, 1)])
		b.WriteString(a.String())
	}
	if len(c.Args) == 0 {
		b.WriteByte('(')
	}
	b.WriteString(") = " + c.Result.String() + ", " + c.Duration.String())
	return b.String()
}

// String returns name=value. If the call wrote a result, an arrow and the result follow.
func (a Arg) String() string {
	if a.Result != "" {
		return a.Name + "=" + a.Value + " → " + a.Result
	}
	return a.Name + "=" + a.Value
}

// Sink receives each call on the goroutine that made it, before the caller receives the result. A
// sink may be called concurrently. It must not call CUDA, because its call would run in the traced
// call's context and capture. The sink may keep the Call.
type Sink func(c *Call)

// Library forwards every call to the library that it wraps, and passes a record of the call to its
// sinks. It is safe for concurrent use.
type Library struct {
	inner loader.Library
	sinks []Sink
	off   atomic.Bool
}

var _ loader.Library = (*Library)(nil)

// Wrap returns a library that traces inner. Closing it closes inner.
func Wrap(inner loader.Library, sinks ...Sink) *Library {
	return &Library{inner: inner, sinks: sinks}
}

// aLibrary describes a Library in the errors for nil and zero Libraries.
var aLibrary = absent.Kind{Name: "trace", Make: "trace.Wrap of a library", Code: cu.CUDA_ERROR_INVALID_VALUE}

// Name returns the wrapped library's name.
func (l *Library) Name() string {
	if l == nil || l.inner == nil {
		return "no library"
	}
	return l.inner.Name()
}

// Close closes the wrapped library.
func (l *Library) Close() error {
	if l == nil || l.inner == nil {
		return nil
	}
	return l.inner.Close()
}

// Unwrap returns the wrapped library.
func (l *Library) Unwrap() loader.Library {
	if l == nil {
		return nil
	}
	return l.inner
}

// Pause stops tracing until Resume. While tracing is paused, a call still takes a few nanoseconds
// longer than without Wrap.
func (l *Library) Pause() {
	if l == nil {
		return
	}
	l.off.Store(true)
}

// Resume continues tracing after Pause.
func (l *Library) Resume() {
	if l == nil {
		return
	}
	l.off.Store(false)
}

// Lookup returns a function that calls the wrapped library's function and traces the call. A
// function that is not in cuda.h, or that cannot be traced, is returned unchanged.
func (l *Library) Lookup(symbol string) (loader.Proc, error) {
	if l == nil || l.inner == nil {
		return loader.Proc{}, aLibrary.Error(l == nil)
	}
	p, err := l.inner.Lookup(symbol)
	if err != nil || p.IsZero() {
		return p, err
	}
	f, ok := cu.FunctionBySymbol(symbol)
	if !ok {
		return p, nil
	}
	s := signatureOf(f)
	if s.byValue && !p.IsGo() {
		return p, nil
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		if l.off.Load() {
			return a.Forward(&p)
		}
		return l.call(f, s, &p, a)
	}), nil
}

// call makes the call and passes a record of it to the sinks.
func (l *Library) call(f cu.Function, s *signature, p *loader.Proc, a loader.Args) uintptr {
	c := &Call{Function: f, Args: s.before(a), Thread: loader.ThreadID(), Start: time.Now()}
	r := a.Forward(p)
	c.Duration = time.Since(c.Start)
	c.Result = cu.CUresult(uint32(r))
	if c.Result == cu.CUDA_SUCCESS {
		s.after(a, c.Args)
	}
	for _, show := range l.sinks {
		show(c)
	}
	return r
}
