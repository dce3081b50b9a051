package driver

import (
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/purecuda/cuda/loader"
)

// Doer is what takes operations: a *Stream, which runs them, or a scope of
// package graph, which records them.
type Doer interface{ Do(op Op) error }

// Calls makes launches of one kernel, each described anew by its arguments,
// without allocating: the launches are used again. It is what the launchers
// are made of that ptx2go generates.
//
// A Calls is used by any number of goroutines. It keeps the kernel's code
// reachable; the memory of latest calls it lets the collector have, though not at
// once: forgetting it after each call would cost more than the call's check.
type Calls struct {
	latch loader.Latch // held by who uses first
	used  bool         // since the collector ran
	first call
	spare sync.Pool // of *call, for goroutines that find the latch held
	k     *Kernel
	modes []AccessMode
	idle  *idle // nil while the collector is awaited
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
	c := &Calls{k: k, modes: modes}
	c.idle = &idle{weak.Make(c)}
	return c, nil
}

// Kernel is the kernel that is called, nil for nil Calls.
func (c *Calls) Kernel() *Kernel {
	if c == nil {
		return nil
	}
	return c.k
}

// Do sends a launch with that configuration. Args points to a struct with a field
// for each argument, in order, of a type that Prepare takes or a Memory. What the
// struct is made of is checked when its type is another one than the time before;
// what is in it each time.
func (c *Calls) Do(on Doer, cfg *LaunchConfig, args any) error {
	if c == nil || c.k == nil {
		return nilError("kernel") // a generated launcher that was not loaded has no Calls
	}
	s, ok := on.(*Stream)
	if !ok || !c.latch.TryLock() {
		return c.doSpare(on, cfg, args)
	}
	c.used = true
	err := c.first.set(c, cfg, args)
	if err == nil {
		err = c.first.send(s)
	}
	c.latch.Unlock()
	return err
}

// doSpare is Do for goroutines that find the first call in use, and for what is no
// stream: it may remember the launch, so that it gets none that others use.
func (c *Calls) doSpare(on Doer, cfg *LaunchConfig, args any) error {
	spare, _ := c.spare.Get().(*call)
	if spare == nil {
		spare = new(call)
	}
	err := spare.set(c, cfg, args)
	if err == nil {
		err = spare.give(on)
	}
	c.spare.Put(spare)
	return err
}

// idle waits for the collector to run, by being what it finds. When it ran twice
// without a call in between, the first call forgets its memory. Spare calls need
// none of that: a pool forgets them.
type idle struct{ of weak.Pointer[Calls] }

// watch begins to wait, if nobody does.
func (c *Calls) watch() {
	if i := c.idle; i != nil {
		c.idle = nil
		runtime.SetFinalizer(i, (*idle).collected)
	}
}

func (i *idle) collected() {
	c := i.of.Value()
	if c == nil {
		return
	}
	if !c.latch.TryLock() {
		runtime.SetFinalizer(i, (*idle).collected)
		return
	}
	c.idle = i
	if c.used {
		c.used = false
		c.watch()
	} else {
		c.first.forget()
	}
	c.latch.Unlock()
}

// String names the kernel.
func (c *Calls) String() string { return fmt.Sprintf("calls of %v", c.Kernel()) }
