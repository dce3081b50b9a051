package graph

import (
	"fmt"
	"math"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// RetainUserObject makes the graph hold n references to u. Clones, and Execs instantiated from now
// on, hold references as well (CUDA 11.3). See [driver.UserObject] for how it is destroyed.
func (g *Graph) RetainUserObject(u *driver.UserObject, n int) error {
	return g.changeUsers("retain", u, n, func() error {
		return g.d.CuGraphRetainUserObject(g.raw, u.Raw(), uint32(n), 0)
	}, n)
}

// MoveUserObject transfers the program's reference to the graph and closes u. From then on the
// graph owns the object, with its clones and Execs.
func (g *Graph) MoveUserObject(u *driver.UserObject) error {
	return g.changeUsers("take over", u, 1, func() error {
		err := g.d.CuGraphRetainUserObject(g.raw, u.Raw(), 1, uint32(cu.CU_GRAPH_USER_OBJECT_MOVE))
		if err == nil {
			u.Moved()
		}
		return err
	}, 1)
}

// ReleaseUserObject releases n of the graph's references to u. Clones and Execs keep theirs.
func (g *Graph) ReleaseUserObject(u *driver.UserObject, n int) error {
	return g.changeUsers("release", u, n, func() error {
		if held := g.users[u.Raw()]; n > held {
			return invalid("%d references, it holds %d", n, held)
		}
		return g.ctx.Guarded().CuGraphReleaseUserObject(g.raw, u.Raw(), uint32(n))
	}, -n)
}

// changeUsers makes a call that changes how many references the graph holds.
func (g *Graph) changeUsers(verb string, u *driver.UserObject, n int, call func() error, change int) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	err := g.acceptsUser(u, n)
	if err == nil {
		err = call()
	}
	runtime.KeepAlive(u)
	if err != nil {
		return fmt.Errorf("%v cannot %s %v: %w", g, verb, u, err)
	}
	if g.users == nil {
		g.users = make(map[driver.CUuserObject]int)
	}
	g.users[u.Raw()] += change
	return nil
}

func (g *Graph) acceptsUser(u *driver.UserObject, n int) error {
	if err := u.Lifetime().Check(); err != nil {
		return err
	}
	if err := sameDriver(g.ctx, "it", u.Context()); err != nil {
		return err
	}
	if n < 1 || n > math.MaxInt32 {
		return invalid("%d references", n)
	}
	return nil
}

// takeUsers takes over what a graph holds that becomes a part of g.
func (g *Graph) takeUsers(child *Graph) {
	for u, n := range child.users {
		if g.users == nil {
			g.users = make(map[driver.CUuserObject]int)
		}
		g.users[u] += n
	}
	child.users = nil
}
