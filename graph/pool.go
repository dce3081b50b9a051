package graph

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// ErrSealed is matched when something is registered in a pool that is sealed.
var ErrSealed = errors.New("sealed")

// Pool keeps things alive for several graphs: buffers of any type, modules,
// events, whatever is a driver.Ref. What is registered stays, though its owner
// closes or drops it, until the pool is cleared or closed and no graph that
// holds the pool is left.
//
// A graph holds a pool like anything else that it is told to keep: by
// [Graph.Keep] or [Scope.Keep]. Its Execs then do too, until the last of their
// launches has ended.
//
// Any goroutine may use a Pool at any time.
type Pool struct {
	life *driver.Lifetime
	ctx  *driver.Context
	core *poolCore
}

// poolCore is what the end of a pool needs of it.
type poolCore struct {
	mu     sync.Mutex
	held   map[*driver.Lifetime]struct{}
	sealed bool
}

// NewPool makes an empty pool. It may hold things of any context of c's driver.
func NewPool(c *driver.Context) (*Pool, error) {
	life, err := driver.NewLifetime(c, "keep-alive pool")
	if err != nil {
		return nil, err
	}
	p := &Pool{life: life, ctx: c, core: &poolCore{held: make(map[*driver.Lifetime]struct{})}}
	core := p.core
	driver.Own(p, life, 0, func(*driver.Driver) error {
		letGoOf(core.take())
		return nil
	})
	return p, nil
}

// Register has the pool keep things: all of them, or, if one is closed or nil,
// none. What it keeps already it keeps once.
func (p *Pool) Register(refs ...driver.Ref) error {
	if err := p.Lifetime().Check(); err != nil {
		return err
	}
	added, err := p.core.register(refs)
	runtime.KeepAlive(refs)
	if err != nil {
		letGoOf(added)
		return fmt.Errorf("%v: %w", p, err)
	}
	return nil
}

// register returns, if it fails, what has to be let go of.
func (c *poolCore) register(refs []driver.Ref) ([]*driver.Lifetime, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return nil, fmt.Errorf("it takes nothing more: %w", ErrSealed)
	}
	return c.add(refs)
}

// add retains what is not there yet. If something cannot be it returns what has
// to be let go of.
func (c *poolCore) add(refs []driver.Ref) ([]*driver.Lifetime, error) {
	var added []*driver.Lifetime
	for i, r := range refs {
		if r == nil {
			return c.drop(added), invalid("reference %d is nil", i)
		}
		l := r.Lifetime()
		if err := l.Check(); err != nil {
			return c.drop(added), err
		}
		if _, known := c.held[l]; known {
			continue
		}
		if err := l.Retain(); err != nil {
			return c.drop(added), err
		}
		c.held[l] = struct{}{}
		added = append(added, l)
	}
	return nil, nil
}

func (c *poolCore) drop(lives []*driver.Lifetime) []*driver.Lifetime {
	for _, l := range lives {
		delete(c.held, l)
	}
	return lives
}

// take empties the pool and returns what to let go of, which is done without
// the lock: it may free memory and wait for the device.
func (c *poolCore) take() []*driver.Lifetime {
	c.mu.Lock()
	defer c.mu.Unlock()
	lives := make([]*driver.Lifetime, 0, len(c.held))
	for l := range c.held {
		lives = append(lives, l)
	}
	clear(c.held)
	return lives
}

func letGoOf(lives []*driver.Lifetime) {
	for _, l := range lives {
		l.Done()
	}
}

// Has reports whether a thing is registered.
func (p *Pool) Has(r driver.Ref) bool {
	if p == nil || r == nil {
		return false
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	_, known := p.core.held[r.Lifetime()]
	return known
}

// Len is how many things are registered.
func (p *Pool) Len() int {
	if p == nil {
		return 0
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	return len(p.core.held)
}

// InUse reports whether a graph, or an Exec or one of its launches, holds the
// pool.
func (p *Pool) InUse() bool { return p != nil && p.life.Holders() > 0 }

// Clear lets go of everything. It is refused while a graph or an Exec holds the
// pool, because their nodes refer to what is in it.
func (p *Pool) Clear() error {
	if err := p.Lifetime().Check(); err != nil {
		return err
	}
	if p.InUse() {
		return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
			"%v cannot be cleared: graphs hold it, close them and their executable graphs first", p)
	}
	letGoOf(p.core.take())
	return nil
}

// Seal has the pool refuse registrations.
func (p *Pool) Seal() error { return p.seal(true) }

// Unseal takes Seal back.
func (p *Pool) Unseal() error { return p.seal(false) }

func (p *Pool) seal(on bool) error {
	if err := p.Lifetime().Check(); err != nil {
		return err
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	p.core.sealed = on
	return nil
}

// Sealed reports whether the pool refuses registrations.
func (p *Pool) Sealed() bool {
	if p == nil {
		return false
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	return p.core.sealed
}

// Lifetime implements driver.Ref, so that graphs can keep the pool.
func (p *Pool) Lifetime() *driver.Lifetime {
	if p == nil {
		return nil
	}
	return p.life
}

// Context returns the context that the pool was made with.
func (p *Pool) Context() *driver.Context {
	if p == nil {
		return nil
	}
	return p.ctx
}

// String says how much the pool keeps.
func (p *Pool) String() string {
	if p == nil {
		return "nil pool"
	}
	return fmt.Sprintf("pool of %d things", p.Len())
}

// Close refuses new registrations and graphs, and ends the pool's handles. What
// the pool keeps goes with the last graph that holds it, which may be now.
func (p *Pool) Close() error {
	if p == nil {
		return nil
	}
	shared.forget(p)
	err := p.life.Close()
	runtime.KeepAlive(p)
	return err
}
