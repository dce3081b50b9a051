// Package hostcall lets C call Go functions: those that the driver runs in stream order, and the
// destructors of user objects.
package hostcall

import (
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// registry maps calls from C to Go functions. The driver calls the same C function for all of
// them, because C registry are few and cannot be freed. userData distinguishes them: it is the
// address of a Call, which stays registered, and so allocated, for as long as the driver may
// call it.
var registry struct {
	once sync.Once
	addr cu.CUhostFn

	mu      sync.Mutex
	byToken map[uintptr]*Call
}

// Call is one entry of the registry.
type Call struct {
	Run    func()
	Once   bool           // the driver calls it exactly once: then it is unregistered
	Report Reporter       // of a panic; nil: the panic ends the process
	Life   *life.Lifetime // of the stream that it is in; nil: it is in graphs
	Stream cu.CUstream
}

// Addr returns the C function that runs a Call.
func Addr() cu.CUhostFn {
	registry.once.Do(func() { registry.addr = cu.CUhostFn(loader.NewCallback(fireHostCall)) })
	return registry.addr
}

// Token returns the userData that identifies h: a pointer to Go memory that C only hands back.
func (h *Call) Token() unsafe.Pointer { return unsafe.Pointer(h) }

// Register makes the driver able to call h.
func (h *Call) Register() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.byToken == nil {
		registry.byToken = make(map[uintptr]*Call)
	}
	registry.byToken[uintptr(h.Token())] = h
}

// Unregister ends that.
func (h *Call) Unregister() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	delete(registry.byToken, uintptr(h.Token()))
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
	h.Run()
	ended = true
}

// Spare recycles the entries of functions that were enqueued in streams.
var Spare = sync.Pool{New: func() any { return new(Call) }}

func (h *Call) recycle() {
	if h.Once {
		*h = Call{}
		Spare.Put(h)
	}
}

// Cancel makes a registered call do nothing.
func (h *Call) Cancel() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	h.Run = func() {}
}

func beginHostCall(token uintptr) *Call {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	h := registry.byToken[token]
	if h != nil && h.Once {
		delete(registry.byToken, token)
	}
	return h
}

// ErrGoexit reports a host function that neither returned nor panicked.
var ErrGoexit = errors.New("host function ended its goroutine (runtime.Goexit, as t.Fatal does), which has no effect there: return instead")

// Reporter learns of functions that panic, or that end their goroutine: then value is ErrGoexit.
type Reporter interface {
	HostCallFailed(of *life.Lifetime, stream cu.CUstream, value any, stack []byte)
}

// recovered turns a panic into a fault. On a thread without a Go caller a panic would end the
// process. Goexit also becomes a fault, and the function's caller survives it.
func (h *Call) recovered(ended *bool) {
	v := recover()
	if v == nil && *ended {
		return
	}
	if v == nil {
		v = ErrGoexit
	}
	if h.Report == nil {
		panic(v) // a function of this module
	}
	h.Report.HostCallFailed(h.Life, h.Stream, v, debug.Stack())
}

// NodeParams returns the parameters of a graph node that calls h, which must stay registered.
func (h *Call) NodeParams() cu.CUDA_HOST_NODE_PARAMS {
	if h == nil {
		return cu.CUDA_HOST_NODE_PARAMS{}
	}
	return cu.CUDA_HOST_NODE_PARAMS{Fn: Addr(), UserData: h.Token()}
}

// OnGraphDestroy calls fn when graph, its clones and their executable graphs no longer exist, so
// that graphs can keep alive what their nodes refer to. fn runs on a driver thread, must not call
// CUDA and must not panic. It should only release things, or hand them to another goroutine. d is
// the guarded driver of the graph's context.
func OnGraphDestroy(d *cu.Driver, graph cu.CUgraph, fn func()) error {
	call := &Call{Run: fn, Once: true}
	call.Register()
	var object cu.CUuserObject
	err := d.CuUserObjectCreate(&object, call.Token(), Addr(), 1, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
	if err != nil {
		call.Unregister()
		return err
	}
	if err := d.CuGraphRetainUserObject(graph, object, 1, uint32(cu.CU_GRAPH_USER_OBJECT_MOVE)); err != nil {
		call.Cancel() // the destructor runs, but nothing was handed over
		return errors.Join(err, d.CuUserObjectRelease(object, 1))
	}
	return nil
}

// Registered returns how many calls the driver could still make, for tests.
func Registered() int {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return len(registry.byToken)
}
