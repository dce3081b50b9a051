package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// operation is a piece of device work. The same value runs in a stream and as a node of a graph, so
// it never changes once it can run. To change parameters, make a new one.
type operation interface {
	// run executes the operation on a stream's goroutine, without the
	// emulator's lock. A result other than success is a fault of the context.
	run(x *execution) result
}

// unconditional operations run even after a fault of the context.
type unconditional interface{ runsAfterFault() }

// execution is the environment of a running operation.
type execution struct {
	e      *Emulator
	ctx    *cudaContext
	stream *stream
	now    time.Duration // simulated
	order  *taskOrder    // of what runs; nil unless a check needs it
	made   *vm.Trace     // where the program submitted it; nil without checks
}

// dependency is work that must end first: a task of a stream.
type dependency struct {
	s     *stream
	seq   uint64
	order *taskOrder // of the task; nil unless a check needs it
}

// met reports whether the work has ended.
func (d dependency) met() bool { return d.s.done >= d.seq }

// wait makes the host wait for the work. The emulator's lock is held before and after.
func (d dependency) wait() {
	d.block()
	e := d.s.ctx.e
	e.hostReached(d.end())
	e.hostLearns(d)
}

// block waits for the work on a stream's goroutine, with the lock held.
func (d dependency) block() {
	for !d.met() {
		d.s.cond.Wait()
	}
}

// task is one entry of a stream's queue.
type task struct {
	op   operation // nil: only the dependencies matter
	deps []dependency
	// submitted is the host's simulated time.
	submitted time.Duration
	// order is for the checks that need it, nil otherwise.
	order *taskOrder
	made  *vm.Trace // where the program submitted it; nil without checks
}

// last returns the last task of the stream.
func (s *stream) last() dependency { return dependency{s, s.submitted, s.latest} }

// appendPending adds the stream's last task, if it has not ended.
func (s *stream) appendPending(deps []dependency) []dependency {
	if last := s.last(); !last.settled() {
		deps = append(deps, last)
	}
	return deps
}

// barrier lists what a task submitted to s now must wait for in addition to the order of s. The
// legacy stream waits for all blocking streams of its context, and they wait for it. The pending
// work of s itself comes last.
func (s *stream) barrier() []dependency {
	return s.appendPending(s.implicitDeps(nil))
}

func (s *stream) implicitDeps(deps []dependency) []dependency {
	switch {
	case s.isLegacy():
		for other := range s.ctx.streams {
			if other.blocking() {
				deps = other.appendPending(deps)
			}
		}
	case s.blocking():
		deps = s.ctx.legacy.appendPending(deps)
	}
	return deps
}

// enqueue appends work to the stream and returns the task.
func (s *stream) enqueue(op operation, deps ...dependency) dependency {
	e := s.ctx.e
	s.submitted++
	order := s.order(deps)
	if e.checks(CheckHostMemory) {
		e.depart(s.last(), op)
	}
	s.queue = append(s.queue, task{op, s.implicitDeps(deps), e.submitted(op), order, e.submittedAt(order)})
	if !s.running {
		s.running = true
		e.active++
		go s.work()
	}
	return s.last()
}

// submittedAt returns where the program submits work, for findings about it.
func (e *Emulator) submittedAt(order *taskOrder) *vm.Trace {
	switch {
	case order != nil:
		return order.made
	case e.cfg.Check != 0:
		return vm.Here()
	}
	return nil
}

// work is the stream's goroutine. It ends when the queue is empty.
func (s *stream) work() {
	e := s.ctx.e
	x := &execution{e: e, ctx: s.ctx, stream: s, now: s.now}
	e.mu.Lock()
	defer e.unlock()
	for head := 0; ; head++ {
		if head == len(s.queue) {
			s.queue = s.queue[:0]
			break
		}
		t := s.queue[head]
		s.queue[head] = task{}
		for _, d := range t.deps {
			d.block()
		}
		x.begin(&t)
		t.settle(s)
		x.order, x.made = t.order, t.made
		s.runTask(x, t.op)
		s.finish(x)
		s.done++
		if t.order != nil {
			s.reached, t.order.memo = t.order, nil
		}
		s.cond.Broadcast()
	}
	s.running = false
	if e.active--; e.active == 0 {
		e.idle.Broadcast()
	}
}

// runTask runs one operation, unless the context has a fault.
func (s *stream) runTask(x *execution, op operation) {
	if op == nil {
		return
	}
	if s.ctx.dev.fault != success || x.e.closed {
		if _, ok := op.(unconditional); !ok {
			return
		}
	}
	var r result
	x.e.unlocked(func() { r = op.run(x) })
	if r != success && s.ctx.dev.fault == success {
		s.ctx.dev.fault = r
	}
}
