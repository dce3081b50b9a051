// Package serve runs a recorded function for many callers at once. A [Pool] has several replicas of
// the function, each with its own stream, memory and graph. Each call uses one replica. If all are
// busy, the call waits in a queue of bounded length.
//
//	f := func(t *callable.Trace[[]float32]) (*driver.HostBuffer[float32], error) {
//		x := callable.StageSlice(t, func(in []float32) []float32 { return in }) // one per replica
//		t.Launch(kernel, cfg, x, weights, uint32(x.Len()))                       // weights are shared
//		return callable.Result(t, x), nil
//	}
//	pool, err := serve.New(ctx, f, [][]float32{example}, serve.WithReplicas(4))
//	...
//	err = pool.Call(r.Context(), input, func(out *driver.HostBuffer[float32]) error {
//		copy(scores, out.Slice()) // the next call overwrites the output
//		return nil
//	})
//
// Memory that the function requests through its Trace belongs to one replica. Objects that it only
// refers to, such as weights and kernels, are shared by all replicas.
//
// A [Batcher] combines calls that wait at the same time into one batch. It is for functions that
// compute each row of their input independently.
package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// Pool runs a function for any number of goroutines. Each call uses a free replica, or waits for
// one. The calling goroutine does all the work of its call. A call allocates only if it is refused
// or fails, or if it records, creates a replica or is cancelled while it runs.
//
// # Order
//
// Calls of the same priority are served in order of arrival. Calls of higher priority go first.
// However, of any eight replicas that become free for waiting calls, at least one goes to the call
// that has waited longest. So a call that finds n others waiting is overtaken at most 7(n+1) times.
//
// # Cancellation
//
// If a call's context ends, the call immediately returns the context's cause. If the call was
// already running, its replica serves other calls only after the call's work on the device has
// ended.
//
// # Failures
//
// If a driver call fails, the call returns the error, and the replica is closed and created again
// before it serves another call. A failed call is never repeated. Errors of the recorded function
// itself do not affect the replica. Once the context is lost, all calls return the same *LostError.
type Pool[In, Out any] struct {
	on atomic.Pointer[device[In, Out]]
	o  options
	a  admission

	open func() (*driver.Context, callable.Func[In, Out], error) // function passed to WithRestart

	latency latency // latency of calls that returned no error

	shapes  []In  // one input of each prepared shape; guarded by a.mu
	version int   // number of times that shapes was changed
	users   []int // number of replicas for each of the arenas; guarded by a.mu

	preparing sync.Mutex // locked by Prepare
	closing   sync.Mutex // guards closed
	closed    bool       // whether the replicas are closed
	leftMu    sync.Mutex
	left      error // first error from closing a replica that was replaced
}

// Stats describes a Pool. Counts begin with New.
type Stats struct {
	Replicas   int
	Busy       int // replicas in use, including those where the work of a cancelled call has not ended
	Queued     int // calls that wait for a replica
	MostQueued int // largest value of Queued

	Calls            uint64 // calls that computed an output
	Failed           uint64 // calls that failed, other than by refusal or cancellation
	Refused          Refused
	CancelledQueued  uint64 // calls whose context ended before they ran
	CancelledRunning uint64 // calls whose context ended while they ran

	Rebuilt      uint64 // replicas created again after a failure
	Grown        uint64 // replicas added by WithGrowth
	BuildsFailed uint64 // failed attempts to create a replica, other than by New
	BuildError   error  // error of the last failed attempt

	Restarts uint64 // new contexts after a loss; see WithRestart
	LastLoss error  // the latest *LostError, kept even after a restart

	MeanCall time.Duration // recent mean time that a call occupied its replica, including the use function
	Longest  time.Duration // time that the oldest call in progress has occupied its replica

	// Counts of all replicas together, with the same meaning as in callable.Stats.
	Replayed    uint64 // calls that launched a graph
	Eager       uint64 // calls that enqueued their operations directly
	Recorded    uint64 // runs of the function that recorded, including those of New and Prepare
	Updated     uint64 // recordings that led to an update of a graph
	Evicted     uint64 // shapes closed in a replica to make room for other shapes
	Variants    int    // shapes that replicas keep now
	MemoryBytes uint64 // memory of those shapes, on the device and page-locked

	// Latency is a histogram of the durations of calls that returned no error. A duration includes
	// the wait for a replica and the use function. LatencySum is the sum of these durations.
	Latency    [18]Bucket
	LatencySum time.Duration
}

// Refused counts calls that were refused, by reason.
type Refused struct {
	Busy    uint64 // the queue was full
	TooLate uint64 // the call could not end before its deadline
	Closed  uint64 // the pool was closed
	Lost    uint64 // the context was lost
}

// retryAfter is the time between failed attempts to create a replica. Tests set another time.
const retryAfter = time.Second

// New creates a Pool with its replicas, and prepares each for the shapes of the examples. f must be
// safe for concurrent use, because replicas may record at the same time. If New fails, it releases
// everything.
//
// The Pool retains the examples. The caller must close the Pool before the objects that f refers to.
func New[In, Out any](c *driver.Context, f callable.Func[In, Out], examples []In, opts ...Option) (*Pool[In, Out], error) {
	p := &Pool[In, Out]{o: options{replicas: 1, queue: defaultQueue}, shapes: slices.Clone(examples)}
	absent.Apply(opts, &p.o)
	if err := p.accepts(c, f); err != nil {
		return nil, err
	}
	p.on.Store(&device[In, Out]{c, f})
	if p.o.limited {
		p.o.callable = append(slices.Clip(p.o.callable), callable.WithMemory(p.o.share()))
	}
	p.a = admission{bound: p.o.queue, most: p.o.most, deadlines: p.o.deadlines, pause: retryAfter, drained: make(chan struct{})}
	p.users = make([]int, len(p.o.arenas))
	if p.open != nil {
		p.a.restart, p.a.apart = p.restart, p.o.apart
	}
	made := false
	defer func() {
		if !made { // runs even if the function panicked or called runtime.Goexit
			_ = p.Close()
		}
	}()
	for range p.o.replicas {
		r := p.newReplica()
		if err := p.create(r); err != nil {
			return nil, fmt.Errorf("serve: replica %d of %d: %w", len(p.a.slots)+1, p.o.replicas, refusal.Join([]error{err, p.Close()}))
		}
		p.a.slots = append(p.a.slots, &r.slot)
		p.a.idle = append(p.a.idle, &r.slot)
		p.a.working++
	}
	made = true
	return p, nil
}

// accepts rejects invalid arguments of New.
func (p *Pool[In, Out]) accepts(c *driver.Context, f callable.Func[In, Out]) error {
	switch o := p.o; {
	case c == nil:
		return refusal.Invalid("serve: no context: the first argument must be a *driver.Context")
	case f == nil:
		return refusal.Invalid("serve: no function: the second argument must be the callable.Func to run")
	case o.replicas < 1:
		return refusal.Invalid("serve: it needs at least one replica, not %d", o.replicas)
	case o.queue < 0:
		return refusal.Invalid("serve: a queue cannot have %d places", o.queue)
	case o.batch.set || o.batch.sizes != nil:
		return refusal.Invalid("serve: WithBatch and WithBatchSizes are options of NewBatcher, not of New")
	case o.grows && o.most < o.replicas:
		return refusal.Invalid("serve: it cannot grow from %d to %d replicas", o.replicas, o.most)
	case o.limited && o.share() == 0:
		return refusal.Invalid("serve: WithMemory(%d): too little for %d replicas", o.limit, max(o.replicas, o.most))
	}
	return p.acceptsRestart()
}

// Call runs the function with an input on a free replica, and passes the output to the function use.
// Other calls overwrite the output's memory after use has returned. use may be nil. It must not call
// the Pool, because it could wait forever for the replica that it occupies. Call returns the error
// of use unchanged.
//
// If all replicas are busy, Call waits. If the queue is full, it returns a BusyError. If ctx ends
// first, it returns the context's cause. After Close, the error matches driver.ErrClosed.
func (p *Pool[In, Out]) Call(ctx context.Context, in In, use func(Out) error, opts ...CallOption) error {
	if !p.exists() {
		return aPool.Error(p == nil)
	}
	priority := 0
	for _, o := range opts {
		priority = o.priority
	}
	began := time.Now()
	s, err := p.take(ctx, priority)
	if err != nil {
		return err
	}
	if err = p.serve(ctx, s, in, use); err == nil {
		p.latency.add(time.Since(began))
	}
	return err
}

// take returns a slot that only this call may use.
func (p *Pool[In, Out]) take(ctx context.Context, priority int) (*slot, error) {
	if ctx != nil && ctx.Err() != nil {
		p.a.count(&p.a.stats.CancelledQueued)
		return nil, fmt.Errorf("serve: before the call began: %w", context.Cause(ctx))
	}
	t := ticket{priority: priority}
	for {
		to, err := p.a.admit(ctx, &t)
		if err != nil {
			return nil, err
		}
		w := to.waiter
		switch {
		case w != nil:
		case to.slot == nil:
			w, err = p.grow(&t)
		case to.slot.broken:
			w, err = p.repairAndWait(ctx, &t, to.slot)
		default:
			return to.slot, nil
		}
		if err != nil {
			return nil, err
		}
		if w != nil {
			return p.await(ctx, w)
		}
	}
}

// repairAndWait repairs a slot for an arriving call. The call then waits, possibly for this slot. If
// the repair fails but other replicas work, repairAndWait returns neither a waiter nor an error.
func (p *Pool[In, Out]) repairAndWait(ctx context.Context, t *ticket, s *slot) (*waiter, error) {
	err := p.repair(ctx, s)
	switch {
	case err == nil:
		return p.a.rejoin(t, s)
	case endedWith(ctx, err):
		return nil, err
	case !p.a.works():
		p.a.count(&p.a.stats.Failed)
		return nil, err
	}
	return nil, nil
}

// await waits for a replica.
func (p *Pool[In, Out]) await(ctx context.Context, w *waiter) (*slot, error) {
	s, err := p.a.await(ctx, w)
	if err != nil {
		return nil, err
	}
	if s.broken { // s is broken only if no replica works
		if err := p.repair(ctx, s); err != nil {
			if !endedWith(ctx, err) {
				p.a.count(&p.a.stats.Failed)
			}
			return nil, err
		}
	}
	return s, nil
}

// Prepare records the function for the shapes of the inputs in all replicas, so that calls with
// these shapes do not record. Replicas that are created later are also prepared for these shapes.
// Prepare occupies one replica at a time, as soon as it is free, so that the other replicas can
// serve calls. The Pool retains one input of each shape.
func (p *Pool[In, Out]) Prepare(inputs ...In) error {
	if !p.exists() {
		return aPool.Error(p == nil)
	}
	p.preparing.Lock()
	defer p.preparing.Unlock()
	kept := make([]bool, len(inputs))
	for i := 0; ; i++ {
		s, err := p.a.claim(i)
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		if err := p.prepare(s, inputs, kept); err != nil {
			return err
		}
	}
}

// prepare prepares one replica and returns its slot. kept marks the inputs that the Pool retains.
func (p *Pool[In, Out]) prepare(s *slot, inputs []In, kept []bool) error {
	if s.broken {
		if err := p.repair(context.Background(), s); err != nil {
			return err
		}
	}
	r := p.of(s)
	end := panicked
	defer func() { p.end(r, end, time.Time{}) }()
	for i, in := range inputs {
		before := r.call.Stats()
		if err := r.call.Prepare(in); err != nil {
			end, err = p.judge(context.Background(), r, err)
			return err
		}
		after := r.call.Stats()
		recorded := after.Variants+int(after.Evicted) > before.Variants+int(before.Evicted)
		if recorded && !kept[i] {
			kept[i] = true
			p.addShape(in, after.Variants)
		}
	}
	end = unchanged
	return nil
}

// addShape keeps an input of a new shape for replicas that are created later. variants, the number
// of shapes that a replica keeps, limits the number of inputs.
func (p *Pool[In, Out]) addShape(in In, variants int) {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.version++
	p.shapes = append(p.shapes, in)
	p.shapes = slices.Clone(p.shapes[max(0, len(p.shapes)-variants):]) // a new slice, because create may be reading the old one
}

func (p *Pool[In, Out]) preparedShapes() ([]In, int) {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	return p.shapes, p.version
}

// Stats returns the current statistics.
func (p *Pool[In, Out]) Stats() Stats {
	if !p.exists() {
		return Stats{}
	}
	s := p.a.snapshot()
	p.latency.to(&s)
	return s
}

// Close refuses new calls and ends waiting calls, with errors that match driver.ErrClosed. It waits
// for running calls, and then closes the replicas. It does not close the objects that the function
// refers to. A later Close waits for the first one and returns nil.
//
// If several objects cannot be released, the error's text contains only the first reason. %+v prints
// all of them.
func (p *Pool[In, Out]) Close() error {
	if !p.exists() {
		return nil
	}
	p.a.close()
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	errs := []error{p.left}
	for _, s := range p.a.slots {
		errs = append(errs, p.close(p.of(s)))
	}
	return closeErrors(errs)
}

// leave stores the first error from closing a replica that was replaced. Close returns this error.
func (p *Pool[In, Out]) leave(err error) {
	if err != nil {
		p.leftMu.Lock()
		defer p.leftMu.Unlock()
		if p.left == nil {
			p.left = err
		}
	}
}

func (p *Pool[In, Out]) exists() bool { return p != nil && p.on.Load() != nil }
