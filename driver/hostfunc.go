package driver

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostcall"
	"github.com/purecuda/cuda/internal/life"
)

// HostFunc is a Go function as an operation: it runs on the host, in stream order, and later work
// in the stream waits for it.
//
// The function runs on a driver thread. It must not call CUDA, or wait for anything that depends on
// CUDA work. Calls of CUDA fail with CUDA_ERROR_NOT_PERMITTED where they are detected. If the
// function panics, or ends its goroutine (runtime.Goexit, as t.FailNow does), the next Wait, Query
// or Do on the stream returns a [HostPanic]. If it ran in a graph, the next such call on any stream
// of the context does.
//
// A HostFunc need not be closed. A stream or a graph that may still call it keeps it alive, and it
// may be enqueued any number of times.
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

// HostFunc enqueues a call of fn, which must obey the rules of the type HostFunc. fn runs once, or,
// if the stream is capturing, each time the graph does.
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

// Refs implements Op.
func (h *HostFunc) Refs() []life.Ref {
	if h == nil {
		return nil
	}
	return h.refs
}

// Accesses implements Op. It returns nil, because what a Go function accesses is unknown.
func (h *HostFunc) Accesses() []Access { return nil }

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

// Lifetime returns the function's ownership record. While it is retained the driver can call the
// function, even if the program no longer refers to h.
func (h *HostFunc) Lifetime() *life.Lifetime {
	if h == nil {
		return nil
	}
	return h.life
}

// NodeParams returns the parameters of a graph node that calls the function. They are valid while h
// is reachable or its Lifetime is retained.
func (h *HostFunc) NodeParams() cu.CUDA_HOST_NODE_PARAMS {
	if h == nil {
		return cu.CUDA_HOST_NODE_PARAMS{}
	}
	return h.node.NodeParams()
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
