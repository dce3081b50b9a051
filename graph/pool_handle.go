package graph

import "sync"

// PoolHandle identifies a Pool in the whole process, for parts of a program that cannot pass
// pointers to each other. 0 identifies none.
type PoolHandle uint64

// shared are the pools with handles. A handle keeps its pool reachable.
var shared handles

type handles struct {
	mu     sync.Mutex
	last   PoolHandle // numbers are not given again
	byName map[PoolHandle]*Pool
}

// SharePool creates a handle of a pool, which is valid until ReleasePool or until the pool is
// closed. Each call returns a new handle.
func SharePool(p *Pool) (PoolHandle, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if err := p.check(); err != nil {
		return 0, err
	}
	if shared.byName == nil {
		shared.byName = make(map[PoolHandle]*Pool)
	}
	shared.last++
	shared.byName[shared.last] = p
	return shared.last, nil
}

// PoolByHandle returns the pool of a handle, or false if the handle is unknown or released, or if
// its pool is closed.
func PoolByHandle(h PoolHandle) (*Pool, bool) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	p, ok := shared.byName[h]
	return p, ok
}

// ReleasePool ends a handle without affecting the pool. It does nothing for an unknown handle.
func ReleasePool(h PoolHandle) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	delete(shared.byName, h)
}

// forget ends all handles of a pool that is closed.
func (s *handles) forget(p *Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, q := range s.byName {
		if p == q {
			delete(s.byName, h)
		}
	}
}
