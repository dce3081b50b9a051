package emulator

import (
	"math"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/callback"
	"github.com/purecuda/cuda/loader"
)

// callbackEnv returns the environment for the thread that calls the program's functions. CUDA calls
// on that thread fail.
func (e *Emulator) callbackEnv() callback.Env {
	return callback.Env{Lock: &e.mu, Unlock: e.unlock, Enter: func() func() {
		self := e.thread()
		self.callback = true
		return func() { delete(e.threads, self.id) }
	}}
}

// hostNode calls a host function, in a stream or as a graph node.
type hostNode struct {
	fn       uintptr
	userData uintptr
}

func (n *hostNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_HOST }

func (n *hostNode) run(x *execution) result {
	x.e.stats.hostCalls.Add(1)
	x.spend(func(m *CostModel) time.Duration { return m.HostFunction })
	x.hostKnows()
	x.e.callbacks.Call(func() { loader.CallCallback(n.fn, n.userData) })
	return success
}

var hostFuncFunctions = functions{
	"cuLaunchHostFunc":    {cuLaunchHostFunc, afterInit},
	"cuStreamAddCallback": {cuStreamAddCallback, afterInit},
}

func cuLaunchHostFunc(c call) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case c.Word(1) == 0:
		return errInvalidValue
	}
	return s.submit(&hostNode{c.Word(1), c.Word(2)})
}

// streamCallback is the operation of cuStreamAddCallback. Unlike a host function, it receives the
// stream's status and also runs after a fault.
type streamCallback struct {
	fn, stream, userData uintptr
}

func (op *streamCallback) runsAfterFault() {}

func (op *streamCallback) run(x *execution) result {
	x.e.stats.hostCalls.Add(1)
	x.hostKnows()
	x.e.mu.Lock()
	status := x.ctx.dev.fault
	x.e.unlock()
	x.e.callbacks.Call(func() {
		loader.CallCallback(op.fn, op.stream, uintptr(status), op.userData)
	})
	return success
}

func cuStreamAddCallback(c call) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case c.Word(1) == 0 || c.Uint32(3) != 0:
		return errInvalidValue
	case s.cap != nil:
		return s.cap.invalidate(errUnsupported)
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	s.enqueue(&streamCallback{c.Word(1), c.Word(0), c.Word(2)})
	return success
}

// hostParams is CUDA_HOST_NODE_PARAMS with the user's data as a number. The data may be any number,
// but a Go variable of a pointer type must not hold arbitrary numbers.
type hostParams struct{ fn, userData uintptr }

func hostNodeFrom(p *hostParams) (*hostNode, result) {
	if p == nil || p.fn == 0 {
		return nil, errInvalidValue
	}
	return &hostNode{p.fn, p.userData}, success
}

func readHost(c call, i int, _ *hostNode) (*hostNode, result) {
	return hostNodeFrom(at[hostParams](c, i))
}

// userObject is a reference-counted object that belongs to the program. The program, graphs and
// executable graphs hold references to it. When the last one is released, the driver's thread calls
// the destructor.
type userObject struct {
	e         *Emulator
	handle    uintptr
	ptr       uintptr
	destroyFn uintptr
	refs      int
}

func (u *userObject) retain(n int) { u.refs += n }

func (u *userObject) release(n int) {
	if u.refs -= n; u.refs > 0 {
		return
	}
	u.e.forget(u.handle)
	fn, ptr := u.destroyFn, u.ptr
	u.e.callbacks.Post(func() { loader.CallCallback(fn, ptr) })
}

func (g *graph) eachUser(f func(u *userObject, n int)) {
	for u, n := range g.users {
		f(u, n)
	}
	for _, n := range g.nodes {
		if o, ok := n.params.(nested); ok {
			for _, inner := range o.graphs() {
				inner.eachUser(f)
			}
		}
	}
}

var userObjectFunctions = functions{
	"cuUserObjectCreate":       {cuUserObjectCreate, afterInit},
	"cuUserObjectRetain":       {cuUserObjectRetain, afterInit},
	"cuUserObjectRelease":      {cuUserObjectRelease, afterInit},
	"cuGraphRetainUserObject":  {cuGraphRetainUserObject, afterInit},
	"cuGraphReleaseUserObject": {cuGraphReleaseUserObject, afterInit},
}

func cuUserObjectCreate(c call) result {
	n := c.Uint32(3)
	if c.Ptr(0) == nil || c.Word(2) == 0 || n == 0 || n > math.MaxInt32 ||
		c.Uint32(4) != uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
		return errInvalidValue
	}
	u := &userObject{e: c.e, ptr: c.Word(1), destroyFn: c.Word(2), refs: int(n)}
	u.handle = c.e.register(u)
	return put(c, 0, u.handle)
}

// userAt reads an object and a count from arguments i and i+1.
func userAt(c call, i int) (*userObject, int, result) {
	u, n := handleAt[userObject](c, i), c.Uint32(i+1)
	if u == nil || n == 0 || n > math.MaxInt32 {
		return nil, 0, errInvalidValue
	}
	return u, int(n), success
}

func cuUserObjectRetain(c call) result {
	u, n, r := userAt(c, 0)
	if r != success {
		return r
	}
	u.retain(n)
	return success
}

func cuUserObjectRelease(c call) result {
	u, n, r := userAt(c, 0)
	switch {
	case r != success:
		return r
	case n > u.refs:
		return errInvalidValue
	}
	u.release(n)
	return success
}

func cuGraphRetainUserObject(c call) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	u, n, r := userAt(c, 1)
	flags := c.Uint32(3)
	switch {
	case r != success:
		return r
	case flags&^uint32(cu.CU_GRAPH_USER_OBJECT_MOVE) != 0:
		return errInvalidValue
	case flags == 0:
		u.retain(n)
	}
	g.users[u] += n
	return success
}

func cuGraphReleaseUserObject(c call) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	u, n, r := userAt(c, 1)
	switch {
	case r != success:
		return r
	case n > g.users[u]:
		return errInvalidValue
	}
	if g.users[u] -= n; g.users[u] == 0 {
		delete(g.users, u)
	}
	u.release(n)
	return success
}
