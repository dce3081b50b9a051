package driver

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// callbacks is how C reaches Go functions. The driver calls one C function for
// all of them, because C callbacks are few and never given back, and tells them
// apart by userData: the address of a hostCall, which stays registered, and so
// allocated, for as long as the driver may call it.
var callbacks struct {
	once    sync.Once
	addr    CUhostFn
	running atomic.Int32 // host functions executing now

	mu      sync.Mutex
	byToken map[uintptr]*hostCall
	threads map[uint64]struct{} // that execute one
}

// hostCall is one entry of the registry.
type hostCall struct {
	run    func()
	once   bool // the driver calls it exactly once: then it is unregistered
	faults *faults
	stream CUstream // that it was sent to; 0: it is in graphs
}

// callbackAddr returns the C function that runs a hostCall.
func callbackAddr() CUhostFn {
	callbacks.once.Do(func() { callbacks.addr = CUhostFn(loader.NewCallback(fireHostCall)) })
	return callbacks.addr
}

// token is the userData that names h. It is a pointer to Go memory that C only
// hands back.
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

// fireHostCall runs on a thread of the driver (an emulated one: on a goroutine
// of its own), where no CUDA function may be called.
func fireHostCall(token uintptr) {
	h := beginHostCall(token)
	if h == nil {
		return // unregistered, although its owner must not let go while it can fire
	}
	runtime.LockOSThread() // C's thread is anyway; an emulator's goroutine is not
	defer runtime.UnlockOSThread()
	defer markThread(loader.ThreadID())()
	defer h.recycle()
	defer h.recovered()
	h.run()
}

// onceCalls recycles the entries of functions that were sent to streams.
var onceCalls = sync.Pool{New: func() any { return new(hostCall) }}

func (h *hostCall) recycle() {
	if h.once {
		*h = hostCall{}
		onceCalls.Put(h)
	}
}

// cancel has a registered call do nothing.
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

// markThread notes that the calling thread runs a host function, until the
// returned function is called.
func markThread(id uint64) (unmark func()) {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	if _, nested := callbacks.threads[id]; nested {
		return func() {}
	}
	if callbacks.threads == nil {
		callbacks.threads = make(map[uint64]struct{})
	}
	callbacks.threads[id] = struct{}{}
	callbacks.running.Add(1)
	return func() {
		callbacks.mu.Lock()
		defer callbacks.mu.Unlock()
		delete(callbacks.threads, id)
		callbacks.running.Add(-1)
	}
}

// inCallback reports whether a host function is the caller. It costs one atomic
// load while none runs.
func inCallback() bool { return callbacks.running.Load() != 0 && onCallbackThread() }

func onCallbackThread() bool {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	_, inside := callbacks.threads[loader.ThreadID()]
	return inside
}

// notInCallback refuses calls that a host function makes itself. What another
// goroutine does on its behalf cannot be told from any other call.
func notInCallback() error {
	if !inCallback() {
		return nil
	}
	return fmt.Errorf("a host function may not call CUDA, have it signal a goroutine that does: %w",
		CUDA_ERROR_NOT_PERMITTED)
}

// HostPanic is the error of a host function that panicked. The work behind it
// went on.
type HostPanic struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error says what the host function panicked with; Stack says where.
func (p *HostPanic) Error() string { return fmt.Sprintf("host function panicked: %v", p.Value) }

// Unwrap is the panic's value where that is an error.
func (p *HostPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// recovered turns a panic, which would end the process on a thread that has no
// Go caller, into a fault.
func (h *hostCall) recovered() {
	v := recover()
	if v == nil {
		return
	}
	fault := &HostPanic{Value: v, Stack: debug.Stack()}
	if h.faults == nil {
		panic(fault) // a function of this module
	}
	h.faults.add(h.stream, fault)
}

// faults are the panics of host functions that nobody was told of yet. A wait,
// query or operation on the stream that the function was sent to takes them
// up; those of graphs, which may run on any stream, are taken up by any.
type faults struct {
	pending atomic.Int32

	mu   sync.Mutex
	list []fault
}

type fault struct {
	stream CUstream
	err    error
}

// maxFaults bounds the list: a graph may fire a function forever.
const maxFaults = 64

func (f *faults) add(stream CUstream, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) < maxFaults {
		f.list = append(f.list, fault{stream, err})
		f.pending.Add(1)
	}
}

// take removes and returns the oldest fault that concerns the stream.
func (f *faults) take(stream CUstream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.list {
		if x.stream == stream || x.stream == 0 {
			f.list = append(f.list[:i], f.list[i+1:]...)
			f.pending.Add(-1)
			return x.err
		}
	}
	return nil
}
