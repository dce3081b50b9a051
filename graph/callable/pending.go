package callable

import (
	"context"
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/kernelfault"
)

// Pending is a started call, whose output Wait returns. A Pending is small and can be copied. The
// zero Pending has no output.
type Pending[Out any] struct {
	from *outcome[Out]
	call uint64
}

// outcome describes the outputs of a variant's calls.
type outcome[Out any] struct {
	mu       turn // lock of the Callable
	out      Out
	exec     *graph.Exec // launched only by calls, or nil
	replays  uint64      // number of launches of exec
	work     *eagerWork  // eager calls of the Callable, or nil
	latest   uint64      // work's call count at the latest call
	wasEager bool        // the latest call was eager
	launched uint64      // number of calls so far
	taken    uint64      // number of the latest call whose output was returned
	ended    *driver.Event
	gone     bool

	faults *kernelfault.State
	before uint32 // number of kernel faults before the latest call
}

// Wait waits until the call's replay has ended. The first Wait returns the call's output. If the
// output was already returned, a later call of the same shape was started, or the Callable was
// closed, the error matches ErrOutputGone. If ctx ends first, Wait returns its cause, and you can
// wait for the output again.
func (p Pending[Out]) Wait(ctx context.Context) (out Out, err error) {
	ended, err := p.event(ctx)
	if err != nil {
		return out, err
	}
	return p.waitFor(ctx, ended)
}

func (p Pending[Out]) waitFor(ctx context.Context, ended *driver.Event) (out Out, err error) {
	err = ended.Wait(ctx)
	if errors.Is(err, driver.ErrClosed) { // the variant may have been closed in the meantime
		if _, gone := p.event(ctx); gone != nil {
			return out, gone
		}
	}
	if refusal.IsKernelFault(err) {
		_, _ = p.take(ctx) // a later Wait must not return the output, which is unspecified
	}
	if err != nil {
		return out, err
	}
	return p.take(ctx)
}

// event returns the event that completes when the call's work has ended.
func (p Pending[Out]) event(ctx context.Context) (*driver.Event, error) {
	if p.from == nil {
		return nil, ErrOutputGone
	}
	if err := p.from.mu.lock(ctx); err != nil {
		return nil, err
	}
	defer p.from.mu.Unlock()
	return p.from.ended, p.lost()
}

// lost returns the reason why the output is not available, or nil.
func (p Pending[Out]) lost() error {
	o := p.from
	switch {
	case o.gone:
		return &gone{"the callable, or its variant for this shape, was closed"}
	case o.launched != p.call:
		return &gone{"a later call overwrote it"}
	case o.taken >= p.call:
		return &gone{"it was already returned"}
	}
	return nil
}

func (p Pending[Out]) take(ctx context.Context) (out Out, err error) {
	if err := p.from.mu.lock(ctx); err != nil {
		return out, err
	}
	defer p.from.mu.Unlock()
	if err := p.lost(); err != nil {
		return out, err
	}
	p.from.ready()
	// Another wait for the stream may already have returned this call's fault.
	if err := p.from.faults.After(p.from.before, nil); err != nil {
		return out, err
	}
	return p.from.out, nil
}

// ready records that the latest call has ended and that its output is returned.
func (o *outcome[Out]) ready() {
	o.taken = o.launched
	o.work.noteEnded(o.latest)
	if !o.wasEager {
		o.exec.NoteEnded(o.replays)
	}
}

// gone is an error with a reason that matches ErrOutputGone.
type gone struct{ why string }

func (e *gone) Error() string { return ErrOutputGone.Error() + ": " + e.why }
func (e *gone) Unwrap() error { return ErrOutputGone }
