package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/clock"
)

// Simulated time, if Config.CostModel is set. Every task of a stream has a time at which it ends,
// and the host has a clock. The emulator's lock guards both.

// simulated reports whether time is simulated.
func (e *Emulator) simulated() bool { return e.cfg.CostModel != nil }

// SimulatedTime returns the host's clock under Config.CostModel: the time since New. Without a cost
// model it returns 0.
func (e *Emulator) SimulatedTime() time.Duration {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hostTime
}

// submitted advances the host's clock by the cost of submitting work, and returns the new time. A
// task that only waits costs nothing, because whether it exists depends on how fast this machine
// is.
func (e *Emulator) submitted(op operation) time.Duration {
	if e.simulated() && op != nil {
		e.hostTime += e.cfg.CostModel.Submit
	}
	return e.hostTime
}

// hostReached advances the host's clock to a time that it has waited for.
func (e *Emulator) hostReached(t time.Duration) { e.hostTime = max(e.hostTime, t) }

// end returns when the work ended in simulated time.
func (d dependency) end() time.Duration {
	if d.seq == 0 || d.seq > uint64(len(d.s.ends)) {
		return 0
	}
	return d.s.ends[d.seq-1]
}

// settled reports whether the work has ended and, in simulated time, ended before the host's
// current time. Otherwise later work may have to begin after it, although there is nothing to wait
// for.
func (d dependency) settled() bool { return d.met() && d.end() <= d.s.ctx.e.hostTime }

// begin sets the stream's clock to the time when a task begins.
func (x *execution) begin(t *task) {
	x.now = max(x.now, t.submitted)
	for _, d := range t.deps {
		x.now = max(x.now, d.end())
	}
}

// finish records when a task has ended.
func (s *stream) finish(x *execution) {
	if x.e.simulated() {
		s.ends = append(s.ends, x.now)
		s.now = x.now
	}
}

// spend advances the clock of the execution by the cost of something.
func (x *execution) spend(cost func(m *CostModel) time.Duration) {
	if m := x.e.cfg.CostModel; m != nil {
		x.now += cost(m)
	}
}

// time returns the time that an event records.
func (x *execution) time() time.Duration {
	if x.e.simulated() {
		return x.now
	}
	return clock.Now()
}

// timeline records when the steps of a plan end in one launch.
type timeline struct {
	x     *execution
	start time.Duration
	ends  []time.Duration
}

// timeline returns a new timeline, or nil without simulated time.
func (x *execution) timeline(p *plan) *timeline {
	if !x.e.simulated() {
		return nil
	}
	return &timeline{x, x.now, make([]time.Duration, len(p.steps))}
}

// begin sets the clock to the time when a step can begin.
func (t *timeline) begin(s *step) {
	if t == nil {
		return
	}
	t.x.now = t.start
	for _, d := range s.deps {
		t.x.now = max(t.x.now, t.ends[d.step])
	}
}

// end records when step i has ended.
func (t *timeline) end(i int) {
	if t != nil {
		t.ends[i] = t.x.now
	}
}

// close sets the clock to the time when all steps have ended.
func (t *timeline) close() {
	if t == nil {
		return
	}
	t.x.now = t.start
	for _, end := range t.ends {
		t.x.now = max(t.x.now, end)
	}
}
