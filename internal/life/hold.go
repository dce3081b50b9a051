package life

import (
	"reflect"
)

// Hint returns the number that SetHint stored last, 0 at first. It proves nothing, because any
// package may have set it. Package graph stores the index at which a graph may already refer to the
// object.
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

// RetainHeld is Retain for a caller that already has a reference. It works even after Close.
func (l *Lifetime) RetainHeld() {
	if l == nil {
		return
	}
	l.refs.Add(1)
}

// Note adds an error to Context.CleanupErrors unless it is nil. It is for releasing things in the
// background.
func (l *Lifetime) Note(err error) {
	if err != nil && l != nil && l.home != nil {
		l.home.note(err)
	}
}

// Holders returns the number of references other than the owner's, which Close releases: children,
// graphs, waits. It is a snapshot.
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

// Handle returns the driver's handle, as Own or Loose was given it.
func (l *Lifetime) Handle() uint64 { return l.handle }

// Parent returns what the object keeps alive, nil if it was never begun.
func (l *Lifetime) Parent() *Lifetime { return l.parent }

// SetElem sets what a buffer consists of, for a Lifetime that BeginIn begins.
func (l *Lifetime) SetElem(kind string, elem reflect.Type) { l.kind, l.elem = kind, elem }

// TakeLast releases the only reference to a closed object, and reports whether it was the only one.
// The caller then destroys the object and calls Finish, or Watched.Reopen.
func (l *Lifetime) TakeLast() bool { return l.refs.CompareAndSwap(1, 0) }

// Shut closes the object without releasing anything, for an owner that destroys it itself.
func (l *Lifetime) Shut() { l.closed.Store(true) }

// Gone reports whether no references are left.
func (l *Lifetime) Gone() bool { return l.refs.Load() <= 0 }
