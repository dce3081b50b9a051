package driver

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostcall"
	"github.com/purecuda/cuda/internal/life"
)

// UserObject is an object that CUDA counts references to and destroys with the last one (CUDA
// 11.3). Graphs that retain it, their clones and their executable graphs hold references until none
// of their launches is in flight. It lets graphs own what is not an object of this library, such as
// memory of C code.
type UserObject struct {
	life *life.Lifetime
	ctx  *Context
	raw  CUuserObject
	own  *userRefs
}

// userRefs counts the references that the program holds.
type userRefs struct {
	moved atomic.Bool // the one of the UserObject became a graph's
	mu    sync.Mutex
	given int // by Retain, not given back by Release
}

// NewUserObject creates an object that calls destroy when it is destroyed. The program holds one
// reference, until Close.
//
// destroy runs on a goroutine of its own and may do anything, including calls of CUDA.
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

// AdoptUserObject is NewUserObject for objects that C code owns. destroy is a C function, which the
// driver calls with data. It must not call CUDA.
func (c *Context) AdoptUserObject(data unsafe.Pointer, destroy CUhostFn) (*UserObject, error) {
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

func (c *Context) newUserObject(data unsafe.Pointer, destroy CUhostFn) (*UserObject, error) {
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

// Retain adds n references and gives them away: to C code, which releases them itself, or to code
// that calls Release.
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
		return invalidf("%v: release of %d references, Retain gave %d away", u.life, n, u.own.given)
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

// Raw returns the driver's handle, 0 for a nil object.
func (u *UserObject) Raw() CUuserObject {
	if u == nil {
		return 0
	}
	return u.raw
}

// Context returns the context that the object was created with.
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

// Close releases the program's reference. The object is destroyed when no other references exist.
func (u *UserObject) Close() error {
	if u == nil {
		return nil
	}
	err := u.life.Close()
	runtime.KeepAlive(u)
	return err
}
