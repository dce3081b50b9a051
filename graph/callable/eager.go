package callable

import (
	"context"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/life"
)

// eager is the state of one eager call. Its memory belongs to the variant, for reuse.
type eager struct {
	s    *driver.Stream
	work *eagerWork
	mode graph.Mode

	rec   *graph.Recording // records the rest of the call, if the function called Scope
	began bool             // work was enqueued before rec began, apart from inputs
	late  []*driver.CopyOp // copies of inputs, to be enqueued before the recorded work

	staging  *driver.Event // event to record after the inputs, or nil
	inputs   int           // number of inputs, or -1 if it is not known
	stagings int           // number of inputs so far
	marked   bool          // staging was recorded after all inputs so far

	launches []prepared // reused by the next eager call
	next     int
}

// prepared is the reusable launch of one call to Trace.Launch.
type prepared struct {
	l    *driver.Launch
	args int
}

// sendEager enqueues an eager call. v is nil for a new shape.
func (c *Callable[In, Out]) sendEager(ctx context.Context, v *variant[In, Out], in In, withEvent bool) (*variant[In, Out], error) {
	if v != nil {
		if err := v.waitForHost(ctx, c.s); err != nil {
			return nil, err
		}
		return v, c.runEager(v, in, withEvent)
	}
	v, err := c.newVariant(func(v *variant[In, Out]) error { return c.runEager(v, in, withEvent) })
	if err != nil {
		return nil, err
	}
	return v, c.add(v)
}

// runEager runs the function and enqueues its operations. If it fails, some operations may already
// be in the stream, so the output of an earlier call is lost.
func (c *Callable[In, Out]) runEager(v *variant[In, Out], in In, withEvent bool) (err error) {
	if err := c.work.begin(c.s); err != nil {
		return err
	}
	v.e.init(c.s, c.work, c.o.mode)
	if withEvent {
		v.e.staging = v.staging
	}
	if v.made {
		v.e.inputs = len(v.inputs)
	}
	t := &Trace[In]{in: in, e: &v.e, again: v.made, limit: c.o.memory, lease: &v.lease, traced: v.traced}
	t.owned = nil
	v.host = hostBehindStream
	v.wasEager, v.latest = true, c.work.Replays+1
	v.launched++
	ok := false
	defer func() {
		defer v.lease.leave(true) // deferred to the end, because until then a stream may be capturing, and nothing can wait for its work
		c.work.Launched()
		v.scoped = v.scoped || t.scoped
		t.ended = true
		if ok {
			return
		}
		v.taken = v.launched      // the failed call has no output
		v.partial = v.exec != nil // even if exec contains all work, it must be recorded again, because its declarations are lost
		if !v.made {
			v.traced = t.traced // newVariant closes it
		} else if left := closeAll(t.owned); left != nil {
			err = refusal.Join([]error{err, left})
		}
		if left := v.e.rec.Abort(); left != nil {
			err = refusal.Join([]error{err, left})
		}
	}()
	out, err := c.f(t)
	if err = t.end(err); err == nil {
		t.endLists()
		err = c.finishEager(v, t)
	}
	if err != nil {
		return err
	}
	v.lease.leave(true)
	ok = true
	old := v.owned
	v.traced, v.out, v.made = t.traced, out, true
	return closeAll(old)
}

// finishEager enqueues the remaining work of an eager call after its function has returned.
func (c *Callable[In, Out]) finishEager(v *variant[In, Out], t *Trace[In]) error {
	replayed := false
	if v.e.rec != nil {
		x, err := c.endRecording(&v.e, &v.lease)
		if err != nil {
			return err
		}
		v.exec, v.replays, v.wasEager = x, 1, false
		v.e.launches = nil
		replayed = !v.e.began
		v.partial = v.e.began
	}
	if v.e.staging != nil && v.e.stagings > 0 {
		if err := v.e.mark(); err != nil {
			return err
		}
		v.host = hostBehindEvent
	} else if v.e.stagings == 0 {
		v.host = hostFree
	}
	c.stats.Calls.Add(1)
	if replayed {
		c.stats.Recorded.Add(1)
		c.stats.Replayed.Add(1)
	} else {
		c.stats.Eager.Add(1)
		v.ranEagerly(t.changed)
	}
	return nil
}

// endRecording ends the recording that Scope began, and launches its graph.
func (c *Callable[In, Out]) endRecording(e *eager, l *lease) (*graph.Exec, error) {
	g, err := e.rec.End()
	if err != nil {
		return nil, err
	}
	if err := l.enter(e.s); err != nil {
		return nil, refusal.Join([]error{err, g.Close()})
	}
	for _, op := range e.late {
		if err := e.enqueue(op); err != nil {
			return nil, refusal.Join([]error{err, g.Close()})
		}
	}
	x, err := g.Instantiate(c.o.instantiate...)
	if err = refusal.Join([]error{err, g.Close()}); err == nil {
		c.stats.Instantiated.Add(1)
		err = l.launch(x, e.s)
	}
	if err != nil {
		return nil, refusal.Join([]error{err, x.Close()})
	}
	return x, nil
}

// begin prepares for an eager call on s.
func (w *eagerWork) begin(s *driver.Stream) error {
	w.Sweep()
	if w.Follows(s) {
		return nil
	}
	return w.Move(s, func() error { return nil })
}

// retain retains objects until the current call's work has ended.
func (w *eagerWork) retain(refs []life.Ref) error {
	for _, r := range refs {
		l := r.Lifetime()
		if err := l.Retain(); err != nil {
			return err
		}
		w.ReleaseLater(retain.Reference{Life: l})
	}
	return nil
}

func (e *eager) init(s *driver.Stream, w *eagerWork, mode graph.Mode) {
	*e = eager{s: s, work: w, mode: mode, inputs: -1, launches: e.launches, late: e.late[:0]}
}

// begin starts recording the rest of the call.
func (e *eager) begin(l *lease) (*graph.Scope, error) {
	if err := l.settle(e.s); err != nil {
		return nil, err
	}
	r, err := graph.Begin(e.s, e.mode)
	if err != nil {
		return nil, err
	}
	e.rec = r
	return r.Scope(), nil
}

// do enqueues work other than inputs.
func (e *eager) do(op driver.Op) error {
	e.began = true
	return e.enqueue(op)
}

func (e *eager) enqueue(op driver.Op) error {
	if op == nil {
		return refusal.Invalid("nil operation for %v", e.s)
	}
	if err := e.work.retain(op.Uses().Refs); err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	return e.s.Do(op)
}

// stage enqueues the copy of an input.
func (e *eager) stage(upload *driver.CopyOp) error {
	e.stagings++
	e.marked = false
	if e.rec != nil {
		e.late = append(e.late, upload)
		return nil
	}
	if err := e.enqueue(upload); err != nil {
		return err
	}
	if e.staging == nil || e.stagings != e.inputs {
		return nil
	}
	return e.mark()
}

// mark records the event after the inputs, unless it is already recorded.
func (e *eager) mark() error {
	if e.marked {
		return nil
	}
	e.marked = true
	return e.s.Record(e.staging)
}

// prepare is like Kernel.Prepare, but reuses the launch of the previous eager call.
func (e *eager) prepare(k *driver.Kernel, cfg driver.LaunchConfig, args []any) (*driver.Launch, error) {
	i := e.next
	e.next++
	if i == len(e.launches) {
		e.launches = append(e.launches, prepared{})
	}
	p := &e.launches[i]
	if p.l != nil && p.l.Kernel() == k && p.args == len(args) && setAll(p.l, cfg, args) {
		return p.l, nil
	}
	l, err := k.Prepare(cfg, args...)
	*p = prepared{l, len(args)}
	return l, err
}

func setAll(l *driver.Launch, cfg driver.LaunchConfig, args []any) bool {
	if l.SetConfig(cfg) != nil {
		return false
	}
	for i, v := range args {
		if driver.SetArg(l, i, v) != nil {
			return false
		}
	}
	return true
}

// relaxed runs f in relaxed capture mode, so that f may make calls that a capture of another
// goroutine forbids.
func (e *eager) relaxed(f func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mode := graph.ModeRelaxed
	d := e.s.Context().Driver()
	if err := d.CuThreadExchangeStreamCaptureMode(&mode); err != nil {
		return err
	}
	defer func() {
		err = refusal.Join([]error{err, d.CuThreadExchangeStreamCaptureMode(&mode)})
	}()
	return f()
}

// endLists removes declarations of the previous run that this run did not repeat.
func (t *Trace[In]) endLists() {
	if t.nextShape < len(t.shapes) {
		t.shapes = t.shapes[:t.nextShape]
	}
	if t.nextConstant < len(t.constants) {
		t.constants = t.constants[:t.nextConstant]
		t.changed = true
	}
}
