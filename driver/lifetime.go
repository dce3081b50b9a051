package driver

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
)

// Lifetime is the ownership of one driver object: who may still use it, what
// it keeps alive, and how it is destroyed. Every typed object (Stream, Event,
// Module, Buffer, …) has one. It is exported for packages that build objects
// of their own on this one, as package graph does; programs have no use for it.
//
// The rules it keeps:
//
//   - Close is idempotent. The object refuses calls from then on; the driver
//     object is destroyed when the last reference to it goes, which is at once
//     unless children or blocking calls still hold it. So objects can be
//     closed in any order: a Context closed before its streams is released
//     with the last of them, and those streams work until they are closed.
//   - An object holds its parent (at the root, the Context) until it is
//     destroyed.
//   - An object that becomes unreachable without Close is destroyed on a
//     goroutine of this package and reported to the leak hook.
//   - What the library destroys, it destroys by guarded calls, so that no
//     capture that is open elsewhere is invalidated. From a host function, where
//     CUDA may not be called, it leaves that to a goroutine of this package.
//
// A Lifetime costs a using call one atomic load. That refuses calls that begin
// after Close; it does not hold Close up for short calls that began before it,
// because counting them would cost more than most of them take. A program that
// closes an object while another goroutine is inside a call on it has the same
// race that it would have in C. Calls that wait (Stream.Wait, Event.Wait) take
// a reference, so closing what others wait for is safe.
type Lifetime struct {
	closed  atomic.Bool
	refs    atomic.Int32 // the owner's, one per child, one per blocking call
	hint    atomic.Uint32
	kind    string
	elem    reflect.Type // of a buffer: what it consists of, a part of the kind
	handle  uint64
	core    *contextCore
	parent  *Lifetime
	destroy Destroyer // nil: there is nothing to destroy
	stack   []uintptr // where it was made; nil unless a leak hook is set
}

// NewLifetime begins the lifetime of an object of c. It takes the reference
// that keeps c alive, so it comes before the driver call that creates the
// object; after that call comes Own, or Abandon if it failed. kind names the
// sort of object in errors and leak reports ("stream", "buffer of float32").
func NewLifetime(c *Context, kind string) (*Lifetime, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", aKind(kind), err)
	}
	return c.core.life.Child(kind)
}

// Child begins the lifetime of an object that keeps l alive, as a pointer into
// a module keeps the module.
func (l *Lifetime) Child(kind string) (*Lifetime, error) {
	n := &Lifetime{kind: kind}
	if err := n.BeginIn(l); err != nil {
		return nil, err
	}
	return n, nil
}

// BeginIn is Child for a Lifetime that is a part of something else, which must
// not be the object that programs hold. It begins a zero Lifetime or, once more,
// one that has ended.
func (l *Lifetime) BeginIn(parent *Lifetime) error {
	if l == nil {
		return absentError(true, "lifetime")
	}
	if err := parent.Retain(); err != nil {
		return fmt.Errorf("cannot make %s: %w", aKind(l.kindName()), err)
	}
	if l.parent != parent {
		l.core, l.parent = parent.core, parent
	}
	l.refs.Store(1)
	l.closed.Store(false)
	return nil
}

// Abandon ends a lifetime whose object could not be created, and returns err
// with the kind of object in front.
func (l *Lifetime) Abandon(err error) error {
	if l == nil {
		return err
	}
	l.closed.Store(true)
	if l.parent != nil {
		l.parent.Done()
	}
	return fmt.Errorf("cannot make %s: %w", aKind(l.kindName()), err)
}

// Own binds a lifetime to object, the value that programs hold, and to the
// driver's handle. destroy gets the guarded view of the object's context; it
// must not refer to object (it would never become unreachable), only to the
// handle and to what the destruction needs. A nil destroy is an object without
// a handle of its own. A nil object or lifetime is bound to nothing.
func Own[T any](object *T, l *Lifetime, handle uint64, destroy func(d *Driver) error) {
	if object == nil || l == nil {
		return
	}
	l.handle = handle
	if destroy != nil {
		l.destroy = destroyFunc(destroy)
	}
	l.track()
	runtime.AddCleanup(object, reclaim, l)
}

// Check is nil while the object is open, else an error that names it and
// matches ErrClosed.
func (l *Lifetime) Check() error {
	if l != nil && !l.closed.Load() {
		return nil
	}
	return l.closedError()
}

func (l *Lifetime) closedError() error {
	if l == nil {
		return absentError(true, "lifetime")
	}
	return fmt.Errorf("%s: %w", l, ErrClosed)
}

// String names the object: its kind and the driver's handle.
func (l *Lifetime) String() string {
	if l == nil {
		return "no object"
	}
	if l.handle == 0 {
		return l.kindName()
	}
	return fmt.Sprintf("%s %#x", l.kindName(), l.handle)
}

// kindName is the sort of object. For buffers it is put together here, not each
// time one is made.
func (l *Lifetime) kindName() string {
	if l.elem == nil {
		return l.kind
	}
	return l.kind + " of " + l.elem.String()
}

// Retain keeps the driver object from being destroyed until Done. It fails
// when the object is closed.
func (l *Lifetime) Retain() error {
	for l != nil {
		n := l.refs.Load()
		if n <= 0 || l.closed.Load() {
			return l.closedError()
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return nil
		}
	}
	return l.closedError()
}

// Done gives back what Retain took. When that was the last reference the
// object is destroyed here; nobody waits for the answer, so an error goes to
// Context.CleanupErrors.
func (l *Lifetime) Done() {
	if err := l.release(); err != nil {
		l.core.recordCleanup(err)
	}
}

// Close refuses further calls and gives up the owner's reference. The error is
// that of the destruction, where this was the last reference. Only the first
// Close does anything.
func (l *Lifetime) Close() error {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return nil
	}
	return l.release()
}

// Disown closes the object without destroying the driver's handle, because
// something else now does that (a stream-ordered free, a graph). It reports
// whether this call was the one that closed it; if not, the handle is not the
// caller's to pass on.
func (l *Lifetime) Disown() bool {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return false
	}
	l.destroy = nil
	l.Done()
	return true
}

func (l *Lifetime) release() error {
	if l == nil || l.core == nil || l.refs.Add(-1) > 0 {
		return nil
	}
	if inCallback() {
		l.reclaimLater(l.finishLater) // where CUDA may be called
		return nil
	}
	return l.finish()
}

// finish destroys the object, which nobody refers to any more, and gives up
// its parent.
func (l *Lifetime) finish() error {
	l.untrack()
	var err error
	if l.destroy != nil {
		err = l.destroy.Destroy(l.core.guarded)
	}
	if err != nil {
		err = fmt.Errorf("cannot destroy %s: %w", l, err)
	}
	if l.parent != nil {
		err = errors.Join(err, l.parent.release())
	}
	return err
}

func (l *Lifetime) finishLater() {
	if err := l.finish(); err != nil {
		l.core.recordCleanup(err)
	}
}

// aKind is a kind of object with its article.
func aKind(kind string) string {
	if kind != "" && strings.ContainsRune("aeio", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}
