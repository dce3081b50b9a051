package driver

// GraphLaunch is CuGraphLaunch.
func (b *Batch) GraphLaunch(exec CUgraphExec, s CUstream) {
	c := b.calls.Add(b.d.Proc(FnCuGraphLaunch), 2)
	c.SetWord(0, uintptr(exec))
	c.SetWord(1, uintptr(s))
}

// SameRefs reports whether two launches of the same context refer to the same
// things: whoever holds those of one holds those of the other.
func (l *Launch) SameRefs(of *Launch) bool {
	if of == nil || l.life != of.life || len(l.mem) != len(of.mem) {
		return false
	}
	for i, m := range l.mem {
		if m != of.mem[i] {
			return false
		}
	}
	return true
}
