package driver

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

// HostFunc is a Go function as an operation: sent to a stream, it runs on the
// host when the work before it is done, and the work behind it waits for it.
//
// The function runs on a thread of the driver. It may not call CUDA, which is
// refused with CUDA_ERROR_NOT_PERMITTED where it is noticed, nor wait for
// anything that depends on CUDA work. If it panics, or ends its goroutine
// (runtime.Goexit, as t.FailNow does), the next Wait, Query or Do on the stream
// returns a [HostPanic]; that of a function in a graph is returned by the next on
// any stream of the context.
//
// A HostFunc needs no Close. A stream or a graph that may still call it keeps
// it, however often it was sent.
type HostFunc struct {
	life *Lifetime
	ctx  *Context
	fn   func()
	node *hostCall // for graphs: called any number of times
	refs []Ref
}

// NewHostFunc makes an operation of fn.
func NewHostFunc(c *Context, fn func()) (*HostFunc, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot make a host function: %w", err)
	}
	if fn == nil {
		return nil, fmt.Errorf("nil host function: %w", CUDA_ERROR_INVALID_VALUE)
	}
	node := &hostCall{run: fn, core: c.core}
	// Being dropped is how a HostFunc normally ends, so it is not tracked, and
	// it does not hold the context open until the collector finds it.
	l := &Lifetime{kind: "host function", core: c.core}
	l.refs.Store(1)
	l.destroy = destroyFunc(func(*Driver) error { node.unregister(); return nil })
	node.register()
	h := &HostFunc{life: l, ctx: c, fn: fn, node: node}
	h.refs = []Ref{h}
	runtime.AddCleanup(h, func(l *Lifetime) { _ = l.Close() }, l) // unregister cannot fail
	return h, nil
}

// HostFunc sends fn to the stream. See the type HostFunc for what fn may do.
// It runs once, or, if the stream is capturing, each time the graph does.
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

// Context returns the context the function was made for.
func (h *HostFunc) Context() *Context {
	if h == nil {
		return nil
	}
	return h.ctx
}

// Refs implements Op.
func (h *HostFunc) Refs() []Ref {
	if h == nil {
		return nil
	}
	return h.refs
}

// Accesses implements Op: what a Go function touches is not known.
func (h *HostFunc) Accesses() []Access { return nil }

// String names the operation.
func (h *HostFunc) String() string {
	if h == nil {
		return "nil host function"
	}
	if h.fn == nil {
		return "zero host function"
	}
	return "host function " + runtime.FuncForPC(reflect.ValueOf(h.fn).Pointer()).Name()
}

func (*HostFunc) op() {}

// Enqueue implements Op.
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

// send registers an entry that lives until the driver calls it. A context that
// fails never does: its entries stay until the process ends.
func (h *HostFunc) send(s *Stream) error {
	call := onceCalls.Get().(*hostCall)
	*call = hostCall{run: h.fn, once: true, core: s.core, life: s.life, stream: s.raw}
	call.register()
	err := s.d.CuLaunchHostFunc(s.raw, callbackAddr(), call.token())
	if err != nil {
		call.unregister()
	}
	return err
}

// capture records a node and has the graph, with all copies that the driver
// makes of it, own the entry.
func (h *HostFunc) capture(s *Stream, graph CUgraph) error {
	if err := h.RetainIn(graph); err != nil {
		return err
	}
	return s.d.CuLaunchHostFunc(s.raw, callbackAddr(), h.node.token())
}

// NodeParams returns the parameters of a graph node that calls the function.
// They are good while h is reachable or its Lifetime is retained.
func (h *HostFunc) NodeParams() cu.CUDA_HOST_NODE_PARAMS {
	if h == nil || h.node == nil {
		return cu.CUDA_HOST_NODE_PARAMS{}
	}
	return cu.CUDA_HOST_NODE_PARAMS{Fn: callbackAddr(), UserData: h.node.token()}
}

// Lifetime is the ownership record of the function: while it is retained the
// driver can call the function, whether or not the program still refers to h.
func (h *HostFunc) Lifetime() *Lifetime {
	if h == nil {
		return nil
	}
	return h.life
}

// Retain implements Ref: it keeps the function callable until Done.
func (h *HostFunc) Retain() error {
	if h == nil || h.life == nil {
		return absentError(h == nil, "host function")
	}
	return h.life.Retain()
}

// Done gives back one Retain.
func (h *HostFunc) Done() {
	if h == nil || h.life == nil {
		return
	}
	h.life.Done()
}

// RetainIn keeps the function callable for as long as graph, its clones and
// the executable graphs made of it exist.
func (h *HostFunc) RetainIn(graph CUgraph) error {
	if h == nil || h.life == nil {
		return absentError(h == nil, "host function")
	}
	if err := h.life.Retain(); err != nil {
		return err
	}
	if err := h.ctx.OnGraphDestroy(graph, h.life.Done); err != nil {
		h.life.Done()
		return err
	}
	return nil
}

// OnGraphDestroy has fn called when graph, its clones and the executable
// graphs made of it are all gone; in this way graphs keep alive what their
// nodes refer to. fn runs on a thread of the driver, may not call CUDA and
// must not panic; it should only let go of things, or hand them on.
func (c *Context) OnGraphDestroy(graph CUgraph, fn func()) error {
	if c == nil || c.core == nil {
		return absentError(c == nil, "context")
	}
	call := &hostCall{run: fn, once: true}
	call.register()
	d := c.core.guarded
	var object CUuserObject
	err := d.CuUserObjectCreate(&object, call.token(), callbackAddr(), 1, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
	if err != nil {
		call.unregister()
		return err
	}
	if err := d.CuGraphRetainUserObject(graph, object, 1, uint32(cu.CU_GRAPH_USER_OBJECT_MOVE)); err != nil {
		call.cancel() // the destructor runs, but nothing was handed over
		return errors.Join(err, d.CuUserObjectRelease(object, 1))
	}
	return nil
}
