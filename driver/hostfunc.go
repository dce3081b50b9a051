package driver

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostcall"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// HostFunc is an operation that runs a Go function on the host, in stream order. Later work in the
// stream waits for the function. A HostFunc may be enqueued any number of times. It has no Close: a
// stream or graph that may still call the function keeps it alive.
//
// The function runs on a driver thread. It must not call CUDA, nor wait for anything that depends
// on CUDA work. A CUDA call in it fails with CUDA_ERROR_NOT_PERMITTED if the library detects the
// call. If the function panics or ends its goroutine (runtime.Goexit, as t.FailNow does), the next
// Wait, Query or Do on the stream returns a [HostPanic]. If the function ran in a graph, the next
// such call on any stream of the context returns it.
type HostFunc struct {
	life *life.Lifetime
	ctx  *Context
	fn   func()
	node *hostcall.Call // the call that graph nodes make, any number of times
	refs []life.Ref
}

// NewHostFunc creates an operation that calls fn.
func NewHostFunc(c *Context, fn func()) (*HostFunc, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot make a host function: %w", err)
	}
	if fn == nil {
		return nil, fmt.Errorf("nil host function: %w", CUDA_ERROR_INVALID_VALUE)
	}
	node := &hostcall.Call{Run: fn, Report: c.core}
	// A HostFunc has no Close, so an unreachable one is not a leak. It does not keep the context
	// open either, because the garbage collector may run much later.
	l := life.Loose(&c.core.home, "host function", 0, func(*cu.Driver) error { node.Unregister(); return nil })
	node.Register()
	h := &HostFunc{life: l, ctx: c, fn: fn, node: node}
	h.refs = []life.Ref{h}
	runtime.AddCleanup(h, func(l *life.Lifetime) { _ = l.Close() }, l) // unregistering cannot fail
	return h, nil
}

// HostFunc enqueues a call of fn, to which the rules of type [HostFunc] apply. In a capture, fn
// runs at each launch of the graph. Otherwise it runs once.
func (s *Stream) HostFunc(fn func()) error {
	if err := s.ready(); err != nil {
		return err
	}
	h, err := NewHostFunc(s.ctx, fn)
	if err != nil {
		return err
	}
	return h.Enqueue(s)
}

// Context returns the context that the function was created for.
func (h *HostFunc) Context() *Context {
	if h == nil {
		return nil
	}
	return h.ctx
}

// Uses returns the function itself. The memory that it accesses is unknown.
func (h *HostFunc) Uses() uses.Set {
	if h == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: h.refs, Node: h.node}
}

// String describes the operation.
func (h *HostFunc) String() string {
	if h == nil {
		return "nil host function"
	}
	if h.fn == nil {
		return "zero host function"
	}
	return "host function " + runtime.FuncForPC(reflect.ValueOf(h.fn).Pointer()).Name()
}

// Enqueue implements [Op].
func (h *HostFunc) Enqueue(s *Stream) error {
	if h == nil || h.life == nil {
		return absentError(h == nil, "host function")
	}
	if err := s.ready(); err != nil {
		return err
	}
	info, err := s.captureInfo()
	if err != nil {
		return s.named(err)
	}
	switch info.status {
	case cu.CU_STREAM_CAPTURE_STATUS_ACTIVE:
		err = h.capture(s, info.graph)
	default:
		err = h.send(s)
	}
	runtime.KeepAlive(s)
	return s.named(err)
}

// send registers a call for one use: it is unregistered when the driver makes it. If the context
// fails, the driver never makes the call, which then stays registered until the process ends.
func (h *HostFunc) send(s *Stream) error {
	call := hostcall.Spare.Get().(*hostcall.Call)
	*call = hostcall.Call{Run: h.fn, Once: true, Report: s.core, Life: s.life, Stream: s.raw}
	call.Register()
	err := s.d.CuLaunchHostFunc(s.raw, hostcall.Addr(), call.Token())
	if err != nil {
		call.Unregister()
	}
	return err
}

// capture records a node. The graph and its clones retain the function.
func (h *HostFunc) capture(s *Stream, graph CUgraph) error {
	if err := h.retainIn(graph); err != nil {
		return err
	}
	return s.d.CuLaunchHostFunc(s.raw, hostcall.Addr(), h.node.Token())
}

// Lifetime returns the function's ownership record. While the record is retained, the driver can
// call the function even if h is unreachable.
func (h *HostFunc) Lifetime() *life.Lifetime {
	if h == nil {
		return nil
	}
	return h.life
}

// retainIn keeps the function registered until graph, its clones and their executable graphs are
// destroyed.
func (h *HostFunc) retainIn(graph CUgraph) error {
	if err := h.life.Retain(); err != nil {
		return err
	}
	if err := hostcall.OnGraphDestroy(&h.ctx.core.guarded.Driver, graph, h.life.Done); err != nil {
		h.life.Done()
		return err
	}
	return nil
}

// HostPanic reports that a host function panicked or ended its goroutine (runtime.Goexit). Later
// work in the stream runs nevertheless.
type HostPanic struct {
	Value any    // the value passed to panic
	Stack []byte // the stack at the panic
}

// Error returns the panic's message. The location is in Stack.
func (p *HostPanic) Error() string {
	if p == nil {
		return "nil panic of a host function"
	}
	if p.Value == error(hostcall.ErrGoexit) {
		return hostcall.ErrGoexit.Error()
	}
	return fmt.Sprintf("host function panicked: %v", p.Value)
}

// Unwrap returns the panic's value if it is an error, and otherwise nil.
func (p *HostPanic) Unwrap() error {
	if p == nil {
		return nil
	}
	err, _ := p.Value.(error)
	return err
}

// faults holds panics in host functions that have not been reported yet. The next wait, query or
// operation on the function's stream reports the panic. If the function ran in a graph, any stream
// reports it, because graphs may run on any stream.
type faults struct {
	pending atomic.Int32

	mu   sync.Mutex
	list []fault
}

type fault struct {
	life   *life.Lifetime // the stream's, whose handle may be reused; nil for a panic in a graph
	stream CUstream
	err    error
}

// maxFaults limits the length of the list, because a graph may run a panicking function
// indefinitely.
const maxFaults = 64

// HostCallFailed implements hostcall.Reporter.
func (core *contextCore) HostCallFailed(l *life.Lifetime, stream CUstream, value any, stack []byte) {
	core.addFault(l, stream, &HostPanic{Value: value, Stack: stack})
}

// addFault stores a panic for its stream. If the stream is already destroyed, the panic goes to
// CleanupErrors.
func (core *contextCore) addFault(l *life.Lifetime, stream CUstream, err error) {
	if !core.faults.add(fault{l, stream, err}) {
		core.home.Note(err)
	}
}

// forgetFaults moves a destroyed stream's faults to CleanupErrors.
func (core *contextCore) forgetFaults(l *life.Lifetime) {
	for _, err := range core.faults.drop(l) {
		core.home.Note(err)
	}
}

// add stores a fault, or drops it if the list is full. It returns false if the stream that would
// report the fault is destroyed.
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

// take removes and returns the oldest fault that the stream must report.
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

// UserObject is an object whose references CUDA counts. CUDA destroys the object when the last
// reference is released. A graph that retains it holds references until the graph, its clones and
// their executable graphs are destroyed and no launch is in flight. Use it to make graphs own
// resources from outside this library, such as memory allocated in C.
type UserObject struct {
	life *life.Lifetime
	ctx  *Context
	raw  cu.CUuserObject
	own  *userRefs
}

type userRefs struct {
	mu    sync.Mutex
	given int // number of references added by Retain and not yet released by Release
}

// NewUserObject creates an object. After its last release, destroy runs on a goroutine and may call
// CUDA. Close releases the program's reference.
func (c *Context) NewUserObject(destroy func()) (*UserObject, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if destroy == nil {
		return nil, fmt.Errorf("user object without a destructor: %w", CUDA_ERROR_INVALID_VALUE)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	core := c.core
	call := &hostcall.Call{Once: true, Run: func() { go core.destroyUser(destroy) }}
	call.Register()
	u, err := c.newUserObject(call.Token(), hostcall.Addr())
	if err != nil {
		call.Unregister()
	}
	return u, err
}

// AdoptUserObject is like NewUserObject, but takes a C function for destroy. The driver calls
// destroy with data. destroy must not call CUDA.
func (c *Context) AdoptUserObject(data unsafe.Pointer, destroy cu.CUhostFn) (*UserObject, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if destroy == 0 {
		return nil, fmt.Errorf("user object without a destructor: %w", CUDA_ERROR_INVALID_VALUE)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c.newUserObject(data, destroy)
}

func (c *Context) newUserObject(data unsafe.Pointer, destroy cu.CUhostFn) (*UserObject, error) {
	l, err := newLifetime(c, "user object")
	if err != nil {
		return nil, err
	}
	u := &UserObject{life: l, ctx: c, own: new(userRefs)}
	err = c.core.guarded.CuUserObjectCreate(&u.raw, data, destroy, 1, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
	if err != nil {
		return nil, l.Abandon(err)
	}
	raw := u.raw
	life.Own(u, l, uint64(raw), func(d *cu.Driver) error {
		return d.CuUserObjectRelease(raw, 1)
	})
	return u, nil
}

// destroyUser runs a destructor. If the destructor panics, CleanupErrors returns the panic.
func (core *contextCore) destroyUser(destroy func()) {
	defer func() {
		if v := recover(); v != nil {
			core.home.Note(fmt.Errorf("destructor of a user object: %w", &HostPanic{Value: v, Stack: debug.Stack()}))
		}
	}()
	destroy()
}

func (u *UserObject) check(n int) error {
	if u == nil || u.life == nil {
		return absentError(u == nil, "user object")
	}
	if err := u.life.Check(); err != nil {
		return err
	}
	if n < 1 || n > math.MaxInt32 {
		return invalidf("%v: %d references", u.life, n)
	}
	return nil
}

// Retain adds n references. C code or Release must release them.
func (u *UserObject) Retain(n int) error {
	if err := u.check(n); err != nil {
		return err
	}
	u.own.mu.Lock()
	defer u.own.mu.Unlock()
	if err := u.ctx.core.guarded.CuUserObjectRetain(u.raw, uint32(n)); err != nil {
		return fmt.Errorf("%v: %w", u.life, err)
	}
	u.own.given += n
	runtime.KeepAlive(u)
	return nil
}

// Release releases n references that Retain added.
func (u *UserObject) Release(n int) error {
	if err := u.check(n); err != nil {
		return err
	}
	u.own.mu.Lock()
	defer u.own.mu.Unlock()
	if n > u.own.given {
		return invalidf("%v: release of %d references, but Retain added only %d", u.life, n, u.own.given)
	}
	if err := u.ctx.core.guarded.CuUserObjectRelease(u.raw, uint32(n)); err != nil {
		return fmt.Errorf("%v: %w", u.life, err)
	}
	u.own.given -= n
	runtime.KeepAlive(u)
	return nil
}

// Raw returns the driver's handle.
func (u *UserObject) Raw() cu.CUuserObject {
	if u == nil {
		return 0
	}
	return u.raw
}

// Context returns the context the object was created with.
func (u *UserObject) Context() *Context {
	if u == nil {
		return nil
	}
	return u.ctx
}

// Lifetime returns the ownership record of the program's reference.
func (u *UserObject) Lifetime() *life.Lifetime {
	if u == nil {
		return nil
	}
	return u.life
}

// String describes the object.
func (u *UserObject) String() string {
	if u == nil {
		return "nil user object"
	}
	return u.life.String()
}

// Close releases the program's reference, which NewUserObject created.
func (u *UserObject) Close() error {
	if u == nil {
		return nil
	}
	err := u.life.Close()
	runtime.KeepAlive(u)
	return err
}
