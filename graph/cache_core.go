package graph

import (
	"errors"
	"sync"
	"weak"

	"github.com/purecuda/cuda/driver"
)

// CacheStats is what a Cache holds, in bytes of whole blocks, and did.
type CacheStats struct {
	InUse     uint64 // in buffers
	Free      uint64 // for the next allocation
	OfGraphs  uint64 // of captures and graphs, in buffers or free there
	Allocated uint64 // blocks that the driver was asked for
	Reused    uint64 // allocations that it was not asked for
}

// cacheCore is what the buffers of a cache and the end of it need.
type cacheCore struct {
	ctx   *driver.Context
	life  *driver.Lifetime
	nodes bool

	beginning sync.Mutex // of the blocks of a capture; before mu

	mu     sync.Mutex
	shut   bool
	free   shelf
	used   map[driver.CUdeviceptr]*block
	graphs map[uint64]*ownBlocks // by the number of the capture
	stats  CacheStats
}

// ownBlocks are those of one capture, and of the graph that comes of it, which
// holds them by their lifetime.
type ownBlocks struct {
	life *driver.Lifetime
	id   uint64
	all  []*block
	free shelf
}

// Lifetime implements driver.Ref.
func (o *ownBlocks) Lifetime() *driver.Lifetime { return o.life }

// captured is the capture of a stream, zero for none.
type captured struct {
	graph driver.CUgraph
	id    uint64
}

func newCacheCore(c *driver.Context, life *driver.Lifetime) *cacheCore {
	return &cacheCore{ctx: c, life: life, free: shelf{},
		used: make(map[driver.CUdeviceptr]*block), graphs: make(map[uint64]*ownBlocks)}
}

// accepts checks a stream to allocate on.
func (c *cacheCore) accepts(s *driver.Stream) (captured, error) {
	if err := c.life.Check(); err != nil {
		return captured{}, err
	}
	return c.acceptsFree(s)
}

// acceptsFree checks a stream to free on, which works after Close too.
func (c *cacheCore) acceptsFree(s *driver.Stream) (at captured, err error) {
	if err := s.Ready(); err != nil {
		return at, err
	}
	if err := sameContext(c.ctx, s, s.Context()); err != nil {
		return at, err
	}
	at.graph, at.id, err = s.CaptureGraph()
	return at, err
}

// take hands out a block.
func (c *cacheCore) take(s *driver.Stream, at captured, bytes uintptr) (*block, uint64, error) {
	size := sizeOfBlock(bytes)
	if size < bytes {
		return nil, 0, driver.CUDA_ERROR_OUT_OF_MEMORY
	}
	var of *ownBlocks
	if at.graph != 0 {
		var err error
		if of, err = c.blocksOf(s, at); err != nil {
			return nil, 0, err
		}
	}
	if b := c.reuse(s, of, size); b != nil {
		return b, b.generation, nil
	}
	ptr, err := c.allocate(size)
	if err != nil {
		return nil, 0, err
	}
	b := c.enter(ptr, size, weak.Make(s), of)
	return b, b.generation, nil
}

// reuse hands out a free block, if there is one: one that came back in the
// order of the stream, or one that nothing uses. A capture gets such of its own
// blocks, or one that nothing uses, which is its own from then on: when the
// graph will run, and on what stream, is not known.
func (c *cacheCore) reuse(s *driver.Stream, of *ownBlocks, size uintptr) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.free
	if of != nil {
		from = of.free
	}
	b := from.pop(weak.Make(s), size)
	if b == nil {
		b = c.free.pop(lane{}, size)
	}
	if b == nil {
		return nil
	}
	b.lane = weak.Make(s)
	c.stats.Reused++
	if b.of == nil {
		c.stats.Free -= uint64(size)
	}
	if b.of == nil && of != nil {
		c.giveTo(of, b)
	}
	c.handOut(b)
	return b
}

// giveTo makes a block one of a graph's.
func (c *cacheCore) giveTo(of *ownBlocks, b *block) {
	b.of = of
	of.all = append(of.all, b)
	c.stats.OfGraphs += uint64(b.size)
}

// enter hands out a new block.
func (c *cacheCore) enter(ptr driver.CUdeviceptr, size uintptr, l lane, of *ownBlocks) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &block{c: c, ptr: ptr, size: size, lane: l}
	c.stats.Allocated++
	if of != nil {
		c.giveTo(of, b)
	}
	c.handOut(b)
	return b
}

func (c *cacheCore) handOut(b *block) {
	b.out = true
	b.generation++
	c.used[b.ptr] = b
	if b.of == nil {
		c.stats.InUse += uint64(b.size)
	}
}

// allocate asks the driver, and, if that has no memory, once more without what
// the cache has free.
func (c *cacheCore) allocate(size uintptr) (ptr driver.CUdeviceptr, err error) {
	d := c.ctx.Guarded()
	err = d.CuMemAlloc(&ptr, size)
	if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		return ptr, err
	}
	if n, trimmed := c.trim(); n == 0 || trimmed != nil {
		return 0, join([]error{err, trimmed})
	}
	err = d.CuMemAlloc(&ptr, size)
	return ptr, err
}

// find returns the block of a buffer.
func (c *cacheCore) find(ptr driver.CUdeviceptr) (*block, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.used[ptr]
	if b == nil {
		return nil, 0
	}
	return b, b.generation
}

// put puts a block on its shelf, or says that the driver gets it.
func (c *cacheCore) put(b *block) (toDriver bool) {
	switch {
	case b.of != nil:
		b.of.free.push(b)
	case c.shut:
		return true
	default:
		c.stats.Free += uint64(b.size)
		c.free.push(b)
	}
	return false
}

// trim gives the free blocks to the driver.
func (c *cacheCore) trim() (bytes uint64, err error) {
	c.mu.Lock()
	free := c.free
	c.free = shelf{}
	c.stats.Free = 0
	c.mu.Unlock()
	var errs []error
	for _, list := range free {
		for _, b := range list {
			bytes += uint64(b.size)
			errs = append(errs, c.ctx.Guarded().CuMemFree(b.ptr))
		}
	}
	return bytes, join(errs)
}

// shutdown is the end of the cache: what comes back later goes to the driver.
func (c *cacheCore) shutdown() error {
	c.mu.Lock()
	c.shut = true
	c.mu.Unlock()
	_, err := c.trim()
	return err
}

func (c *cacheCore) statistics() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
