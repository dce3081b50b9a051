package serve

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// Batcher runs calls from any number of goroutines in batches. Calls that wait at the same time
// form a batch. A replica runs the graph for that number of inputs, and each call gets one row of
// the output. The rows must be independent of each other.
//
// # When a batch begins
//
// A batch begins when a replica is free and either n calls wait or the oldest waiting call has
// waited for the whole window. WithBatch sets n and the window. A call's batch therefore begins
// within the window after the call's arrival. It begins later only if no replica is free, or if
// calls ahead of it fill the batch. With a window of 0, which is the default, a replica that
// becomes free takes all waiting calls, up to n. A call that finds a free replica then starts
// immediately.
//
// # Sizes
//
// Each batch size has its own graph, which NewBatcher prepares. A batch of any other size is padded
// to the next larger size by repeating its last input. No call sees the additional rows. Without
// WithBatchSizes, the sizes are n and the powers of two below n.
//
// # Who does the work
//
// Each replica has a goroutine that collects a batch, launches it and waits for it. A caller could
// not do this work, because its context may end while other calls still need the output. The use
// function of a call runs on the call's own goroutine. The replica serves the next batch after all
// use functions have returned. In the steady state, a call does not allocate.
//
// # Cancellation
//
// If the context of a waiting call ends, the call leaves the queue. If its batch is already
// running, the call returns once its input has been copied. The other calls of the batch get their
// outputs.
//
// # Failures
//
// If a batch fails, each of its calls returns the error, and no call is repeated. The replica is
// created again, as in a Pool. An input whose shape differs from the example's is removed from its
// batch, and only its call fails. If the recorded function panics, all calls of the batch return a
// *PanicError. The number in a LostError is the number of a batch. With WithRestart, calls that
// arrive after a loss wait for the new context.
type Batcher[In, Out any] struct {
	p       *Pool[[]In, Out]
	workers sync.WaitGroup
	batches batches[In, Out]
}

// aBatcher describes errors of methods on nil and zero Batchers.
var aBatcher = absent.Kind{Name: "batcher", Make: "serve.NewBatcher", Code: driver.CUDA_ERROR_INVALID_VALUE}

// NewBatcher creates a Batcher with its replicas, and prepares each for all batch sizes. f records
// the work for a slice of inputs, whose length must be part of the shape. In f, use
// callable.StageRows to copy one slice per input, and use no callable.Constant that depends on the
// inputs. All inputs must have the shape of the example, so that calls never record.
//
// NewBatcher accepts the options of New, and also WithBatch and WithBatchSizes. WithQueue counts calls, and
// WithReplicas counts batches that run at the same time. With WithGrowth, a replica is added if more than n calls
// wait while all replicas run batches. The types of WithRestart are []In and Out.
//
// The example must not be nil. The Batcher retains it. The caller must close the Batcher before the objects that f
// refers to.
func NewBatcher[In, Out any](c *driver.Context, f callable.Func[[]In, Out], example In, opts ...Option) (*Batcher[In, Out], error) {
	o := options{replicas: 1, queue: defaultQueue}
	absent.Apply(opts, &o)
	sizes, err := o.batch.complete()
	if err != nil {
		return nil, err
	}
	if o.queue < 0 {
		return nil, refusal.Invalid("serve: a queue cannot have %d places", o.queue)
	}
	if isNil(example) {
		return nil, refusal.Invalid("serve: no example: the third argument must be an input with the shape of all inputs, not nil")
	}
	examples := make([][]In, len(sizes))
	for i, n := range sizes {
		examples[i] = slices.Repeat([]In{example}, n)
	}
	workers := o.replicas
	if o.most > o.replicas {
		workers = o.most + 1 // one more than needed, because the pool grows only if one worker waits and another one arrives
	}
	inner := o
	inner.batch, inner.deadlines, inner.queue = batching{}, false, max(0, workers)
	inner.callable = slices.Concat([]callable.Option{callable.WithVariants(len(sizes))}, o.callable)
	b := new(Batcher[In, Out])
	if b.p, err = New(c, f, examples, func(o *options) { *o = inner }); err != nil {
		return nil, err
	}
	if n := b.p.Stats().Evicted; n > 0 {
		err := refusal.Invalid("serve: WithMemory(%d): too little for graphs of all sizes %v in %d replicas", o.limit, sizes, max(o.replicas, o.most))
		return nil, refusal.Join([]error{err, b.p.Close()})
	}
	b.batches.prepare(o, sizes)
	for range workers {
		w := b.newWorker()
		b.batches.rest(w) // makes the worker idle before its goroutine begins, so that the first call wakes only one worker
		b.workers.Add(1)
		go b.work(w)
	}
	return b, nil
}

// isNil reports whether an input is a nil pointer, slice, map, function, channel or interface.
func isNil(in any) bool {
	if in == nil {
		return true
	}
	switch v := reflect.ValueOf(in); v.Kind() {
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice, reflect.UnsafePointer:
		return v.IsNil()
	}
	return false
}

// Call adds an input to a batch. It passes the batch's output and the index of the call's row to the
// function use. The output's memory is valid until use returns. The functions of the calls of a
// batch run concurrently, so use must not change other rows of the output. A panic or an error in
// use affects only its own call. use may be nil. It must not call the Batcher, because it could wait
// forever for its own replica. Call returns the error of use unchanged.
//
// If the queue is full, Call returns a BusyError. If ctx ends first, it returns the context's cause.
// The batch does not depend on the context of any call. After Close, the error matches
// driver.ErrClosed.
//
// WithPriority changes the order. If more calls wait than fit into a batch, calls with a higher
// priority are taken first. Of any eight calls that are taken, at least one is the call that has
// waited longest.
func (b *Batcher[In, Out]) Call(ctx context.Context, in In, use func(out Out, i int) error, opts ...CallOption) error {
	if !b.exists() {
		return aBatcher.Error(b == nil)
	}
	priority := 0
	for _, o := range opts {
		priority = o.priority
	}
	m, err := b.batches.enter(ctx, in, priority)
	if err != nil {
		return err
	}
	if ctx == nil {
		<-m.ready
		return b.use(m, use)
	}
	select {
	case <-m.ready:
		return b.use(m, use)
	case <-ctx.Done():
		return b.leave(ctx, m, use)
	}
}

// Stats returns the current statistics.
func (b *Batcher[In, Out]) Stats() BatchStats {
	if !b.exists() {
		return BatchStats{}
	}
	s := b.batches.snapshot()
	of := b.p.Stats()
	s.Replicas, s.MeanBatch, s.Longest = of.Replicas, of.MeanCall, of.Longest
	s.Restarts, s.LastLoss = of.Restarts, of.LastLoss
	s.Updated, s.MemoryBytes = of.Updated, of.MemoryBytes
	s.Rebuilt, s.Grown, s.BuildsFailed, s.BuildError = of.Rebuilt, of.Grown, of.BuildsFailed, of.BuildError
	return s
}

// Close refuses further calls and ends the calls whose batch has not begun. Their errors match
// driver.ErrClosed. Close waits for running batches, and then closes the replicas. It does not
// close the objects that the function refers to. A later Close waits for the first one and returns
// nil.
func (b *Batcher[In, Out]) Close() error {
	if !b.exists() {
		return nil
	}
	b.batches.close()
	b.workers.Wait()
	return b.p.Close()
}

func (b *Batcher[In, Out]) exists() bool { return b != nil && b.p != nil }
