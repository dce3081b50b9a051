package serve

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver"
)

// batches decides which calls form a batch, and when. It does not know about replicas.
//
// Unless all workers run batches, every waiting call has a worker that was woken for it. One worker
// is enough for n calls. After its batch, a worker becomes idle only if enough other workers have a
// replica. So no call depends on a worker that is creating a replica.
type batches[In, Out any] struct {
	n         int // maximum number of calls in a batch
	window    time.Duration
	bound     int // maximum length of the queue
	deadlines bool
	sizes     []int
	clock     clock

	mu         sync.Mutex
	waiting    queue
	spare      *member[In, Out]   // members that can be reused
	arrived    uint64             // number of the last call that arrived
	idle       []*worker[In, Out] // workers that wait to be woken
	collecting []*worker[In, Out] // workers that have a replica and wait until they are woken or the window ends
	pending    int                // number of woken workers that have not formed their batch yet
	slow       int                // number of pending workers that wait for a replica or create one
	running    int                // number of workers that have a batch
	replicas   int                // number of replicas known so far; a growing pool may already have more
	closed     bool
	lost       *LostError // the final loss, after which no call is possible
	loss       *LostError // the latest loss, or nil
	stats      BatchStats

	latency latency // latency of calls that returned no error
}

// prepare stores the options.
func (q *batches[In, Out]) prepare(o options, sizes []int) {
	q.n, q.window, q.clock = o.batch.most, o.batch.window, o.batch.clock
	q.bound, q.deadlines, q.sizes, q.replicas = o.queue, o.deadlines, sizes, o.replicas
	for _, n := range sizes {
		q.stats.Sizes = append(q.stats.Sizes, BatchSize{Size: n})
	}
}

// member is a call of a Batcher. Later calls reuse it. The lock of batches guards it until ready is
// sent. Then it belongs to its call.
type member[In, Out any] struct {
	waiter // place in the queue; ready is sent when the output or an error is available
	in     In
	came   time.Time
	state  state
	worker *worker[In, Out]
	row    int
	out    Out
}

// state is the progress of a member.
type state uint8

const (
	queued   state = iota
	staging        // its batch has begun, and the worker may be reading its input
	leaving        // like staging, but the call returns as soon as its input was read
	inFlight       // the worker has read its input
	gone           // like inFlight, but the call has returned
	left           // ready has been sent, and the call returns its context's cause
	ended          // ready has been sent, and the call has an output or an error
)

// worker forms and runs batches, one at a time.
type worker[In, Out any] struct {
	wake    chan struct{} // capacity 1, so that sending under the lock never blocks
	timer   timer
	members []*member[In, Out] // calls of the batch
	inputs  []In               // inputs of the batch, padded to the size of a graph
	size    int                // index of the padded size
	since   time.Time          // time when the worker got a replica and began to collect
	loss    *LostError         // batches.loss before the worker got a replica
	running bool               // the worker counts in batches.running; guarded by the lock
	using   atomic.Int32       // number of calls that read the output
	used    chan struct{}      // capacity 1; sent when using becomes 0
	idle    bool               // the worker is or was in batches.idle, and must wait for wake
	over    bool               // whether the goroutine must end
}

// enter adds a call to the queue.
func (q *batches[In, Out]) enter(ctx context.Context, in In, priority int) (*member[In, Out], error) {
	over := ctx != nil && ctx.Err() != nil
	now := q.clock.now() // read before locking, because many callers compete for the lock
	q.mu.Lock()
	defer q.mu.Unlock()
	if over {
		q.stats.CancelledQueued++
		return nil, fmt.Errorf("serve: before the call began: %w", context.Cause(ctx))
	}
	if err := q.refusal(); err != nil {
		return nil, err
	}
	if err := q.late(ctx, priority, now); err != nil {
		return nil, err
	}
	if waits := q.waiting.len(); waits >= q.bound+q.room() {
		q.stats.Refused.Busy++
		return nil, &BusyError{waits, q.replicas}
	}
	m := q.newMember()
	q.arrived++
	m.priority, m.number = priority, q.arrived
	m.in, m.came, m.state = in, now, queued
	q.waiting.add(&m.waiter)
	q.stats.MostQueued = max(q.stats.MostQueued, q.waiting.len())
	q.rouse()
	return m, nil
}

// refusal returns an error if the Batcher can no longer serve calls.
func (q *batches[In, Out]) refusal() error {
	switch {
	case q.closed:
		q.stats.Refused.Closed++
		return errBatcherClosed
	case q.lost != nil:
		q.stats.Refused.Lost++
		return q.lost
	}
	return nil
}

var errBatcherClosed = fmt.Errorf("serve: the batcher: %w", driver.ErrClosed)

// room returns how many waiting calls fit into the batches that free replicas can begin. These calls
// do not count as queued.
func (q *batches[In, Out]) room() int { return q.n * max(0, q.replicas-q.running) }

// late returns an error for a call that cannot end before its deadline.
func (q *batches[In, Out]) late(ctx context.Context, priority int, now time.Time) error {
	mean := q.stats.MeanBatch
	if !q.deadlines || ctx == nil || q.running == 0 || mean == 0 {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	ahead, begins := q.waiting.ahead(priority), time.Duration(0)
	if q.waiting.len()+1 < q.n {
		begins = q.window
		if q.waiting.len() > 0 {
			begins = max(0, q.due(now))
		}
	}
	if q.running >= q.replicas {
		begins = max(begins, untilFree(mean, ahead/q.n, q.replicas))
	}
	left, needed := time.Until(deadline), sum(begins, mean) // the window may be the longest duration
	if needed <= left {
		return nil
	}
	q.stats.Refused.TooLate++
	return &tooLate{left, needed, ahead}
}

// due returns the time until the window of the call that has waited longest ends.
func (q *batches[In, Out]) due(now time.Time) time.Duration {
	return memberOf[In, Out](q.waiting.oldest).came.Add(q.window).Sub(now)
}

// rouse wakes one worker for each batch that can be collected. If a batch is full, it also wakes
// the workers that wait for the end of the window.
func (q *batches[In, Out]) rouse() {
	for len(q.idle) > 0 && q.waiting.len() > q.pending*q.n {
		w := q.idle[len(q.idle)-1]
		q.idle = q.idle[:len(q.idle)-1]
		q.pending++
		w.wake <- struct{}{}
	}
	if q.waiting.len() >= q.n {
		q.wakeCollecting()
	}
}

func (q *batches[In, Out]) wakeCollecting() {
	for _, w := range q.collecting {
		w.wake <- struct{}{}
	}
	q.collecting = q.collecting[:0]
}

// next waits until there are calls to collect. It returns false after close.
func (q *batches[In, Out]) next(w *worker[In, Out]) bool {
	q.mu.Lock()
	if !w.idle && !q.closed && q.waiting.len() <= q.n*(q.pending-q.slow) {
		q.rest(w)
	}
	if w.idle {
		q.mu.Unlock()
		<-w.wake
		q.mu.Lock()
		w.idle = false
		q.pending-- // was incremented before wake was sent
	}
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.pending++
	w.loss = q.loss
	return true
}

// slowly records that a worker begins or stops waiting for a replica.
func (q *batches[In, Out]) slowly(change int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slow += change
}

// rest makes a worker idle.
func (q *batches[In, Out]) rest(w *worker[In, Out]) {
	w.idle = true
	q.idle = append(q.idle, w)
}

// collect waits until a batch is full or the window has ended, and forms the batch. The worker must
// have a replica. If no calls wait, collect forms no batch. This happens after cancellations, or if
// another worker has already collected the calls. It also forms no batch if the context was lost
// after the worker began to wait for a replica. The replica is then of no use, and keeping it would
// prevent a restart.
func (q *batches[In, Out]) collect(w *worker[In, Out], replicas int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.replicas = max(q.replicas, replicas)
	w.since = q.clock.now()
	for now := w.since; q.loss == w.loss && q.waiting.len() > 0 && q.waiting.len() < q.n; now = q.clock.now() {
		wait := q.due(now)
		if wait <= 0 {
			break
		}
		if len(q.collecting) > 0 {
			q.pending--
			return
		}
		q.collecting = append(q.collecting, w)
		q.mu.Unlock()
		select {
		case <-w.timer.start(wait):
		case <-w.wake:
		}
		w.timer.stop()
		q.mu.Lock()
		if i := slices.Index(q.collecting, w); i >= 0 {
			q.collecting = slices.Delete(q.collecting, i, i+1)
		} else {
			select {
			case <-w.wake: // wake was sent after the timer had fired
			default:
			}
		}
	}
	if q.loss != w.loss {
		q.pending--
		return
	}
	q.form(w)
}

// formNone ends a worker's attempt to form a batch.
func (q *batches[In, Out]) formNone() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending--
}

// form forms a batch of the calls that go first.
func (q *batches[In, Out]) form(w *worker[In, Out]) {
	now := q.clock.now()
	for q.waiting.len() > 0 && len(w.members) < q.n {
		m := memberOf[In, Out](q.waiting.take())
		m.state, m.worker, m.row = staging, w, len(w.members)
		w.members = append(w.members, m)
		q.stats.Waited += now.Sub(m.came)
		if w.since.After(m.came) {
			q.stats.Window += now.Sub(w.since)
		} else {
			q.stats.Window += now.Sub(m.came)
		}
	}
	q.pending--
	if len(w.members) > 0 {
		w.running = true
		q.running++
	}
}

// stop records that a batch has ended. From now on, room counts the worker's replica.
func (q *batches[In, Out]) stop(w *worker[In, Out]) {
	if w.running {
		w.running = false
		q.running--
	}
}

// formFailed forms a batch for a worker that could not get a replica. Its calls will return the
// worker's error.
func (q *batches[In, Out]) formFailed(w *worker[In, Out]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.since = q.clock.now()
	q.form(w)
}

// drop ends each call of the batch that has an error in errs, and renumbers the remaining calls.
func (q *batches[In, Out]) drop(w *worker[In, Out], errs []error) {
	q.mu.Lock()
	kept := w.members[:0]
	var dropped []*member[In, Out]
	for i, m := range w.members {
		if errs[i] == nil {
			m.row = len(kept)
			kept = append(kept, m)
			continue
		}
		q.stats.Failed++
		m.err, m.state = errs[i], ended
		dropped = append(dropped, m)
	}
	clear(w.members[len(kept):])
	w.members = kept
	q.mu.Unlock()
	for _, m := range dropped {
		m.ready <- struct{}{}
	}
}

// launched records that the replica has read the inputs. Calls whose context has ended may return.
func (q *batches[In, Out]) launched(w *worker[In, Out]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := &q.stats.Sizes[w.size]
	size.Batches++
	size.Calls += uint64(len(w.members))
	q.stats.Padded += uint64(size.Size - len(w.members))
	kept := w.members[:0]
	for _, m := range w.members {
		if m.state != leaving {
			m.state = inFlight
			kept = append(kept, m)
			continue
		}
		q.stats.CancelledRunning++
		m.state = left
		m.ready <- struct{}{}
	}
	clear(w.members[len(kept):])
	w.members = kept
}

// deliver passes the output or the error of a batch to its calls. If it returns true, the worker
// must call await.
func (q *batches[In, Out]) deliver(w *worker[In, Out], out Out, err error) (using bool) {
	q.mu.Lock()
	kept := w.members[:0]
	for _, m := range w.members {
		if m.state == gone {
			q.recycle(m)
			continue
		}
		m.out, m.err, m.state = out, err, ended
		kept = append(kept, m)
	}
	clear(w.members[len(kept):])
	w.members = kept
	using = err == nil && len(kept) > 0
	if err == nil {
		q.stats.Calls += uint64(len(kept))
		w.using.Store(int32(len(kept)))
	} else {
		q.stats.Failed += uint64(len(kept))
	}
	if !using {
		q.stop(w)
	}
	q.mu.Unlock()
	for _, m := range kept {
		m.ready <- struct{}{} // a call that failed may recycle m after this
	}
	if !using {
		w.members = clearAll(w.members)
	}
	return using
}

// await waits until all calls of a batch have read the output.
func (q *batches[In, Out]) await(w *worker[In, Out]) {
	<-w.used
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range w.members {
		q.recycle(m) // recycled here, because the calls would compete for the lock
	}
	w.members = clearAll(w.members)
}

// clearAll clears a slice and returns it with length 0, so that its memory retains nothing.
func clearAll[T any](s []T) []T {
	clear(s)
	return s[:0]
}

// empty ends a batch whose calls have all been dropped.
func (q *batches[In, Out]) empty(w *worker[In, Out]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop(w)
}

// measured records the recent duration of a batch.
func (q *batches[In, Out]) measured(mean time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.MeanBatch = mean
}

// leave ends a call whose context has ended. If the batch has already ended, leave returns the
// call's normal result.
func (b *Batcher[In, Out]) leave(ctx context.Context, m *member[In, Out], use func(Out, int) error) error {
	q := &b.batches
	q.mu.Lock()
	switch m.state {
	case queued:
		q.waiting.remove(&m.waiter)
		q.stats.CancelledQueued++
		q.recycle(m)
		q.mu.Unlock()
		return fmt.Errorf("serve: while the call waited for its batch: %w", context.Cause(ctx))
	case inFlight:
		m.state = gone // the worker will recycle the member
		q.stats.CancelledRunning++
		q.mu.Unlock()
		return whileRunning(ctx)
	case staging:
		m.state = leaving
	}
	q.mu.Unlock()
	<-m.ready
	if m.state != left {
		return b.use(m, use)
	}
	q.release(m)
	return whileRunning(ctx)
}

func whileRunning(ctx context.Context) error {
	return fmt.Errorf("serve: while the call's batch was running: %w", context.Cause(ctx))
}

// use returns the error of a call's batch, or passes the output to the function that reads it.
func (b *Batcher[In, Out]) use(m *member[In, Out], use func(Out, int) error) error {
	q := &b.batches
	if err := m.err; err != nil {
		q.release(m)
		return err
	}
	defer q.finish(m) // runs even if use panics or calls runtime.Goexit
	if use != nil {
		if err := use(m.out, m.row); err != nil {
			return err
		}
	}
	q.latency.add(q.clock.now().Sub(m.came))
	return nil
}

// finish ends the use of a batch's output. If it was the last use and calls wait, the worker is on
// this processor's run queue. The worker must launch before this goroutine continues with the
// caller's code, because otherwise the replica could be idle until this goroutine blocks.
func (q *batches[In, Out]) finish(m *member[In, Out]) {
	if w := m.worker; w.using.Add(-1) == 0 && q.allUsed(w) {
		runtime.Gosched()
	}
}

// allUsed ends a batch after its last use. It reports whether a worker can now begin another batch.
func (q *batches[In, Out]) allUsed(w *worker[In, Out]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop(w)
	w.used <- struct{}{}
	return q.waiting.len() > 0
}

func (q *batches[In, Out]) release(m *member[In, Out]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.recycle(m)
}

func (q *batches[In, Out]) newMember() *member[In, Out] {
	m := q.spare
	if m == nil {
		m = new(member[In, Out])
		m.ready = make(chan struct{}, 1)
		m.call = m
		return m
	}
	q.spare = memberOf[In, Out](m.next)
	m.next = nil
	return m
}

// recycle keeps a member for reuse. Its channel must be empty.
func (q *batches[In, Out]) recycle(m *member[In, Out]) {
	var in In
	var out Out
	m.in, m.out, m.err, m.worker = in, out, nil, nil // release them for garbage collection
	m.next = nil
	if q.spare != nil {
		m.next = &q.spare.waiter
	}
	q.spare = m
}

// memberOf returns the member that contains the waiter, or nil.
func memberOf[In, Out any](w *waiter) *member[In, Out] {
	if w == nil {
		return nil
	}
	return w.call.(*member[In, Out])
}

// refuseWaiting ends all calls whose batch has not begun.
func (q *batches[In, Out]) refuseWaiting(err error, count *uint64) {
	for q.waiting.len() > 0 {
		m := memberOf[In, Out](q.waiting.take())
		*count++
		m.err, m.state = err, ended
		m.ready <- struct{}{}
	}
	q.wakeCollecting()
}

// lose ends all calls whose batch has not begun. Unless the Pool restarts, it also refuses all later
// calls. Several batches may report the same loss.
func (q *batches[In, Out]) lose(err *LostError) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.loss == err {
		return
	}
	q.loss = err
	if !err.Restarting {
		q.lost = err
	}
	q.refuseWaiting(err, &q.stats.Refused.Lost)
}

// close refuses all calls from now on, and wakes the workers, which then end.
func (q *batches[In, Out]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.refuseWaiting(errBatcherClosed, &q.stats.Refused.Closed)
	for _, w := range q.idle {
		q.pending++
		w.wake <- struct{}{}
	}
	q.idle = nil
}

func (q *batches[In, Out]) snapshot() BatchStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Sizes = slices.Clone(s.Sizes)
	s.Queued, s.Busy = q.waiting.len(), q.running
	var times Stats
	q.latency.to(&times)
	s.Latency, s.LatencySum = times.Latency, times.LatencySum
	return s
}
