// Package life implements the lifetimes of driver objects. It counts references, allows closing
// objects in any order, and detects objects that become unreachable. Package driver and the
// packages above it share the type Lifetime. The compiler inlines its accessors.
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

// Ref is an object that an operation refers to: a module, memory, an event or a host function. A
// graph uses an operation's parameters after the call, so it must retain the lifetime of each Ref.
// The driver object then stays alive even if the program closes or drops it.
type Ref interface {
	// Lifetime returns the ownership record of the object.
	Lifetime() *Lifetime
}

// Reopener is the Ref of a buffer from driver.BufferAt. After the buffer's lifetime has ended,
// Reopen begins it again for the same memory and size. Allocators use it to reuse a caller's buffer
// without allocating.
type Reopener interface {
	Ref
	Reopen(parent *Lifetime) error
}

// Lifetime is the ownership record of one driver object. It controls who may use the object, what
// the object keeps alive, and how it is destroyed. Every typed object (Stream, Event, Module,
// Buffer, …) has one.
//
// Rules:
//
//   - Close is idempotent, and later calls on the object return an error. Releasing the last
//     reference destroys the driver object. Children and blocking calls hold references, so
//     objects can be closed in any order. If a Context is closed before its streams, the streams
//     continue to work, and closing the last of them releases the Context.
//   - An object holds a reference to its parent (at the root, the Context) until it is destroyed.
//   - An object that becomes unreachable without Close is destroyed on a goroutine of this package
//     and reported to the leak hook.
//   - Guarded calls destroy objects, so captures elsewhere are not invalidated. In a host function,
//     where CUDA must not be called, Close leaves the destruction to a goroutine of this package.
//
// A call that uses the object costs one atomic load. Calls that begin after Close return an error,
// but Close does not wait for short calls that began earlier. Closing an object while another
// goroutine is inside a call on it is therefore a race, as in C. Calls that wait (Stream.Wait,
// Event.Wait) retain a reference, so closing an object during a wait is safe.
type Lifetime struct {
	closed  atomic.Bool
	refs    atomic.Int32 // one for the owner, and one for each child, graph and blocking call
	hint    atomic.Uint32
	kind    string
	elem    reflect.Type // element type of a buffer, which is part of its kind
	handle  uint64
	home    *Home
	parent  *Lifetime
	destroy Destroyer // nil if there is no driver object to destroy
	stack   []uintptr // where the object was created; nil unless a leak hook is set
}

// New begins the lifetime of an object and keeps parent alive. Call New before the driver call that
// creates the object. Then call Own if the driver call succeeded, or Abandon if it failed. kind
// names the kind of object in errors and leak reports ("stream", "buffer of float32"). New returns
// an error if parent is closed or nil.
func New(parent *Lifetime, kind string) (*Lifetime, error) {
	if parent == nil {
		return nil, fmt.Errorf("cannot make %s: %w", AKind(kind), noContext.Error(true))
	}
	return parent.Child(kind)
}

// Loose returns a lifetime without a parent, for an object that is never reported as a leak.
// destroy may be nil.
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

// Child begins the lifetime of an object that keeps l alive. For example, a module's global
// variable keeps the module alive. Child returns an error if l is closed.
func (l *Lifetime) Child(kind string) (*Lifetime, error) {
	n := &Lifetime{kind: kind}
	if err := n.BeginIn(l); err != nil {
		return nil, err
	}
	return n, nil
}

// BeginIn is like Child, for a Lifetime that is a field of another struct. The program must have no
// reference to that struct. l must be zero or have ended.
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

// Abandon ends the lifetime of an object that could not be created. It returns err prefixed with
// the kind of object.
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

// Own binds a lifetime to the driver's handle and to object, the value that programs hold. destroy
// receives the guarded driver of the object's context. It must not refer to object, or object would
// never become unreachable. destroy is nil if the object has no handle of its own. If object or l
// is nil, Own does nothing.
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

// OwnBy is like Own, but with a Destroyer, which l.End then returns.
func OwnBy[T any](object *T, l *Lifetime, handle uint64, d Destroyer) {
	l.handle, l.destroy = handle, d
	l.track()
	runtime.AddCleanup(object, reclaim, l)
}

// Check returns nil while the object is open. Afterwards it returns an error that names the object
// and matches cu.ErrClosed.
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

// kindName returns the kind of object. For buffers, it composes the name on demand, which makes
// creating buffers cheaper.
func (l *Lifetime) kindName() string {
	if l.elem == nil {
		return l.kind
	}
	return l.kind + " of " + l.elem.String()
}

// Retain prevents the driver object from being destroyed until Done. It returns an error if the
// object is closed.
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

// Done releases a reference added by Retain. If it was the last reference, Done destroys the
// object. An error from the destruction goes to Context.CleanupErrors.
func (l *Lifetime) Done() {
	if err := l.Release(); err != nil {
		l.home.note(err)
	}
}

// Close makes later calls on the object fail and releases the owner's reference. If that was the
// last reference, Close returns the error from destroying the object. Only the first Close has an
// effect.
func (l *Lifetime) Close() error {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return nil
	}
	return l.Release()
}

// Disown closes the object without destroying the driver's handle, because something else, such as
// a stream-ordered free or a graph, will destroy it. It reports whether this call closed the
// object. If not, the caller must not pass the handle on.
func (l *Lifetime) Disown() bool {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return false
	}
	l.destroy = nil
	l.Done()
	return true
}

// Release is like Done, but returns the error from destroying the object.
func (l *Lifetime) Release() error {
	if l == nil || l.home == nil || l.refs.Add(-1) > 0 {
		return nil
	}
	if hostthread.Inside() {
		l.reclaimLater(l.finishLater) // destroy on a goroutine that may call CUDA
		return nil
	}
	return l.Finish()
}

// Finish destroys an object that has no references, and releases its parent.
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

// AKind returns a kind of object with its indefinite article.
func AKind(kind string) string {
	if kind != "" && strings.ContainsRune("aeio", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// End returns the Destroyer of the object, or nil. Allocators use it to recognise their own memory.
func (l *Lifetime) End() Destroyer {
	if l == nil {
		return nil
	}
	return l.destroy
}

// Closed reports whether the object has been closed.
func (l *Lifetime) Closed() bool { return l == nil || l.closed.Load() }

// Ended reports whether the object is closed and has no references left.
func (l *Lifetime) Ended() bool {
	if l == nil {
		return true
	}
	return l.closed.Load() && l.refs.Load() <= 0
}
