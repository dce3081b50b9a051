package serve

import (
	"slices"
	"sync"
	"time"
)

// FakeClock is a clock that moves only when Advance is called.
type FakeClock struct {
	mu     sync.Mutex
	time   time.Time
	timers []*fakeTimer // timers that have been started and have not fired
}

type fakeTimer struct {
	of  *FakeClock
	at  time.Time
	end chan time.Time
}

// WithClock makes a Batcher use a FakeClock.
func WithClock(c *FakeClock) Option { return func(o *options) { o.batch.clock = c } }

func (c *FakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

func (c *FakeClock) timer() timer { return &fakeTimer{of: c, end: make(chan time.Time, 1)} }

// Advance moves the clock and fires timers.
func (c *FakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
	c.timers = slices.DeleteFunc(c.timers, func(t *fakeTimer) bool {
		if t.at.After(c.time) {
			return false
		}
		t.end <- c.time
		return true
	})
}

// Left returns the remaining time of each running timer.
func (c *FakeClock) Left() (left []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.timers {
		left = append(left, t.at.Sub(c.time))
	}
	return left
}

func (t *fakeTimer) start(d time.Duration) <-chan time.Time {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.at = t.of.time.Add(d)
	t.of.timers = append(t.of.timers, t)
	return t.end
}

func (t *fakeTimer) stop() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.timers = slices.DeleteFunc(t.of.timers, func(o *fakeTimer) bool { return o == t })
	select {
	case <-t.end:
	default:
	}
}

// SetMean replaces the measured time of a batch.
func (b *Batcher[In, Out]) SetMean(d time.Duration) { b.batches.measured(d) }

// Idle returns the number of goroutines that wait for calls.
func (b *Batcher[In, Out]) Idle() int {
	b.batches.mu.Lock()
	defer b.batches.mu.Unlock()
	return len(b.batches.idle)
}
