// Package order tracks the order that a program guarantees between stream tasks, graph nodes and
// host operations. It uses a vector clock over streams.
//
// The order in which tasks actually ended does not matter, so a check based on the guaranteed order
// finds a race whatever the timing. All host threads count as one.
package order

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Lane identifies a stream in the order. It exists as long as anything refers to the stream's
// tasks.
type Lane struct {
	retired atomic.Uint64 // number of the stream's retirement; 0 if the stream has not retired
}

// Progress describes which tasks precede a point in the order: for each stream, the last such task.
// When the host knows that all work in a destroyed stream has ended, the stream retires and loses
// its entry. From then on, the number of the last retirement implies that the stream's work
// precedes the point.
type Progress map[*Lane]uint64

var (
	hostLane    = new(Lane) // for copies that the host performs itself
	retiredLane = new(Lane) // for retirements
)

// Join merges another progress into p.
func (p Progress) Join(o Progress) {
	for l, seq := range o {
		p[l] = max(p[l], seq)
	}
}

// Has reports whether task seq of stream l precedes the point.
func (p Progress) Has(l *Lane, seq uint64) bool {
	if p[l] >= seq {
		return true
	}
	r := l.retired.Load()
	return r != 0 && p[retiredLane] >= r
}

// Shorten removes the entries of retired streams.
func (p Progress) Shorten() {
	for l := range p {
		if r := l.retired.Load(); r != 0 && p[retiredLane] >= r {
			delete(p, l)
		}
	}
}

// Task is the position of a task in the order. For a graph node, it includes the node's position
// within one launch of the graph.
type Task struct {
	lane   *Lane
	seq    uint64
	before Progress
	nodes  []*Task // nodes of running graphs that also precede this task
	made   *vm.Trace

	plan  Steps
	round uint64 // identifies the execution of plan to which this task belongs
	step  int
	memo  map[*Task]bool // cleared when the task ends, because it would otherwise keep all earlier tasks alive
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

// afterNode reports whether a node of a running graph precedes the task. The host may learn that a
// node has ended while the rest of the graph still runs.
func (t *Task) afterNode(p *Task) bool {
	return slices.ContainsFunc(t.nodes, func(n *Task) bool {
		return n.lane == p.lane && n.seq == p.seq && n.after(p)
	})
}

// InStep returns the position of one step of a launched graph.
func (t *Task) InStep(p Steps, round uint64, step int) *Task {
	return &Task{lane: t.lane, seq: t.seq, before: t.before, nodes: t.nodes, made: t.made, plan: p, round: round, step: step}
}

// Steps is the order of the steps of an executable graph.
type Steps interface {
	// Reaches reports whether the edges order the first step before the second.
	Reaches(from, to int) bool
}

// New returns the position of task seq in stream l. It copies the map before.
func New(l *Lane, seq uint64, before Progress, nodes []*Task, made *vm.Trace) *Task {
	return &Task{lane: l, seq: seq, before: maps.Clone(before), nodes: nodes, made: made}
}

// HostCopy returns the position of a copy that the host performs itself, and adds the copy to p.
func (p Progress) HostCopy(nodes []*Task, made *vm.Trace) *Task {
	t := New(hostLane, p[hostLane]+1, p, nodes, made)
	p[hostLane] = t.seq
	return t
}

// Retire records that a stream retired, because all its work has ended.
func (p Progress) Retire(l *Lane, n uint64) {
	l.retired.Store(n)
	p[retiredLane] = n
	delete(p, l)
}

// Ended returns all tasks that are known to have ended once this task has ended.
func (t *Task) Ended() Progress {
	p := Progress{t.lane: t.seq}
	p.Join(t.before)
	return p
}

// KnownTo reports whether the task precedes the point that p describes.
func (t *Task) KnownTo(p Progress) bool { return p.Has(t.lane, t.seq) }

// Learn orders everything that p describes before the rest of the task.
func (t *Task) Learn(p Progress) { t.before.Join(p) }

// Known returns the progress that precedes the task.
func (t *Task) Known() Progress { return t.before }

// Number returns the number of the task in its stream.
func (t *Task) Number() uint64 { return t.seq }

// InGraph reports whether the task is a graph node.
func (t *Task) InGraph() bool { return t.plan != nil }

// Forget drops data that is needed only while the task runs. Call it when the task has ended.
func (t *Task) Forget() { t.memo = nil }
