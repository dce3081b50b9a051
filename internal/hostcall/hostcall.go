// Package hostcall lets C call Go functions: host functions that the driver runs in stream order,
// and destructors of user objects.
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

// registry contains the Calls that the driver may still run. The driver always calls the same C
// function, because C callbacks are limited in number and cannot be freed. The userData argument is
// the address of the Call to run. The registry keeps the Call allocated as long as the driver may
// use it.
var registry struct {
	once sync.Once
	addr cu.CUhostFn

	mu      sync.Mutex
	byToken map[uintptr]*Call
}

// Call is a Go function that the driver can call.
type Call struct {
	Run    func()
	Once   bool           // the driver calls it exactly once, which also unregisters it
	Report Reporter       // receives panics; if nil, a panic ends the process
	Life   *life.Lifetime // lifetime of its stream; nil for a call in a graph
	Stream cu.CUstream
}

// Addr returns the C function that runs a Call.
func Addr() cu.CUhostFn {
	registry.once.Do(func() { registry.addr = cu.CUhostFn(loader.NewCallback(fireHostCall)) })
	return registry.addr
}

// Token returns the userData that identifies h. It is a pointer to Go memory that C never
// dereferences.
func (h *Call) Token() unsafe.Pointer { return unsafe.Pointer(h) }

// Register allows the driver to call h.
func (h *Call) Register() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.byToken == nil {
		registry.byToken = make(map[uintptr]*Call)
	}
	registry.byToken[uintptr(h.Token())] = h
}

// Unregister removes h from the registry. The driver must no longer call h.
func (h *Call) Unregister() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	delete(registry.byToken, uintptr(h.Token()))
}

// fireHostCall runs on a driver thread, where CUDA functions must not be called. With an emulated
// driver it runs on a separate goroutine.
func fireHostCall(token uintptr) {
	h := beginHostCall(token)
	if h == nil {
		return // the owner unregistered h, so its call must have no effect
	}
	runtime.LockOSThread() // needed for an emulator's goroutine; a C thread is locked already
	defer runtime.UnlockOSThread()
	defer hostthread.Mark(loader.ThreadID())()
	defer h.recycle()
	ended := false
	defer h.recovered(&ended)
	h.Run()
	ended = true
}

// Spare recycles Calls that were enqueued in streams.
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

// ErrGoexit is reported if a host function ended its goroutine instead of returning.
var ErrGoexit = errors.New("host function ended its goroutine (runtime.Goexit, as t.Fatal does), which has no effect there: return instead")

// Reporter receives the panics of host functions. value is the value of the panic, or ErrGoexit if
// the function ended its goroutine.
type Reporter interface {
	HostCallFailed(of *life.Lifetime, stream cu.CUstream, value any, stack []byte)
}

// recovered reports a panic or Goexit to h.Report. If h.Report is nil, it panics again, which ends
// the process.
func (h *Call) recovered(ended *bool) {
	v := recover()
	if v == nil && *ended {
		return
	}
	if v == nil {
		v = ErrGoexit
	}
	if h.Report == nil {
		panic(v) // functions of this module must not panic
	}
	h.Report.HostCallFailed(h.Life, h.Stream, v, debug.Stack())
}

// NodeParams returns the parameters of a graph node that calls h. h must stay registered.
func (h *Call) NodeParams() cu.CUDA_HOST_NODE_PARAMS {
	if h == nil {
		return cu.CUDA_HOST_NODE_PARAMS{}
	}
	return cu.CUDA_HOST_NODE_PARAMS{Fn: Addr(), UserData: h.Token()}
}

// OnGraphDestroy makes the driver call fn once graph, its clones and their executable graphs no
// longer exist. fn can release objects that the nodes refer to. fn runs on a driver thread, must
// not call CUDA and must not panic. It should only release objects or pass them to another
// goroutine. d is the guarded driver of the graph's context.
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
		call.Cancel() // the destructor still runs, but must not call fn
		return errors.Join(err, d.CuUserObjectRelease(object, 1))
	}
	return nil
}

// Registered returns the number of Calls that the driver may still run. It is meant for tests.
func Registered() int {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return len(registry.byToken)
}
