package cache

import (
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/hostcall"
	"github.com/purecuda/cuda/internal/life"
)

// blocksOf returns the blocks of the capture of s, and creates them on first use. The graph being
// captured retains them. The blocks are released with the graph, its clones and its Execs, or when
// the capture fails.
func (c *core) blocksOf(s *driver.Stream, at captured) (*ownBlocks, error) {
	c.beginning.Lock() // several streams of a capture may call blocksOf concurrently
	defer c.beginning.Unlock()
	c.mu.Lock()
	o := c.graphs[at.id]
	c.mu.Unlock()
	if o != nil {
		return o, nil
	}
	l, err := c.life.Child("blocks of a graph")
	if err != nil {
		return nil, err
	}
	o = &ownBlocks{life: l, id: at.id}
	life.Own(o, l, 0, c.dissolver(at.id))
	c.mu.Lock()
	c.graphs[at.id] = o
	c.mu.Unlock()
	err = holdBlocks(s, at, o)
	closed := l.Close() // from now on, only the graph has a reference
	runtime.KeepAlive(o)
	return o, refusal.Join([]error{err, closed})
}

func holdBlocks(s *driver.Stream, at captured, o *ownBlocks) error {
	if sc, ok := graph.ScopeOf(s); ok {
		return sc.Keep(o)
	}
	if err := o.life.Retain(); err != nil {
		return err
	}
	if err := hostcall.OnGraphDestroy(&s.Context().Guarded().Driver, at.graph, o.life.Done); err != nil {
		o.life.Done()
		return err
	}
	return nil
}

// dissolver returns the function that releases the blocks of a graph. That function returns the
// free blocks to the cache. The other blocks return when their buffers are closed. No launch uses
// the blocks any more, because an Exec retains them until its launches have ended. It must not
// refer to the ownBlocks, because it runs as their cleanup.
func (c *core) dissolver(id uint64) func(*cu.Driver) error {
	return func(d *cu.Driver) error {
		var errs []error
		for _, b := range c.dissolve(id) {
			errs = append(errs, d.CuMemFree(b.ptr))
		}
		return refusal.Join(errs)
	}
}

// dissolve ends the ownership of a graph's blocks and returns the blocks that the driver must free.
func (c *core) dissolve(id uint64) (rest []*block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.graphs[id]
	delete(c.graphs, id)
	if o == nil {
		return nil
	}
	for _, b := range o.all {
		c.stats.OfGraphs -= uint64(b.size)
		b.of = nil
		if b.out {
			c.stats.InUse += uint64(b.size)
			continue
		}
		b.lane = 0
		if c.put(b) {
			rest = append(rest, b)
		}
	}
	return rest
}
