package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// replica is a Callable with its own stream.
type replica[In, Out any] struct {
	slot
	stream  *driver.Stream
	call    *callable.Callable[In, Out]
	version int // Pool.version when the replica was created
	arena   int // index in options.arenas

	faults uint32 // number of kernel faults at the last skipFaults
}

// skipFaults makes the next call not return kernel faults that happened before it began. The next
// call cannot have caused them, because a replica is idle between calls.
func (r *replica[In, Out]) skipFaults() {
	all := r.stream.Lifetime().Faults()
	if all.Raised(r.faults) {
		r.faults = all.Taken()
		_, _ = r.stream.Query() // updates which faults the stream has returned
	}
}

// newReplica returns a replica without a Callable. It uses the arena that the fewest replicas of the
// Pool use. If the replica never serves, the caller must call drop.
func (p *Pool[In, Out]) newReplica() *replica[In, Out] {
	r := new(replica[In, Out])
	r.slot.replica = r
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	for i, n := range p.users {
		if n < p.users[r.arena] {
			r.arena = i
		}
	}
	if len(p.users) > 0 {
		p.users[r.arena]++
	}
	return r
}

// drop removes a replica that never serves from the count of its arena.
func (p *Pool[In, Out]) drop(r *replica[In, Out]) {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	if len(p.users) > 0 {
		p.users[r.arena]--
	}
}

// callableOptions returns the options for the Callable of a replica.
func (p *Pool[In, Out]) callableOptions(r *replica[In, Out]) []callable.Option {
	if len(p.o.arenas) == 0 {
		return p.o.callable
	}
	return append(slices.Clone(p.o.callable), callable.WithArena(p.o.arenas[r.arena]))
}

func (p *Pool[In, Out]) of(s *slot) *replica[In, Out] { return s.replica.(*replica[In, Out]) }

// create creates the stream and the Callable of a replica, and prepares the Callable for the Pool's
// shapes.
func (p *Pool[In, Out]) create(r *replica[In, Out]) (err error) {
	made := false
	defer func() {
		if !made { // runs even if the function panicked or called runtime.Goexit
			err = refusal.Join([]error{err, p.close(r)})
		}
	}()
	shapes, version := p.preparedShapes()
	on := p.on.Load()
	if r.stream, err = on.c.NewStream(); err != nil {
		return err
	}
	if r.call, err = callable.New(r.stream, on.f, shapes, p.callableOptions(r)...); err != nil {
		return err
	}
	p.a.opened(&r.slot, r.call.Stats)
	r.version = version
	made = true
	return nil
}

// close waits for the replica's work and releases everything.
func (p *Pool[In, Out]) close(r *replica[In, Out]) error {
	if r.stream == nil {
		return nil
	}
	p.a.closes(&r.slot)
	_ = r.stream.Wait(context.Background()) // the call has already returned an error of this work
	err := refusal.Join([]error{r.call.Close(), r.stream.Close()})
	r.call, r.stream = nil, nil
	return err
}

// repair creates a broken replica again. If that fails, repair returns the slot to the admission.
func (p *Pool[In, Out]) repair(ctx context.Context, s *slot) (err error) {
	repaired := false
	defer func() {
		if !repaired { // runs even if the function panicked or called runtime.Goexit
			p.a.put(s)
		}
	}()
	r := p.of(s)
	if r.stream != nil { // a failed call may have left work in flight
		if err := r.stream.Wait(ctx); err != nil && endedWith(ctx, err) {
			p.a.count(&p.a.stats.CancelledQueued)
			return fmt.Errorf("serve: while the call waited for a replica: %w", err)
		}
	}
	p.leave(p.close(r))
	if err := p.create(r); err != nil {
		p.a.noRepair(err)
		if lost := p.lostBy(s.call, err); lost != nil {
			return lost
		}
		return fmt.Errorf("serve: no replica works, and creating one failed: %w", err)
	}
	repaired = true
	p.a.repaired(s)
	return nil
}

// grow creates another replica for an arriving call. If the call must then wait for a replica,
// possibly the new one, grow returns its waiter.
func (p *Pool[In, Out]) grow(t *ticket) (w *waiter, err error) {
	grown := false
	var failed error
	defer func() {
		if !grown { // runs even if the function panicked or called runtime.Goexit
			p.a.notGrown(failed)
		}
	}()
	free, _, failed := p.on.Load().c.MemInfo()
	if failed == nil && free < p.o.memory {
		return nil, nil
	}
	r := p.newReplica()
	defer func() {
		if !grown {
			p.drop(r)
		}
	}()
	if failed == nil {
		failed = p.create(r)
	}
	for failed == nil {
		w, grown, err = p.a.grown(t, &r.slot, func() bool { return r.version == p.version })
		if grown {
			return w, err
		}
		p.leave(p.close(r)) // Prepare has added a shape in the meantime
		failed = p.create(r)
	}
	if lost := p.lostBy(t.number, failed); lost != nil {
		p.a.count(&p.a.stats.Failed)
		return nil, lost
	}
	return nil, nil
}

// outcome determines what happens to a replica after a call.
type outcome uint8

const (
	panicked  outcome = iota // the recorded function, or a function that reads the input, did not return
	succeeded                // the output is complete
	unchanged                // the call failed before it reached the replica, or its work has ended
	running                  // the call's work is still in flight
	failed                   // the replica must be created again
)

// serve runs a call on a slot and then returns the slot to the admission.
func (p *Pool[In, Out]) serve(ctx context.Context, s *slot, in In, use func(Out) error) (err error) {
	r := p.of(s)
	began := time.Now()
	var end outcome
	defer func() { p.end(r, end, began) }()
	r.skipFaults()
	out, err := r.call.Call(ctx, in)
	if err != nil {
		end, err = p.judge(ctx, r, err)
		return err
	}
	end = succeeded
	if use == nil {
		return nil
	}
	return use(out)
}

// judge determines the outcome for the replica of a failed call, and the error for the caller.
func (p *Pool[In, Out]) judge(ctx context.Context, r *replica[In, Out], err error) (outcome, error) {
	cause := err
	err = r.slot.failed(err)
	if endedWith(ctx, cause) {
		p.a.count(&p.a.stats.CancelledRunning)
		if p.isIdle(r) {
			return unchanged, err
		}
		return running, err
	}
	p.countFailed(r)
	if lost := p.lostBy(r.slot.call, cause); lost != nil {
		return failed, lost
	}
	if fromDriver(cause) || !p.isIdle(r) {
		return failed, err
	}
	return unchanged, err
}

// countFailed counts a failed call, but not a failed Prepare.
func (p *Pool[In, Out]) countFailed(r *replica[In, Out]) {
	if r.slot.call != 0 {
		p.a.count(&p.a.stats.Failed)
	}
}

// failed adds the number of the slot's call to err.
func (s *slot) failed(err error) error {
	if s.call == 0 {
		return fmt.Errorf("serve: Prepare: %w", err)
	}
	return fmt.Errorf("serve: call %d: %w", s.call, err)
}

// isIdle reports whether the replica's work has ended, so that the replica can be used again.
func (p *Pool[In, Out]) isIdle(r *replica[In, Out]) bool {
	done, err := r.stream.Query()
	return done && refusal.IgnoreFault(err) == nil
}

// end returns the replica after a call.
func (p *Pool[In, Out]) end(r *replica[In, Out], o outcome, began time.Time) {
	switch o {
	case succeeded:
		if p.a.finish(&r.slot, time.Since(began)) {
			// The next call is on this processor's run queue. It must launch before this
			// goroutine continues with the caller's code. Otherwise the replica would be idle until
			// this goroutine blocks, or until another processor steals the next call, which was
			// seen to take 100 µs.
			runtime.Gosched()
		}
	case running:
		go p.drain(r)
	case panicked:
		p.countFailed(r)
		fallthrough
	case failed:
		p.a.broke(&r.slot)
		p.a.put(&r.slot)
	default:
		p.a.put(&r.slot)
	}
}

// drain returns a replica when the work of its cancelled call has ended.
func (p *Pool[In, Out]) drain(r *replica[In, Out]) {
	if err := refusal.IgnoreFault(r.stream.Wait(context.Background())); err != nil {
		p.lostBy(r.slot.call, err)
		p.a.broke(&r.slot)
	}
	p.a.put(&r.slot)
}

// If the context is lost, lostBy returns the error that all calls must return, otherwise nil. err
// is the error of the given call. In a lost context every query fails. A single failure may be
// transient, so lostBy queries twice.
func (p *Pool[In, Out]) lostBy(call uint64, err error) error {
	if !fromDriver(err) {
		return nil
	}
	if lost := p.a.isLost(); lost != nil {
		return lost
	}
	if state := stateOf(p.on.Load().c); state != nil {
		return p.a.lose(call, err, state)
	}
	return nil
}

// stateOf returns an error if a context is lost.
func stateOf(c *driver.Context) error {
	if !errors.Is(c.Lost(), driver.ErrContextLost) {
		return nil
	}
	if state := c.Lost(); errors.Is(state, driver.ErrContextLost) {
		return state
	}
	return nil
}

// fromDriver reports whether err comes from a driver call. Other errors, from the recorded function
// or for refused arguments, leave a Callable unchanged.
func fromDriver(err error) bool {
	var e *driver.Error
	return errors.As(err, &e)
}

// endedWith reports whether err is the cause of a context that has ended.
func endedWith(ctx context.Context, err error) bool {
	return ctx != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}
