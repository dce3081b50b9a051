package ptx

// slab allocates nodes in chunks: one allocation for up to maxChunk nodes. A chunk
// stays alive as long as any of its nodes does, which is right for a tree. It counts
// what is used, because shrinking a slice would store a pointer for each node, with a
// write barrier while the garbage collector runs.
type slab[T any] struct {
	chunk []T
	used  int
	open  int // start of the list that push appends to
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

// copyOf returns a copy of list that an append cannot write past.
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

// take allocates a list of n.
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

// push appends x to the list being built between begin and end. Nothing else may be
// taken from the slab in between.
func (s *slab[T]) push(x T) {
	if s.used == len(s.chunk) {
		begun := s.chunk[s.open:]
		s.grow(2*len(begun) + 1)
		s.used = copy(s.chunk, begun)
	}
	s.chunk[s.used] = x
	s.used++
}

// begin starts a list for push.
func (s *slab[T]) begin() { s.open = s.used }

// end returns the list since begin, nil for an empty one.
func (s *slab[T]) end() []T {
	if s.open == s.used {
		return nil
	}
	return s.chunk[s.open:s.used:s.used]
}

// rewind takes back everything allocated since used was n, if that is still the same
// chunk. Nothing may refer to it any more.
func (s *slab[T]) rewind(n int) {
	if n <= s.used {
		clear(s.chunk[n:s.used])
		s.used = n
	}
}

// grow starts a chunk with room for n.
func (s *slab[T]) grow(n int) {
	size := min(max(2*len(s.chunk), minChunk), maxChunk)
	s.chunk, s.used, s.open = make([]T, max(n, size)), 0, 0
}
