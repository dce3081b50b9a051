package cache

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
)

// lane is the number of the stream in whose order a block was given back. Handles
// of streams are given again, and a lane must not keep a stream reachable. The
// zero lane is no stream: nothing uses the block any more.
type lane uint64

func laneOf(s *driver.Stream) lane { return lane(s.Number()) }

// shelves are free blocks by lane and size.
type shelves struct {
	idle   shelf // of the zero lane
	lanes  map[lane]*shelf
	latest lane // what was asked for last, which mostly is asked for next
	at     *shelf
}

// manyLanes is how many lanes are kept without a look for empty ones: streams
// that are gone leave them.
const manyLanes = 64

// of returns the shelf of a lane, nil if there is none.
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

// remove takes a block that is free off its shelf.
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

// all yields every block.
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

// shelf is the free blocks of a lane, each size a list whose latest comes first.
type shelf struct {
	n     int
	small [smallSizes]*block
	large map[uintptr]*block
}

// smallSizes is how many powers of two there are from smallest to small.
const smallSizes = 12

// class is the index of a small size.
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

// all reports whether yield wants to go on.
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

// block is a piece of device memory, from its allocation by the driver until
// that frees it. Each time it is handed out it is of another generation, so
// that who gives it back twice, or late, gives nothing back.
type block struct {
	c          *core
	ptr        driver.CUdeviceptr
	size       uintptr
	lane       lane
	of         *ownBlocks // the graph whose block it is; nil: none
	generation uint64
	out        bool

	shelved     bool
	over, under *block // on its shelf
}

// handout is a block in a buffer's hands: its lifetime, and how it ends.
type handout struct {
	life       driver.Lifetime
	b          *block
	generation uint64
}

// Destroy implements driver.Destroyer.
func (h *handout) Destroy(*driver.Driver) error { return h.b.giveBack(h.generation) }

const (
	smallestBlock = 512
	smallBlock    = 1 << 20
	blockStep     = 2 << 20
)

// sizeOfBlock is what sizes are rounded to, so that blocks fit again: powers of
// two up to a MiB, then multiples of two MiB.
func sizeOfBlock(bytes uintptr) uintptr {
	switch {
	case bytes <= smallestBlock:
		return smallestBlock
	case bytes <= smallBlock:
		return 1 << bits.Len64(uint64(bytes-1))
	}
	return (bytes + blockStep - 1) / blockStep * blockStep
}

// back notes the stream in whose order a block comes back, and reports whether
// that is now: in the capture that it belongs to, the graph keeps all its
// blocks, so it does not matter what its nodes refer to.
func (b *block) back(s *driver.Stream, at captured) (now bool) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	if b.of == nil && at.graph != 0 {
		return false // an order within the capture is none outside
	}
	b.lane = laneOf(s)
	return b.of != nil && b.of.id == at.id
}

// giveBack ends one handing out.
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
