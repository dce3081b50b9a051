package callable

import (
	"errors"
	"io"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Trace is one run of a Func, which uses it to read the input, to get memory and to record work.
// One goroutine uses it, and only until the function returns.
//
// After one of its methods or functions has failed, the others do nothing. The call returns that
// failure, so a function need not check for it, but can with Err.
//
// When constants change, the function runs again and gets the same memory as before. So it must
// request the same memory in the same order. Declare any property that affects this with Shape.
type Trace[In any] struct {
	traced[In]
	in    In
	sc    *graph.Scope
	again bool // the memory exists already
	next  int  // index of the next cell
	err   error
	ended bool
}

// Err returns the first failure.
func (t *Trace[In]) Err() error {
	if t == nil {
		return aTrace.Error(true)
	}
	return t.err
}

// Scope returns the scope in which work is recorded, for forks and joins and for operations
// without a method here. The function must return the scope's errors itself.
func (t *Trace[In]) Scope() *graph.Scope {
	if t == nil {
		return nil
	}
	return t.sc
}

// Stream returns the stream being captured, for other libraries that enqueue work in a stream.
// Keep the resources that such work refers to alive with Scope().Keep.
func (t *Trace[In]) Stream() *driver.Stream { return t.Scope().Stream() }

// Do records operations in order.
func (t *Trace[In]) Do(ops ...driver.Op) {
	for _, op := range ops {
		if t.over() {
			return
		}
		t.fail(t.sc.Do(op))
	}
}

// Launch records a kernel launch. For the configuration and arguments see Kernel.Prepare.
func (t *Trace[In]) Launch(k *driver.Kernel, cfg driver.LaunchConfig, args ...any) {
	if t.over() {
		return
	}
	l, err := k.Prepare(cfg, args...)
	if err != nil {
		t.fail(err)
		return
	}
	t.Do(l)
}

// Own makes the Callable close things when the recorded work is no longer used, because the
// function was recorded again or the variant was evicted.
func (t *Trace[In]) Own(things ...io.Closer) {
	if t == nil {
		return
	}
	if t.ended {
		t.fail(graph.ErrEnded)
		return
	}
	t.owned = append(t.owned, things...)
}

// over reports whether recording must stop.
func (t *Trace[In]) over() bool {
	if t == nil {
		return true
	}
	if t.sc == nil {
		t.fail(aTrace.Error(false))
	}
	if t.ended {
		t.fail(graph.ErrEnded)
	}
	return t.err != nil
}

func (t *Trace[In]) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// end returns the function's error: the first failure, joined with the error that the function
// returned if that is a different one.
func (t *Trace[In]) end(err error) error {
	t.ended = true
	if t.err == nil && err == nil && t.next < len(t.cells) {
		return t.differs("it asked for less memory")
	}
	if t.err == nil || errors.Is(err, t.err) {
		return err
	}
	return refusal.Join([]error{t.err, err})
}

// differs is the error of a function that ran differently for another input.
func (t *Trace[In]) differs(how string) error {
	return refusal.Invalid("the function was recorded again, for other constants, and %s than the previous time; Shape must declare what determines its memory", how)
}

// Shape declares a property of the input that determines memory, such as lengths, or which work
// is recorded. Calls with another value have another shape and get their own variant.
func Shape[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Shape")
	}
	v := get(t.in)
	t.shapes = append(t.shapes, equal[T, In]{get, v})
	return v
}

// Constant declares a property of the input that becomes part of the recorded work, such as a
// kernel argument or a buffer used in place. When a call has another value, the function is
// recorded again and the graph updated. For a value that changes with every call, staging is
// better and costs only a small copy. A NaN differs from every value, so it is recorded anew in
// each call.
func Constant[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Constant")
	}
	v := get(t.in)
	t.constants = append(t.constants, equal[T, In]{get, v})
	return v
}

// undeclared fails the Trace for a property without a function.
func undeclared[T, In any](t *Trace[In], what string) (none T) {
	if t != nil {
		t.fail(refusal.Invalid("%s without a function", what))
	}
	return none
}

// equal is the guard of a property that is compared with ==.
type equal[T comparable, In any] struct {
	get  func(In) T
	want T
}

func (g equal[T, In]) holds(in In) bool { return g.get(in) == g.want }
