package serve

import "github.com/purecuda/cuda/graph/callable"

// add adds the counts of a Callable.
func (s *Stats) add(c callable.Stats) {
	s.Replayed += c.Replayed
	s.Eager += c.Eager
	s.Recorded += c.Recorded
	s.Updated += c.Updated
	s.Evicted += c.Evicted
	s.Variants += c.Variants
	s.MemoryBytes += c.MemoryBytes
}

// opened makes the Stats include a slot's new Callable.
func (a *admission) opened(s *slot, counts func() callable.Stats) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.counts = counts
}

// closes keeps the counts of a slot's Callable, which is about to be closed.
func (a *admission) closes(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.counts == nil {
		return
	}
	last := s.counts()
	s.counts = nil
	a.past.Replayed += last.Replayed
	a.past.Eager += last.Eager
	a.past.Recorded += last.Recorded
	a.past.Updated += last.Updated
	a.past.Evicted += last.Evicted
}
