package serve

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// WithRestart makes a Pool continue in a new context after its context was lost. Calls that are
// running or waiting at that time return a LostError. Later calls wait in the queue until the Pool
// serves again.
//
// When the last running call has returned, the Pool closes its replicas and calls open once. open
// must return a new context, and a function that refers to weights and kernels of that context. It
// should first close the old objects, because a driver may allow new contexts only after the lost
// one is gone. Graphs release their context a moment after they are closed, so open may have to
// retry for about a second. The Pool then creates its replicas again. open runs on its own
// goroutine and must not use the Pool.
//
// If open fails, or its context is also lost, the Pool does not try again, and all calls return a
// LostError with the reason. Driver 580 allows no new context after a kernel failed, so the process
// must end. The Pool also gives up if the context is lost again less than apart after a restart.
// Otherwise a kernel that always fails would cause endless restarts.
//
// After Close of the Pool, the caller must close the objects that open returned. WithRestart cannot
// be combined with WithArenas.
func WithRestart[In, Out any](apart time.Duration, open func() (*driver.Context, callable.Func[In, Out], error)) Option {
	return func(o *options) { o.restart, o.apart = open, apart }
}

// device is the state that a restart replaces.
type device[In, Out any] struct {
	c *driver.Context
	f callable.Func[In, Out]
}

func (p *Pool[In, Out]) acceptsRestart() error {
	if p.o.restart == nil {
		return nil
	}
	p.open, _ = p.o.restart.(func() (*driver.Context, callable.Func[In, Out], error))
	switch {
	case p.open == nil:
		return refusal.Invalid("serve: WithRestart needs a function for the types of the pool, not %T", p.o.restart)
	case len(p.o.arenas) > 0:
		return refusal.Invalid("serve: WithRestart and WithArenas cannot be combined, because the arenas belong to the context that is lost")
	case p.o.apart < 0:
		return refusal.Invalid("serve: WithRestart: the time between restarts must not be negative, but it is %v", p.o.apart)
	}
	return nil
}

// planRestart decides whether the Pool restarts after a loss. The restart begins when no slot is
// busy. Until it has ended, no replica is usable.
func (a *admission) planRestart() {
	if a.restart == nil || a.closed {
		return
	}
	if ago := time.Since(a.restarted); !a.restarted.IsZero() && ago < a.apart {
		a.lost.Restart = fmt.Errorf("its last restart was %v ago, but WithRestart requires %v", ago.Round(time.Millisecond), a.apart)
		return
	}
	a.restarting, a.lost.Restarting = true, true
	for s := pop(&a.idle); s != nil; s = pop(&a.idle) {
		s.broken = true
		a.working--
		a.broken = append(a.broken, s)
	}
}

// over returns the error for a call that will not be served. The reason is that the Pool was
// closed, or that the context was lost after the call arrived.
func (a *admission) over() error {
	if a.restarting && !a.closed {
		a.stats.Refused.Lost++
		return a.lost
	}
	return a.refusal()
}

// takeAll takes all slots for a restart. Nothing is busy, so all of them are broken.
func (a *admission) takeAll() []*slot {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.broken
	a.broken = nil
	return all
}

// endRestart returns the slots. err is the reason why the Pool cannot continue, or nil.
func (a *admission) endRestart(slots []*slot, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.restarting, a.replacing = false, false
	if err == nil {
		a.lost = nil
		a.restarted = time.Now()
		a.stats.Restarts++
	} else {
		final := *a.lost // a copy, because calls have returned the old value
		final.Restarting, final.Restart = false, err
		a.lost = &final
		a.stats.LastLoss = a.lost
		a.refuseWaiters(a.lost, &a.stats.Refused.Lost)
		for _, s := range slots {
			s.broken = true
		}
	}
	a.busy += len(slots) - 1 // the slots replace the restart, which counted as one
	for _, s := range slots {
		if !s.broken {
			a.working++
		}
		a.giveBack(s)
	}
}

// restart replaces the lost context.
func (p *Pool[In, Out]) restart() {
	slots := p.a.takeAll()
	returned := false
	var err error
	defer func() {
		if !returned { // open or the recorded function panicked or called runtime.Goexit
			err = &PanicError{recover(), debug.Stack()}
		}
		p.a.endRestart(slots, err)
	}()
	err = p.reopen(slots)
	returned = true
}

func (p *Pool[In, Out]) reopen(slots []*slot) error {
	for _, s := range slots {
		if err := p.close(p.of(s)); !errors.Is(err, driver.ErrContextLost) {
			p.leave(err) // if a lost context cannot release an object, the object remains until the process ends
		}
	}
	c, f, err := p.open()
	switch {
	case err != nil:
		return err
	case c == nil || f == nil:
		return refusal.Invalid("the function of WithRestart returned no context or no function")
	}
	p.on.Store(&device[In, Out]{c, f})
	if p.a.isClosed() {
		return errClosed
	}
	for _, s := range slots {
		err := p.create(p.of(s))
		if err == nil {
			s.broken = false
			continue
		}
		if state := stateOf(c); state != nil {
			return refusal.Join([]error{err, state})
		}
		p.a.noRepair(err) // a later call will try again
	}
	return nil
}

func (a *admission) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}
