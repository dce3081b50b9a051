package cache

import (
	"errors"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/life"
)

// Stats describes the contents of a Cache in bytes of whole blocks, and counts its allocations.
type Stats struct {
	InUse     uint64 // used by buffers
	Free      uint64 // available for the next allocation
	OfGraphs  uint64 // owned by captures and graphs, whether used or free
	Allocated uint64 // number of blocks allocated by the driver
	Reused    uint64 // number of allocations without a driver call
}

// core is the part of a cache that its buffers need even after the Cache is unreachable.
type core struct {
	ctx   *driver.Context
	life  *life.Lifetime
	nodes bool

	beginning sync.Mutex // held while a capture's blocks are created; locked before mu

	mu     sync.Mutex
	shut   bool
	free   shelves
	graphs map[uint64]*ownBlocks // blocks of each capture, by capture ID
	stats  Stats
}

// ownBlocks are the blocks of one capture and of the graph it returns. The graph retains them
// through their lifetime.
type ownBlocks struct {
	life *life.Lifetime
	id   uint64
	all  []*block
	free shelves
}

// Lifetime implements life.Ref.
func (o *ownBlocks) Lifetime() *life.Lifetime { return o.life }

// captured identifies the capture of a stream. It is zero if the stream is not capturing.
type captured struct {
	graph driver.CUgraph
	id    uint64
}

func newCore(c *driver.Context, life *life.Lifetime) *core {
	return &core{ctx: c, life: life, graphs: make(map[uint64]*ownBlocks)}
}

// accepts returns the capture of s, or an error if s cannot be used for an allocation.
func (c *core) accepts(s *driver.Stream) (captured, error) {
	if err := c.life.Check(); err != nil {
		return captured{}, err
	}
	return c.acceptsFree(s)
}

// acceptsFree returns the capture of s, or an error if s cannot be used for a free. It also works
// after Close.
func (c *core) acceptsFree(s *driver.Stream) (at captured, err error) {
	if err := s.Ready(); err != nil {
		return at, err
	}
	if err := refusal.OtherContext(c.ctx, s, s.Context()); err != nil {
		return at, err
	}
	status, id, graph, err := s.CaptureStatus()
	if err == nil && status == cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED {
		err = refusal.New(driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "%v: its capture is invalid", s)
	}
	return captured{graph, id}, err
}

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

// reuse hands out a free block, or returns nil if there is none. A stream gets a block that was
// freed on that stream, or one that no work uses. A capture gets one of its graph's own blocks, or
// one that no work uses, which then belongs to the graph. A capture cannot use blocks freed in
// stream order, because the graph may run at any time and on any stream.
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

func (c *core) giveTo(of *ownBlocks, b *block) {
	b.of = of
	of.all = append(of.all, b)
	c.stats.OfGraphs += uint64(b.size)
}

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

// allocate calls the driver. If the device is out of memory, allocate trims the cache and retries
// once.
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

// put puts a block on its shelf, or returns true if the driver must free it.
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

func (c *core) trim() (bytes uint64, err error) {
	c.mu.Lock()
	free := c.free
	c.free = shelves{}
	c.stats.Free = 0
	for b := range free.all {
		b.shelved = false // so that AllocInto cannot hand out the block
	}
	c.mu.Unlock()
	var errs []error
	for b := range free.all {
		bytes += uint64(b.size)
		errs = append(errs, c.ctx.Guarded().CuMemFree(b.ptr))
	}
	return bytes, refusal.Join(errs)
}

// shutdown closes the cache. Blocks freed later go to the driver.
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
