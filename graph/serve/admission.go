package serve

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
)

// admission decides which call uses which replica, without any knowledge of what a replica does.
//
// While calls wait, no usable replica is idle, and at least one replica is busy. The call that
// returns the busy replica hands it to the next waiter, so no wake-up can be lost.
type admission struct {
	mu        sync.Mutex
	bound     int // maximum length of the queue
	most      int // maximum number of replicas after growth
	deadlines bool

	slots   []*slot
	idle    []*slot // usable slots; the last one is used next
	broken  []*slot // idle slots whose replica must be created again before use
	working int     // slots that are not broken, idle or busy
	busy    int     // slots in use, and the slot that is being created
	growing bool
	retry   time.Time     // earliest time to create a replica, unless none works
	pause   time.Duration // time between attempts to create a replica

	waiting   queue
	spare     *waiter // waiters that can be reused
	arrived   uint64  // number of the last waiter that arrived
	finishing *slot   // slot whose grant finish announces; nil outside finish

	closed bool
	lost   *LostError

	restart    func()        // replaces the context; nil without WithRestart
	restarting bool          // true from the loss of the context until restart has ended
	replacing  bool          // restart is running; the restart counts as one in busy
	apart      time.Duration // minimum time between restarts
	restarted  time.Time     // time when the last restart ended

	drained chan struct{} // closed when the pool is closed and nothing is busy

	stats Stats
	past  callable.Stats // counts of closed Callables
}

// slot is one replica. Its fields belong to the call that uses the slot. While the slot is idle,
// the admission's lock protects them.
type slot struct {
	replica any
	counts  func() callable.Stats // counts of the replica's Callable, nil if it has none; guarded by the admission's lock
	broken  bool
	call    uint64    // number of the call that uses the slot, 0 for Prepare
	since   time.Time // time when that call got the slot; zero while the slot is idle
	held    *waiter   // the waiter that was granted the slot; reused when the slot is returned
	claim   *waiter   // Prepare's waiter, which is granted the slot before any call
}

// ticket is an arriving call.
type ticket struct {
	priority int
	number   uint64
	tried    bool // has already failed to create a replica
}

// arrival is what an arriving call must do: use or repair a slot, create a new replica, or wait.
type arrival struct {
	slot   *slot
	waiter *waiter
}

// admit finds a place for a call. If both fields of the arrival are nil, the caller must create a
// new replica.
func (a *admission) admit(ctx context.Context, t *ticket) (arrival, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.number == 0 {
		a.arrived++
		t.number = a.arrived
	}
	if err := a.refusal(); err != nil {
		return arrival{}, err
	}
	if err := a.late(ctx, t.priority); err != nil {
		return arrival{}, err
	}
	if s := pop(&a.idle); s != nil {
		a.use(s, t.number)
		return arrival{slot: s}, nil
	}
	if len(a.broken) > 0 && !a.restarting && (a.working == 0 || a.mayCreate(t)) {
		t.tried = true
		s := pop(&a.broken)
		a.use(s, t.number)
		return arrival{slot: s}, nil
	}
	full := a.waiting.len() >= a.bound
	if len(a.slots) < a.most && !a.growing && !a.restarting && (full || a.waiting.len() > 0) && a.mayCreate(t) {
		t.tried = true
		a.growing = true
		a.busy++
		return arrival{}, nil
	}
	if full {
		a.stats.Refused.Busy++
		return arrival{}, &BusyError{a.waiting.len(), len(a.slots)}
	}
	w := a.newWaiter(t)
	a.enqueue(w)
	return arrival{waiter: w}, nil
}

// mayCreate reports whether an arriving call may try to create a replica now.
func (a *admission) mayCreate(t *ticket) bool { return !t.tried && !time.Now().Before(a.retry) }

// refusal returns an error if the Pool can no longer serve calls.
func (a *admission) refusal() error {
	switch {
	case a.closed:
		a.stats.Refused.Closed++
		return errClosed
	case a.lost != nil && !a.restarting:
		a.stats.Refused.Lost++
		return a.lost
	}
	return nil
}

var errClosed = fmt.Errorf("serve: the pool: %w", driver.ErrClosed)

// late returns an error for a call that cannot end before its deadline.
func (a *admission) late(ctx context.Context, priority int) error {
	if !a.deadlines || ctx == nil || a.busy == 0 || a.stats.MeanCall == 0 {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	left, needed, ahead := time.Until(deadline), a.stats.MeanCall, 0
	if len(a.idle) == 0 {
		ahead = a.waiting.ahead(priority)
		needed = sum(needed, untilFree(a.stats.MeanCall, ahead, a.working))
	}
	if needed <= left {
		return nil
	}
	a.stats.Refused.TooLate++
	return &tooLate{left, needed, ahead}
}

// untilFree estimates the time until a replica becomes free for a call or a batch that has ahead
// others in front of it. On average, one of the replicas becomes free every mean/replicas.
func untilFree(mean time.Duration, ahead, replicas int) time.Duration {
	// Integers could overflow. A conversion of 1<<63 is not portable.
	return time.Duration(min(float64(mean)*float64(ahead+1)/float64(max(1, replicas)), 1<<62))
}

// sum adds durations that are not negative. It returns the longest duration instead of overflowing.
func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func pop(list *[]*slot) *slot {
	n := len(*list)
	if n == 0 {
		return nil
	}
	s := (*list)[n-1]
	(*list)[n-1] = nil
	*list = (*list)[:n-1]
	return s
}

func (a *admission) use(s *slot, call uint64) {
	a.busy++
	s.call, s.since = call, time.Now()
}

func (a *admission) newWaiter(t *ticket) *waiter {
	w := a.spare
	if w == nil {
		w = &waiter{ready: make(chan struct{}, 1)}
	} else {
		a.spare = w.next
	}
	w.priority, w.number, w.granted, w.err, w.next, w.at = t.priority, t.number, nil, nil, nil, -1
	return w
}

// recycle keeps a waiter for reuse. Nothing may be in its channel.
func (a *admission) recycle(w *waiter) {
	if w != nil {
		w.granted = nil
		w.next, a.spare = a.spare, w
	}
}

func (a *admission) enqueue(w *waiter) {
	a.waiting.add(w)
	a.dispatch()
	a.stats.MostQueued = max(a.stats.MostQueued, a.waiting.len())
}

// dispatch grants idle replicas to waiters. If no replica works, the next waiter gets a broken one
// and must create it again.
func (a *admission) dispatch() {
	for a.waiting.len() > 0 && !a.restarting {
		s := pop(&a.idle)
		if s == nil && a.working == 0 {
			s = pop(&a.broken)
		}
		if s == nil {
			return
		}
		w := a.waiting.take()
		a.use(s, w.number)
		a.grant(w, s)
	}
}

func (a *admission) grant(w *waiter, s *slot) {
	w.granted, s.held = s, w
	if s != a.finishing {
		w.ready <- struct{}{}
	}
}

// await waits until a replica is granted. If ctx has ended, await passes on any replica that was
// granted at the same moment.
func (a *admission) await(ctx context.Context, w *waiter) (*slot, error) {
	var ended <-chan struct{}
	if ctx != nil {
		ended = ctx.Done()
	}
	select {
	case <-w.ready:
		if w.err == nil && (ctx == nil || ctx.Err() == nil) {
			return w.granted, nil
		}
		return nil, a.leave(ctx, w)
	case <-ended:
	}
	a.mu.Lock()
	queued := w.at >= 0
	if queued {
		a.waiting.remove(w)
	}
	a.mu.Unlock()
	if !queued {
		<-w.ready // already sent, or about to be sent
	}
	return nil, a.leave(ctx, w)
}

// leave ends a wait without a call.
func (a *admission) leave(ctx context.Context, w *waiter) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := w.err
	if err == nil {
		a.stats.CancelledQueued++
		err = fmt.Errorf("serve: while the call waited for a replica: %w", context.Cause(ctx))
	}
	if s := w.granted; s != nil {
		a.giveBack(s) // recycles the waiter
	} else {
		a.recycle(w)
	}
	return err
}

// put gives a slot back after a call has used it.
func (a *admission) put(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.giveBack(s)
}

func (a *admission) giveBack(s *slot) {
	a.recycle(s.held)
	s.held = nil
	s.since = time.Time{}
	switch {
	case a.restarting:
		if !s.broken {
			s.broken = true
			a.working--
		}
		a.broken = append(a.broken, s)
	case s.claim != nil:
		w := s.claim
		s.claim = nil
		s.call, s.since = 0, time.Now()
		a.grant(w, s) // the slot remains busy
		return
	case s.broken:
		a.broken = append(a.broken, s)
	default:
		a.idle = append(a.idle, s)
	}
	a.busy--
	a.dispatch()
	a.checkDrained()
}

func (a *admission) checkDrained() {
	switch {
	case a.busy > 0:
	case a.closed:
		select {
		case <-a.drained:
		default:
			close(a.drained)
		}
	case a.restarting:
		a.busy++ // endRestart decrements busy
		a.replacing = true
		go a.restart()
	}
}

// broke marks a busy slot as unusable until it is created again.
func (a *admission) broke(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !s.broken {
		s.broken = true
		a.working--
	}
}

// repaired marks a busy slot as usable again.
func (a *admission) repaired(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.broken = false
	a.working++
	a.stats.Rebuilt++
}

// noRepair records that a replica could not be created again.
func (a *admission) noRepair(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failedBuild(err)
}

// works reports whether calls can be served without creating a replica.
func (a *admission) works() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.working > 0 && a.lost == nil
}

func (a *admission) failedBuild(err error) {
	a.retry = time.Now().Add(a.pause)
	a.stats.BuildsFailed++
	a.stats.BuildError = err
}

// notGrown ends a growth without a new replica. err is nil if there is not enough memory.
func (a *admission) notGrown(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failedBuild(err)
	} else {
		a.retry = time.Now().Add(a.pause)
	}
	a.growing = false
	a.busy--
	a.checkDrained()
}

// grown adds the replica that an arriving call has created, and makes it idle. grown calls current
// with the lock held. current must report whether the replica is up to date. The call becomes a
// waiter, so that calls that arrived earlier go first. The queue never exceeds its bound, because a
// waiter leaves the queue immediately.
func (a *admission) grown(t *ticket, s *slot, current func() bool) (w *waiter, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !current() {
		return nil, false, nil
	}
	a.slots = append(a.slots, s)
	a.working++
	a.stats.Grown++
	a.growing = false
	if err := a.over(); err != nil {
		a.giveBack(s)
		return nil, true, err
	}
	a.idle = append(a.idle, s)
	a.busy--
	w = a.newWaiter(t)
	a.enqueue(w)
	return w, true, nil
}

// rejoin makes an arriving call wait after it has repaired a slot, so that calls that arrived
// earlier go first.
func (a *admission) rejoin(t *ticket, s *slot) (*waiter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.over(); err != nil {
		a.giveBack(s)
		return nil, err
	}
	w := a.newWaiter(t)
	a.waiting.add(w)
	a.idle = append(a.idle, s) // dispatch grants the slot immediately, so that the queue does not exceed its bound
	a.busy--
	a.dispatch()
	a.stats.MostQueued = max(a.stats.MostQueued, a.waiting.len())
	return w, nil
}

// claim waits until slot i is idle and then takes it, ahead of all waiting calls. It returns nil if
// there is no slot i.
func (a *admission) claim(i int) (*slot, error) {
	a.mu.Lock()
	if err := a.refusal(); err != nil || i >= len(a.slots) {
		a.mu.Unlock()
		return nil, err
	}
	s := a.slots[i]
	if !a.restarting && (remove(&a.idle, s) || remove(&a.broken, s)) {
		a.use(s, 0)
		a.mu.Unlock()
		return s, nil
	}
	w := a.newWaiter(new(ticket))
	s.claim = w
	a.mu.Unlock()
	<-w.ready
	if err := w.err; err != nil {
		a.mu.Lock()
		a.recycle(w)
		a.mu.Unlock()
		return nil, err
	}
	return s, nil
}

func remove(list *[]*slot, s *slot) bool {
	for i, o := range *list {
		if o == s {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}

// refuseWaiters ends all waits with an error.
func (a *admission) refuseWaiters(err error, count *uint64) {
	for a.waiting.len() > 0 {
		w := a.waiting.take()
		*count++
		w.err = err
		w.ready <- struct{}{}
	}
	for _, s := range a.slots {
		if w := s.claim; w != nil {
			s.claim = nil
			w.err = err
			w.ready <- struct{}{}
		}
	}
}

// lose ends all waits and refuses all calls from now on. It returns the error for all of them.
func (a *admission) lose(call uint64, err, state error) *LostError {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost == nil {
		a.lost = &LostError{Call: call, Others: a.othersRunning(call), Err: err, state: state}
		a.planRestart()
		a.stats.LastLoss = a.lost
		a.refuseWaiters(a.lost, &a.stats.Refused.Lost)
	}
	return a.lost
}

func (a *admission) isLost() *LostError {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// close refuses all calls from now on, and waits until nothing is busy. first is true on the first
// call.
func (a *admission) close() (first bool) {
	a.mu.Lock()
	first = !a.closed
	if first {
		a.closed = true
		a.refuseWaiters(errClosed, &a.stats.Refused.Closed)
		a.checkDrained()
	}
	a.mu.Unlock()
	<-a.drained
	return first
}

// finish returns a slot after a successful call. took is the time for which the call occupied the
// slot. finish reports whether another call now uses the slot.
//
// Waking a goroutine can take several microseconds, because it may start a thread. finish therefore
// does it after it has released the lock.
func (a *admission) finish(s *slot, took time.Duration) (granted bool) {
	a.mu.Lock()
	a.measure(max(1, took))
	a.finishing = s
	a.giveBack(s)
	a.finishing = nil
	w := s.held
	a.mu.Unlock()
	if w != nil {
		w.ready <- struct{}{}
	}
	return w != nil
}

func (a *admission) measure(took time.Duration) {
	a.stats.Calls++
	mean := &a.stats.MeanCall
	if *mean == 0 {
		*mean = took
		return
	}
	took = min(took, 8**mean) // one slow call, such as one that records, must not make WithDeadlines refuse many calls
	*mean += (took - *mean) / 8
}

func (a *admission) count(n *uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*n++
}

func (a *admission) snapshot() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Replicas, s.Busy, s.Queued = len(a.slots), a.inUse(), a.waiting.len()
	s.add(a.past)
	for _, slot := range a.slots {
		if !slot.since.IsZero() {
			s.Longest = max(s.Longest, time.Since(slot.since))
		}
		if slot.counts != nil {
			s.add(slot.counts())
		}
	}
	return s
}

// inUse returns the number of busy slots. It does not count a slot that is being created.
func (a *admission) inUse() int {
	n := a.busy
	if a.growing {
		n--
	}
	if a.replacing {
		n--
	}
	return n
}

// othersRunning returns the number of calls in progress, not counting the given call and Prepare.
func (a *admission) othersRunning(call uint64) int {
	n := 0
	for _, s := range a.slots {
		if !s.since.IsZero() && s.call != 0 && s.call != call {
			n++
		}
	}
	return n
}
