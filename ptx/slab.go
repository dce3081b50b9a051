package ptx

// slab allocates nodes in chunks of up to maxChunk, with one allocation per chunk. A chunk stays
// alive as long as any of its nodes, which suits a tree. The slab counts used nodes instead of
// shrinking a slice. Shrinking a slice would store a pointer for each node, which needs a write
// barrier during garbage collection.
type slab[T any] struct {
	chunk []T
	used  int
	open  int // start of the list that push extends
}

const (
	minChunk = 8
	maxChunk = 256
)

func (s *slab[T]) get() *T {
	if s.used == len(s.chunk) {
		s.grow(1)
	}
	s.used++
	return &s.chunk[s.used-1]
}

// copyOf returns a copy of list with no spare capacity, so that an append to it
// reallocates.
func (s *slab[T]) copyOf(list []T) []T {
	n := len(list)
	if n == 0 {
		return nil
	}
	if n > len(s.chunk)-s.used {
		s.grow(n)
	}
	out := s.chunk[s.used : s.used+n : s.used+n]
	copy(out, list)
	s.used += n
	return out
}

func (s *slab[T]) take(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.chunk)-s.used {
		s.grow(n)
	}
	s.used += n
	return s.chunk[s.used-n : s.used : s.used]
}

// push appends x to the list between begin and end. Nothing else may be allocated from
// the slab before end.
func (s *slab[T]) push(x T) {
	if s.used == len(s.chunk) {
		begun := s.chunk[s.open:]
		s.grow(2*len(begun) + 1)
		s.used = copy(s.chunk, begun)
	}
	s.chunk[s.used] = x
	s.used++
}

func (s *slab[T]) begin() { s.open = s.used }

// end returns the elements pushed since begin, or nil if there are none.
func (s *slab[T]) end() []T {
	if s.open == s.used {
		return nil
	}
	return s.chunk[s.open:s.used:s.used]
}

// rewind frees the nodes of the current chunk from index n on. The caller must no longer refer to
// them. If a new chunk has fewer than n used nodes, rewind does nothing.
func (s *slab[T]) rewind(n int) {
	if n <= s.used {
		clear(s.chunk[n:s.used])
		s.used = n
	}
}

// grow allocates a chunk with room for at least n nodes.
func (s *slab[T]) grow(n int) {
	size := min(max(2*len(s.chunk), minChunk), maxChunk)
	s.chunk, s.used, s.open = make([]T, max(n, size)), 0, 0
}
