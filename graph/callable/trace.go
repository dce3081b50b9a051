package callable

import (
	"errors"
	"io"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Trace is a run of a Func: what it is given to learn about the input, to get
// memory and to record work. It is used by one goroutine and by none after the
// function has returned.
//
// Its methods and functions do nothing after one of them failed. The failure is
// what the call returns, so a function need not look, and can by Err.
//
// When constants changed the function runs again and is given the same memory
// again: it has to ask for the same, in the same order. What decides about that
// is declared by Shape.
type Trace[In any] struct {
	traced[In]
	in    In
	sc    *graph.Scope
	again bool // the memory is there
	next  int  // which cell is the next
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

// Scope is where work is recorded: for forks and joins, and for what has no
// method here. What fails there is for the function to return.
func (t *Trace[In]) Scope() *graph.Scope {
	if t == nil {
		return nil
	}
	return t.sc
}

// Stream is the stream that is captured, for other libraries that send work to
// a stream. What such work refers to is to be kept alive by Scope().Keep.
func (t *Trace[In]) Stream() *driver.Stream { return t.Scope().Stream() }

// Do records operations, one after the other.
func (t *Trace[In]) Do(ops ...driver.Op) {
	for _, op := range ops {
		if t.over() {
			return
		}
		t.fail(t.sc.Do(op))
	}
}

// Launch records a kernel, for which Kernel.Prepare tells about configuration
// and arguments.
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

// Own has things closed when what the function recorded is not used any more:
// it was recorded again, or the shape's turn to be evicted came.
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

// over reports whether nothing is to be recorded any more.
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

// end gives the function's answer: the first cause, and what it returned if that
// is something else.
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

// differs is the error of a function that another input sent another way.
func (t *Trace[In]) differs(how string) error {
	return refusal.Invalid("the function was recorded again, for other constants, and %s than the time before; what decides about memory is declared by Shape", how)
}

// Shape tells a property of the input that decides about memory, about lengths
// for instance, or about which work is recorded. Calls with another value are of
// another shape and get a variant of their own.
func Shape[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Shape")
	}
	v := get(t.in)
	t.shapes = append(t.shapes, equal[T, In]{get, v})
	return v
}

// Constant tells a property of the input that becomes a part of the recorded
// work, such as an argument of a kernel, or a buffer that is used where it is.
// When a call has another value the function is recorded again and the graph
// updated. What changes with every call is better staged: that costs a small
// copy. A NaN differs from every value and is recorded anew in each call.
func Constant[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Constant")
	}
	v := get(t.in)
	t.constants = append(t.constants, equal[T, In]{get, v})
	return v
}

// undeclared is for a property that cannot be read.
func undeclared[T, In any](t *Trace[In], what string) (none T) {
	if t != nil {
		t.fail(refusal.Invalid("%s without a function", what))
	}
	return none
}

// equal is the guard of a property that is compared.
type equal[T comparable, In any] struct {
	get  func(In) T
	want T
}

func (g equal[T, In]) holds(in In) bool { return g.get(in) == g.want }
