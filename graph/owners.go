package graph

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/life"
)

// owners is what the nodes of a graph keep alive: the things their parameters
// refer to, each retained once, and which node refers to which.
//
// Graphs and execs share one as long as neither changes it (share, writable);
// whoever changes it holds the lock of the graph or exec it belongs to. All of
// it is indices, so that adding a node costs a few comparisons and stores and
// the collector has little to look at.
type owners struct {
	sharers atomic.Int32

	held  []held   // things, by slot
	free  []uint32 // slots of held that are empty
	nodes []uint32 // by node: its set, counted from 1; 0 for none
	sets  []set    // what a node refers to, or several nodes do
	slots []uint32 // the slots that sets consist of

	seen  seen    // a launch and the set that is right for it
	epoch uint32  // is another number after every change of what nodes refer to
	plan  *owners // those of the plan that was added last; among held
	mem   *memory // what the graph allocates and frees; nil: nothing

	pending int // slots[pending:] are held for a change that is not made yet
	gone    []keeper

	values []any // Go values that the program asked to keep reachable
}

// held is one thing that is kept alive.
type held struct {
	keeper
	uses  int32
	loose bool // one of the uses is that of work of no known node
}

// keeper is how a thing is let go of. Exactly one field is set, or none in an
// empty slot.
type keeper struct {
	life *life.Lifetime
	sub  *owners // those of a graph that was copied into a node
}

// set is a part of owners.slots. It counts as one use of each thing in it.
type set struct {
	off, n uint32
	size   uint32 // room at off
	nodes  uint32 // how many nodes it is the set of
}

// seen is a launch as it was when what it refers to was found to be a set, so
// that the next node with that set needs no look. It is forgotten when sets
// change.
type seen struct {
	launch  *driver.Launch
	version uint32
	set     uint32
}

var ownersPool = sync.Pool{New: func() any { return new(owners) }}

// newOwners returns an empty one with one sharer.
func newOwners() *owners {
	o := ownersPool.Get().(*owners)
	o.sharers.Store(1)
	return o
}

// share adds a sharer.
func (o *owners) share() *owners {
	o.sharers.Add(1)
	return o
}

// release takes one sharer away, and with the last one lets go of everything.
func (o *owners) release() {
	if o == nil || o.sharers.Add(-1) > 0 {
		return
	}
	for i := range o.held {
		o.held[i].letGo()
	}
	for _, k := range o.gone {
		k.letGo()
	}
	o.reset()
	ownersPool.Put(o)
}

func (o *owners) reset() {
	clear(o.held)
	clear(o.gone)
	o.values = nil
	o.held, o.free, o.gone = o.held[:0], o.free[:0], o.gone[:0]
	o.nodes, o.sets, o.slots, o.pending = o.nodes[:0], o.sets[:0], o.slots[:0], 0
	o.plan, o.mem = nil, nil
	o.unsee()
}

// alone reports whether nobody else shares o.
func (o *owners) alone() bool { return o.sharers.Load() == 1 }

// writable returns o if nobody shares it, else a copy in its place.
func (o *owners) writable() *owners {
	if o.alone() {
		return o
	}
	c := newOwners()
	c.held = append(c.held, o.held...)
	c.free = append(c.free, o.free...)
	c.nodes = append(c.nodes, o.nodes...)
	c.sets = append(c.sets, o.sets...)
	c.slots = append(c.slots, o.slots...)
	c.values = append(c.values, o.values...)
	c.pending, c.plan, c.mem = o.pending, o.plan, o.mem.clone()
	for i := range c.held {
		c.held[i].retainAgain()
	}
	o.release()
	return c
}

// hold retains what refs name for a change that commit or abandon ends. A
// closed thing is an error that names it.
func (o *owners) hold(refs []life.Ref) error {
	for _, r := range refs {
		slot, err := o.keep(r.Lifetime())
		if err != nil {
			o.abandon()
			return err
		}
		o.slots = append(o.slots, slot)
	}
	return nil
}

// holdSub is hold for the owners of a graph that becomes part of a node.
func (o *owners) holdSub(sub *owners) {
	o.slots = append(o.slots, o.put(keeper{sub: sub.share()}))
	o.addMemoryOf(sub)
}

// keep counts one more use of a thing. Whether it is here already, its own
// hint says: the slot it got when somebody last kept it, here or elsewhere.
func (o *owners) keep(l *life.Lifetime) (uint32, error) {
	if err := l.Check(); err != nil {
		return 0, err
	}
	if i := l.Hint(); uint64(i) < uint64(len(o.held)) && o.held[i].life == l {
		o.held[i].uses++
		return i, nil
	}
	if err := l.Retain(); err != nil {
		return 0, err
	}
	i := o.put(keeper{life: l})
	l.SetHint(i)
	return i, nil
}

func (o *owners) put(k keeper) uint32 {
	if n := len(o.free); n > 0 {
		i := o.free[n-1]
		o.free = o.free[:n-1]
		o.held[i] = held{keeper: k, uses: 1}
		return i
	}
	o.held = append(o.held, held{keeper: k, uses: 1})
	return uint32(len(o.held) - 1)
}

// drop counts one use less. What nobody uses any more waits in gone until
// flush: letting go may free memory, which waits for the device.
func (o *owners) drop(slot uint32) {
	h := &o.held[slot]
	if h.uses--; h.uses > 0 {
		return
	}
	o.gone = append(o.gone, h.keeper)
	*h = held{}
	o.free = append(o.free, slot)
}

// abandon undoes what was held since the last commit.
func (o *owners) abandon() {
	for _, s := range o.slots[o.pending:] {
		o.drop(s)
	}
	o.slots = o.slots[:o.pending]
}

// reserve makes room for n nodes.
func (o *owners) reserve(n int) {
	o.nodes = slices.Grow(o.nodes, n)
}

// refersTo reports whether a node refers to exactly refs, all of which are open:
// then there is nothing to hold.
func (o *owners) refersTo(node int, refs []life.Ref) bool {
	if uint(node) >= uint(len(o.nodes)) {
		return false
	}
	if o.nodes[node] == 0 {
		return o.plan != nil && o.plan.has(refs)
	}
	s := &o.sets[o.nodes[node]-1]
	if int(s.n) != len(refs) {
		return false
	}
	for i, slot := range o.slots[s.off : s.off+s.n] {
		l := refs[i].Lifetime()
		if o.held[slot].life != l || l.Check() != nil {
			return false
		}
	}
	return true
}

// refersToLaunch is refersTo for what a launch refers to.
func (o *owners) refersToLaunch(node int, l *driver.Launch) bool {
	if s := &o.seen; s.launch == l && s.version == l.RefsVersion() &&
		uint(node) < uint(len(o.nodes)) && o.nodes[node] == s.set && l.RefsOpen() {
		return true
	}
	if !o.refersTo(node, l.Refs()) {
		return false
	}
	o.seen = seen{l, l.RefsVersion(), o.nodes[node]}
	return true
}

// setOf returns the number of a node's set. Nodes with the same one refer to the
// same things.
func (o *owners) setOf(node uint32) uint32 {
	if uint(node) >= uint(len(o.nodes)) {
		return noSet
	}
	return o.nodes[node]
}

const noSet = ^uint32(0) // of a node that is not known

// has reports whether all of refs are open and held here, as far as their hints
// tell.
func (o *owners) has(refs []life.Ref) bool {
	for _, r := range refs {
		l := r.Lifetime()
		if i := l.Hint(); uint64(i) >= uint64(len(o.held)) || o.held[i].life != l || l.Check() != nil {
			return false
		}
	}
	return true
}

// addPlan enters n new nodes that refer to what a plan holds, which is kept from
// now on: they have no sets.
func (o *owners) addPlan(n int, plan *owners) {
	o.keepPlan(plan)
	from := len(o.nodes)
	o.nodes = slices.Grow(o.nodes, n)[:from+n]
	clear(o.nodes[from:])
}

// keepPlan keeps what a plan holds, which does not change.
func (o *owners) keepPlan(plan *owners) {
	if o.plan == plan {
		return
	}
	o.holdSub(plan)
	o.commitLoose()
	o.plan = plan
}

// commitNew gives what is held to a new node, the next in number.
func (o *owners) commitNew() {
	o.nodes = append(o.nodes, o.newSet())
}

// newSet makes a set of what is held.
func (o *owners) newSet() uint32 {
	n := uint32(len(o.slots) - o.pending)
	if n == 0 {
		return 0
	}
	o.sets = append(o.sets, set{off: uint32(o.pending), n: n, size: n, nodes: 1})
	o.pending = len(o.slots)
	return uint32(len(o.sets))
}

// commitAgain gives n new nodes what the one before has.
func (o *owners) commitAgain(n int) {
	id := o.nodes[len(o.nodes)-1]
	for range n {
		o.nodes = append(o.nodes, id)
	}
	if id != 0 {
		o.sets[id-1].nodes += uint32(n)
	}
}

// commit gives what is held to a node in place of what it had.
func (o *owners) commit(node uint32) {
	o.unsee()
	o.grow(node)
	id := o.nodes[node]
	if id == 0 || o.sets[id-1].nodes > 1 {
		o.forget(node)
		o.nodes[node] = o.newSet()
		return
	}
	s := &o.sets[id-1]
	o.dropSet(s)
	fresh := o.slots[o.pending:]
	s.n = uint32(len(fresh))
	if s.n <= s.size {
		copy(o.slots[s.off:], fresh)
		o.slots = o.slots[:o.pending]
		return
	}
	s.off, s.size = uint32(o.pending), s.n
	o.pending = len(o.slots)
}

// unsee forgets what was found of launches.
func (o *owners) unsee() {
	o.seen = seen{}
	o.epoch++
}

// waiting returns how many slots are held for a change that is not made yet.
func (o *owners) waiting() int { return len(o.slots) - o.pending }

// takePending returns those slots, for the caller to enter again before anything
// else happens.
func (o *owners) takePending() []uint32 {
	slots := o.slots[o.pending:]
	o.slots = o.slots[:o.pending]
	return slots
}

func (o *owners) dropSet(s *set) {
	for _, slot := range o.slots[s.off : s.off+s.n] {
		o.drop(slot)
	}
	s.n = 0
}

// forget drops what a node refers to.
func (o *owners) forget(node uint32) {
	o.unsee()
	if int(node) >= len(o.nodes) || o.nodes[node] == 0 {
		return
	}
	s := &o.sets[o.nodes[node]-1]
	o.nodes[node] = 0
	if s.nodes--; s.nodes == 0 {
		o.dropSet(s)
	}
}

// mark is a point to go back to.
type mark struct{ nodes, sets, slots int }

func (o *owners) mark() mark { return mark{len(o.nodes), len(o.sets), len(o.slots)} }

// cut forgets the nodes that were added since the mark.
func (o *owners) cut(m mark) {
	o.unsee()
	for i := m.nodes; i < len(o.nodes); i++ {
		o.forget(uint32(i))
	}
	o.nodes, o.sets, o.slots, o.pending = o.nodes[:m.nodes], o.sets[:m.sets], o.slots[:m.slots], m.slots
	o.flush()
}

// loosen makes what nodes refer to belong to no node: their numbers stopped
// meaning anything.
func (o *owners) loosen() {
	o.unsee()
	for i := range o.sets {
		s := &o.sets[i]
		for _, slot := range o.slots[s.off : s.off+s.n] {
			o.addLoose(slot)
		}
	}
	o.nodes, o.sets, o.slots, o.pending = o.nodes[:0], o.sets[:0], o.slots[:0], 0
}

// grow makes room for a node that was found, not added.
func (o *owners) grow(node uint32) {
	for uint32(len(o.nodes)) <= node {
		o.nodes = append(o.nodes, 0)
	}
}

// commitLoose gives what is held to no node in particular, each thing once.
func (o *owners) commitLoose() {
	for _, s := range o.slots[o.pending:] {
		o.addLoose(s)
	}
	o.slots = o.slots[:o.pending]
}

// holdLoose holds what a program asked for.
func (o *owners) holdLoose(refs []life.Ref) error {
	if err := o.holdGiven(refs); err != nil {
		return err
	}
	o.commitLoose()
	return nil
}

// holdThings is holdLoose for things of the driver and other Go values.
func (o *owners) holdThings(refs []life.Ref, values []any) error {
	if err := o.holdLoose(refs); err != nil {
		return err
	}
	o.values = append(o.values, values...)
	return nil
}

// holdGiven is hold for what a program named.
func (o *owners) holdGiven(refs []life.Ref) error {
	for i, r := range refs {
		if r == nil {
			return invalid("cannot keep reference %d, which is nil", i)
		}
	}
	if err := o.hold(refs); err != nil {
		return fmt.Errorf("cannot keep what is closed: %w", err)
	}
	return nil
}

// addLoose turns a use into one of no known node.
func (o *owners) addLoose(slot uint32) {
	h := &o.held[slot]
	if h.loose {
		h.uses--
		return
	}
	h.loose = true
}

// flush lets go of what was dropped.
func (o *owners) flush() {
	for i, k := range o.gone {
		o.gone[i] = keeper{}
		k.letGo()
	}
	o.gone = o.gone[:0]
}

func (k keeper) letGo() {
	if k.life != nil {
		k.life.Done()
	}
	k.sub.release()
}

// retainAgain counts the reference of a copy. The original still holds one, so
// a closed object is no reason to fail.
func (k keeper) retainAgain() {
	if k.life != nil {
		k.life.RetainHeld()
	}
	if k.sub != nil {
		k.sub.share()
	}
}
