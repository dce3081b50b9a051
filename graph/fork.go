package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// Fork draws another stream into the capture, behind what was recorded in the
// scope so far, and returns the scope that records there. What both record runs
// side by side. The new scope must be joined before the capture ends.
func (sc *Scope) Fork(s *driver.Stream) (*Scope, error) {
	r := sc.r
	if err := capturable(s); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, sc.endedError()
	}
	if err := sc.draw(s); err != nil {
		return nil, fmt.Errorf("cannot fork from %v to %v: %w", sc.s, s, err)
	}
	b := &branch{s: s, open: true}
	r.branches = append(r.branches, b)
	return &Scope{r: r, s: s, b: b, whole: sc.whole}, nil
}

// draw draws s into the capture, which keeps it from being destroyed.
func (sc *Scope) draw(s *driver.Stream) error {
	if err := s.Lifetime().Retain(); err != nil {
		return err
	}
	err := capturing.enter(s, sc.r)
	if err == nil {
		if err = sc.order(s); err != nil {
			capturing.leave(s, sc.r)
		}
	}
	if err != nil {
		s.Lifetime().Done()
	}
	return err
}

// Join has what is recorded in the scope from now on run after what was
// recorded in the others, which were forked from the same capture.
func (sc *Scope) Join(others ...*Scope) error {
	r := sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return sc.endedError()
	}
	for _, o := range others {
		if o == nil || o.r != r || o == sc {
			return invalid("cannot join to %v: not another scope of the same capture", sc.s)
		}
		if err := o.order(sc.s); err != nil {
			return fmt.Errorf("cannot join %v to %v: %w", o.s, sc.s, err)
		}
		o.b.open = false
	}
	return nil
}

// order has s wait for what was recorded in the scope. One event does for all
// orders of a scope: a capture takes the meaning it has when it is waited for.
func (sc *Scope) order(s *driver.Stream) error {
	b := sc.b
	if b.event == nil {
		e, err := sc.s.Context().NewEvent()
		if err != nil {
			return err
		}
		b.event = e
	}
	if err := sc.s.Record(b.event); err != nil {
		return err
	}
	return s.WaitEvent(b.event)
}
