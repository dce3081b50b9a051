package driver

import (
	"fmt"
	"runtime"
	"sync"
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
	of  *Calls
	l   *Launch
	n   int   // arguments so far
	err error // the first
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
	call := &Call{of: c, l: newLaunch(c.k)}
	for i, mode := range c.modes {
		if mode != 0 {
			call.l.slots[i].mode = mode
		}
	}
	return call
}

// Pass sets argument i of the call, counted from 0: all of them, in order.
func Pass[T any](c *Call, i int, v T) {
	if c.err != nil {
		return
	}
	if i != c.n {
		c.err = invalidf("launch of %v: argument %d is passed where %d is due", c.l.k, i, c.n)
		return
	}
	c.n++
	c.err = SetArg(c.l, i, v)
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

// PassMemory is Pass for memory whose elements are not known.
func PassMemory(c *Call, i int, m Memory) { Pass(c, i, m) }
