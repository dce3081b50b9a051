package vm

import "sync/atomic"

// share is a run of neighbouring units of a grid. A worker starts those of its own
// share first, and then what is left of others'. So each works where no other does:
// neighbours mostly use memory that lies together, and when a kernel is launched
// again, what a processor has in its caches is what it needs again.
type share struct {
	next atomic.Uint64
	end  uint64
	_    [112]byte // no other share in the same lines of a cache
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

// take returns the number of a unit for a worker to start, if one is left.
func (r *launchRun) take(worker int) (uint64, bool) {
	for i := range r.shares {
		s := r.shares[(worker+i)%len(r.shares)]
		if i := s.next.Add(1) - 1; i < s.end {
			return i, true
		}
	}
	return 0, false
}
