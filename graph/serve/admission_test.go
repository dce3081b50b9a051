package serve

import (
	"context"
	"errors"
	"fmt"
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
			t.Fatal(err) // continuing would make the next wait block forever
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

// One slow call must not make WithDeadlines refuse many other calls.
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

// A LostError counts the other calls that were running. It counts neither Prepare, which runs no
// kernel of the recorded function, nor the creation of a replica.
func TestOthersAreTheCallsThatWereRunning(t *testing.T) {
	running := func(calls ...uint64) *admission {
		a := &admission{most: 9, drained: make(chan struct{})}
		for _, n := range calls {
			s := new(slot)
			a.slots = append(a.slots, s)
			a.working++
			a.use(s, n)
		}
		a.slots = append(a.slots, new(slot)) // an idle slot
		return a
	}
	for _, c := range []struct {
		what   string
		a      *admission
		failed uint64
		others int
	}{
		{"a call that runs alone", running(3), 3, 0},
		{"a call beside Prepare", running(0, 3), 3, 0},
		{"a call beside Prepare and two calls", running(3, 0, 4, 5), 3, 2},
		{"Prepare beside a call", running(3, 0), 0, 1},
		{"a call that creates a replica beside a call", running(3), 4, 1},
	} {
		if c.failed == 4 {
			c.a.growing = true
			c.a.busy++
		}
		if lost := c.a.lose(c.failed, context.Canceled, context.Canceled); lost.Others != c.others {
			t.Errorf("%s: %d others, want %d", c.what, lost.Others, c.others)
		}
	}
}

// The text of an error that Close returns is one line, however many objects could not be released.
// %+v prints all lines.
func TestErrorOfCloseIsShort(t *testing.T) {
	first, second, third := errors.New("stream 1: lost"), errors.New("event 2: lost"), errors.New("event 3: lost")
	for _, c := range []struct {
		errs        []error
		text, whole string
	}{
		{[]error{nil, nil}, "", ""},
		{[]error{nil, first}, "stream 1: lost", "stream 1: lost"},
		{[]error{first, second}, "stream 1: lost (and 1 more error; %+v prints all)", "stream 1: lost\nevent 2: lost"},
		{[]error{nil, errors.Join(first, second), third}, "stream 1: lost (and 2 more errors; %+v prints all)", "stream 1: lost\nevent 2: lost\nevent 3: lost"},
	} {
		err := closeErrors(c.errs)
		if err == nil {
			if c.text != "" {
				t.Errorf("no error instead of %q", c.text)
			}
			continue
		}
		if got := fmt.Sprintf("%v|%s|%q|%+v", err, err, err, err); got != fmt.Sprintf("%s|%[1]s|%[1]q|%s", c.text, c.whole) {
			t.Errorf("got %s", got)
		}
		for _, e := range c.errs {
			if e != nil && !errors.Is(err, e) {
				t.Errorf("%v is not %v", err, e)
			}
		}
		if !errors.Is(err, first) {
			t.Errorf("%v is not %v", err, first)
		}
	}
}
