package cache

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// lane identifies the stream on which a block was freed in stream order. It is not the stream's
// handle, because the driver may reuse handles. A lane does not keep the stream reachable. The zero
// lane means no stream: all work that used the block has ended.
type lane uint64

func laneOf(s *driver.Stream) lane { return lane(s.Number()) }

type shelves struct {
	idle   shelf // shelf of the zero lane
	lanes  map[lane]*shelf
	latest lane // the last lane used, usually also the next
	at     *shelf
}

// manyLanes is the number of lanes above which adding a lane first removes the empty lanes that
// closed streams leave behind.
const manyLanes = 64

func (s *shelves) of(l lane) *shelf {
	switch {
	case l == 0:
		return &s.idle
	case l == s.latest:
		return s.at
	}
	at := s.lanes[l]
	if at != nil {
		s.latest, s.at = l, at
	}
	return at
}

func (s *shelves) pop(l lane, size uintptr) *block {
	at := s.of(l)
	if at == nil {
		return nil
	}
	b := at.top(size)
	if b != nil {
		at.remove(b)
	}
	return b
}

func (s *shelves) push(b *block) {
	at := s.of(b.lane)
	if at == nil {
		at = s.add(b.lane)
	}
	at.push(b)
}

func (s *shelves) remove(b *block) { s.of(b.lane).remove(b) }

func (s *shelves) add(l lane) *shelf {
	if len(s.lanes) >= manyLanes {
		for l, at := range s.lanes {
			if at.n == 0 {
				delete(s.lanes, l)
			}
		}
		s.latest, s.at = 0, nil
	}
	if s.lanes == nil {
		s.lanes = make(map[lane]*shelf)
	}
	at := new(shelf)
	s.lanes[l] = at
	return at
}

func (s *shelves) all(yield func(*block) bool) {
	if !s.idle.all(yield) {
		return
	}
	for _, at := range s.lanes {
		if !at.all(yield) {
			return
		}
	}
}

// shelf holds the free blocks of a lane, in one list for each size, with the latest block first.
type shelf struct {
	n     int
	small [smallSizes]*block
	large map[uintptr]*block
}

// smallSizes is the number of powers of two from smallestBlock to smallBlock.
const smallSizes = 12

func class(size uintptr) int { return bits.TrailingZeros64(uint64(size / smallestBlock)) }

func (s *shelf) top(size uintptr) *block {
	if size <= smallBlock {
		return s.small[class(size)]
	}
	return s.large[size]
}

func (s *shelf) setTop(size uintptr, b *block) {
	switch {
	case size <= smallBlock:
		s.small[class(size)] = b
	case b == nil:
		delete(s.large, size)
	default:
		if s.large == nil {
			s.large = make(map[uintptr]*block)
		}
		s.large[size] = b
	}
}

func (s *shelf) push(b *block) {
	b.under = s.top(b.size)
	if b.under != nil {
		b.under.over = b
	}
	s.setTop(b.size, b)
	b.shelved = true
	s.n++
}

func (s *shelf) remove(b *block) {
	if b.under != nil {
		b.under.over = b.over
	}
	if b.over != nil {
		b.over.under = b.under
	} else {
		s.setTop(b.size, b.under)
	}
	b.over, b.under, b.shelved = nil, nil, false
	s.n--
}

func (s *shelf) all(yield func(*block) bool) bool {
	for _, b := range s.small {
		for ; b != nil; b = b.under {
			if !yield(b) {
				return false
			}
		}
	}
	for _, b := range s.large {
		for ; b != nil; b = b.under {
			if !yield(b) {
				return false
			}
		}
	}
	return true
}

// block is a range of device memory, from its allocation by the driver until the driver frees it.
// Each handout begins a new generation, so that freeing a block twice or late has no effect.
type block struct {
	c          *core
	ptr        driver.CUdeviceptr
	size       uintptr
	lane       lane
	of         *ownBlocks // the graph or capture that owns the block, or nil
	generation uint64
	out        bool

	shelved     bool
	over, under *block // neighbours on the shelf
}

type handout struct {
	life       life.Lifetime
	b          *block
	generation uint64
}

// Destroy implements life.Destroyer.
func (h *handout) Destroy(*cu.Driver) error { return h.b.giveBack(h.generation) }

const (
	smallestBlock = 512
	smallBlock    = 1 << 20
	blockStep     = 2 << 20
)

// sizeOfBlock rounds a size up so that blocks can be reused. It rounds to a power of two up to 1
// MiB, and to a multiple of 2 MiB for larger sizes.
func sizeOfBlock(bytes uintptr) uintptr {
	switch {
	case bytes <= smallestBlock:
		return smallestBlock
	case bytes <= smallBlock:
		return 1 << bits.Len64(uint64(bytes-1))
	}
	return (bytes + blockStep - 1) / blockStep * blockStep
}

// back records the stream on which a block is freed, and reports whether to free the block now. In
// the capture that owns the block, back returns true. The graph retains all its blocks, so
// references from its nodes do not matter.
func (b *block) back(s *driver.Stream, at captured) (now bool) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	if b.of == nil && at.graph != 0 {
		return false // the order within the capture does not apply outside it
	}
	b.lane = laneOf(s)
	return b.of != nil && b.of.id == at.id
}

// giveBack ends a handout and frees the block, unless the handout has already ended.
func (b *block) giveBack(generation uint64) error {
	c := b.c
	c.mu.Lock()
	if !b.out || b.generation != generation {
		c.mu.Unlock()
		return nil
	}
	b.out = false
	if b.of == nil {
		c.stats.InUse -= uint64(b.size)
	}
	toDriver := c.put(b)
	c.mu.Unlock()
	if toDriver {
		return c.ctx.Guarded().CuMemFree(b.ptr)
	}
	return nil
}
