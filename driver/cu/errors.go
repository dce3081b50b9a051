package cu

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/purecuda/cuda/loader"
)

var (
	// ErrNotSupported matches CUDA_ERROR_NOT_SUPPORTED. It also matches the error for a function
	// that the driver does not have.
	ErrNotSupported = errors.New("not supported by the installed CUDA driver")
	// ErrDriverTooOld matches the error for a driver that is older than [MinVersion].
	ErrDriverTooOld = errors.New("CUDA driver too old")
	// ErrClosed matches the error of a call on a closed object. A call on a nil or zero object
	// returns another error, which names the constructor and matches CUDA_ERROR_INVALID_VALUE.
	ErrClosed = errors.New("closed")
)

// Error is the failure of a driver function. It matches its code: errors.Is(err,
// driver.CUDA_ERROR_OUT_OF_MEMORY).
//
// %v and the method Error produce one line. %+v also prints the whole log.
type Error struct {
	Func    Function
	Result  CUresult
	Missing bool   // the driver lacks the function; no call was made
	Hint    string // the usual cause or the remedy
	Log     string // output of the driver's compiler or linker

	cause error // ErrClosed if the driver was closed
}

// Error returns one line with the function, the code and the hint.
func (e *Error) Error() string {
	if e == nil {
		return "nil driver error"
	}
	if e.Missing {
		return fmt.Sprintf("%v: %s", e.Func, e.Hint)
	}
	if e.Hint == "" {
		return fmt.Sprintf("%v: %s (%d)", e.Func, e.Result.String(), uint32(e.Result))
	}
	return fmt.Sprintf("%v: %s (%d): %s", e.Func, e.Result.String(), uint32(e.Result), e.Hint)
}

// Unwrap returns the code, which is itself an error.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Result
}

// Is reports whether the error matches one of two sentinels. ErrNotSupported matches if the driver
// lacks the function or returned CUDA_ERROR_NOT_SUPPORTED. ErrClosed matches if the driver was
// closed.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	if target == ErrNotSupported {
		return e.Missing || e.Result == CUDA_ERROR_NOT_SUPPORTED
	}
	return e.cause != nil && target == e.cause
}

// Format implements fmt.Formatter: %v and %s print one line, %+v also prints the log, and %q quotes
// the line.
func (e *Error) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+') && e != nil && e.Log != "":
		_, _ = io.WriteString(s, e.Error()+"\n"+strings.TrimRight(e.Log, "\n"))
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

// Error returns the code's name and its usual meaning.
func (r CUresult) Error() string {
	if hint := r.hint(); hint != "" {
		return r.String() + ": " + hint
	}
	return r.String()
}

// Queries of a stream or event that is not done return an error. These errors are preallocated
// because such queries are common.
var (
	errStreamNotReady = &Error{Func: FnCuStreamQuery, Result: CUDA_ERROR_NOT_READY, Hint: CUDA_ERROR_NOT_READY.hint()}
	errEventNotReady  = &Error{Func: FnCuEventQuery, Result: CUDA_ERROR_NOT_READY, Hint: CUDA_ERROR_NOT_READY.hint()}
)

// fail returns the error for a result code other than success.
func (d *Driver) fail(f Function, code uintptr) error {
	if code == loader.Missing && !d.Has(f) {
		return d.missing(f)
	}
	r := CUresult(uint32(code))
	if r == CUDA_ERROR_NOT_READY {
		switch f {
		case FnCuStreamQuery:
			return errStreamNotReady
		case FnCuEventQuery:
			return errEventNotReady
		}
	}
	e := &Error{Func: f, Result: r, Hint: r.hint()}
	if r.losesContext() {
		if report := explain(d.Library(), r); report != "" {
			e.Hint = report + "; " + lostHint
		}
	}
	switch {
	case d.core.absent != "":
		e.Hint = d.core.absent
	case d.Closed():
		e.Hint, e.cause = "the driver "+d.Library().Name()+" was closed", ErrClosed
	}
	noteCaptureFault(e)
	return e
}

// explain returns the library's own description of a failure, such as which thread of an emulated
// kernel caused it. It unwraps libraries that have an Unwrap method.
func explain(lib loader.Library, r CUresult) string {
	for {
		switch l := lib.(type) {
		case interface{ Explain(CUresult) string }:
			return l.Explain(r)
		case interface{ Unwrap() loader.Library }:
			lib = l.Unwrap()
		default:
			return ""
		}
	}
}

func (d *Driver) missing(f Function) error {
	hint := fmt.Sprintf("not in the installed driver, which supports CUDA %s: it came with CUDA %s",
		cudaVersion(d.Version()), cudaVersion(f.Since()))
	if f.Since() <= d.Version() {
		hint = fmt.Sprintf("not in this driver (%s, CUDA %s), although CUDA has it since %s",
			d.Library().Name(), cudaVersion(d.Version()), cudaVersion(f.Since()))
	}
	if older, ok := d.olderForm(f); ok {
		hint += fmt.Sprintf("; it has the form of CUDA %s: the method %s", cudaVersion(older.Since()), older.method())
	}
	return &Error{Func: f, Result: CUDA_ERROR_NOT_SUPPORTED, Missing: true, Hint: hint}
}

// olderForm returns the newest version of f, other than f itself, that the driver has.
func (d *Driver) olderForm(f Function) (older Function, ok bool) {
	for g := range Function(functionCount) {
		if g != f && g.Base() == f.Base() && d.Has(g) && (!ok || g.Since() > older.Since()) {
			older, ok = g, true
		}
	}
	return older, ok
}

func (f Function) method() string {
	name := f.String()
	return strings.ToUpper(name[:1]) + name[1:]
}

// impossible returns the error for a function whose arguments cannot be passed on this platform.
func (d *Driver) impossible(f Function) error {
	return &Error{
		Func: f, Result: CUDA_ERROR_NOT_SUPPORTED, Missing: true,
		Hint: "takes floating-point arguments, which this build has no way to pass to C",
	}
}
