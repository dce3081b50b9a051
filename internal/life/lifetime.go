// Package life has the lifetimes of driver objects: references, destruction in any order of Close,
// and the detection of objects that become unreachable. Package driver and the packages that build
// objects on it share the type, whose accessors are inlined.
package life

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/hostthread"
)

// Ref is something an operation refers to: a module, memory, an event, a host function. A user of
// an operation's parameters beyond the call, such as a graph, must retain the lifetime of each of
// its refs. They then outlive an explicit Close and the collector.
type Ref interface {
	// Lifetime returns the ownership record of the object.
	Lifetime() *Lifetime
}

// Reopener is the Ref of a buffer from driver.BufferAt. Once its lifetime has ended, Reopen begins it
// again, for the same memory and the same size. So an allocator can reuse a caller's buffer without
// allocating.
type Reopener interface {
	Ref
	Reopen(parent *Lifetime) error
}

// Lifetime is the ownership record of one driver object: who may still use it, what it keeps alive,
// and how it is destroyed. Every typed object (Stream, Event, Module, Buffer, …) has one.
//
// Its rules:
//
//   - Close is idempotent. From then on the object refuses calls. The driver object is destroyed
//     with the last reference: at once, unless children or blocking calls hold one. So objects can
//     be closed in any order. A Context closed before its streams is released with the last of
//     them, and those streams work until they are closed.
//   - An object holds its parent (at the root, the Context) until it is destroyed.
//   - An object that becomes unreachable without Close is destroyed on a goroutine of this package
//     and reported to the leak hook.
//   - Objects are destroyed by guarded calls, so that no capture elsewhere is invalidated. Closing
//     from a host function, where CUDA must not be called, leaves that to a goroutine of this
//     package.
//
// A Lifetime costs a call that uses the object one atomic load. Calls that begin after Close are
// refused, but Close does not wait for short calls that began before it. Closing an object while
// another goroutine is inside a call on it is therefore a race, as in C. Calls that wait
// (Stream.Wait, Event.Wait) retain a reference, so closing what others wait for is safe.
type Lifetime struct {
	closed  atomic.Bool
	refs    atomic.Int32 // the owner's, one per child, one per blocking call
	hint    atomic.Uint32
	kind    string
	elem    reflect.Type // of a buffer: what it consists of, a part of the kind
	handle  uint64
	home    *Home
	parent  *Lifetime
	destroy Destroyer // nil: there is nothing to destroy
	stack   []uintptr // where it was made; nil unless a leak hook is set
}

// New begins the lifetime of an object and keeps parent alive. Call it before the driver call that
// creates the object. After that call, call Own, or Abandon if it failed. kind names the sort of
// object in errors and leak reports ("stream", "buffer of float32"). It returns an error if parent
// is closed, or nil because the object's context is.
func New(parent *Lifetime, kind string) (*Lifetime, error) {
	if parent == nil {
		return nil, fmt.Errorf("cannot make %s: %w", AKind(kind), noContext.Error(true))
	}
	return parent.Child(kind)
}

// Loose returns a lifetime without a parent, for an object that is not reported as a leak. A zero
// destroy does nothing.
func Loose(home *Home, kind string, handle uint64, destroy func(d *cu.Driver) error) *Lifetime {
	l := &Lifetime{kind: kind, home: home, handle: handle}
	l.refs.Store(1)
	if destroy != nil {
		l.destroy = destroyFunc(destroy)
	}
	return l
}

// BeginRoot begins the lifetime of a context.
func (l *Lifetime) BeginRoot(home *Home, kind string) {
	l.kind, l.home = kind, home
	l.refs.Store(1)
}

var (
	noContext  = absent.Kind{Name: "context", Make: "Device.PrimaryContext or Device.NewContext", Code: cu.CUDA_ERROR_INVALID_VALUE}
	noLifetime = absent.Kind{Name: "lifetime", Make: "an open object", Code: cu.CUDA_ERROR_INVALID_VALUE}
)

// Child begins the lifetime of an object that keeps l alive, as a pointer into a module keeps the
// module. It returns an error if l is closed.
func (l *Lifetime) Child(kind string) (*Lifetime, error) {
	n := &Lifetime{kind: kind}
	if err := n.BeginIn(l); err != nil {
		return nil, err
	}
	return n, nil
}

// BeginIn is Child for a Lifetime inside another struct, which must not be the object that programs
// hold. It begins a zero Lifetime, or one that has ended.
func (l *Lifetime) BeginIn(parent *Lifetime) error {
	if l == nil {
		return noLifetime.Error(true)
	}
	if err := parent.Retain(); err != nil {
		return fmt.Errorf("cannot make %s: %w", AKind(l.kindName()), err)
	}
	if l.parent != parent {
		l.home, l.parent = parent.home, parent
	}
	l.refs.Store(1)
	l.closed.Store(false)
	return nil
}

// Abandon ends a lifetime whose object could not be created, and returns err with the kind of
// object in front.
func (l *Lifetime) Abandon(err error) error {
	if l == nil {
		return err
	}
	l.closed.Store(true)
	if l.parent != nil {
		l.parent.Done()
	}
	return fmt.Errorf("cannot make %s: %w", AKind(l.kindName()), err)
}

// Own binds a lifetime to object, the value that programs hold, and to the driver's handle. destroy
// is called with the guarded view of the object's context. It must not refer to object, which would
// never become unreachable. A nil destroy means that the object has no handle of its own. Own does
// nothing if object or l is nil.
func Own[T any](object *T, l *Lifetime, handle uint64, destroy func(d *cu.Driver) error) {
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

// OwnBy is Own with a Destroyer, which End returns.
func OwnBy[T any](object *T, l *Lifetime, handle uint64, d Destroyer) {
	l.handle, l.destroy = handle, d
	l.track()
	runtime.AddCleanup(object, reclaim, l)
}

// Check returns nil while the object is open, else an error that names it and matches cu.ErrClosed.
func (l *Lifetime) Check() error {
	if l != nil && !l.closed.Load() {
		return nil
	}
	return l.closedError()
}

func (l *Lifetime) closedError() error {
	if l == nil {
		return noLifetime.Error(true)
	}
	return fmt.Errorf("%s: %w", l, cu.ErrClosed)
}

// String returns the object's kind and the driver's handle.
func (l *Lifetime) String() string {
	if l == nil {
		return "no object"
	}
	if l.handle == 0 {
		return l.kindName()
	}
	return fmt.Sprintf("%s %#x", l.kindName(), l.handle)
}

// kindName returns the sort of object. For buffers it is composed here, to save that work at
// creation.
func (l *Lifetime) kindName() string {
	if l.elem == nil {
		return l.kind
	}
	return l.kind + " of " + l.elem.String()
}

// Retain keeps the driver object from being destroyed until Done. It returns an error if the object
// is closed.
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

// Done releases one Retain. With the last reference it destroys the object. An error of that goes
// to Context.CleanupErrors.
func (l *Lifetime) Done() {
	if err := l.Release(); err != nil {
		l.home.note(err)
	}
}

// Close refuses further calls and releases the owner's reference. If that was the last reference,
// Close returns the error of the destruction. Only the first Close has an effect.
func (l *Lifetime) Close() error {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return nil
	}
	return l.Release()
}

// Disown closes the object without destroying the driver's handle, because something else will (a
// stream-ordered free, a graph). It reports whether this call closed the object. If not, the caller
// must not pass the handle on.
func (l *Lifetime) Disown() bool {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return false
	}
	l.destroy = nil
	l.Done()
	return true
}

// Release is Done for a caller that takes the error of the destruction.
func (l *Lifetime) Release() error {
	if l == nil || l.home == nil || l.refs.Add(-1) > 0 {
		return nil
	}
	if hostthread.Inside() {
		l.reclaimLater(l.finishLater) // where CUDA may be called
		return nil
	}
	return l.Finish()
}

// Finish destroys the object, which has no references left, and releases its parent.
func (l *Lifetime) Finish() error {
	l.untrack()
	var err error
	if l.destroy != nil {
		err = l.destroy.Destroy(l.home.Guarded)
	}
	if err != nil {
		err = fmt.Errorf("cannot destroy %s: %w", l, err)
	}
	if l.parent != nil {
		err = errors.Join(err, l.parent.Release())
	}
	return err
}

func (l *Lifetime) finishLater() {
	if err := l.Finish(); err != nil {
		l.home.note(err)
	}
}

// AKind returns a kind of object with its article.
func AKind(kind string) string {
	if kind != "" && strings.ContainsRune("aeio", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// End returns the Destroyer of the object, or nil. Allocators recognise their own memory by it.
func (l *Lifetime) End() Destroyer {
	if l == nil {
		return nil
	}
	return l.destroy
}

// Closed reports whether the object refuses calls.
func (l *Lifetime) Closed() bool { return l == nil || l.closed.Load() }

// Ended reports whether the object is closed and has no references left.
func (l *Lifetime) Ended() bool {
	if l == nil {
		return true
	}
	return l.closed.Load() && l.refs.Load() <= 0
}
