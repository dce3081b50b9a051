package emulator

import (
	"fmt"
	"maps"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// What is ordered before what, for the checks that ask: a vector clock over
// the streams and the host. It follows what the program makes sure of, not
// what happens to have ended, so that a race is found whatever the timing was.
// All host threads count as one.

// progress is the last task of each stream, by the stream's id, that comes
// before something. hostID stands for the host's own copies.
type progress map[uint64]uint64

const hostID = 0

func (p progress) join(o progress) {
	for s, seq := range o {
		p[s] = max(p[s], seq)
	}
}

// taskOrder is a task's place in the order; for a node of a graph, also in
// that graph's launch.
type taskOrder struct {
	stream, seq uint64
	before      progress
	made        *vm.Trace

	plan  *plan
	round uint64 // of the execution of the plan
	step  int
	memo  map[*taskOrder]bool
}

// After implements vm.Order.
func (t *taskOrder) After(earlier vm.Order) bool {
	p := earlier.(*taskOrder)
	known, ok := t.memo[p]
	if !ok {
		known = t.after(p)
		if t.memo == nil {
			t.memo = make(map[*taskOrder]bool)
		}
		t.memo[p] = known
	}
	return known
}

func (t *taskOrder) after(p *taskOrder) bool {
	switch {
	case t.stream != p.stream || t.seq != p.seq:
		return t.before[p.stream] >= p.seq
	case t.plan == nil || t.plan != p.plan || t.round != p.round:
		return true
	}
	return t.plan.reaches(p.step, t.step)
}

// reaches reports whether a step comes before a later one by the edges.
func (p *plan) reaches(from, to int) bool {
	if from >= to {
		return from == to
	}
	for _, d := range p.steps[to].deps {
		if p.reaches(from, d.step) {
			return true
		}
	}
	return false
}

// inStep is the order of a step of a launched graph.
func (t *taskOrder) inStep(p *plan, round uint64, step int) *taskOrder {
	return &taskOrder{stream: t.stream, seq: t.seq, before: t.before, made: t.made, plan: p, round: round, step: step}
}

// order gives a new task of the stream its place. e.mu is held.
func (s *stream) order(deps []dependency) *taskOrder {
	e := s.ctx.e
	if !e.checks(ordering) {
		return nil
	}
	s.learn(s.before()...)
	s.learn(deps...)
	if s.known == nil {
		s.known, s.orders = progress{}, map[uint64]*taskOrder{}
	}
	s.known.join(e.hostKnows)
	t := &taskOrder{stream: s.id, seq: s.submitted, before: maps.Clone(s.known), made: vm.Here()}
	s.known[s.id] = s.submitted
	s.orders[s.submitted] = t
	return t
}

// before lists the ends of the streams that a task of s waits for without
// being told, whether they are reached or not.
func (s *stream) before() []dependency {
	var deps []dependency
	switch {
	case s.isLegacy():
		for other := range s.ctx.streams {
			if other.blocking() {
				deps = append(deps, dependency{other, other.submitted})
			}
		}
	case s.blocking():
		deps = append(deps, dependency{s.ctx.legacy, s.ctx.legacy.submitted})
	}
	return deps
}

// learn puts tasks before all later ones of the stream.
func (s *stream) learn(deps ...dependency) {
	if !s.ctx.e.checks(ordering) {
		return
	}
	if s.known == nil {
		s.known, s.orders = progress{}, map[uint64]*taskOrder{}
	}
	for _, d := range deps {
		s.known.join(d.progress())
	}
}

// progress is what is ended when the task is.
func (d dependency) progress() progress {
	p := progress{d.s.id: d.seq}
	if t := d.s.orders[d.seq]; t != nil {
		p.join(t.before)
	}
	return p
}

// hostLearns notes that the host has made sure that tasks have ended. What it
// did to memory of copies until then it did too early.
func (e *Emulator) hostLearns(deps ...dependency) {
	if !e.checks(ordering) {
		return
	}
	for _, d := range deps {
		e.hostKnows.join(d.progress())
	}
	e.landed()
}

// hostOrder is the place of a copy that the host makes itself.
func (e *Emulator) hostOrder() *taskOrder {
	if !e.checks(ordering) {
		return nil
	}
	t := &taskOrder{stream: hostID, seq: e.hostKnows[hostID] + 1, before: maps.Clone(e.hostKnows), made: vm.Here()}
	e.hostKnows[hostID] = t.seq
	return t
}

// signal is for an operation that lets others go on by a semaphore or a word of
// memory: what comes before it is left there.
func (x *execution) signal(at any) {
	if x.order == nil {
		return
	}
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	p := progress{x.order.stream: x.order.seq}
	p.join(x.order.before)
	p.join(x.e.signals[at])
	if x.e.signals == nil {
		x.e.signals = make(map[any]progress)
	}
	x.e.signals[at] = p
}

// awaited is for an operation that waited for such a signal. It may have been
// the host's or a kernel's: what has ended counts too.
func (x *execution) awaited(at any) {
	if x.order == nil {
		return
	}
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	x.learned(x.e.signals[at])
	for s := range x.ctx.streams {
		if s.done > 0 {
			x.learned(dependency{s, s.done}.progress())
		}
	}
}

// learned puts something before the rest of what runs and what comes next in
// its stream.
func (x *execution) learned(p progress) {
	x.order.before.join(p)
	x.stream.known.join(p)
	if x.stream.late == nil {
		x.stream.late = progress{}
	}
	x.stream.late.join(p)
}

// settle completes a task's place when its turn has come, with what was not
// known when it was submitted.
func (t *task) settle(s *stream) {
	if t.order == nil {
		return
	}
	t.order.before.join(s.late)
	for _, d := range t.deps {
		t.order.before.join(d.progress())
	}
}

// hostKnows is for an operation that tells the host how far the stream is.
func (x *execution) hostKnows() {
	if x.order != nil {
		x.e.mu.Lock()
		defer x.e.mu.Unlock()
		x.e.hostLearns(dependency{x.stream, x.order.seq})
	}
}

// learn is for an operation that waits for a task while it runs. e.mu is held.
func (x *execution) learn(d dependency) {
	if x.order != nil {
		x.learned(d.progress())
	}
}

// touch checks an access of a copy or a fill to device memory for races.
func (e *Emulator) touch(order *taskOrder, what string, addr, n uint64, write bool) {
	if order == nil || !e.checks(CheckGlobalRaces) {
		return
	}
	if s := order.made.String(); s != "" {
		what += ", submitted at " + s
	}
	if report := e.mem.Touch(addr, n, write, order, what); report != "" {
		e.findPlain(kindRace, what+fmt.Sprint(addr), report)
	}
}

// touchPlace is touch for one side of a copy.
func (e *Emulator) touchPlace(order *taskOrder, what string, p *place, n extent, write bool) {
	if p.host != nil || p.bytes != nil || order == nil {
		return
	}
	for z := range n.depth {
		for y := range n.height {
			e.touch(order, what, p.addr+p.offset(y, z), n.width, write)
		}
	}
}

// copied tells the checks of a copy that was made.
func (e *Emulator) copied(order *taskOrder, dst, src *place, n extent) {
	if !e.checks(CheckGlobalRaces | CheckUninitialized) {
		return
	}
	what := fmt.Sprintf("a copy of %d bytes", n.bytes())
	e.touchPlace(order, what, src, n, false)
	e.touchPlace(order, what, dst, n, true)
	if dst.host != nil || dst.bytes != nil {
		return
	}
	for z := range n.depth {
		for y := range n.height {
			to := dst.addr + dst.offset(y, z)
			if src.host != nil || src.bytes != nil {
				e.mem.Written(to, n.width)
				continue
			}
			e.mem.WrittenFrom(to, src.addr+src.offset(y, z), n.width)
		}
	}
}

// written tells the checks of a fill or another write of the driver.
func (e *Emulator) written(order *taskOrder, what string, addr, n uint64) {
	e.touch(order, what, addr, n, true)
	e.mem.Written(addr, n)
}
