package graph

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// ErrSealed matches the error that a sealed pool returns for a new registration, and for an attempt
// to make a graph or a capture retain it.
var ErrSealed = errors.New("sealed")

// Pool keeps objects alive for several graphs: buffers, modules, events, and any Go values. A
// registered object stays alive even if its owner closes it or drops all references to it. Once the
// pool is cleared or closed and no graph retains it, the pool releases its contents in the order of
// registration.
//
// [Graph.Keep] or [Scope.Keep] make a graph retain a pool. The graph's Execs then retain it as
// well, until their last launch has ended. Any goroutine may use a Pool at any time.
type Pool struct {
	life *life.Lifetime
	ctx  *driver.Context
	core *poolCore
}

// poolCore is the part of a pool that its cleanup needs.
type poolCore struct {
	mu     sync.Mutex
	held   []pooled // in the order of registration
	keys   map[any]struct{}
	sealed bool
}

// pooled is one registered object: a driver object or a Go value.
type pooled struct {
	life  *life.Lifetime // nil for a Go value
	value any            // nil for a driver object
	key   any            // equal for repeated registrations of one thing
}

func valueKey(value any) any {
	switch v := reflect.ValueOf(value); {
	case v.Comparable():
		return value
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Map, v.Kind() == reflect.Func:
		return identity{v.Type(), v.Pointer(), length(v)}
	}
	return new(byte) // Go cannot compare this struct, so each registration counts as new
}

// identity is the key of values that Go cannot compare. The pool retains the value, so no other
// value can have the same address.
type identity struct {
	of      reflect.Type
	address uintptr
	len     int
}

func length(v reflect.Value) int {
	if v.Kind() == reflect.Slice {
		return v.Len()
	}
	return 0
}

func entryOf(thing any) (pooled, error) {
	r, err := refOf(thing)
	if err != nil {
		return pooled{}, err
	}
	if r == nil {
		return pooled{value: thing, key: valueKey(thing)}, nil
	}
	l := r.Lifetime()
	return pooled{life: l, key: l}, l.Check()
}

// refOf returns the reference to a driver object, or nil for any other Go value.
func refOf(thing any) (r life.Ref, err error) {
	switch t := thing.(type) {
	case nil:
		return nil, invalid("it is nil")
	case life.Ref:
		r = t
	case interface{ Ref() life.Ref }:
		if r = t.Ref(); r == nil {
			return nil, invalid("a nil or zero %T", thing)
		}
	default:
		return nil, nil
	}
	if v := reflect.ValueOf(r); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, invalid("a nil %T", r)
	}
	return r, nil
}

// NewPool creates an empty pool for objects of any context of c's driver.
func NewPool(c *driver.Context) (*Pool, error) {
	l, err := life.New(c.Lifetime(), "keep-alive pool")
	if err != nil {
		return nil, err
	}
	p := &Pool{life: l, ctx: c, core: &poolCore{keys: make(map[any]struct{})}}
	core := p.core
	life.Own(p, l, 0, func(*cu.Driver) error {
		releaseAll(core.take())
		return nil
	})
	return p, nil
}

func (p *Pool) exists() bool { return p != nil && p.core != nil }

func (p *Pool) check() error {
	if !p.exists() {
		return aPool.Error(p == nil)
	}
	return p.life.Check()
}

// Register adds all things to the pool, or none if one is closed or nil. Things already in the pool
// are not added again. Each thing can be an object of this module such as an event, or a value with
// a method Ref such as a buffer or a view. Any other value is kept reachable, but the pool does not
// close it.
func (p *Pool) Register(things ...any) error {
	if err := p.check(); err != nil {
		return err
	}
	added, err := p.core.register(things)
	runtime.KeepAlive(things)
	if err != nil {
		releaseAll(added)
		return fmt.Errorf("%v: %w", p, err)
	}
	return nil
}

// register adds things. On failure it returns the things that the caller must release.
func (c *poolCore) register(things []any) ([]pooled, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return nil, fmt.Errorf("it accepts nothing more: %w", ErrSealed)
	}
	before := len(c.held)
	for i, t := range things {
		if err := c.add(t); err != nil {
			return c.drop(before), fmt.Errorf("thing %d: %w", i, err)
		}
	}
	return nil, nil
}

func (c *poolCore) add(thing any) error {
	h, err := entryOf(thing)
	if err != nil {
		return err
	}
	if _, known := c.keys[h.key]; known {
		return nil
	}
	if h.life != nil {
		if err := h.life.Retain(); err != nil {
			return err
		}
	}
	c.keys[h.key] = struct{}{}
	c.held = append(c.held, h)
	return nil
}

func (c *poolCore) drop(n int) []pooled {
	added := append([]pooled(nil), c.held[n:]...)
	for _, h := range added {
		delete(c.keys, h.key)
	}
	clear(c.held[n:])
	c.held = c.held[:n]
	return added
}

// take empties the pool and returns its contents. The caller must release them without holding the
// lock, because a release may free memory and wait for the device.
func (c *poolCore) take() []pooled {
	c.mu.Lock()
	defer c.mu.Unlock()
	things := c.held
	c.held = nil
	clear(c.keys)
	return things
}

func releaseAll(things []pooled) {
	for i := range things {
		if things[i].life != nil {
			things[i].life.Done()
		}
		things[i] = pooled{}
	}
}

// kept separates the arguments of Keep into references and other values. It returns an error for a
// sealed pool.
func kept(things []any) (refs []life.Ref, values []any, err error) {
	for i, t := range things {
		if list, ok := t.([]life.Ref); ok {
			refs = append(refs, list...)
			continue
		}
		r, err := refOf(t)
		switch p, ok := t.(*Pool); {
		case err != nil:
			return nil, nil, fmt.Errorf("cannot keep thing %d: %w", i, err)
		case ok && p.Sealed():
			return nil, nil, fmt.Errorf("%v accepts no further graph: %w", p, ErrSealed)
		case r == nil:
			values = append(values, t)
		default:
			refs = append(refs, r)
		}
	}
	return refs, values, nil
}

// Has reports whether thing is registered.
func (p *Pool) Has(thing any) bool {
	if !p.exists() {
		return false
	}
	h, err := entryOf(thing)
	if err != nil && h.life == nil {
		return false
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	_, known := p.core.keys[h.key]
	return known
}

// Len returns the number of registered objects.
func (p *Pool) Len() int {
	if !p.exists() {
		return 0
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	return len(p.core.held)
}

// InUse reports whether a graph, an Exec or a launch retains the pool.
func (p *Pool) InUse() bool { return p.exists() && p.life.Holders() > 0 }

// Clear releases everything. While a graph, an Exec or a launch retains the pool, Clear returns an
// error, because nodes may refer to the contents.
func (p *Pool) Clear() error {
	if err := p.check(); err != nil {
		return err
	}
	if p.InUse() {
		return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
			"%v cannot be cleared: graphs hold it; close them and their executable graphs first", p)
	}
	releaseAll(p.core.take())
	return nil
}

// Seal makes the pool reject registrations and new graphs and captures. The contents and the
// current users do not change.
func (p *Pool) Seal() error { return p.seal(true) }

// Unseal undoes Seal.
func (p *Pool) Unseal() error { return p.seal(false) }

func (p *Pool) seal(on bool) error {
	if err := p.check(); err != nil {
		return err
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	p.core.sealed = on
	return nil
}

// Sealed reports whether the pool is sealed.
func (p *Pool) Sealed() bool {
	if !p.exists() {
		return false
	}
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	return p.core.sealed
}

// Lifetime implements life.Ref, so that graphs can retain the pool.
func (p *Pool) Lifetime() *life.Lifetime {
	if !p.exists() {
		return nil
	}
	return p.life
}

// Context returns the context that the pool was created with.
func (p *Pool) Context() *driver.Context {
	if !p.exists() {
		return nil
	}
	return p.ctx
}

// String returns "pool of n things", with the number of registered objects.
func (p *Pool) String() string {
	if !p.exists() {
		return absentName(p == nil, &aPool)
	}
	return fmt.Sprintf("pool of %d things", p.Len())
}

// Close makes the pool reject registrations and further graphs. The pool releases its contents when
// no graph retains it any more.
func (p *Pool) Close() error {
	if !p.exists() {
		return nil
	}
	err := p.life.Close()
	runtime.KeepAlive(p)
	return err
}
