// Package order tracks the order that a program guarantees between the tasks of its streams, the nodes
// of its graphs and the actions of the host. It uses a vector clock over streams.
//
// It is not the order in which tasks happened to end, so a check that uses it finds a race whatever
// the timing was. All threads of the host count as one.
package order

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Lane identifies a stream in the order. It lives as long as anything refers to the stream's tasks.
type Lane struct {
	retired atomic.Uint64 // the number of its retirement; 0: it may have work
}

// Progress says what comes before something, as the last such task of each stream. A destroyed
// stream retires when the host knows that all its work has ended. From then on the stream is not
// listed. The number of the last retirement implies that it comes before.
type Progress map[*Lane]uint64

var (
	hostLane    = new(Lane) // the host's own copies
	retiredLane = new(Lane) // retirements
)

// Join adds what another progress has.
func (p Progress) Join(o Progress) {
	for l, seq := range o {
		p[l] = max(p[l], seq)
	}
}

// Has reports whether a task comes before.
func (p Progress) Has(l *Lane, seq uint64) bool {
	if p[l] >= seq {
		return true
	}
	r := l.retired.Load()
	return r != 0 && p[retiredLane] >= r
}

// Shorten removes the entries that the number of retirements implies.
func (p Progress) Shorten() {
	for l := range p {
		if r := l.retired.Load(); r != 0 && p[retiredLane] >= r {
			delete(p, l)
		}
	}
}

// Task is a task's place in the order. For a node of a graph, it includes the place in that
// launch of the graph.
type Task struct {
	lane   *Lane
	seq    uint64
	before Progress
	nodes  []*Task // of running graphs; these come before too
	made   *vm.Trace

	plan  Steps
	round uint64 // of the execution of the plan
	step  int
	memo  map[*Task]bool // only while it runs: it would retain all earlier tasks
}

// After implements vm.Order.
func (t *Task) After(earlier vm.Order) bool {
	p := earlier.(*Task)
	known, ok := t.memo[p]
	if !ok {
		known = t.after(p)
		if t.memo == nil {
			t.memo = make(map[*Task]bool)
		}
		t.memo[p] = known
	}
	return known
}

// Made implements vm.Order.
func (t *Task) Made() *vm.Trace { return t.made }

func (t *Task) after(p *Task) bool {
	switch {
	case t.lane != p.lane || t.seq != p.seq:
		return t.before.Has(p.lane, p.seq) || p.plan != nil && t.afterNode(p)
	case t.plan == nil || t.plan != p.plan || t.round != p.round:
		return true
	}
	return t.plan.Reaches(p.step, t.step)
}

// afterNode reports whether a node comes before according to what the host learned from the graph
// while it ran.
func (t *Task) afterNode(p *Task) bool {
	return slices.ContainsFunc(t.nodes, func(n *Task) bool {
		return n.lane == p.lane && n.seq == p.seq && n.after(p)
	})
}

// InStep returns the order of a step of a launched graph.
func (t *Task) InStep(p Steps, round uint64, step int) *Task {
	return &Task{lane: t.lane, seq: t.seq, before: t.before, nodes: t.nodes, made: t.made, plan: p, round: round, step: step}
}

// Steps is an executable graph: the order of its steps.
type Steps interface {
	// Reaches reports whether the edges order a step before a later one.
	Reaches(from, to int) bool
}

// New returns the place of a task. before is copied.
func New(l *Lane, seq uint64, before Progress, nodes []*Task, made *vm.Trace) *Task {
	return &Task{lane: l, seq: seq, before: maps.Clone(before), nodes: nodes, made: made}
}

// HostCopy returns the place of a copy that the host makes itself, and adds it to what the host
// knows.
func (p Progress) HostCopy(nodes []*Task, made *vm.Trace) *Task {
	t := New(hostLane, p[hostLane]+1, p, nodes, made)
	p[hostLane] = t.seq
	return t
}

// Retire records the retirement of a stream, whose work has ended.
func (p Progress) Retire(l *Lane, n uint64) {
	l.retired.Store(n)
	p[retiredLane] = n
	delete(p, l)
}

// Ended returns what has ended when the task has ended.
func (t *Task) Ended() Progress {
	p := Progress{t.lane: t.seq}
	p.Join(t.before)
	return p
}

// KnownTo reports whether the task comes before.
func (t *Task) KnownTo(p Progress) bool { return p.Has(t.lane, t.seq) }

// Learn orders something before the rest of the task.
func (t *Task) Learn(p Progress) { t.before.Join(p) }

// Known returns what comes before the task.
func (t *Task) Known() Progress { return t.before }

// Number returns the number of the task in its stream.
func (t *Task) Number() uint64 { return t.seq }

// InGraph reports whether it is the place of a node.
func (t *Task) InGraph() bool { return t.plan != nil }

// Forget is called when the task has ended. It drops what only a running task needs.
func (t *Task) Forget() { t.memo = nil }
