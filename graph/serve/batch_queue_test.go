package serve

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// collector returns a Batcher without replicas, for batches of two calls, and a worker that was
// woken for a waiting call.
func collector(t *testing.T) (*Batcher[int, int], *worker[int, int]) {
	t.Helper()
	b := new(Batcher[int, int])
	b.batches.prepare(options{replicas: 1, queue: 10, batch: batching{most: 2, window: math.MaxInt64, clock: new(FakeClock)}}, []int{2})
	enter(t, b)
	w := b.newWorker()
	if !b.batches.next(w) {
		t.Fatal("the worker ended")
	}
	return b, w
}

func enter(t *testing.T, b *Batcher[int, int]) {
	t.Helper()
	if _, err := b.batches.enter(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
}

// The context is lost while a worker waits for a replica. Calls that arrive later must not run on
// that replica, but wait for the restart.
func TestLossWhileAWorkerWaitsForAReplica(t *testing.T) {
	b, w := collector(t)
	q := &b.batches
	lost := &LostError{Restarting: true}
	q.lose(lost)
	enter(t, b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.collect(w, 1)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the worker keeps its replica for the window")
	}
	enter(t, b)
	if s := q.snapshot(); len(w.members) != 0 || s.Queued != 2 || s.Refused.Lost != 1 || q.pending != 0 {
		t.Errorf("%d calls in the batch, pending %d, did %+v", len(w.members), q.pending, s)
	}
	if !q.next(w) {
		t.Fatal("the worker ended")
	}
	b.noReplica(w, lost) // comes too late, and must not end the calls that wait for the restart
	if s := q.snapshot(); s.Queued != 2 || s.Failed != 0 || s.Refused.Lost != 1 || q.pending != 0 {
		t.Errorf("pending %d, did %+v", q.pending, s)
	}
	if !q.next(w) {
		t.Fatal("the worker ended")
	}
	if q.collect(w, 1); len(w.members) != 2 {
		t.Errorf("%d calls in the batch after the restart", len(w.members))
	}
}

// A worker that waits for the end of a window must be woken once. A second value for its channel
// would block the next call, which holds the lock.
func TestFullBatchWakesTheWorkerOnce(t *testing.T) {
	b, w := collector(t)
	q := &b.batches
	q.collecting = append(q.collecting, w) // collect also does this before it waits for w.wake
	enter(t, b)
	if len(w.wake) != 1 || len(q.collecting) != 0 {
		t.Fatalf("%d values, %d workers that collect", len(w.wake), len(q.collecting))
	}
	enter(t, b)
}

// A program may set the window to the longest possible duration, so that batches are always full.
// Every deadline is then too near for a call that would begin a batch. The estimate must not
// overflow.
func TestEstimatesDoNotOverflow(t *testing.T) {
	b, w := collector(t)
	q := &b.batches
	q.formFailed(w)
	q.deadlines, q.replicas = true, 2
	q.measured(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	if _, err := q.enter(ctx, 1, 0); !errors.Is(err, ErrTooLate) {
		t.Errorf("got %v", err)
	}
	const longest = time.Duration(math.MaxInt64)
	if got := sum(longest, 1); got != longest {
		t.Errorf("the sum is %v", got)
	}
	if got := sum(longest-1, 1); got != longest {
		t.Errorf("the sum is %v", got)
	}
	if got := untilFree(longest, 1, 1); got < longest/4 {
		t.Errorf("a replica becomes free in %v", got)
	}
	if got := untilFree(time.Hour, 5, 3); got != 2*time.Hour {
		t.Errorf("a replica becomes free in %v", got)
	}
}

// A call whose context ends while its batch is staged returns the error of the batch if the batch
// fails.
func TestCallThatLeavesABatchThatFails(t *testing.T) {
	b, w := collector(t)
	q := &b.batches
	m := memberOf[int, int](q.waiting.oldest)
	q.formFailed(w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left := make(chan error, 1)
	go func() { left <- b.leave(ctx, m, nil) }()
	is := func() state {
		q.mu.Lock()
		defer q.mu.Unlock()
		return m.state
	}
	for is() != leaving {
		time.Sleep(time.Millisecond)
	}
	mine := errors.New("mine")
	b.fail(w, mine)
	if err := <-left; err != mine {
		t.Errorf("got %v", err)
	}
	if s := q.snapshot(); s.Failed != 1 || s.CancelledRunning != 0 || s.Busy != 0 {
		t.Errorf("did %+v", s)
	}
}
