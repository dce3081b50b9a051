package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/purecuda/cuda/graph/callable"
)

// ErrShape matches the error that a Batcher returns for a call whose input has a different shape
// from the example.
var ErrShape = errors.New("the shape of the input differs from the example's")

// PanicError is the error that all calls of a batch return if the recorded function, or a function
// that reads the inputs, panicked while it handled the batch. It is also the reason in
// LostError.Restart if a function panicked during a restart.
type PanicError struct {
	Value any    // value of the panic; nil if the function called runtime.Goexit
	Stack []byte // stack of the goroutine that panicked
}

// Error states the value of the panic.
func (e *PanicError) Error() string {
	if e == nil || e.Value == nil {
		return "the function called runtime.Goexit"
	}
	return fmt.Sprintf("the function panicked: %v", e.Value)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

func (b *Batcher[In, Out]) newWorker() *worker[In, Out] {
	n := b.batches.n
	return &worker[In, Out]{
		wake: make(chan struct{}, 1), used: make(chan struct{}, 1), timer: b.batches.clock.timer(),
		members: make([]*member[In, Out], 0, n), inputs: make([]In, 0, n),
	}
}

// work runs batches until Close. If a function of the program calls runtime.Goexit, another goroutine
// continues.
func (b *Batcher[In, Out]) work(w *worker[In, Out]) {
	defer func() {
		if w.over {
			b.workers.Done()
		} else {
			go b.work(w)
		}
	}()
	for b.batches.next(w) {
		b.batch(w)
	}
	w.over = true
}

// batch takes a replica, forms a batch and runs it.
func (b *Batcher[In, Out]) batch(w *worker[In, Out]) {
	q := &b.batches
	formed, returned := false, false
	defer func() {
		if returned {
			return
		}
		err := &PanicError{recover(), debug.Stack()}
		if !formed {
			q.formFailed(w)
		}
		b.fail(w, fmt.Errorf("serve: a batch: %w", err))
	}()
	s, err := b.take()
	if err != nil {
		formed = true
		b.noReplica(w, err)
	} else {
		q.collect(w, b.p.replicas())
		formed = true
		if len(w.members) == 0 {
			b.p.a.put(s)
		} else {
			b.run(w, s)
		}
	}
	returned = true
}

// noReplica ends the calls for which a worker could not get a replica.
func (b *Batcher[In, Out]) noReplica(w *worker[In, Out], err error) {
	q := &b.batches
	if lost := (*LostError)(nil); errors.As(err, &lost) {
		q.lose(lost) // ends the calls that were waiting; later calls may wait for a restart
		q.formNone()
		return
	}
	q.formFailed(w)
	b.fail(w, err)
}

// take takes an idle replica. Otherwise it waits for one, or creates one.
func (b *Batcher[In, Out]) take() (*slot, error) {
	if s := b.p.a.takeIdle(); s != nil {
		return s, nil
	}
	b.batches.slowly(1)
	defer b.batches.slowly(-1) // runs even if the function panics
	return b.p.take(context.Background(), 0)
}

// takeIdle returns a slot that only this call may use, or nil if a call would have to wait or fail.
func (a *admission) takeIdle() *slot {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.lost != nil {
		return nil
	}
	s := pop(&a.idle)
	if s != nil {
		a.arrived++
		a.use(s, a.arrived)
	}
	return s
}

// replicas returns the number of replicas.
func (p *Pool[In, Out]) replicas() int {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	return len(p.a.slots)
}

// fail ends all calls of the worker's batch with an error.
func (b *Batcher[In, Out]) fail(w *worker[In, Out], err error) {
	w.forget()
	var none Out
	b.batches.deliver(w, none, err)
}

// run runs a batch on a slot, and returns the slot.
func (b *Batcher[In, Out]) run(w *worker[In, Out], s *slot) {
	q, r, ctx := &b.batches, b.p.of(s), context.Background()
	began, end, ran := time.Now(), panicked, false
	defer func() {
		if !ran { // a function panicked or called runtime.Goexit
			b.p.end(r, end, began)
		}
	}()
	if !b.fit(w, r.call) {
		ran = true
		b.p.end(r, unchanged, began)
		q.empty(w)
		return
	}
	r.skipFaults()
	call, err := r.call.Start(ctx, w.inputs)
	w.forget()
	var out Out
	if err == nil {
		q.launched(w)
		out, err = call.Wait(ctx)
	}
	ran = true
	if err != nil {
		number := s.call
		end, judged := b.p.judge(ctx, r, err)
		if lost := (*LostError)(nil); errors.As(judged, &lost) {
			judged = lost
			q.lose(lost) // before a restart can begin, so that lose ends only calls that were already waiting when the context was lost
		} else {
			judged = fmt.Errorf("serve: batch %d: %w", number, err)
		}
		b.p.end(r, end, began)
		b.fail(w, judged)
		return
	}
	if q.deliver(w, out, nil) {
		q.await(w)
	}
	b.p.end(r, succeeded, began)
	if b.batches.deadlines {
		q.measured(b.p.Stats().MeanCall)
	}
}

// fit fills w.inputs. It ends calls whose input has no recorded shape, because recording would take
// time and memory from the other calls. It reports whether any calls are left.
func (b *Batcher[In, Out]) fit(w *worker[In, Out], c *callable.Callable[[]In, Out]) bool {
	b.pad(w)
	if ok, _ := has(c, w.inputs); ok {
		return true
	}
	errs, kept := make([]error, len(w.members)), 0
	for i, m := range w.members {
		for j := range w.inputs {
			w.inputs[j] = m.in // try this input as a batch on its own
		}
		if ok, err := has(c, w.inputs); !ok {
			errs[i] = err
		} else {
			kept++
		}
	}
	if kept == len(w.members) { // each input on its own has a recorded shape, but their combination does not
		for i := range errs {
			errs[i] = errShape
		}
	}
	b.batches.drop(w, errs)
	w.forget()
	return len(w.members) > 0 && b.fit(w, c)
}

var errShape = fmt.Errorf("serve: %w; give all inputs the lengths of the example of NewBatcher", ErrShape)

// pad fills w.inputs with the inputs of the batch, and repeats the last one up to the next size.
func (b *Batcher[In, Out]) pad(w *worker[In, Out]) {
	for _, m := range w.members {
		w.inputs = append(w.inputs, m.in)
	}
	w.size, _ = slices.BinarySearch(b.batches.sizes, len(w.inputs))
	for last := w.inputs[len(w.inputs)-1]; len(w.inputs) < b.batches.sizes[w.size]; {
		w.inputs = append(w.inputs, last)
	}
}

// forget releases the inputs, which belong to the calls.
func (w *worker[In, Out]) forget() { w.inputs = clearAll(w.inputs) }

// has reports whether a batch has a recorded shape. If a function that reads the inputs panics, has
// returns a PanicError.
func has[In, Out any](c *callable.Callable[[]In, Out], batch []In) (ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			ok, err = false, fmt.Errorf("serve: the input: %w", &PanicError{v, debug.Stack()})
		}
	}()
	return c.Has(batch), errShape
}
