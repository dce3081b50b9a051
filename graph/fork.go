package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/hostthread"
)

// Fork adds another stream to the capture, after the work recorded in the scope so far. It returns
// the scope that records in that stream. Later work of both scopes runs concurrently. Join the new
// scope before the capture ends. If s is already part of the capture, its later work runs after the
// work recorded in s and in the scope so far.
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

// again makes b, a branch of the capture, wait for the scope's stream.
func (sc *Scope) again(b *branch) error {
	if b == sc.b {
		return invalid("they are the same stream")
	}
	b.open = true
	return sc.b.order(b.s)
}

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
	if err := captures.All.Enter(s, sc.r, &sc.r.where); err != nil {
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

// alone returns an error if s is part of a capture that this package did not begin. Forking to s
// would invalidate both captures.
func (r *recording) alone(s *driver.Stream) error {
	i, err := r.info(s)
	if err == nil && i.status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_MERGE, "another capture has it, which this package did not begin")
	}
	return err
}

// Join makes later work of the scope run after the work recorded in the other scopes, which must
// belong to the same capture.
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

// order makes s wait for the work recorded on the branch. A branch needs only one event, because a
// capture resolves the event at the wait.
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

// ForkJoin forks to each stream, calls record once for each of them, and joins all of them. Work on
// different streams runs concurrently. Later work of the scope runs after all of them. Several
// calls may use the same streams.
func (sc *Scope) ForkJoin(streams []*driver.Stream, record func(i int, branch *Scope) error) error {
	if err := sc.check(); err != nil {
		return err
	}
	if record == nil {
		return invalid("capture of %v: no function to record", sc.s)
	}
	forks := make([]*Scope, 0, len(streams))
	for _, s := range streams {
		f, err := sc.Fork(s)
		if err != nil {
			return join([]error{err, sc.Join(forks...)})
		}
		forks = append(forks, f)
	}
	for i, f := range forks {
		if err := record(i, f); err != nil {
			return join([]error{err, sc.Join(forks...)})
		}
	}
	return sc.Join(forks...)
}

// Parallel makes the work that the functions record run concurrently, without other streams. Each
// branch starts after the work recorded in the scope so far. Later work of the scope runs after all
// branches. Nothing else may record in the scope until Parallel returns.
func (sc *Scope) Parallel(branches ...func(*Scope) error) error {
	start, err := sc.Dependencies()
	if err != nil || len(branches) == 0 {
		return err
	}
	ends := make([]Edge, 0, len(branches))
	for i, record := range branches {
		if record == nil {
			return invalid("capture of %v: branch %d is nil", sc.s, i)
		}
		end, err := sc.branch(start, record)
		if err != nil {
			return err
		}
		ends = append(ends, end...)
	}
	if err := sc.SetDependencies(ends...); err != nil {
		return fmt.Errorf("join of %d branches: %w", len(branches), err)
	}
	return nil
}

func (sc *Scope) branch(start []Edge, record func(*Scope) error) ([]Edge, error) {
	if err := sc.SetDependencies(start...); err != nil {
		return nil, err
	}
	if err := record(sc); err != nil {
		return nil, err
	}
	return sc.Dependencies()
}

// Relaxed calls f and allows calls that captures forbid, such as allocating memory or loading a
// module, in any mode of this capture and of other captures. Such calls take effect immediately.
// This applies only to calls of the current goroutine, which stays on its thread until f ends. Work
// that f enqueues in a captured stream is recorded as usual. Waiting for a captured stream or for
// the whole context still invalidates the capture.
//
// Relaxed restores the thread's mode, even if f panics or ends the goroutine.
func (sc *Scope) Relaxed(f func() error) (err error) {
	if err := sc.check(); err != nil {
		return err
	}
	if f == nil {
		return invalid("capture of %v: no function for a relaxed section", sc.s)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mode := ModeRelaxed
	d := sc.s.Context().Driver()
	if err := d.CuThreadExchangeStreamCaptureMode(&mode); err != nil {
		return fmt.Errorf("relaxed section in the capture of %v: %w", sc.s, err)
	}
	defer func() {
		// CuThreadExchangeStreamCaptureMode stored the previous mode in mode.
		if back := d.CuThreadExchangeStreamCaptureMode(&mode); back != nil {
			err = join([]error{err, fmt.Errorf("end of a relaxed section: %w", back)})
		}
	}()
	return f()
}

func (sc *Scope) check() error {
	r, err := sc.lockUsable()
	if err != nil {
		return err
	}
	r.mu.Unlock()
	return nil
}

// ID returns the number of the capture, which is unique in the process and the same on all streams
// of the capture.
func (sc *Scope) ID() (uint64, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return 0, err
	}
	defer r.mu.Unlock()
	i, err := r.info(sc.s)
	if err == nil {
		err = i.active(r)
	}
	if err != nil {
		return 0, fmt.Errorf("id of the capture of %v: %w", sc.s, err)
	}
	return i.id, nil
}

// Active reports whether operations can be recorded: the capture has not ended and is still valid.
// If Active returns false, the error from ending the capture contains the reason.
func (sc *Scope) Active() bool {
	r, err := sc.lock()
	if err != nil {
		return false
	}
	defer r.mu.Unlock()
	if hostthread.Refuse() != nil {
		return false
	}
	i, err := r.info(sc.s)
	return err == nil && i.status == cu.CU_STREAM_CAPTURE_STATUS_ACTIVE
}
