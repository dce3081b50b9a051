package graph

import (
	"context"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
)

// Stage sends operations to s that prepare the next launch, such as copies of its
// inputs, and does not wait. They run behind the launch before, on whatever
// stream that was, so they do not change inputs under it; and the next launch
// runs behind them, on whatever stream that will be.
//
// On one stream that is the stream's own order and costs nothing. Where streams
// differ an event orders them. When an operation fails the error says which;
// those before it stay ahead of the next launch.
func (x *Exec) Stage(s *driver.Stream, ops ...driver.Op) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	err := x.keep.stage(s, ops)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("cannot stage for %v: %w", x, err)
	}
	return nil
}

func (k *execKeep) stage(s *driver.Stream, ops []driver.Op) error {
	if err := s.Ready(); err != nil {
		return err
	}
	if err := sameDriver(k.ctx, s, s.Context()); err != nil {
		return err
	}
	if err := k.awaitStaged(s); err != nil {
		return err
	}
	if k.last != nil && k.last != s && k.settled < k.replays {
		if err := k.order(k.last, s); err != nil {
			return err
		}
	}
	for i, op := range ops {
		if err := s.Do(op); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		k.staged = s
	}
	return nil
}

// awaitStaged has s wait for what was staged on another stream. If that is not
// possible it stays staged.
func (k *execKeep) awaitStaged(s *driver.Stream) error {
	if k.staged != nil && k.staged != s {
		if err := k.order(k.staged, s); err != nil {
			return err
		}
	}
	k.staged = nil
	return nil
}

// order has what is sent to s from now on run behind what from has now. A stream
// that was closed takes no event any more: what it has is waited for here.
func (k *execKeep) order(from, s *driver.Stream) error {
	if !from.Open() {
		return from.Context().Synchronize(context.Background())
	}
	e, err := k.orderer(from.Context())
	if err != nil {
		return err
	}
	if err := from.Record(e); err != nil {
		return err
	}
	return s.WaitEvent(e)
}

// orderer returns the event for orders that begin in a context. One does for all
// of them: a wait is for what was recorded last before it.
func (k *execKeep) orderer(c *driver.Context) (*driver.Event, error) {
	if k.between != nil && k.between.Context() == c {
		return k.between, nil
	}
	e, err := c.NewEvent()
	if err != nil {
		return nil, err
	}
	old := k.between
	k.between = e
	return e, old.Close()
}
