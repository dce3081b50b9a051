package life

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
)

// Destroyer destroys the driver object of a Lifetime. Destroy receives the guarded driver of the
// object's context.
type Destroyer interface{ Destroy(d *cu.Driver) error }

type destroyFunc func(d *cu.Driver) error

func (f destroyFunc) Destroy(d *cu.Driver) error { return f(d) }

// Watched is a field of objects that are created and closed often. Like Own, it detects objects
// that become unreachable without Close. Adding a runtime cleanup costs more than many driver
// calls, so closed objects pass their cleanups on to new ones.
//
// The object must refer to its Lifetime by pointer. A Lifetime inside the object would keep it
// reachable.
type Watched struct {
	w     *watch
	stays bool // keep watching after Close, because the object is often reopened
}

// Own is like the function Own, for the object that contains x. End the ownership with x.Close.
func (x *Watched) Own(l *Lifetime, handle uint64, destroy Destroyer) {
	if x == nil || l == nil {
		return
	}
	l.handle, l.destroy = handle, destroy
	l.track()
	x.begin(l)
}

// Stay makes the next Own keep watching after Close, for objects that are reopened repeatedly.
func (x *Watched) Stay() { x.stays = true }

// Reopen reopens an object that could not be destroyed. Disown must have closed it, and TakeLast
// must have released its last reference.
func (x *Watched) Reopen(l *Lifetime) {
	l.refs.Store(1)
	l.closed.Store(false)
	x.begin(l)
}

func (x *Watched) begin(l *Lifetime) {
	if x.w != nil {
		return // the object was open before and its watch remains
	}
	w := watches.Get().(*watch)
	w.of.life.Store(l)
	x.w = w
}

// Close is like Lifetime.Close, for the object that contains x. Lifetime.Close also works, but then
// the cleanup is not reused.
func (x *Watched) Close(l *Lifetime) error {
	if !x.Disown(l) {
		return nil
	}
	return l.Release()
}

// Disown closes the object and reports whether this call closed it. If so, the caller must release
// the owner's reference.
func (x *Watched) Disown(l *Lifetime) bool {
	if l == nil || !l.closed.CompareAndSwap(false, true) {
		return false
	}
	if x == nil {
		return true
	}
	if w := x.w; w != nil && !x.stays {
		x.w = nil
		w.of.life.Store(nil)
		watches.Put(w)
	}
	return true
}

// watch has a runtime cleanup that runs when the watch becomes unreachable. Only the watched object
// refers to its watch. After the object is closed, only a pool refers to the watch, until another
// object uses it.
type watch struct{ of *watchedLife }

// watchedLife is the argument of the cleanup. It must not refer to the watch or the object.
type watchedLife struct {
	life atomic.Pointer[Lifetime]
}

var watches = sync.Pool{New: func() any {
	w := &watch{new(watchedLife)}
	runtime.AddCleanup(w, (*watchedLife).dropped, w.of)
	return w
}}

func (o *watchedLife) dropped() {
	if l := o.life.Load(); l != nil {
		reclaim(l)
	}
}

// SetKind sets the kind of object. Call it before BeginIn.
func (l *Lifetime) SetKind(kind string) {
	if l == nil {
		return
	}
	l.kind = kind
}
