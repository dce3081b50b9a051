package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Fork adds another stream to the capture, after the work recorded in the scope so far, and returns
// the scope that records there. Later work of both scopes runs concurrently. Join the new scope
// before the capture ends. A stream that is already part of the capture continues after both.
func (sc *Scope) Fork(s *driver.Stream) (*Scope, error) {
	if !sc.exists() {
		return nil, aScope.Error(sc == nil)
	}
	if err := refusal.Uncapturable(s); err != nil {
		return nil, err
	}
	r, err := sc.lock()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	b, err := sc.fork(s)
	if err != nil {
		return nil, fmt.Errorf("cannot fork from %v to %v: %w", sc.s, s, err)
	}
	return &Scope{r: r, s: s, b: b, whole: sc.whole}, nil
}

func (sc *Scope) fork(s *driver.Stream) (*branch, error) {
	r := sc.r
	for _, b := range r.branches {
		if captures.KeyOf(b.s) == captures.KeyOf(s) {
			return b, sc.again(b)
		}
	}
	if err := sc.draw(s); err != nil {
		return nil, err
	}
	b := &branch{s: s, open: true}
	r.branches = append(r.branches, b)
	return b, nil
}

// again has a stream that was drawn in before wait for the scope.
func (sc *Scope) again(b *branch) error {
	if b == sc.b {
		return invalid("they are one stream")
	}
	b.open = true
	return sc.b.order(b.s)
}

// draw draws s into the capture, which keeps it from being destroyed.
func (sc *Scope) draw(s *driver.Stream) error {
	if err := s.Lifetime().Retain(); err != nil {
		return err
	}
	if err := sc.enter(s); err != nil {
		s.Lifetime().Done()
		return err
	}
	return nil
}

func (sc *Scope) enter(s *driver.Stream) error {
	if err := captures.All.Enter(s, sc.r); err != nil {
		return err
	}
	err := sc.r.alone(s)
	if err == nil {
		err = sc.b.order(s)
	}
	if err != nil {
		captures.All.Leave(s, sc.r)
	}
	return err
}

// alone refuses a stream of a capture that this package did not begin: to draw
// it in would destroy both captures.
func (r *recording) alone(s *driver.Stream) error {
	i, err := r.info(s)
	if err == nil && i.status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_MERGE, "another capture has it, which calls past this package began")
	}
	return err
}

// Join makes later work of the scope run after the work recorded in the others, which were forked
// from the same capture.
func (sc *Scope) Join(others ...*Scope) error {
	r, err := sc.lockUsable()
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	for _, o := range others {
		if o == nil || o.r != r || o == sc {
			return invalid("cannot join to %v: not another scope of the same capture", sc.s)
		}
		if err := o.b.order(sc.s); err != nil {
			return fmt.Errorf("cannot join %v to %v: %w", o.s, sc.s, err)
		}
		o.b.open = false
	}
	return nil
}

// order has s wait for what was recorded on the branch. One event does for all
// orders of a branch: a capture takes the meaning it has when it is waited for.
func (b *branch) order(s *driver.Stream) error {
	if b.event == nil {
		e, err := b.s.Context().NewEvent()
		if err != nil {
			return err
		}
		b.event = e
	}
	if err := b.s.Record(b.event); err != nil {
		return err
	}
	return s.WaitEvent(b.event)
}
