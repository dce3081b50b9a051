package driver

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// callbacks maps calls from C to Go functions. The driver calls the same C function for all of
// them, because C callbacks are few and cannot be freed. userData distinguishes them: it is the
// address of a hostCall, which stays registered, and so allocated, for as long as the driver may
// call it.
var callbacks struct {
	once sync.Once
	addr CUhostFn

	mu      sync.Mutex
	byToken map[uintptr]*hostCall
}

// hostCall is one entry of the registry.
type hostCall struct {
	run    func()
	once   bool           // the driver calls it exactly once: then it is unregistered
	core   *contextCore   // whose streams report a panic
	life   *life.Lifetime // of the stream that it is in; nil: it is in graphs
	stream CUstream
}

// callbackAddr returns the C function that runs a hostCall.
func callbackAddr() CUhostFn {
	callbacks.once.Do(func() { callbacks.addr = CUhostFn(loader.NewCallback(fireHostCall)) })
	return callbacks.addr
}

// token returns the userData that identifies h: a pointer to Go memory that C only hands back.
func (h *hostCall) token() unsafe.Pointer { return unsafe.Pointer(h) }

func (h *hostCall) register() {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	if callbacks.byToken == nil {
		callbacks.byToken = make(map[uintptr]*hostCall)
	}
	callbacks.byToken[uintptr(h.token())] = h
}

func (h *hostCall) unregister() {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	delete(callbacks.byToken, uintptr(h.token()))
}

// fireHostCall runs on a driver thread, where no CUDA function may be called. With an emulated
// driver it runs on a separate goroutine.
func fireHostCall(token uintptr) {
	h := beginHostCall(token)
	if h == nil {
		return // unregistered, although its owner must keep it while it can fire
	}
	runtime.LockOSThread() // C's thread is anyway; an emulator's goroutine is not
	defer runtime.UnlockOSThread()
	defer hostthread.Mark(loader.ThreadID())()
	defer h.recycle()
	ended := false
	defer h.recovered(&ended)
	h.run()
	ended = true
}

// onceCalls recycles the entries of functions that were enqueued in streams.
var onceCalls = sync.Pool{New: func() any { return new(hostCall) }}

func (h *hostCall) recycle() {
	if h.once {
		*h = hostCall{}
		onceCalls.Put(h)
	}
}

// cancel makes a registered call do nothing.
func (h *hostCall) cancel() {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	h.run = func() {}
}

func beginHostCall(token uintptr) *hostCall {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	h := callbacks.byToken[token]
	if h != nil && h.once {
		delete(callbacks.byToken, token)
	}
	return h
}

// errGoexit reports a host function that neither returned nor panicked.
var errGoexit = errors.New("host function ended its goroutine (runtime.Goexit, as t.Fatal does), which has no effect there: return instead")

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
	if p.Value == error(errGoexit) {
		return errGoexit.Error()
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

// recovered turns a panic into a fault. On a thread without a Go caller a panic would end the
// process. Goexit also becomes a fault, and the function's caller survives it.
func (h *hostCall) recovered(ended *bool) {
	v := recover()
	if v == nil && *ended {
		return
	}
	if v == nil {
		v = errGoexit
	}
	fault := &HostPanic{Value: v, Stack: debug.Stack()}
	if h.core == nil {
		panic(fault) // a function of this module
	}
	h.core.addFault(h.life, h.stream, fault)
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
