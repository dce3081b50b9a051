package cache

import (
	"errors"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Stats is what a Cache holds, in bytes of whole blocks, and did.
type Stats struct {
	InUse     uint64 // in buffers
	Free      uint64 // for the next allocation
	OfGraphs  uint64 // of captures and graphs, in buffers or free there
	Allocated uint64 // blocks that the driver was asked for
	Reused    uint64 // allocations that it was not asked for
}

// core is what the buffers of a cache and the end of it need.
type core struct {
	ctx   *driver.Context
	life  *driver.Lifetime
	nodes bool

	beginning sync.Mutex // of the blocks of a capture; before mu

	mu     sync.Mutex
	shut   bool
	free   shelves
	graphs map[uint64]*ownBlocks // by the number of the capture
	stats  Stats
}

// ownBlocks are those of one capture, and of the graph that comes of it, which
// holds them by their lifetime.
type ownBlocks struct {
	life *driver.Lifetime
	id   uint64
	all  []*block
	free shelves
}

// Lifetime implements driver.Ref.
func (o *ownBlocks) Lifetime() *driver.Lifetime { return o.life }

// captured is the capture of a stream, zero for none.
type captured struct {
	graph driver.CUgraph
	id    uint64
}

func newCore(c *driver.Context, life *driver.Lifetime) *core {
	return &core{ctx: c, life: life, graphs: make(map[uint64]*ownBlocks)}
}

// accepts checks a stream to allocate on.
func (c *core) accepts(s *driver.Stream) (captured, error) {
	if err := c.life.Check(); err != nil {
		return captured{}, err
	}
	return c.acceptsFree(s)
}

// acceptsFree checks a stream to free on, which works after Close too.
func (c *core) acceptsFree(s *driver.Stream) (at captured, err error) {
	if err := s.Ready(); err != nil {
		return at, err
	}
	if err := refusal.OtherContext(c.ctx, s, s.Context()); err != nil {
		return at, err
	}
	at.graph, at.id, err = s.CaptureGraph()
	return at, err
}

// take hands out a block.
func (c *core) take(s *driver.Stream, at captured, bytes uintptr) (*block, uint64, error) {
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
	b := c.enter(ptr, size, laneOf(s), of)
	return b, b.generation, nil
}

// reuse hands out a free block, if there is one: one that came back in the
// order of the stream, or one that nothing uses. A capture gets such of its own
// blocks, or one that nothing uses, which is its own from then on: when the
// graph will run, and on what stream, is not known.
func (c *core) reuse(s *driver.Stream, of *ownBlocks, size uintptr) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := &c.free
	if of != nil {
		from = &of.free
	}
	b := from.pop(laneOf(s), size)
	if b == nil {
		b = c.free.pop(0, size)
	}
	if b == nil {
		return nil
	}
	b.lane = laneOf(s)
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
func (c *core) giveTo(of *ownBlocks, b *block) {
	b.of = of
	of.all = append(of.all, b)
	c.stats.OfGraphs += uint64(b.size)
}

// enter hands out a new block.
func (c *core) enter(ptr driver.CUdeviceptr, size uintptr, l lane, of *ownBlocks) *block {
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

func (c *core) handOut(b *block) {
	b.out = true
	b.generation++
	if b.of == nil {
		c.stats.InUse += uint64(b.size)
	}
}

// allocate asks the driver, and, if that has no memory, once more without what
// the cache has free.
func (c *core) allocate(size uintptr) (ptr driver.CUdeviceptr, err error) {
	d := c.ctx.Guarded()
	err = d.CuMemAlloc(&ptr, size)
	if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		return ptr, err
	}
	if n, trimmed := c.trim(); n == 0 || trimmed != nil {
		return 0, refusal.Join([]error{err, trimmed})
	}
	err = d.CuMemAlloc(&ptr, size)
	return ptr, err
}

// put puts a block on its shelf, or says that the driver gets it.
func (c *core) put(b *block) (toDriver bool) {
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
func (c *core) trim() (bytes uint64, err error) {
	c.mu.Lock()
	free := c.free
	c.free = shelves{}
	c.stats.Free = 0
	for b := range free.all {
		b.shelved = false // no AllocInto finds it again
	}
	c.mu.Unlock()
	var errs []error
	for b := range free.all {
		bytes += uint64(b.size)
		errs = append(errs, c.ctx.Guarded().CuMemFree(b.ptr))
	}
	return bytes, refusal.Join(errs)
}

// shutdown is the end of the cache: what comes back later goes to the driver.
func (c *core) shutdown() error {
	c.mu.Lock()
	c.shut = true
	c.mu.Unlock()
	_, err := c.trim()
	return err
}

func (c *core) statistics() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
