package serve

import (
	"fmt"
	"time"
)

// Check returns an error if the Pool's admission is inconsistent.
func (p *Pool[In, Out]) Check() error { return p.a.check() }

// Check is like Pool.Check.
func (b *Batcher[In, Out]) Check() error { return b.p.Check() }

// check returns an error if the admission is inconsistent, such as if a call waits although nobody
// would wake it.
func (a *admission) check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	wrong := ""
	check := func(ok bool, what string) {
		if !ok && wrong == "" {
			wrong = what
		}
	}
	waiting := a.waiting.len()
	check(waiting <= a.bound, "the queue is above its bound")
	check(waiting == 0 || !a.closed, "calls wait although the pool is closed")
	check(waiting == 0 || a.busy > 0, "calls wait, but nothing is busy")
	if a.restarting {
		check(len(a.idle) == 0, "a replica is idle during a restart")
	} else {
		check(waiting == 0 || a.lost == nil, "calls wait although the context is lost")
		check(waiting == 0 || len(a.idle) == 0, "calls wait although a replica is idle")
		check(waiting == 0 || a.working > 0 || len(a.broken) == 0, "calls wait although one of them could create a replica again")
		working, out := 0, len(a.slots)-len(a.idle)-len(a.broken)
		for _, s := range a.slots {
			if !s.broken {
				working++
			}
		}
		if a.growing {
			out++
		}
		check(working == a.working, "the number of working replicas is wrong")
		check(out == a.busy, "the number of busy replicas is wrong")
	}
	select {
	case <-a.drained:
		check(a.closed && a.busy == 0, "the pool is drained although it is open or busy")
	default:
		check(!a.closed || a.busy > 0, "the pool is closed and idle, but Close waits")
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%s: %d slots, %d idle, %d broken, %d working, %d busy, growing %v, restarting %v, %d waiting of %d, closed %v, lost %v",
		wrong, len(a.slots), len(a.idle), len(a.broken), a.working, a.busy, a.growing, a.restarting, waiting, a.bound, a.closed, a.lost)
}

// SetMean replaces the measured time of a call.
func (p *Pool[In, Out]) SetMean(d time.Duration) {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.a.stats.MeanCall = d
}

// SetPause sets the time between failed attempts to create a replica.
func (p *Pool[In, Out]) SetPause(d time.Duration) {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.a.pause = d
}

// Claimed reports whether Prepare waits for a replica.
func (p *Pool[In, Out]) Claimed() bool {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	for _, s := range p.a.slots {
		if s.claim != nil {
			return true
		}
	}
	return false
}
