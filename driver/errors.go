package driver

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/hint"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/kernelfault"
)

func nilError(kind string) error { return absentError(true, kind) }

// absentError returns the error for a method call on a nil object, or on a zero object that no
// constructor created.
func absentError(isNil bool, kind string) error {
	k := absent.Kind{Name: kind, Make: makerOf(kind), Code: CUDA_ERROR_INVALID_VALUE}
	return k.Error(isNil)
}

func makerOf(kind string) string {
	switch kind {
	case "allocation":
		return "driver.NewAlloc"
	case "array":
		return "Context.NewArray"
	case "buffer":
		return "driver.Alloc"
	case "context":
		return "Device.PrimaryContext or Device.NewContext"
	case "copy":
		return "driver.Upload, driver.Download or driver.CopyDevice"
	case "driver":
		return "driver.Open or driver.New"
	case "event":
		return "Context.NewEvent"
	case "event operation":
		return "driver.RecordOp or driver.WaitOp"
	case "external memory":
		return "Context.ImportExternalMemory"
	case "external semaphore":
		return "Context.ImportSemaphoreFD or another Import method of Context"
	case "fill":
		return "driver.Fill"
	case "free":
		return "driver.NewFree"
	case "host buffer":
		return "driver.AllocHost"
	case "host function":
		return "driver.NewHostFunc"
	case "image":
		return "image.Parse"
	case "kernel":
		return "Module.Kernel"
	case "launch":
		return "Kernel.Prepare"
	case "library":
		return "Context.LoadLibrary"
	case "linker":
		return "Context.NewLinker"
	case "memory":
		return "driver.Alloc"
	case "memory operation":
		return "driver.NewMemOp"
	case "memory pool":
		return "Context.NewMemPool"
	case "module":
		return "Context.LoadModule"
	case "semaphore operation":
		return "driver.NewSemaphoreSignal or driver.NewSemaphoreWait"
	case "set of images":
		return "driver.NewImageSet"
	case "stream":
		return "Context.NewStream"
	case "user object":
		return "Context.NewUserObject"
	}
	return "its constructor"
}

// Named prefixes an error's text with a name, such as a file name. Unlike fmt.Errorf, it preserves
// the compiler's log for %+v. A nil error stays nil.
func Named(name string, err error) error {
	if err == nil {
		return nil
	}
	return &namedError{name, err}
}

type namedError struct {
	name string
	err  error
}

func (e *namedError) Error() string { return e.name + ": " + e.err.Error() }
func (e *namedError) Unwrap() error { return e.err }

// Format implements fmt.Formatter. It formats the wrapped error with the same verb and flags, so
// that %+v prints the whole error.
func (e *namedError) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, "%s: "+fmt.FormatString(s, verb), e.name, e.err)
}

// noDriver returns the driver of a nil Context. All its functions return
// CUDA_ERROR_INVALID_CONTEXT.
var noDriver = sync.OnceValue(func() *Driver { return &Driver{*cu.NoContext(), new(driverCore)} })

// Lost returns nil if the context still works. Otherwise the error matches [ErrContextLost] and the
// code that the driver returned for a trivial query. If the context is closed, the error matches
// only [ErrClosed]. Use Lost for health checks, and to distinguish a transient CUDA_ERROR_UNKNOWN
// from a lost device. It does not wait, so it cannot detect failures of work that is still in
// flight. It does not invalidate captures.
func (c *Context) Lost() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	if err := c.core.life.Retain(); err != nil { // a context closed concurrently is not lost
		return err
	}
	defer c.core.life.Done()
	var free, total uintptr
	err := c.core.guarded.CuMemGetInfo(&free, &total)
	if err == nil {
		return nil
	}
	return &lostError{c.String(), err}
}

// lostError wraps an error so that it also matches ErrContextLost.
type lostError struct {
	context string
	err     error
}

func (e *lostError) Error() string {
	if code := CUresult(0); errors.As(e.err, &code) && code.Is(ErrContextLost) {
		return fmt.Sprintf("%s: %v", e.context, e.err)
	}
	return fmt.Sprintf("%s: %v; %s", e.context, e.err, hint.ContextLost)
}

func (e *lostError) Unwrap() []error { return []error{e.err, ErrContextLost} }

// KernelFault reports that a check in a kernel failed, such as a bounds check. The failing threads
// have ended, and the contents of memory that the launch wrote are unspecified. The context still
// works. Each stream and event reports a fault once, at its first wait, whatever stream its kernel
// ran in.
type KernelFault struct {
	Kind          string    // index, slice, nil, divide, shift, convert, assert, panic, and others
	Kernel, File  string    // File is relative to its Go module
	Line, Column  int       // from 1; 0 if unknown
	Message       string    // the message of a panic or an assertion
	Values        [3]int64  // index: index, length; slice: low, high, capacity; convert: the lengths
	Block, Thread [3]uint32 // indices of the failing thread
}

// Error returns one line that begins with the position.
func (f *KernelFault) Error() string {
	if f == nil {
		return "nil kernel fault"
	}
	var b strings.Builder
	if f.File != "" {
		fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Column)
	}
	fmt.Fprintf(&b, "%s in kernel %s, block %s, thread %s; what the launch wrote is unspecified, the context works on: fix the kernel or its arguments",
		f.what(), cmp.Or(f.Kernel, "(unknown)"), triple(f.Block), triple(f.Thread))
	return b.String()
}

func triple(v [3]uint32) string { return fmt.Sprintf("(%d,%d,%d)", v[0], v[1], v[2]) }

// what describes the failed check in the words of Go's run-time panics.
func (f *KernelFault) what() string {
	v, text := f.Values, ""
	switch f.Kind {
	case "index":
		text = fmt.Sprintf("index out of range [%d] with length %d", v[0], v[1])
	case "slice":
		text = fmt.Sprintf("slice bounds out of range [%d:%d] with capacity %d", v[0], v[1], v[2])
	case "nil":
		text = "nil pointer dereference"
	case "divide":
		text = "integer divide by zero"
	case "shift":
		text = fmt.Sprintf("negative shift amount %d", v[0])
	case "convert":
		text = fmt.Sprintf("cannot convert slice with length %d to array or pointer to array with length %d", v[0], v[1])
	case "assert":
		text = "assertion failed"
	case "":
		text = "a check failed"
	default:
		text = f.Kind
	}
	if f.Message == "" {
		return text
	}
	return text + ": " + f.Message
}

func newKernelFault(r *kernelfault.Record) error {
	return &KernelFault{
		Kind: r.Kind, Kernel: r.Function, File: r.File, Line: r.Line, Column: r.Column, Message: r.Message,
		Values: r.Values, Block: r.Block, Thread: r.Thread,
	}
}
