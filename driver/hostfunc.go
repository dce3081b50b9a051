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

// HostFunc is a Go function as an operation: it runs on the host, in stream order, and later work
// in the stream waits for it. It may be enqueued any number of times and is not closed: a stream or
// graph that may still call it keeps it alive.
//
// The function runs on a driver thread. It must not call CUDA, or wait for anything that depends on
// CUDA work. Calls of CUDA fail with CUDA_ERROR_NOT_PERMITTED where they are detected. If the
// function panics, or ends its goroutine (runtime.Goexit, as t.FailNow does), the next Wait, Query
// or Do on the stream returns a [HostPanic]. If it ran in a graph, the next such call on any stream
// of the context does.
type HostFunc struct {
	life *life.Lifetime
	ctx  *Context
	fn   func()
	node *hostcall.Call // for graphs: called any number of times
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
	// A HostFunc normally ends by becoming unreachable. It is therefore not tracked as a leak, and
	// does not hold the context open until the collector finds it.
	l := life.Loose(&c.core.home, "host function", 0, func(*cu.Driver) error { node.Unregister(); return nil })
	node.Register()
	h := &HostFunc{life: l, ctx: c, fn: fn, node: node}
	h.refs = []life.Ref{h}
	runtime.AddCleanup(h, func(l *life.Lifetime) { _ = l.Close() }, l) // unregister cannot fail
	return h, nil
}

// HostFunc enqueues a call of fn under the rules of type [HostFunc]. In a capturing stream, fn runs
// each time the graph does, else once.
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

// Uses returns the function itself. What it accesses is unknown.
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

// send registers an entry that lives until the driver calls it. If the context fails, the driver
// never does, and its entries stay until the process ends.
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

// capture records a node and makes the graph, with all its clones, own the entry.
func (h *HostFunc) capture(s *Stream, graph CUgraph) error {
	if err := h.retainIn(graph); err != nil {
		return err
	}
	return s.d.CuLaunchHostFunc(s.raw, hostcall.Addr(), h.node.Token())
}

// Lifetime returns the function's ownership record. While it is retained, the driver can call the
// function, even if h is unreachable.
func (h *HostFunc) Lifetime() *life.Lifetime {
	if h == nil {
		return nil
	}
	return h.life
}

// retainIn keeps the function callable for as long as graph, its clones and their executable graphs
// exist.
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

// HostPanic is the error of a host function that panicked or ended its goroutine (runtime.Goexit).
// Later work in the stream still ran.
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

// UserObject is an object that CUDA counts references to and destroys with the last one. Graphs
// that retain it, their clones and executable graphs hold references until none of their launches
// is in flight. With it, graphs own what is not an object of this library, such as memory of C
// code.
type UserObject struct {
	life *life.Lifetime
	ctx  *Context
	raw  cu.CUuserObject
	own  *userRefs
}

// userRefs counts the references that the program holds.
type userRefs struct {
	moved atomic.Bool // the one of the UserObject became a graph's
	mu    sync.Mutex
	given int // by Retain, not given back by Release
}

// NewUserObject creates an object that calls destroy at its end, on a goroutine of its own. destroy
// may call CUDA. The program's reference lasts until Close.
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

// AdoptUserObject is NewUserObject for objects of C code. The driver calls the C function destroy
// with data. It must not call CUDA.
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
	raw, own := u.raw, u.own
	life.Own(u, l, uint64(raw), func(d *cu.Driver) error {
		if own.moved.Load() {
			return nil
		}
		return d.CuUserObjectRelease(raw, 1)
	})
	return u, nil
}

// destroyUser runs a destructor.
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

// Retain adds n references for C code that releases them, or for Release.
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

// Release releases n references that Retain gave away.
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

// Moved closes the object because a graph took over its reference.
func (u *UserObject) Moved() {
	if u == nil || u.own == nil {
		return
	}
	u.own.moved.Store(true)
	_ = u.life.Close() // destroys nothing
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

// Close releases the program's reference. The last one destroys the object.
func (u *UserObject) Close() error {
	if u == nil {
		return nil
	}
	err := u.life.Close()
	runtime.KeepAlive(u)
	return err
}
