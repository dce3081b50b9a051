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
// After a method of the Trace, or a function that accepts it, has failed, all further ones do
// nothing. The call returns that failure, so the Func need not check for errors. To check anyway,
// use Err.
//
// When constants change, the Func runs again and gets the same memory as before. So it must request
// the same memory in the same order. Declare any property that affects this with Shape.
//
// In an eager call, the Trace enqueues the work directly: see WithAdaptive. The Func is the same in
// both cases. Objects that the operations refer to stay alive until the work has ended.
type Trace[In any] struct {
	traced[In]
	lease  *lease // lease of the variant
	in     In
	sc     *graph.Scope
	e      *eager // state of the eager call, or nil
	again  bool   // the function runs again, with existing memory
	scoped bool   // the function called Scope
	next   int    // index of the next cell
	limit  uint64 // limit for the memory of all cells
	err    error
	ended  bool

	nextShape, nextConstant int
	changed                 bool // a constant differs from the previous run
}

// Err returns the first failure.
func (t *Trace[In]) Err() error {
	if t == nil {
		return aTrace.Error(true)
	}
	return t.err
}

// Scope returns the scope in which work is recorded. Use it for forks, joins and other operations
// for which Trace has no method. The function must return the scope's errors.
//
// A shape whose function calls Scope is always recorded. If the function calls Scope in an eager
// call, the remaining work of that call is recorded and launched once.
func (t *Trace[In]) Scope() *graph.Scope {
	if t == nil {
		return nil
	}
	t.scoped = true
	if t.sc == nil && t.e != nil && !t.over() {
		sc, err := t.e.begin(t.lease)
		if err != nil {
			t.fail(err)
		}
		t.sc = sc
	}
	return t.sc
}

// Stream returns the stream in which work is recorded or enqueued, for use with other libraries.
// Objects that this work uses must stay alive until the Callable is closed, unless they are passed
// to Scope().Keep.
func (t *Trace[In]) Stream() *driver.Stream {
	if t == nil {
		return nil
	}
	if t.sc == nil && t.e != nil {
		t.e.began = true // the caller may enqueue work in the stream
	}
	return t.stream()
}

func (t *Trace[In]) stream() *driver.Stream {
	if t.sc == nil && t.e != nil {
		return t.e.s
	}
	return t.sc.Stream()
}

// Do records or enqueues operations in order.
func (t *Trace[In]) Do(ops ...driver.Op) {
	for _, op := range ops {
		if t.over() {
			return
		}
		if t.sc != nil {
			t.fail(t.sc.Do(op))
		} else {
			t.fail(t.e.do(op))
		}
	}
}

// Try is like Do, but accepts both results of a function that creates an operation, such as the
// functions of ptx/kernels: t.Try(kernels.Add(y, x, x)). An error becomes the Trace's failure.
// After an earlier failure, Try ignores both results, which may be consequences of that failure.
func (t *Trace[In]) Try(op driver.Op, err error) {
	if err == nil {
		t.Do(op)
	} else if !t.over() {
		t.fail(err)
	}
}

// Launch records or enqueues a kernel launch. See Kernel.Prepare for the configuration and the arguments.
func (t *Trace[In]) Launch(k *driver.Kernel, cfg driver.LaunchConfig, args ...any) {
	if t.over() {
		return
	}
	var l *driver.Launch
	var err error
	if t.sc != nil {
		l, err = k.Prepare(cfg, args...)
	} else {
		l, err = t.e.prepare(k, cfg, args)
	}
	if err != nil {
		t.fail(err)
		return
	}
	t.Do(l)
}

// Own makes the Callable close the given objects once this run's work is no longer used: after the
// function has run again for the same shape, the variant was evicted or the Callable was closed.
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
	if t.sc == nil && t.e == nil {
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
	return refusal.Invalid("the function ran again and %s than the previous time; Shape must declare what determines its memory", how)
}

// Shape declares a property of the input that determines the memory or the recorded work, such as a
// length. Calls with different values have different shapes and use separate variants.
func Shape[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Shape")
	}
	v := get(t.in)
	declare(&t.shapes, &t.nextShape, get, v)
	return v
}

// Constant declares a property of the input that becomes part of the recorded work, such as a
// kernel argument or a buffer that the work uses directly. If a call has a different value, the
// function is recorded again and the graph is updated. An eager call simply uses its value. For
// values that change with every call, use StageScalar or StageSlice instead, which cost only a
// small copy. A NaN differs from every value, so each call with a NaN records again.
func Constant[T comparable, In any](t *Trace[In], get func(In) T) T {
	if t == nil || get == nil {
		return undeclared[T](t, "Constant")
	}
	v := get(t.in)
	if declare(&t.constants, &t.nextConstant, get, v) {
		t.changed = true
	}
	return v
}

// declare stores v as entry next of a list and reports whether the value is new. A repeated eager
// call reuses the entries of the previous run.
func declare[T comparable, In any](list *[]guard[In], next *int, get func(In) T, v T) (changed bool) {
	i := *next
	*next++
	if i == len(*list) {
		*list = append(*list, &equal[T, In]{get, v})
		return true
	}
	g, ok := (*list)[i].(*equal[T, In])
	if !ok {
		(*list)[i] = &equal[T, In]{get, v}
		return true
	}
	changed = g.want != v
	g.get, g.want = get, v
	return changed
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

func (g *equal[T, In]) holds(in In) bool { return g.get(in) == g.want }
