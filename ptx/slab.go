package ptx

// slab hands out nodes from chunks: one allocation for up to maxChunk nodes. A
// chunk lives as long as any of its nodes, which for a tree is as it should be.
type slab[T any] struct {
	free []T
	size int
}

const (
	minChunk = 8
	maxChunk = 256
)

func (s *slab[T]) get() *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	x := &s.free[0]
	s.free = s.free[1:]
	return x
}

// copyOf returns a copy of list that an append can not run into.
func (s *slab[T]) copyOf(list []T) []T {
	n := len(list)
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.grow(n)
	}
	out := s.free[:n:n]
	copy(out, list)
	s.free = s.free[n:]
	return out
}

func (s *slab[T]) grow(n int) {
	s.size = min(max(2*s.size, minChunk), maxChunk)
	s.free = make([]T, max(n, s.size))
}
