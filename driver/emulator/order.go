package emulator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/purecuda/cuda/driver/emulator/internal/order"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Reaches implements order.Steps. It visits each step between the two only once, because a graph
// may have many more paths than steps.
func (p *plan) Reaches(from, to int) bool {
	if from >= to {
		return from == to
	}
	earlier := make([]bool, to-from+1) // earlier[i] is set if step from+i is to or precedes to
	earlier[to-from] = true
	for i := to; i > from; i-- {
		if !earlier[i-from] {
			continue
		}
		for _, d := range p.steps[i].deps {
			if d.step >= from {
				earlier[d.step-from] = true
			}
		}
	}
	return earlier[0]
}

// order creates the order.Task for the stream's next task. The caller must hold e.mu.
func (s *stream) order(deps []dependency) *order.Task {
	e := s.ctx.e
	if !e.checks(ordering) {
		return nil
	}
	s.learn(s.before()...)
	s.learn(deps...)
	s.known.Join(e.hostKnows)
	if s.shortened != e.retirements {
		s.shortened = e.retirements
		s.known.Shorten()
		s.late.Shorten()
	}
	t := order.New(s.lane, s.submitted, s.known, e.hostNodes, vm.Here())
	s.known[s.lane] = s.submitted
	s.latest = t
	return t
}

// before returns the last tasks of the streams that s is implicitly ordered after, whether or not
// they have ended.
func (s *stream) before() []dependency {
	var deps []dependency
	switch {
	case s.isLegacy():
		for other := range s.ctx.streams {
			if other.blocking() {
				deps = append(deps, other.last())
			}
		}
	case s.blocking():
		deps = append(deps, s.ctx.legacy.last())
	}
	return deps
}

// learn orders the given tasks before all later tasks of the stream.
func (s *stream) learn(deps ...dependency) {
	if !s.ctx.e.checks(ordering) {
		return
	}
	if s.known == nil {
		s.known = order.Progress{}
	}
	for _, d := range deps {
		s.known.Join(d.progress())
		if d.order != nil {
			s.shortened = 0 // d may have listed streams that retired after the last shortening
		}
	}
}

// progress returns everything that has ended by the time the task has ended.
func (d dependency) progress() order.Progress {
	p := order.Progress{d.s.lane: d.seq}
	if d.order != nil {
		p.Join(d.order.Known())
	}
	return p
}

// hostWaitedFor records that the host has waited for tasks. Any access by the host to the memory of
// a copy among those tasks was too early if it came before this call.
func (e *Emulator) hostWaitedFor(deps ...dependency) {
	if !e.checks(ordering) {
		return
	}
	for _, d := range deps {
		e.hostKnows.Join(d.progress())
	}
	e.hostAdvanced()
}

// hostAdvanced updates all state that depends on hostKnows.
func (e *Emulator) hostAdvanced() {
	e.hostKnows.Shorten()
	e.endFlights(e.hostKnows)
	known := func(n *order.Task) bool { return n.KnownTo(e.hostKnows) }
	if slices.ContainsFunc(e.hostNodes, known) {
		e.hostNodes = slices.DeleteFunc(slices.Clone(e.hostNodes), known) // existing tasks refer to the old list
	}
	e.leavingStreams = slices.DeleteFunc(e.leavingStreams, func(s *stream) bool {
		if !e.hostKnows.Has(s.lane, s.submitted) {
			return false
		}
		e.retire(s)
		return true
	})
}

// retire removes a destroyed stream from the order. The host must know that the stream's work has
// ended.
func (e *Emulator) retire(s *stream) {
	e.retirements++
	e.hostKnows.Retire(s.lane, e.retirements)
}

// leaveOrder keeps the work of a stream that is being destroyed until the host knows that the work
// has ended.
func (s *stream) leaveOrder() {
	e := s.ctx.e
	s.ctx.forgetEnded()
	if !e.checks(ordering) {
		s.ctx.leftWork = s.appendPending(s.ctx.leftWork)
		return
	}
	s.ctx.leftWork = append(s.ctx.leftWork, s.last())
	e.leavingStreams = append(e.leavingStreams, s)
	e.hostAdvanced()
}

// knownToHost reports whether the host knows that the work has ended. If no check needs the order,
// it always returns true.
func (d dependency) knownToHost() bool {
	e := d.s.ctx.e
	return !e.checks(ordering) || e.hostKnows.Has(d.s.lane, d.seq)
}

// hostOrder returns the order.Task for a synchronous copy, which runs on the host.
func (e *Emulator) hostOrder() *order.Task {
	if !e.checks(ordering) {
		return nil
	}
	return e.hostKnows.HostCopy(e.hostNodes, vm.Here())
}

// signal stores, for a semaphore or a word of memory, all work that precedes the running operation.
// The operation then releases the waiters.
func (x *execution) signal(at any) {
	if x.order == nil {
		return
	}
	x.e.mu.Lock()
	defer x.e.unlock()
	p := x.order.Ended()
	x.e.signalVisible(at, p)
	p.Join(x.e.signals[at])
	p.Shorten()
	if x.e.signals == nil {
		x.e.signals = make(map[any]order.Progress)
	}
	x.e.signals[at] = p
}

// dropSignals discards the signals stored for words in memory that is being freed.
func (e *Emulator) dropSignals(addr, size uint64) {
	maps.DeleteFunc(e.signals, func(at any, _ order.Progress) bool {
		word, ok := at.(uint64)
		return ok && word-addr < size
	})
}

// signalVisible ends the flights of copies that precede a signal for which the host may poll. It
// does not update hostKnows, because the host may not have polled yet.
func (e *Emulator) signalVisible(at any, p order.Progress) {
	if addr, ok := at.(uint64); !ok || e.isHostMemory(addr) {
		e.endFlights(p)
	}
}

// awaited orders the running operation after the signal that it waited for. The signal may have
// come from the host or a kernel, so the operation is also ordered after all work that has ended.
func (x *execution) awaited(at any) {
	if x.order == nil {
		return
	}
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	x.learned(x.e.signals[at])
	for s := range x.ctx.streams {
		if s.done > 0 {
			x.learned(dependency{s, s.done, s.reached}.progress())
		}
	}
}

// learned orders p before the rest of the running task and before later tasks in its stream.
func (x *execution) learned(p order.Progress) {
	x.order.Learn(p)
	x.stream.known.Join(p)
	x.stream.learnLate(p)
}

func (s *stream) learnLate(p order.Progress) {
	if s.late == nil {
		s.late = order.Progress{}
	}
	s.late.Join(p)
}

// completeOrder adds, when a task begins, the dependencies that were unknown when it was submitted.
func (t *task) completeOrder(s *stream) {
	if t.order == nil {
		return
	}
	for _, d := range t.deps {
		s.learnLate(d.progress()) // the progress includes what d learned while it ran
	}
	t.order.Learn(s.late)
}

// hostKnows records that the host has learned how far the stream has progressed. In a host function
// of a graph, the host learns only that the preceding nodes have ended.
func (x *execution) hostKnows() {
	if x.order == nil {
		return
	}
	e := x.e
	e.mu.Lock()
	defer e.unlock()
	if !x.order.InGraph() {
		e.hostWaitedFor(dependency{x.stream, x.order.Number(), x.order})
		return
	}
	e.hostKnows.Join(x.order.Known())
	e.hostNodes = append(slices.Clip(e.hostNodes), x.order)
	e.hostAdvanced()
}

// learn orders the running task after a task that it waited for. The caller must hold e.mu.
func (x *execution) learn(d dependency) {
	if x.order != nil {
		x.learned(d.progress())
	}
}

// checkRace checks whether a copy's or fill's access to device memory races with another access.
func (e *Emulator) checkRace(order *order.Task, what string, addr, n uint64, write bool) {
	if order == nil || !e.checks(CheckGlobalRaces) {
		return
	}
	made := order.Made().String()
	if made != "" {
		what += ", submitted at " + made
	}
	if report := e.mem.Touch(addr, n, write, order, what); report != "" {
		e.findPlain(kindRace, what+fmt.Sprint(addr), report, made)
	}
}

func (e *Emulator) checkRaces(order *order.Task, what string, p *transfer.Side, n transfer.Extent, write bool) {
	if p.Host != nil || p.Staged != nil || order == nil {
		return
	}
	for z := range n.Depth {
		for y := range n.Height {
			e.checkRace(order, what, p.Addr+p.Offset(y, z), n.Width, write)
		}
	}
}

// copied runs the checks for a copy that has ended.
func (e *Emulator) copied(order *order.Task, dst, src *transfer.Side, n transfer.Extent) {
	if !e.checks(CheckGlobalRaces | CheckUninitialized) {
		return
	}
	what := fmt.Sprintf("a copy of %d bytes", n.Bytes())
	e.checkRaces(order, what, src, n, false)
	e.checkRaces(order, what, dst, n, true)
	if dst.Host != nil || dst.Staged != nil {
		return
	}
	for z := range n.Depth {
		for y := range n.Height {
			to := dst.Addr + dst.Offset(y, z)
			if src.Host != nil || src.Staged != nil {
				e.mem.Written(to, n.Width)
				continue
			}
			e.mem.WrittenFrom(to, src.Addr+src.Offset(y, z), n.Width)
		}
	}
}

// written runs the checks for a completed fill, or another write by the driver.
func (e *Emulator) written(order *order.Task, what string, addr, n uint64) {
	e.checkRace(order, what, addr, n, true)
	e.mem.Written(addr, n)
}
