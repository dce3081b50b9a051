package life

import (
	"reflect"

	"github.com/purecuda/cuda/internal/kernelfault"
)

// Hint returns the number that SetHint stored last, initially 0. Any package may have set the
// number, so the caller must verify it. Package graph stores the index of the object in the table
// of a graph's references.
func (l *Lifetime) Hint() uint32 {
	if l == nil {
		return 0
	}
	return l.hint.Load()
}

// SetHint stores a number for Hint.
func (l *Lifetime) SetHint(h uint32) {
	if l == nil {
		return
	}
	l.hint.Store(h)
}

// RetainHeld adds a reference for a caller that already has one. Unlike Retain, it works after
// Close.
func (l *Lifetime) RetainHeld() {
	if l == nil {
		return
	}
	l.refs.Add(1)
}

// Note adds a non-nil error to Context.CleanupErrors. It is meant for releases in the background.
func (l *Lifetime) Note(err error) {
	if err != nil && l != nil && l.home != nil {
		l.home.note(err)
	}
}

// Holders returns a snapshot of the number of references held by children, graphs and waits. The
// owner's reference, which Close releases, is not counted.
func (l *Lifetime) Holders() int {
	if l == nil {
		return 0
	}
	n := int(l.refs.Load())
	if !l.closed.Load() {
		n--
	}
	return max(n, 0)
}

// Handle returns the driver's handle that Own or Loose received.
func (l *Lifetime) Handle() uint64 { return l.handle }

// Parent returns the object that this one keeps alive, or nil if the lifetime never began.
func (l *Lifetime) Parent() *Lifetime { return l.parent }

// SetElem sets the kind and the element type of a buffer. Call it before BeginIn.
func (l *Lifetime) SetElem(kind string, elem reflect.Type) { l.kind, l.elem = kind, elem }

// TakeLast releases the last reference to a closed object. If other references exist, it does
// nothing and returns false. After true, the caller must call either Finish or Watched.Reopen.
func (l *Lifetime) TakeLast() bool { return l.refs.CompareAndSwap(1, 0) }

// Shut closes the object without releasing the owner's reference, for an owner that destroys the
// object itself.
func (l *Lifetime) Shut() { l.closed.Store(true) }

// Faults returns the kernel faults of the object's context.
func (l *Lifetime) Faults() *kernelfault.State { return l.home.Faults }

// Gone reports whether there are no references left.
func (l *Lifetime) Gone() bool { return l.refs.Load() <= 0 }
