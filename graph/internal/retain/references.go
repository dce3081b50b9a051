// Package retain tracks the objects that a graph retains, and which nodes use each object. Each
// object is retained once. It also tracks the memory that graphs allocate and free.
package retain

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/life"
)

// References are the objects, called things below, that the parameters of a graph's nodes refer to.
// Each thing is retained once, and References track which nodes use it.
//
// Graphs and Execs share one value until one of them changes it (Share, Writable). The caller must
// hold the lock of the graph or Exec that it changes. The tables consist of indices, so adding a
// node costs a few comparisons and stores, and the garbage collector has little to scan.
type References struct {
	sharers atomic.Int32

	entries []entry  // things by slot
	free    []uint32 // free slots of entries
	Nodes   []uint32 // for each node, its index in sets plus 1; 0 if it has none
	sets    []set    // each set belongs to one or more nodes
	Slots   []uint32 // slots of the things in the sets

	seen  seen        // a launch and its set
	Epoch uint32      // changes whenever the references of a node change
	plan  *References // references of the last plan added; also in entries
	Mem   *Memory     // memory that the graph allocates and frees, or nil

	pending int // Slots[pending:] are retained but not yet committed
	Dropped []Reference

	Shares bool // some of the things are or were memory of package arena; see Shared

	values []any // Go values that the program asked to keep reachable
}

type entry struct {
	Reference
	uses  int32
	loose bool // one of the uses is not assigned to a particular node
}

// Reference retains one thing. At most one field is set. In an empty slot, none is set.
type Reference struct {
	Life *life.Lifetime
	Of   *References // references of a graph that a node contains
}

// set is a range of References.Slots. It counts as one use of each thing in it.
type set struct {
	off, n uint32
	size   uint32 // capacity at off
	nodes  uint32 // number of nodes that have the set
}

// seen is the latest launch whose references were found equal to a set. The next node with that
// launch and set then needs no comparison. It is cleared when sets change.
type seen struct {
	launch  *driver.Launch
	version uint32
	set     uint32
}

var pool = sync.Pool{New: func() any { return new(References) }}

// New returns empty References with one sharer.
func New() *References {
	o := pool.Get().(*References)
	o.sharers.Store(1)
	return o
}

// Share adds a sharer.
func (o *References) Share() *References {
	o.sharers.Add(1)
	return o
}

// Release removes one sharer. The last one releases everything.
func (o *References) Release() {
	if o == nil || o.sharers.Add(-1) > 0 {
		return
	}
	for i := range o.entries {
		o.entries[i].Release()
	}
	for _, k := range o.Dropped {
		k.Release()
	}
	o.reset()
	pool.Put(o)
}

func (o *References) reset() {
	clear(o.entries)
	clear(o.Dropped)
	o.values = nil
	o.entries, o.free, o.Dropped = o.entries[:0], o.free[:0], o.Dropped[:0]
	o.Nodes, o.sets, o.Slots, o.pending = o.Nodes[:0], o.sets[:0], o.Slots[:0], 0
	o.plan, o.Mem, o.Shares = nil, nil, false
	o.forgetSeen()
}

// Alone reports whether there is only one sharer.
func (o *References) Alone() bool { return o.sharers.Load() == 1 }

// Writable returns o if there is only one sharer. Otherwise it returns a copy and removes the
// caller's share of o.
func (o *References) Writable() *References {
	if o.Alone() {
		return o
	}
	c := New()
	c.entries = append(c.entries, o.entries...)
	c.free = append(c.free, o.free...)
	c.Nodes = append(c.Nodes, o.Nodes...)
	c.sets = append(c.sets, o.sets...)
	c.Slots = append(c.Slots, o.Slots...)
	c.values = append(c.values, o.values...)
	c.pending, c.plan, c.Mem, c.Shares = o.pending, o.plan, o.Mem.clone(), o.Shares
	for i := range c.entries {
		c.entries[i].retainMore()
	}
	o.Release()
	return c
}

// Retain retains refs. The caller must then call a commit method or Abandon. If one of refs is
// closed, Retain retains nothing and returns an error that names it.
func (o *References) Retain(refs []life.Ref) error {
	for _, r := range refs {
		slot, err := o.use(r.Lifetime())
		if err != nil {
			o.Abandon()
			return err
		}
		o.Slots = append(o.Slots, slot)
	}
	return nil
}

// RetainOf is like Retain, for the references of a graph that becomes part of a node.
func (o *References) RetainOf(sub *References) {
	o.Slots = append(o.Slots, o.put(Reference{Of: sub.Share()}))
	o.Shares = o.Shares || sub.Shares
	o.addMemoryOf(sub)
}

// use counts one more use of the object with lifetime l and returns its slot. As a hint, the
// lifetime stores the slot that it was last assigned. That slot may belong to other References.
func (o *References) use(l *life.Lifetime) (uint32, error) {
	if err := l.Check(); err != nil {
		return 0, err
	}
	if i := l.Hint(); uint64(i) < uint64(len(o.entries)) && o.entries[i].Life == l {
		o.entries[i].uses++
		return i, nil
	}
	if err := l.Retain(); err != nil {
		return 0, err
	}
	if _, ok := l.End().(Shared); ok {
		o.Shares = true
	}
	i := o.put(Reference{Life: l})
	l.SetHint(i)
	return i, nil
}

func (o *References) put(k Reference) uint32 {
	if n := len(o.free); n > 0 {
		i := o.free[n-1]
		o.free = o.free[:n-1]
		o.entries[i] = entry{Reference: k, uses: 1}
		return i
	}
	o.entries = append(o.entries, entry{Reference: k, uses: 1})
	return uint32(len(o.entries) - 1)
}

// drop removes one use of the thing in slot. Things without uses wait in Dropped until Flush,
// because a release may free memory and wait for the device.
func (o *References) drop(slot uint32) {
	h := &o.entries[slot]
	if h.uses--; h.uses > 0 {
		return
	}
	o.Dropped = append(o.Dropped, h.Reference)
	*h = entry{}
	o.free = append(o.free, slot)
}

// Abandon releases the things retained since the last commit.
func (o *References) Abandon() {
	for _, s := range o.Slots[o.pending:] {
		o.drop(s)
	}
	o.Slots = o.Slots[:o.pending]
}

// Open reports whether all things are still open.
func (o *References) Open() bool {
	for i := range o.entries {
		if o.entries[i].Life.Check() != nil {
			return false
		}
	}
	return true
}

// Reserve grows the tables for n nodes.
func (o *References) Reserve(n int) {
	o.Nodes = slices.Grow(o.Nodes, n)
}

// RefersTo reports whether a node refers to exactly refs and all of them are open. If so, nothing
// needs to be retained.
func (o *References) RefersTo(node int, refs []life.Ref) bool {
	if uint(node) >= uint(len(o.Nodes)) {
		return false
	}
	if o.Nodes[node] == 0 {
		return o.plan != nil && o.plan.hasAll(refs)
	}
	s := &o.sets[o.Nodes[node]-1]
	if int(s.n) != len(refs) {
		return false
	}
	for i, slot := range o.Slots[s.off : s.off+s.n] {
		l := refs[i].Lifetime()
		if o.entries[slot].Life != l || l.Check() != nil {
			return false
		}
	}
	return true
}

// RefersToLaunch is like RefersTo, for the references of a launch.
func (o *References) RefersToLaunch(node int, l *driver.Launch) bool {
	if s := &o.seen; s.launch == l && s.version == l.Block().Version &&
		uint(node) < uint(len(o.Nodes)) && o.Nodes[node] == s.set && l.Block().RefsOpen() {
		return true
	}
	if !o.RefersTo(node, l.Uses().Refs) {
		return false
	}
	o.seen = seen{l, l.Block().Version, o.Nodes[node]}
	return true
}

// SetOf returns the number of a node's set, or noSet. Nodes with the same set refer to the same
// things.
func (o *References) SetOf(node uint32) uint32 {
	if uint(node) >= uint(len(o.Nodes)) {
		return noSet
	}
	return o.Nodes[node]
}

const noSet = ^uint32(0) // returned for unknown nodes

// hasAll reports whether all refs are open and already retained here. It checks only the slots that
// the hints in their lifetimes name.
func (o *References) hasAll(refs []life.Ref) bool {
	for _, r := range refs {
		l := r.Lifetime()
		if i := l.Hint(); uint64(i) >= uint64(len(o.entries)) || o.entries[i].Life != l || l.Check() != nil {
			return false
		}
	}
	return true
}

// AddPlan adds n nodes of a plan. They need no sets, because the plan's references, which o then
// retains, retain their things.
func (o *References) AddPlan(n int, plan *References) {
	o.KeepPlan(plan)
	from := len(o.Nodes)
	o.Nodes = slices.Grow(o.Nodes, n)[:from+n]
	clear(o.Nodes[from:])
}

// KeepPlan retains the references of a plan, which never change.
func (o *References) KeepPlan(plan *References) {
	if o.plan == plan {
		return
	}
	o.RetainOf(plan)
	o.CommitLoose()
	o.plan = plan
}

// CommitNew assigns the retained things to a new node, which has the next number.
func (o *References) CommitNew() {
	o.Nodes = append(o.Nodes, o.newSet())
}

// newSet creates a set of the things retained since the last commit.
func (o *References) newSet() uint32 {
	n := uint32(len(o.Slots) - o.pending)
	if n == 0 {
		return 0
	}
	o.sets = append(o.sets, set{off: uint32(o.pending), n: n, size: n, nodes: 1})
	o.pending = len(o.Slots)
	return uint32(len(o.sets))
}

// CommitAgain assigns the set of the latest node to n new nodes.
func (o *References) CommitAgain(n int) {
	id := o.Nodes[len(o.Nodes)-1]
	for range n {
		o.Nodes = append(o.Nodes, id)
	}
	if id != 0 {
		o.sets[id-1].nodes += uint32(n)
	}
}

// Commit replaces the references of a node with the retained things.
func (o *References) Commit(node uint32) {
	o.forgetSeen()
	o.Grow(node)
	id := o.Nodes[node]
	if id == 0 || o.sets[id-1].nodes > 1 {
		o.Forget(node)
		o.Nodes[node] = o.newSet()
		return
	}
	s := &o.sets[id-1]
	o.dropSet(s)
	fresh := o.Slots[o.pending:]
	s.n = uint32(len(fresh))
	if s.n <= s.size {
		copy(o.Slots[s.off:], fresh)
		o.Slots = o.Slots[:o.pending]
		return
	}
	s.off, s.size = uint32(o.pending), s.n
	o.pending = len(o.Slots)
}

// forgetSeen clears seen and changes Epoch.
func (o *References) forgetSeen() {
	o.seen = seen{}
	o.Epoch++
}

// Waiting returns the number of slots that are retained but not committed.
func (o *References) Waiting() int { return len(o.Slots) - o.pending }

// TakePending removes and returns the slots that are retained but not committed. The caller must
// assign them to nodes before any other call.
func (o *References) TakePending() []uint32 {
	slots := o.Slots[o.pending:]
	o.Slots = o.Slots[:o.pending]
	return slots
}

func (o *References) dropSet(s *set) {
	for _, slot := range o.Slots[s.off : s.off+s.n] {
		o.drop(slot)
	}
	s.n = 0
}

// Forget removes the references of a node.
func (o *References) Forget(node uint32) {
	o.forgetSeen()
	if int(node) >= len(o.Nodes) || o.Nodes[node] == 0 {
		return
	}
	s := &o.sets[o.Nodes[node]-1]
	o.Nodes[node] = 0
	if s.nodes--; s.nodes == 0 {
		o.dropSet(s)
	}
}

// Mark is a state to which Cut can return.
type Mark struct{ nodes, sets, slots int }

func (o *References) Mark() Mark { return Mark{len(o.Nodes), len(o.sets), len(o.Slots)} }

// Cut removes the nodes that were added since the mark.
func (o *References) Cut(m Mark) {
	o.forgetSeen()
	for i := m.nodes; i < len(o.Nodes); i++ {
		o.Forget(uint32(i))
	}
	o.Nodes, o.sets, o.Slots, o.pending = o.Nodes[:m.nodes], o.sets[:m.sets], o.Slots[:m.slots], m.slots
	o.Flush()
}

// Loosen detaches all references from their nodes but keeps them retained. It is for References
// whose node numbers are no longer valid.
func (o *References) Loosen() {
	o.forgetSeen()
	for i := range o.sets {
		s := &o.sets[i]
		for _, slot := range o.Slots[s.off : s.off+s.n] {
			o.addLoose(slot)
		}
	}
	o.Nodes, o.sets, o.Slots, o.pending = o.Nodes[:0], o.sets[:0], o.Slots[:0], 0
}

// Grow adds empty entries up to node, for nodes that the driver created.
func (o *References) Grow(node uint32) {
	for uint32(len(o.Nodes)) <= node {
		o.Nodes = append(o.Nodes, 0)
	}
}

// CommitLoose assigns the retained things to no particular node, each thing once.
func (o *References) CommitLoose() {
	for _, s := range o.Slots[o.pending:] {
		o.addLoose(s)
	}
	o.Slots = o.Slots[:o.pending]
}

// RetainLoose retains refs for no particular node.
func (o *References) RetainLoose(refs []life.Ref) error {
	if err := o.RetainGiven(refs); err != nil {
		return err
	}
	o.CommitLoose()
	return nil
}

// RetainThings is like RetainLoose, but also keeps Go values reachable.
func (o *References) RetainThings(refs []life.Ref, values []any) error {
	if err := o.RetainLoose(refs); err != nil {
		return err
	}
	o.values = append(o.values, values...)
	return nil
}

// RetainGiven is like Retain, but also rejects nil references.
func (o *References) RetainGiven(refs []life.Ref) error {
	for i, r := range refs {
		if r == nil {
			return refusal.Invalid("cannot keep reference %d, which is nil", i)
		}
	}
	if err := o.Retain(refs); err != nil {
		return fmt.Errorf("cannot keep a closed object: %w", err)
	}
	return nil
}

// addLoose turns a use of the thing in slot into a loose use. A thing has at most one loose use.
func (o *References) addLoose(slot uint32) {
	h := &o.entries[slot]
	if h.loose {
		h.uses--
		return
	}
	h.loose = true
}

// Flush releases the things in Dropped.
func (o *References) Flush() {
	for i, k := range o.Dropped {
		o.Dropped[i] = Reference{}
		k.Release()
	}
	o.Dropped = o.Dropped[:0]
}

func (k Reference) Release() {
	if k.Life != nil {
		k.Life.Done()
	}
	k.Of.Release()
}

// retainMore retains the thing for a copy of the References. The thing may already be closed,
// because the original still retains it.
func (k Reference) retainMore() {
	if k.Life != nil {
		k.Life.RetainHeld()
	}
	if k.Of != nil {
		k.Of.Share()
	}
}
