package driver

// SameRefs reports whether two launches of the same context have the same Refs, so that retaining
// one launch's Refs retains the other's.
func (l *Launch) SameRefs(of *Launch) bool {
	if l == nil || of == nil {
		return false
	}
	if l.life != of.life || len(l.mem) != len(of.mem) {
		return false
	}
	for i, m := range l.mem {
		if m != of.mem[i] {
			return false
		}
	}
	return true
}
