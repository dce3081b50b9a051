package callable

import (
	"context"
	"io"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// variant is the recorded work and the memory of one shape.
type variant[In, Out any] struct {
	outcome[Out]
	traced[In]
	staging *driver.Event // completes after the latest input was copied
	host    hostState
	made    bool // the function ran, so the memory exists
	partial bool // exec contains only a part of the work: see Trace.Scope
	bytes   uint64
	policy
	e     eager
	lease lease
}

// traced contains the declarations of one run of the function.
type traced[In any] struct {
	cells     []cell // in the order in which the function requests them
	inputs    []input[In]
	shapes    []guard[In]
	constants []guard[In]
	owned     []io.Closer
}

// hostState determines when the page-locked memory of inputs may be written.
type hostState uint8

const (
	hostFree         hostState = iota // the memory is free immediately
	hostBehindEvent                   // the memory is free after variant.staging completes
	hostBehindStream                  // the memory is free after the stream's work completes
)

// guard is a property of the input that had a certain value when the function ran.
type guard[In any] interface{ holds(in In) bool }

// input is device memory that each call fills.
type input[In any] interface {
	guard[In]
	fill(in In) error // writes the input to the page-locked memory
	copyOp() *driver.CopyOp
}

// cell is memory that survives updates of the graph.
type cell interface {
	close() error
	bytes() uint64 // size on the device and in page-locked memory, without memory in an arena
}

// newVariant creates a variant for a new shape with make, which runs the function.
func (c *Callable[In, Out]) newVariant(make func(*variant[In, Out]) error) (*variant[In, Out], error) {
	v := new(variant[In, Out])
	v.mu, v.work, v.lease = c.mu, c.work, c.shelf.newLease()
	made := false
	defer func() {
		if !made { // runs even if the function panicked or called runtime.Goexit
			_ = v.close(c.s)
		}
	}()
	var err error
	if v.staging, err = c.s.Context().NewEvent(); err == nil {
		v.ended, err = c.s.Context().NewEvent()
	}
	if err == nil {
		err = make(v)
	}
	if err != nil {
		return nil, refusal.Join([]error{err, v.close(c.s)})
	}
	made = true
	return v, nil
}

// instantiate records the function and instantiates the graph. If that fails, an existing variant
// is unchanged. A new variant may then contain memory and objects that must be closed.
func (c *Callable[In, Out]) instantiate(v *variant[In, Out], in In) error {
	old, oldExec := v.owned, v.exec // both nil if the variant is new
	g, t, out, err := c.record(v, in)
	var x *graph.Exec
	if err == nil {
		x, err = g.Instantiate(c.instantiation()...)
		err = refusal.Join([]error{err, g.Close()})
	}
	if err != nil {
		if v.made {
			return refusal.Join([]error{err, x.Close(), closeAll(t.owned)})
		}
		v.traced, v.exec = t.traced, x
		return err
	}
	c.stats.Instantiated.Add(1)
	v.traced, v.out, v.exec, v.replays, v.made = t.traced, out, x, 0, true
	v.e.launches, v.partial, v.debt = nil, false, 0
	return refusal.Join([]error{oldExec.Close(), closeAll(old)})
}

func (c *Callable[In, Out]) instantiation() []graph.Option {
	return append([]graph.Option{graph.WithUpload(c.s)}, c.o.instantiate...)
}

// update records the function again and updates the graph. If that fails, the variant is unchanged.
func (c *Callable[In, Out]) update(v *variant[In, Out], in In) (failed bool, err error) {
	g, t, out, err := c.record(v, in)
	if err != nil {
		return true, refusal.Join([]error{err, closeAll(t.owned)})
	}
	a, err := v.exec.Update(g, graph.WithReinstantiate())
	if err != nil {
		return true, refusal.Join([]error{err, g.Close(), closeAll(t.owned)})
	}
	if a.Reinstantiated {
		c.stats.Instantiated.Add(1)
	} else {
		c.stats.Updated.Add(1)
	}
	old := v.owned
	v.traced, v.out = t.traced, out
	return a.Reinstantiated, refusal.Join([]error{g.Close(), closeAll(old)})
}

// record runs the function under capture. Even if the function fails, record returns the Trace with
// its declarations.
func (c *Callable[In, Out]) record(v *variant[In, Out], in In) (g *graph.Graph, t *Trace[In], out Out, err error) {
	t = &Trace[In]{in: in, again: v.made, limit: c.o.memory, lease: &v.lease}
	t.cells = v.cells
	defer func() {
		if !t.again {
			v.traced = t.traced // newVariant closes it if the function panicked
		} else if !t.ended {
			_ = closeAll(t.owned)
		}
		t.ended = true
		v.scoped = v.scoped || t.scoped
	}()
	if err := v.lease.settle(c.s); err != nil {
		return nil, t, out, err
	}
	c.stats.Recorded.Add(1)
	g, err = graph.Capture(c.s, c.o.mode, func(sc *graph.Scope) error {
		t.sc = sc
		var err error
		out, err = c.f(t)
		return t.end(err)
	})
	return g, t, out, err
}

func (v *variant[In, Out]) fits(in In) bool {
	for _, i := range v.inputs {
		if !i.holds(in) {
			return false
		}
	}
	return allHold(v.shapes, in)
}

func allHold[In any](guards []guard[In], in In) bool {
	for _, g := range guards {
		if !g.holds(in) {
			return false
		}
	}
	return true
}

// stage copies an input to the device, in stream order.
func (v *variant[In, Out]) stage(ctx context.Context, s *driver.Stream, in In, withEvent bool) error {
	if len(v.inputs) == 0 {
		return nil
	}
	if err := v.waitForHost(ctx, s); err != nil {
		return err
	}
	first := v.lease.tie != nil // nothing may call the program between enter and leave
	if first {
		if err := v.fillAll(in); err != nil {
			return err
		}
		if err := v.lease.enter(s); err != nil {
			return err
		}
	}
	v.host = hostBehindStream
	for _, i := range v.inputs {
		if !first {
			if err := i.fill(in); err != nil {
				return err
			}
		}
		if err := s.Do(i.copyOp()); err != nil {
			return err
		}
	}
	if !withEvent {
		return nil
	}
	if err := s.Record(v.staging); err != nil {
		return err
	}
	v.host = hostBehindEvent
	return nil
}

func (v *variant[In, Out]) fillAll(in In) error {
	for _, i := range v.inputs {
		if err := i.fill(in); err != nil {
			return err
		}
	}
	return nil
}

// replay copies an input to the device and launches the graph.
func (v *variant[In, Out]) replay(ctx context.Context, s *driver.Stream, in In, withEvent bool) error {
	failed := true // if the call fails, some inputs may have been copied although no launch counts as overwriting the memory
	defer func() { v.lease.leave(failed) }()
	if err := v.stage(ctx, s, in, withEvent); err != nil {
		return err
	}
	if err := v.lease.launch(v.exec, s); err != nil {
		v.host = hostBehindStream
		return err
	}
	failed = false
	return nil
}

// waitForHost waits until the page-locked memory of inputs may be written.
func (v *variant[In, Out]) waitForHost(ctx context.Context, s *driver.Stream) error {
	var err error
	switch v.host {
	case hostBehindEvent:
		err = refusal.IgnoreFault(v.staging.Wait(ctx))
	case hostBehindStream:
		err = s.Wait(ctx)
	}
	if err == nil || refusal.IsKernelFault(err) {
		v.host = hostFree
	}
	return err
}

// recordEnded records the event v.ended after the latest replay.
func (v *variant[In, Out]) recordEnded(s *driver.Stream) error {
	if err := s.Record(v.ended); err != nil {
		v.taken = v.launched // without the event, no call can detect when the output may be read
		return err
	}
	return nil
}

// close releases everything. The graph keeps its memory until its replays in flight have ended, and
// Callable.work keeps the memory of eager calls. If an input was copied but no replay followed,
// close waits for the copy.
func (v *variant[In, Out]) close(s *driver.Stream) error {
	v.gone = true
	var errs []error
	if v.host == hostBehindStream && !v.wasEager {
		errs = append(errs, v.waitForHost(context.Background(), s))
	}
	errs = append(errs, v.exec.Close(), closeAll(v.owned), v.staging.Close(), v.ended.Close())
	for _, c := range v.cells {
		errs = append(errs, c.close())
	}
	errs = append(errs, v.lease.close())
	v.exec, v.cells, v.owned, v.staging, v.e.launches = nil, nil, nil, nil, nil
	return refusal.Join(errs)
}

// closeAll closes, in reverse order, the things passed to Own.
func closeAll(list []io.Closer) error {
	var errs []error
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, list[i].Close())
	}
	return refusal.Join(errs)
}
