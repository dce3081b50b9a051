package callable

import (
	"errors"
	"io"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Trace is one run of a Func. The Func uses it to read the input, to get memory and to record work.
// Only one goroutine may use a Trace, and only until the Func returns.
//
// After one of its methods or functions has failed, all others do nothing. The call returns that
// failure, so the Func need not check. To check anyway, use Err.
//
// When constants change, the Func runs again and gets the same memory as before. So it must request
// the same memory in the same order. Declare any property that affects this with Shape.
type Trace[In any] struct {
	traced[In]
	in    In
	sc    *graph.Scope
	again bool // the function runs again, with existing memory
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

// Scope returns the scope in which work is recorded. Use it for forks and joins, and for operations
// without a method here. The function must return the scope's errors.
func (t *Trace[In]) Scope() *graph.Scope {
	if t == nil {
		return nil
	}
	return t.sc
}

// Stream returns the stream being captured, for other libraries that enqueue work in a stream. Keep
// the objects of such work alive with Scope().Keep.
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

// Launch records a kernel launch. See Kernel.Prepare for the configuration and the arguments.
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

// Own makes the Callable close things when the recorded work is no longer used. That is when the
// function was recorded again, the variant was evicted or the Callable was closed.
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

// end returns the first failure. If the function returned a different error, end joins it.
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

// differs returns the error for a function that behaved differently when it ran again.
func (t *Trace[In]) differs(how string) error {
	return refusal.Invalid("the function was recorded again, for other constants, and %s than the previous time; Shape must declare what determines its memory", how)
}

// Shape declares a property of the input that determines the memory or the recorded work, such as a
// length. Calls with another value have another shape and use their own variant.
func Shape[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Shape")
	}
	v := get(t.in)
	t.shapes = append(t.shapes, equal[T, In]{get, v})
	return v
}

// Constant declares a property of the input that becomes part of the recorded work, such as a
// kernel argument or a buffer used in place. If a call has another value, the function is recorded
// again and the graph is updated. Stage values that change with every call instead: staging costs
// only a small copy. A NaN differs from every value, so each call with a NaN records again.
func Constant[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Constant")
	}
	v := get(t.in)
	t.constants = append(t.constants, equal[T, In]{get, v})
	return v
}

// undeclared makes the Trace fail because a property was declared without a function.
func undeclared[T, In any](t *Trace[In], what string) (none T) {
	if t != nil {
		t.fail(refusal.Invalid("%s without a function", what))
	}
	return none
}

type equal[T comparable, In any] struct {
	get  func(In) T
	want T
}

func (g equal[T, In]) holds(in In) bool { return g.get(in) == g.want }
