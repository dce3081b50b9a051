package serve

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// ErrBusy matches every BusyError.
var ErrBusy = errors.New("too many calls are waiting")

// ErrTooLate matches the error of a call that WithDeadlines refused because it could not end before
// its context's deadline.
var ErrTooLate = errors.New("the call cannot end in time")

// aPool describes errors of methods on nil and zero Pools.
var aPool = absent.Kind{Name: "pool", Make: "serve.New", Code: driver.CUDA_ERROR_INVALID_VALUE}

// BusyError is the error that a call returns if it was refused because all replicas were busy and
// the queue was full. It matches ErrBusy.
type BusyError struct {
	Waiting  int // calls in the queue
	Replicas int // replicas, all of them busy
}

// Error states how many calls wait and how many replicas are busy.
func (e *BusyError) Error() string {
	if e == nil {
		return ErrBusy.Error()
	}
	return fmt.Sprintf("serve: %v: the queue is full with %d, and all replicas are busy (%d); retry later, or raise WithQueue or WithReplicas",
		ErrBusy, e.Waiting, e.Replicas)
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

type tooLate struct {
	left, needed time.Duration
	ahead        int
}

func (e *tooLate) Error() string {
	return fmt.Sprintf("serve: %v: its deadline is in %v, but it needs about %v with %d calls ahead of it", ErrTooLate, e.left, e.needed, e.ahead)
}

func (e *tooLate) Unwrap() error { return ErrTooLate }

// All calls return a LostError once the context is lost. With [WithRestart], the calls that were
// running or waiting at that time return it. Later calls return it only if the Pool cannot restart.
// It matches driver.ErrContextLost and the driver's code.
type LostError struct {
	Call   uint64 // number of the call that failed first, counted in order of arrival; 0 for Prepare
	Others int    // other calls that were running when it failed; any of them may be the cause
	Err    error  // error of the first call

	Restarting bool  // whether the Pool tries to continue in a new context; if so, later calls wait for it
	Restart    error // reason why the Pool did not restart, if WithRestart was given

	state error // result of driver.Context.Lost
}

// Error returns a message that names the call that failed first and states what the program can do.
func (e *LostError) Error() string {
	if e == nil || e.Err == nil {
		return driver.ErrContextLost.Error()
	}
	others := ""
	switch {
	case e.Others == 1:
		others = " (or in another call that was running)"
	case e.Others > 1:
		others = fmt.Sprintf(" (or in one of %d other calls that were running)", e.Others)
	}
	call := "Prepare"
	if e.Call != 0 {
		call = fmt.Sprint("call ", e.Call)
	}
	return fmt.Sprintf("serve: the context was lost in %s%s: %v; %s", call, others, e.Err, e.remedy())
}

// Unwrap returns the first call's error and driver.ErrContextLost.
func (e *LostError) Unwrap() []error {
	if e == nil || e.Err == nil {
		return []error{driver.ErrContextLost}
	}
	if e.Restart != nil {
		return []error{e.Err, e.state, e.Restart, driver.ErrContextLost}
	}
	return []error{e.Err, e.state, driver.ErrContextLost}
}

// remedy describes what the program can do.
func (e *LostError) remedy() string {
	switch {
	case e.Restarting:
		return "later calls wait until the pool has a new context"
	case errors.Is(e.Restart, driver.ErrContextLost):
		return fmt.Sprintf("the process must end, because a new context fails as well: %v", e.Restart)
	case e.Restart != nil:
		return fmt.Sprintf("the pool did not restart: %v; close the pool and end the process", e.Restart)
	case errors.Is(e.Err, driver.ErrContextLost): // this error persists in all contexts of the process
		return "the process must end, because new contexts fail as well (seen with driver 580)"
	}
	return "close the pool, and create a new context and a new pool; if that fails, the process must end"
}

// closeError contains the errors of several objects that could not be released. After the context
// is lost, each object may cause an error.
type closeError struct{ all error }

// closeErrors joins the errors of closing a Pool.
func closeErrors(errs []error) error {
	err := refusal.Join(errs)
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return &closeError{err}
}

// Error returns the first error and the number of other errors.
func (e *closeError) Error() string {
	first, others, _ := strings.Cut(e.all.Error(), "\n")
	n, plural := strings.Count(others, "\n")+1, "s"
	if n == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s (and %d more error%s; %%+v prints all)", first, n, plural)
}

// Format implements fmt.Formatter. %+v prints all errors, one on each line.
func (e *closeError) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+'):
		_, _ = io.WriteString(s, e.all.Error())
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

// Unwrap returns the joined errors.
func (e *closeError) Unwrap() error { return e.all }
