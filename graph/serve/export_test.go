package serve

import "time"

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
