package driver

import (
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/purecuda/cuda/loader"
)

// Doer runs or records operations in order: a *Stream runs them, a scope of package graph records
// them.
type Doer interface{ Do(ops ...Op) error }

// Calls launches one kernel again and again with new arguments, without allocating. The launchers
// that ptx2go generates use it.
//
// Any number of goroutines may use a Calls. It keeps the kernel's code reachable. It also keeps the
// memory of recent calls reachable, until the garbage collector has run twice without a call.
type Calls struct {
	latch loader.Latch // held by who uses first
	used  bool         // since the collector ran
	first call
	spare sync.Pool // of *call, for goroutines that find the latch held
	k     *Kernel
	modes []AccessMode
	idle  *idle // nil while waiting for the collector
}

// NewCalls creates the Calls of a kernel. modes says what the kernel does to the memory of each
// argument, one per parameter. Use 0 for arguments that are not memory or have no declaration. The
// error says if the kernel's parameters are not known: they come from PTX, or from the driver (CUDA
// 12.4).
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

// Kernel returns the kernel, nil for nil Calls.
func (c *Calls) Kernel() *Kernel {
	if c == nil {
		return nil
	}
	return c.k
}

// Do launches the kernel with the given configuration. args points to a struct with one field for
// each argument, in order. Each field is a Memory or has a type that Prepare accepts. Do checks the
// values at each call, and the types when the struct type differs from the previous call's.
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

// doSpare is Do for goroutines that find the first call in use, and for a Doer that is not a
// stream. Such a Doer may keep the launch, so it gets one that nothing else uses.
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

// idle detects runs of the garbage collector by being collected. After two runs without a call in
// between, the first call forgets its memory. Spare calls do not need this, because the pool drops
// them.
type idle struct{ of weak.Pointer[Calls] }

// watch starts waiting for the collector, unless that is already happening.
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

// String describes the calls by their kernel.
func (c *Calls) String() string { return fmt.Sprintf("calls of %v", c.Kernel()) }
