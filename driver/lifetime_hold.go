package driver

// Hint is a number that whoever last kept the object left there to find it
// again, 0 at first. It can be anybody's and proves nothing: package graph
// takes it for the place where a graph may already hold the object.
func (l *Lifetime) Hint() uint32 {
	if l == nil {
		return 0
	}
	return l.hint.Load()
}

// SetHint leaves a number for Hint.
func (l *Lifetime) SetHint(h uint32) {
	if l == nil {
		return
	}
	l.hint.Store(h)
}

// RetainHeld is Retain for a holder that hands a reference on: it has one, so
// the object exists and may be held again even after Close.
func (l *Lifetime) RetainHeld() {
	if l == nil {
		return
	}
	l.refs.Add(1)
}

// Note keeps an error, unless it is nil, for Context.CleanupErrors: of what is given
// back when nobody waits for the answer any more.
func (l *Lifetime) Note(err error) {
	if err != nil && l != nil && l.core != nil {
		l.core.recordCleanup(err)
	}
}

// Holders is how many references there are besides the owner's, which Close
// gives up: children, graphs, waits. It is a snapshot.
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
