package driver

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
	if err != nil && l != nil && l.core != nil {
		l.core.recordCleanup(err)
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
