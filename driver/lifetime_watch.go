package driver

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Destroyer destroys the driver's object behind a Lifetime. It gets the guarded
// view of the object's context.
type Destroyer interface{ Destroy(d *Driver) error }

// destroyFunc is a Destroyer that is a function, as Own takes it.
type destroyFunc func(d *Driver) error

func (f destroyFunc) Destroy(d *Driver) error { return f(d) }

// Watched is a field of objects that come and go in the steady state. It notices
// that an object is dropped without Close, as Own does, but costs a fraction:
// what the runtime does for a cleanup costs more than many driver calls, so a
// watch that has one is handed from object to object.
//
// The object holds its Lifetime by pointer. A Lifetime that is a part of the
// object would keep it reachable, and dropping it would never be noticed.
type Watched struct {
	w     *watch
	stays bool // beyond Close, because the object is opened again and again
}

// Own is the function Own for the object that the Watched is a field of. Close
// ends what it begins.
func (x *Watched) Own(l *Lifetime, handle uint64, destroy Destroyer) {
	if x == nil || l == nil {
		return
	}
	l.handle, l.destroy = handle, destroy
	l.track()
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

// Close is Lifetime.Close for the object that the Watched is a field of. Closing
// by the Lifetime alone is right too; then the watch is lost with the object.
func (x *Watched) Close(l *Lifetime) error {
	if !x.disown(l) {
		return nil
	}
	return l.release()
}

// disown closes the object and reports whether this call was the one that did.
// The reference of the owner is the caller's then.
func (x *Watched) disown(l *Lifetime) bool {
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

// watch has a runtime cleanup, which finds it unreachable. Only the object that
// it watches refers to it, or, when it watches none, the pool.
type watch struct{ of *watchedLife }

// watchedLife is what the cleanup gets. It must not refer to the watch or the
// object.
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

// SetKind names the sort of object, for a Lifetime that BeginIn begins.
func (l *Lifetime) SetKind(kind string) {
	if l == nil {
		return
	}
	l.kind = kind
}
