package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// Doer is what takes operations: a *Stream, which runs them, or a scope of
// package graph, which records them.
type Doer interface{ Do(op Op) error }

// Calls makes launches of one kernel, each described anew by its arguments,
// without allocating: the launches are used again. It is what the launchers
// are made of that ptx2go generates; with it they know the number and the types
// of the arguments beforehand.
//
// A Calls is used by any number of goroutines. It keeps the kernel's code
// reachable; the memory of latest calls it lets the collector have, though not at
// once: forgetting it after each call would cost more than the call's check.
type Calls struct {
	k     *Kernel
	modes []AccessMode
	pool  sync.Pool // of *Call; what it has not used for two collections is gone
}

// NewCalls returns the calls of a kernel. Modes say what the kernel does to the
// memory of each argument; 0 for one that is no memory, or where nothing is
// declared. There are as many as parameters, which have to be known: from PTX,
// or from the driver (CUDA 12.4).
func NewCalls(k *Kernel, modes ...AccessMode) (*Calls, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	if !k.known {
		return nil, fmt.Errorf("calls of %v: this driver does not tell its parameters (since CUDA 12.4): %w", k, ErrNotSupported)
	}
	if len(k.params) != len(modes) {
		return nil, invalidf("calls of %v: it takes %d arguments (%s), not %d", k, len(k.params), signature(k.params), len(modes))
	}
	return &Calls{k: k, modes: modes}, nil
}

// Kernel is the kernel that is called, nil for nil Calls.
func (c *Calls) Kernel() *Kernel {
	if c == nil {
		return nil
	}
	return c.k
}

// Call is one launch that is being described: by Pass for each argument, then
// by Call.Do, which ends it.
type Call struct {
	of    *Calls
	l     *Launch
	n     int      // arguments so far
	err   error    // the first
	words []passed // of arguments that were numbers: their type needs no check again
}

// passed is where an argument of at most a word is stored.
type passed struct {
	at  unsafe.Pointer // into Launch.store; nil: there is more to do
	typ typeWord
}

// Begin starts a call with that configuration. What is wrong with it is said by
// the Call's Do.
func (c *Calls) Begin(cfg LaunchConfig) *Call {
	if c == nil {
		return &Call{err: nilError("kernel")}
	}
	call, _ := c.pool.Get().(*Call)
	if call == nil {
		call = c.newCall()
	}
	call.n, call.err = 0, nil
	if l := call.l; l.node.GridDimX == 0 || !l.cfg.same(&cfg) {
		call.err = l.SetConfig(cfg)
	}
	return call
}

func (c *Calls) newCall() *Call {
	call := &Call{of: c, l: newLaunch(c.k), words: make([]passed, len(c.modes))}
	for i, mode := range c.modes {
		if mode != 0 {
			call.l.slots[i].mode = mode
		}
	}
	return call
}

// Pass sets argument i of the call, counted from 0: all of them, in order. Where
// memory has a type, PassView is faster.
func Pass[T any](c *Call, i int, v T) {
	if i == c.n && i < len(c.words) && c.words[i].typ == wordOf(reflect.TypeFor[T]()) {
		c.n = i + 1
		*(*uint64)(c.words[i].at) = passedWord(v)
		return
	}
	pass(c, i, v)
}

// passedWord is a value of at most a word as it is stored: an argument has whole words
// to itself, see copyArg.
func passedWord[T any](v T) uint64 {
	switch unsafe.Sizeof(v) {
	case 1:
		return uint64(*(*uint8)(unsafe.Pointer(&v)))
	case 2:
		return uint64(*(*uint16)(unsafe.Pointer(&v)))
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	}
	return *(*uint64)(unsafe.Pointer(&v))
}

// pass is Pass for what is not a number, or not yet known to be one.
func pass[T any](c *Call, i int, v T) {
	if !c.next(i) {
		return
	}
	if c.err = SetArg(c.l, i, v); c.err != nil {
		return
	}
	s := &c.l.slots[i]
	switch unsafe.Sizeof(v) {
	case 1, 2, 4, 8:
		if s.form == formPlain && s.size == unsafe.Sizeof(v) {
			c.words[i] = passed{s.at, s.typ}
			return
		}
	}
	c.words[i] = passed{}
}

// next reports whether argument i is due.
func (c *Call) next(i int) bool {
	if c.err != nil {
		return false
	}
	if i != c.n {
		c.err = invalidf("launch of %v: argument %d is passed where %d is due", c.l.k, i, c.n)
		return false
	}
	c.n++
	return true
}

// PassView is Pass for a View.
func PassView[T any](c *Call, i int, v View[T]) {
	if !c.span(i, v.mem) {
		pass(c, i, v)
	}
}

// PassMemory is Pass for memory whose elements are not known.
func PassMemory(c *Call, i int, m Memory) {
	if _, declared := m.(Declared); m == nil || declared || !c.span(i, m.span()) {
		pass(c, i, m)
	}
}

// span sets an argument that is memory, where the one before was: it reports
// false if there is more to check than that the memory is open.
func (c *Call) span(i int, m span) bool {
	if l := c.l; i == c.n && i < len(c.words) {
		s := &l.slots[i]
		if (s.form == formView || s.form == formBuffer) && m.a != nil && m.a.ctx == l.ctx && !m.a.life.closed.Load() {
			c.n = i + 1
			if use := &l.uses[s.mem]; l.mem[s.mem] != m.a || use.Addr != uint64(m.ptr) || use.Bytes != uint64(m.bytes) {
				l.hold(s, &m)
			}
			return true
		}
	}
	return false
}

// Do sends the launch and ends the call.
func (c *Call) Do(on Doer) error {
	if c.of == nil {
		return c.err
	}
	err := c.send(on)
	c.of.pool.Put(c)
	runtime.KeepAlive(c.of)
	return err
}

func (c *Call) send(on Doer) error {
	switch {
	case c.err != nil:
		return c.err
	case c.n != len(c.l.slots):
		return invalidf("launch of %v: it takes %d arguments (%s), got %d", c.l.k, len(c.l.slots), signature(c.l.k.params), c.n)
	case on == nil:
		return nilError("stream")
	}
	return on.Do(c.l)
}

// String names the kernel.
func (c *Calls) String() string { return fmt.Sprintf("calls of %v", c.Kernel()) }
