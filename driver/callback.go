package driver

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/internal/hostcall"
	"github.com/purecuda/cuda/internal/life"
)

// HostPanic is the error of a host function that panicked, or that ended its goroutine with
// runtime.Goexit. Later work in the stream still ran.
type HostPanic struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error returns the panic's message. Stack has the location.
func (p *HostPanic) Error() string {
	if p == nil {
		return "nil panic of a host function"
	}
	if p.Value == error(hostcall.ErrGoexit) {
		return hostcall.ErrGoexit.Error()
	}
	return fmt.Sprintf("host function panicked: %v", p.Value)
}

// Unwrap returns the panic's value if that is an error, else nil.
func (p *HostPanic) Unwrap() error {
	if p == nil {
		return nil
	}
	err, _ := p.Value.(error)
	return err
}

// faults are the panics of host functions that have not been reported yet. A wait, query or
// operation on the stream of the function reports them. Those of graphs, which may run on any
// stream, are reported by any stream.
type faults struct {
	pending atomic.Int32

	mu   sync.Mutex
	list []fault
}

type fault struct {
	life   *life.Lifetime // distinguishes the stream from an earlier one with the same handle
	stream CUstream
	err    error
}

// maxFaults limits the list, because a graph may call a panicking function forever.
const maxFaults = 64

// HostCallFailed implements hostcall.Reporter.
func (core *contextCore) HostCallFailed(l *life.Lifetime, stream CUstream, value any, stack []byte) {
	core.addFault(l, stream, &HostPanic{Value: value, Stack: stack})
}

// addFault keeps a panic for the stream. If the stream no longer exists, the panic goes to
// CleanupErrors.
func (core *contextCore) addFault(l *life.Lifetime, stream CUstream, err error) {
	if !core.faults.add(fault{l, stream, err}) {
		core.home.Note(err)
	}
}

// forgetFaults runs when a stream is destroyed.
func (core *contextCore) forgetFaults(l *life.Lifetime) {
	for _, err := range core.faults.drop(l) {
		core.home.Note(err)
	}
}

// add reports whether a stream remains that can report the fault.
func (f *faults) add(x fault) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.life != nil && x.life.Gone() {
		return false
	}
	if len(f.list) < maxFaults {
		f.list = append(f.list, x)
		f.pending.Add(1)
	}
	return true
}

func (f *faults) drop(l *life.Lifetime) (errs []error) {
	if f.pending.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(x fault) bool {
		if x.life == l {
			errs = append(errs, x.err)
		}
		return x.life == l
	})
	f.pending.Add(-int32(len(errs)))
	return errs
}

// take removes and returns the oldest fault that concerns the stream.
func (f *faults) take(l *life.Lifetime, stream CUstream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.list {
		if x.life == nil || x.life == l && x.stream == stream {
			f.list = slices.Delete(f.list, i, i+1)
			f.pending.Add(-1)
			return x.err
		}
	}
	return nil
}
