package emulator

import (
	"math"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// userObject is a reference-counted object of the user. The program, graphs and executable graphs
// hold references. When the last reference is released, the destructor runs on the driver's thread.
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
	u.e.callbacks.post(func() { loader.CallCallback(fn, ptr) })
}

// eachUser visits the user objects of the graph and the graphs in it.
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

// objectAt reads (object, count) from two arguments.
func objectAt(c call, i int) (*userObject, int, result) {
	u, n := handleAt[userObject](c, i), c.Uint32(i+1)
	if u == nil || n == 0 || n > math.MaxInt32 {
		return nil, 0, errInvalidValue
	}
	return u, int(n), success
}

func cuUserObjectRetain(c call) result {
	u, n, r := objectAt(c, 0)
	if r != success {
		return r
	}
	u.retain(n)
	return success
}

func cuUserObjectRelease(c call) result {
	u, n, r := objectAt(c, 0)
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
	u, n, r := objectAt(c, 1)
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
	u, n, r := objectAt(c, 1)
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
