package arena

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/turn"
)

// OverlapError is the error that a launch in an arena with [WithRefusal] returns while a graph of
// another plan may still be running on another stream. It matches CUDA_ERROR_NOT_READY.
type OverlapError = turn.OverlapError

// OverwrittenError reports that the contents of a buffer are lost, because a graph of another plan
// ran after the buffer was written. It matches CUDA_ERROR_ILLEGAL_STATE.
type OverwrittenError struct {
	Buffer string // describes the buffer
	Plan   string // plan of the buffer
	By     string // plan of the graph that overwrote the buffer
	Reader string // plan of the graph that reads the buffer, or ""
}

// Error names the plans.
func (e *OverwrittenError) Error() string {
	if e == nil {
		return "arena: a buffer was overwritten"
	}
	s := fmt.Sprintf("arena: a launch of plan %q overwrote the %s", e.By, e.Buffer)
	if e.Reader != "" {
		return s + fmt.Sprintf(", which a graph of plan %q uses: launch the graph of plan %q again before", e.Reader, e.Plan)
	}
	return s + fmt.Sprintf(": read results of plan %q before that launch, or put them into memory outside the arena", e.Plan)
}

// Unwrap makes errors.Is match CUDA_ERROR_ILLEGAL_STATE.
func (e *OverwrittenError) Unwrap() error { return driver.CUDA_ERROR_ILLEGAL_STATE }

func (p *piece) overwritten(by *turn.Plan, reader string) *OverwrittenError {
	return &OverwrittenError{
		Buffer: fmt.Sprintf("%v (%d bytes)", &p.life, p.memory.Size),
		Plan:   p.plan.Name, By: by.Name, Reader: reader,
	}
}

// Check returns nil if a buffer of the arena, or the buffer of a view, still has the contents that
// the latest launch of its plan wrote. If a graph of another plan that may write to the range was
// launched since, Check returns an *[OverwrittenError]. Call Check before you read a result.
//
// Check compares the order in which graphs were launched with the ranges that they use. It does not
// read the memory or wait for launches, and it does not detect work outside executable graphs. It
// also cannot determine which of its buffers a graph writes. So each launch of a graph of the
// buffer's own plan that uses the buffer counts as writing it. Each launch that uses other buffers
// in the same range counts as overwriting it.
func (a *Arena) Check(m driver.Memory) error {
	if !a.exists() {
		return anArena.Error(a == nil)
	}
	if m == nil || m.Ref() == nil {
		return aBuffer.Error(m == nil)
	}
	l := m.Ref().Lifetime()
	p, ok := l.End().(*piece)
	if !ok || p.c != a.core {
		return refusal.Invalid("%v is not a buffer of the arena", l)
	}
	if err := l.Check(); err != nil {
		return err
	}
	return p.check()
}

func (p *piece) check() error {
	p.c.mu.Lock()
	p.checked = p.c.turn.Now()
	p.c.mu.Unlock()
	if by := p.c.turn.Overwritten(&p.memory); by != nil {
		return p.overwritten(by, "")
	}
	return nil
}

// Valid is like [Arena.Check] for all open buffers of the plan. It returns the first error.
func (p *Plan) Valid() error {
	if !p.exists() {
		return aPlan.Error(p == nil)
	}
	var first error
	for _, m := range p.p.openPieces(p.arena.core) {
		if err := m.check(); first == nil {
			first = err
		}
	}
	return first
}

func (p *plan) openPieces(c *core) (open []*piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range p.pieces {
		if m.reserved() {
			open = append(open, m)
		}
	}
	return open
}

// Launched implements turn.Watcher.
func (c *core) Launched(t *turn.Tie) {
	for _, err := range c.lost(t) {
		c.report(err)
	}
}

// lost returns the errors that WithCheck reports for a launch.
func (c *core) lost(t *turn.Tie) (errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := t.Plan()
	uses := make(map[*turn.Memory]bool)
	for _, m := range t.Uses() {
		uses[m] = true
	}
	for _, plan := range c.plans {
		for _, p := range plan.pieces {
			if uses[&p.memory] {
				if plan.Number != own.Number {
					if by := c.turn.Overwritten(&p.memory); by != nil {
						errs = append(errs, p.overwritten(by, own.Name))
					}
				}
				continue
			}
			if p.reserved() && p.unread() && t.Overwrites(&p.memory) {
				errs = append(errs, p.overwritten(own, ""))
			}
		}
	}
	return errs
}

// unread reports whether the latest contents of p are still there and have not been checked. A
// piece that no launch has written has no contents.
func (p *piece) unread() bool {
	written := p.c.turn.Written(&p.memory)
	return written > p.memory.Born && p.checked < written && p.c.turn.Overwritten(&p.memory) == nil
}
