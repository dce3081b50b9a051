package serve

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// If a waiter is cancelled while a replica is being granted to it, it must pass the replica on. The
// waiter must then be reusable.
func TestCancelledWaiterPassesItsReplicaOn(t *testing.T) {
	for range 200 { // a select with two ready cases chooses at random
		a := &admission{bound: 2, slots: []*slot{{}}, working: 1, drained: make(chan struct{})}
		a.idle = append(a.idle, a.slots[0])
		arrive := func() arrival {
			to, err := a.admit(context.Background(), new(ticket))
			if err != nil {
				t.Fatal(err)
			}
			return to
		}
		holder, cancelled, next := arrive(), arrive(), arrive()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a.put(holder.slot) // grants the slot to the cancelled waiter
		if err := a.check(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.await(ctx, cancelled.waiter); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := a.check(); err != nil {
			t.Fatal(err) // the next wait would not end
		}
		s, err := a.await(context.Background(), next.waiter)
		if err != nil || s != a.slots[0] {
			t.Fatalf("the next waiter got %v, %v", s, err)
		}
		if a.spare != cancelled.waiter || len(a.spare.ready) != 0 || a.spare.granted != nil {
			t.Fatal("the waiter is not reusable")
		}
		a.put(s)
		if st := a.snapshot(); st.Busy != 0 || len(a.idle) != 1 || st.CancelledQueued != 1 {
			t.Fatalf("left: %+v", st)
		}
	}
}

// One slow call must not make WithDeadlines refuse many others.
func TestMeanFollowsTheTimeOfCalls(t *testing.T) {
	a := new(admission)
	for _, c := range []struct{ took, mean time.Duration }{{8000, 8000}, {16000, 9000}, {time.Hour, 16875}, {8875, 15875}} {
		if a.measure(c.took); a.stats.MeanCall != c.mean {
			t.Errorf("after %v the mean is %v, want %v", c.took, a.stats.MeanCall, c.mean)
		}
	}
}

func TestLatencyIsCountedInBuckets(t *testing.T) {
	var l latency
	for _, took := range []time.Duration{0, 50 * us, 50*us + 1, 10 * time.Second, time.Hour} {
		l.add(took)
	}
	var s Stats
	l.to(&s)
	for i, b := range s.Latency {
		want := map[time.Duration]uint64{50 * us: 2, 100 * us: 1, 10 * time.Second: 1, math.MaxInt64: 1}[b.Most]
		if b.Calls != want || i > 0 && b.Most <= s.Latency[i-1].Most {
			t.Errorf("bucket %d has %d calls of at most %v, want %d", i, b.Calls, b.Most, want)
		}
	}
	if want := time.Hour + 10*time.Second + 100*us + 1; s.LatencySum != want {
		t.Errorf("the sum is %v, want %v", s.LatencySum, want)
	}
}
