package graph

import (
	"weak"

	"github.com/purecuda/cuda/driver"
)

// shelf is free blocks by lane and size.
type shelf map[shelfKey][]*block

type shelfKey struct {
	lane lane
	size uintptr
}

func (s shelf) pop(l lane, size uintptr) *block {
	k := shelfKey{l, size}
	list := s[k]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	if s[k] = list[:len(list)-1]; len(list) == 1 {
		delete(s, k)
	}
	return b
}

func (s shelf) push(b *block) {
	k := shelfKey{b.lane, b.size}
	s[k] = append(s[k], b)
}

// block is a piece of device memory, from its allocation by the driver until
// that frees it. Each time it is handed out it is of another generation, so
// that who gives it back twice, or late, gives nothing back.
type block struct {
	c          *cacheCore
	ptr        driver.CUdeviceptr
	size       uintptr
	lane       lane
	of         *ownBlocks // the graph whose block it is; nil: none
	generation uint64
	out        bool
}

// sizeOfBlock is what sizes are rounded to, so that blocks fit again: powers of
// two up to a MiB, then multiples of two MiB.
func sizeOfBlock(bytes uintptr) uintptr {
	const small, step = 1 << 20, 2 << 20
	size := uintptr(512)
	for size < bytes && size < small {
		size *= 2
	}
	if size >= bytes {
		return size
	}
	return (bytes + step - 1) / step * step
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
	b.lane = weak.Make(s)
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
	delete(c.used, b.ptr)
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
