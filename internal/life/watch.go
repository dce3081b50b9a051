package life

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
)

// Destroyer destroys the driver object of a Lifetime. Destroy is called with the guarded view of
// the object's context.
type Destroyer interface{ Destroy(d *cu.Driver) error }

// destroyFunc adapts a function to Destroyer, for Own.
type destroyFunc func(d *cu.Driver) error

func (f destroyFunc) Destroy(d *cu.Driver) error { return f(d) }

// Watched is a field of objects that are created and closed often. It detects that an object
// becomes unreachable without Close, as Own does, at a fraction of the cost. A runtime cleanup
// costs more than many driver calls, so objects reuse them.
//
// The object must refer to its Lifetime by pointer. A Lifetime inside the object would keep it
// reachable.
type Watched struct {
	w     *watch
	stays bool // beyond Close, because the object is opened again and again
}

// Own is the function Own for the object that contains x. End it with Close.
func (x *Watched) Own(l *Lifetime, handle uint64, destroy Destroyer) {
	if x == nil || l == nil {
		return
	}
	l.handle, l.destroy = handle, destroy
	l.track()
	x.begin(l)
}

// Stay makes the next Own watch for good, because the object is opened again and again.
func (x *Watched) Stay() { x.stays = true }

// Reopen opens an object that Disown closed and whose last reference TakeLast took, because it could
// not be destroyed.
func (x *Watched) Reopen(l *Lifetime) {
	l.refs.Store(1)
	l.closed.Store(false)
	x.begin(l)
}

func (x *Watched) begin(l *Lifetime) {
	if x.w != nil {
		return // since the object was open before
	}
	w := watches.Get().(*watch)
	w.of.life.Store(l)
	x.w = w
}

// Close is Lifetime.Close for the object that contains x. Calling Lifetime.Close instead is
// correct, but then the cleanup is not reused.
func (x *Watched) Close(l *Lifetime) error {
	if !x.Disown(l) {
		return nil
	}
	return l.Release()
}

// Disown closes the object and reports whether this call did. The caller then owns the owner's
// reference.
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

// watch has a runtime cleanup, which runs when the watch is unreachable. Only the watched object
// refers to it, or the pool if it watches none.
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

// SetKind sets the sort of object, for a Lifetime that BeginIn begins.
func (l *Lifetime) SetKind(kind string) {
	if l == nil {
		return
	}
	l.kind = kind
}
