package graph

import "sync"

// names are the names that nodes were given. They have a lock of their own,
// because errors are put into words while the graph is locked.
type names struct {
	mu   sync.Mutex
	byID map[uint32]string
}

func (s *names) get(i uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[i]
}

// set names a node, or forgets its name.
func (s *names) set(i uint32, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" {
		delete(s.byID, i)
		return
	}
	if s.byID == nil {
		s.byID = make(map[uint32]string)
	}
	s.byID[i] = name
}
