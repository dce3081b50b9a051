package vm

import "sync/atomic"

// share is a range of neighbouring units of a grid. A worker first starts the units of its own
// share, then those left in other shares. Workers therefore run in different parts of the grid, and
// neighbouring units mostly use neighbouring memory. When a kernel is launched again, each
// processor's caches contain the data that it needs.
type share struct {
	next atomic.Uint64
	end  uint64
	_    [112]byte // keeps other shares out of the same cache lines
}

// divide makes shares of r's units for n workers.
func (r *launchRun) divide(n int) {
	for len(r.shares) < n {
		r.shares = append(r.shares, new(share))
	}
	r.shares = r.shares[:n]
	next, each, more := uint64(0), r.units/uint64(n), r.units%uint64(n)
	for i, s := range r.shares {
		s.next.Store(next)
		if next += each; uint64(i) < more {
			next++
		}
		s.end = next
	}
}

// take returns the number of the next unit for a worker to start, if one is left.
func (r *launchRun) take(worker int) (uint64, bool) {
	for i := range r.shares {
		s := r.shares[(worker+i)%len(r.shares)]
		if i := s.next.Add(1) - 1; i < s.end {
			return i, true
		}
	}
	return 0, false
}
