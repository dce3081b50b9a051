package graph

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/launch"
)

// Bindings are the parameters of an Exec that change from launch to launch, such as a step number,
// a length or an address. Bind each to an argument of a kernel node once ([Bind], [BindName]), then
// set it ([Param.Set]) whenever it changes. [Bindings.Launch] passes the changes and the launch to
// the driver in one native call.
//
//	bs := x.Bindings()
//	position, err := graph.BindName[uint32](bs, node, launch, "position")
//	...
//	for i := range tokens {
//		position.Set(uint32(i))
//		bs.Launch(s)
//	}
//
// A bound node has the arguments of the launch it was bound with, and what was set since. Changes
// by Exec.Set last until the next change of a binding. After an update of the Exec the bindings are
// sent again.
//
// [BindConfig] binds the grid and block of a node. [Bindings.Unbind] removes a node's bindings.
// Nodes of nested graphs, such as the body of a loop, are bound in the same way.
//
// Only one goroutine at a time may change and send the bindings of an Exec. Launch and Send take
// turns with other uses of the Exec. Setting a parameter while another goroutine binds or launches
// returns CUDA_ERROR_INVALID_VALUE.
type Bindings struct {
	use     use
	x       *Exec
	round   uint64   // counts the times that all that changed was sent; from 1 on
	slots   []slot   // the arguments that are numbers
	spare   []int    // of slots, to be used again
	vacant  []int    // of bound, to be used again
	marks   []uint64 // of each that is bound: if it is round, the node is among changed
	bound   []*bound // nil for one that is bound no more
	changed []*bound // in the order of their first change
	byNode  map[Node]*bound
	slotAt  map[*uint64]int // in slots, by where the driver reads it
	updates uint64          // of the exec, when the bindings were sent last
	g       *Graph          // where those that are bound were found, when
	removed uint32          // its removals were these
	batch   *cu.Batch
	laid    laid     // what is in it
	settled settled  // that nothing has to be held for it
	fresh   []uint32 // slots that are held for nodes of changed
}

// slot is an argument that is a number. What Set needs to know of all of them lies
// together, apart from what the driver reads: a launch leaves little of either in
// the processor's caches, and Set has a word to store there, but nothing to load.
type slot struct {
	word  uint64  // its value
	at    *uint64 // where the driver reads it
	b     *bound  // whose argument it is; not read through
	bound int     // its place
}

// bound is a node that has parameters here.
type bound struct {
	node   Node
	from   *driver.Launch // it was bound with
	launch *driver.Launch // a copy of that, with what was set
	params *cu.CUDA_KERNEL_NODE_PARAMS
	i      int   // in Bindings.bound; -1: bound no more
	slots  []int // in Bindings.slots, of its arguments

	fresh int                // where what is held for it in Bindings.fresh ends
	known *retain.References // who holds what the launch refers to,
	epoch uint32             // since then,
	refs  uint32             // as long as it refers to that
}

// Bindings returns the bindings of the Exec. Every call returns the same ones.
func (x *Exec) Bindings() *Bindings {
	if !x.exists() {
		return nil
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	if x.bindings == nil {
		x.bindings = &Bindings{x: x, byNode: map[Node]*bound{}, slotAt: map[*uint64]int{}, updates: x.updates, round: 1}
	}
	return x.bindings
}

// exists reports whether these are the bindings of an Exec.
func (bs *Bindings) exists() bool { return bs != nil && bs.x != nil }

// Exec returns the Exec that the bindings belong to.
func (bs *Bindings) Exec() *Exec {
	if bs == nil {
		return nil
	}
	return bs.x
}

// Changed returns how many nodes the next Launch will change.
func (bs *Bindings) Changed() int {
	if !bs.exists() {
		return 0
	}
	bs.x.keep.mu.Lock()
	defer bs.x.keep.mu.Unlock()
	if bs.use.begin() == nil {
		bs.refresh()
		bs.use.end()
	}
	return len(bs.changed)
}

// Param is one bound argument. It is a small value, and copies denote the same parameter.
type Param[T any] struct {
	bs   *Bindings
	b    *bound
	i    int32
	slot int32 // of a number, counted from 1; else 0
}

// Bind binds argument i, counted from 0, of a kernel node. The node has the arguments of l from the
// next Launch on. They are copied, so l may be changed and used elsewhere. For other arguments of
// the same node, pass the same l.
func Bind[T any](bs *Bindings, n Node, l *driver.Launch, i int) (Param[T], error) {
	if _, err := driver.ArgOf[T](l, i); err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	b, err := bs.bind(n, l)
	if err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	return Param[T]{bs, b, int32(i), bs.slotOf(b, launch.Plain[T](b.launch.Block(), i))}, nil
}

// slotOf returns the slot of a number that the driver reads there, counted from 1.
func (bs *Bindings) slotOf(b *bound, at *uint64) int32 {
	if at == nil {
		return 0
	}
	k, ok := bs.slotAt[at]
	if !ok {
		k = take(&bs.spare, len(bs.slots))
		if k == len(bs.slots) {
			bs.slots = append(bs.slots, slot{})
		}
		bs.slotAt[at] = k
		bs.slots[k] = slot{*at, at, b, b.i}
		b.slots = append(b.slots, k)
	}
	return int32(k) + 1
}

// take returns the last of a list, and takes it out, or else another number.
func take(list *[]int, or int) int {
	n := len(*list)
	if n == 0 {
		return or
	}
	last := (*list)[n-1]
	*list = (*list)[:n-1]
	return last
}

// BindName is Bind for the parameter of that name in the kernel's PTX.
func BindName[T any](bs *Bindings, n Node, l *driver.Launch, name string) (Param[T], error) {
	i, err := l.ArgIndex(name)
	if err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	return Bind[T](bs, n, l, i)
}

// Set sets the parameter's value, which is sent with the next Launch of the bindings. Setting the
// current value sends nothing. A Memory is kept alive. The previous one is released when the
// launches that use it have ended.
func (p Param[T]) Set(v T) error {
	if p.slot == 0 {
		return p.setAny(v)
	}
	bs := p.bs
	if bs.use.others() {
		return errShared
	}
	s := &bs.slots[p.slot-1]
	if s.b != p.b {
		return errUnbound
	}
	if w := launch.WordOf(v); s.word != w {
		s.word = w
		*s.at = w
		if bs.marks[s.bound] != bs.round {
			bs.mark(s.bound)
		}
	}
	return nil
}

// setAny is Set for what has more to it than a number.
func (p Param[T]) setAny(v T) error {
	if p.bs == nil {
		return errNoParam
	}
	if err := p.bs.use.begin(); err != nil {
		return err
	}
	defer p.bs.use.end()
	switch {
	case p.b.i < 0:
		return errUnbound
	case p.i == configIndex:
		return p.bs.configure(p.b, (*driver.LaunchConfig)(unsafe.Pointer(&v)))
	}
	p.bs.settled = settled{}
	l := p.b.launch
	was := l.Block().Mark(int(p.i))
	err := driver.SetArg(l, int(p.i), v)
	if l.Block().Changed(was) {
		p.bs.setElsewhere(p.b)
	}
	return err
}

// setElsewhere enters that an argument was set otherwise than by its slot.
func (bs *Bindings) setElsewhere(b *bound) {
	for _, k := range b.slots {
		s := &bs.slots[k]
		s.word = *s.at
	}
	if bs.marks[b.i] != bs.round {
		bs.mark(b.i)
	}
}

var errNoParam = aParam.Error(false)

func (bs *Bindings) mark(i int) {
	bs.marks[i] = bs.round
	bs.changed = append(bs.changed, bs.bound[i])
}

// bind returns what is bound of a node, at first a copy of l.
func (bs *Bindings) bind(n Node, l *driver.Launch) (*bound, error) {
	if !bs.exists() {
		return nil, aBinding.Error(bs == nil)
	}
	x := bs.x
	if err := x.lock(); err != nil {
		return nil, err
	}
	defer x.keep.mu.Unlock()
	if err := bs.use.begin(); err != nil {
		return nil, err
	}
	defer bs.use.end()
	if err := x.has(n); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	if b := bs.byNode[n]; b != nil {
		if b.from != l {
			return nil, invalid("it is bound to the arguments of another launch already, %v", b.from)
		}
		return b, nil
	}
	if err := n.bindable(l); err != nil {
		return nil, err
	}
	b := &bound{node: n, from: l, launch: l.Clone(), i: take(&bs.vacant, len(bs.bound))}
	b.params = b.launch.Block().Pack()
	bs.byNode[n] = b
	if b.i == len(bs.bound) {
		bs.bound, bs.marks = append(bs.bound, nil), append(bs.marks, 0)
	}
	bs.bound[b.i] = b
	bs.mark(b.i)
	return b, nil
}

// bindable refuses nodes that take no arguments, and launches of elsewhere.
func (n Node) bindable(l *driver.Launch) error {
	if err := n.g.accepts(l); err != nil {
		return err
	}
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
		return err
	}
	if t != cu.CU_GRAPH_NODE_TYPE_KERNEL {
		return invalid("it is no kernel node but a %v", t)
	}
	return nil
}

// refresh has everything sent again that an update has overwritten.
func (bs *Bindings) refresh() {
	if bs.updates == bs.x.updates {
		return
	}
	bs.updates = bs.x.updates
	for i, b := range bs.bound {
		if b != nil && bs.marks[i] != bs.round {
			bs.mark(i)
		}
	}
}

// Launch is Exec.Launch with the parameters that were set since the last one, in one native call.
// If it fails, the parameters that the driver did not accept are kept for the next Launch.
func (bs *Bindings) Launch(s *driver.Stream) error {
	if !bs.exists() {
		return aBinding.Error(bs == nil)
	}
	x := bs.x
	x.keep.mu.Lock()
	err := bs.launch(s)
	x.keep.mu.Unlock()
	runtime.KeepAlive(s)
	if err != nil {
		return x.launchError(s, err)
	}
	return nil
}

func (bs *Bindings) launch(s *driver.Stream) error {
	if err := bs.use.begin(); err != nil {
		return err
	}
	defer bs.use.end()
	x, k := bs.x, bs.x.keep
	bs.refresh()
	if len(bs.changed) == 0 {
		return k.launch(s)
	}
	if err := k.ready(s); err != nil {
		return err
	}
	if s.Context() != k.ctx { // each call is made under its own
		if err := bs.send(nil); err != nil {
			return err
		}
		return k.launch(s)
	}
	if !k.Follows(s) {
		if err := k.Move(s, func() error { return bs.send(s) }); err != nil {
			return err
		}
	} else if err := bs.send(s); err != nil {
		return err
	}
	k.Launched()
	runtime.KeepAlive(x)
	return nil
}

// Send sends the parameters without a launch. Use it before launching in another way.
func (bs *Bindings) Send() error {
	if !bs.exists() {
		return aBinding.Error(bs == nil)
	}
	if err := bs.x.lock(); err != nil {
		return err
	}
	defer bs.x.keep.mu.Unlock()
	if err := bs.use.begin(); err != nil {
		return err
	}
	defer bs.use.end()
	bs.refresh()
	return bs.send(nil)
}

// use marks bindings that a goroutine is setting, sending or changing. It detects concurrent use,
// which would silently leave values unsent. It is not a lock: a second user gets an error.
//
// Setting a number only checks the mark. Setting the mark costs more than storing the number does,
// and the calls that take long set it.
type use struct{ by atomic.Uint32 }

func (u *use) begin() error {
	if !u.by.CompareAndSwap(0, 1) {
		return errShared
	}
	return nil
}

func (u *use) end() { u.by.Store(0) }

// others reports whether somebody is at it.
func (u *use) others() bool { return u.by.Load() != 0 }

var errShared = invalid("two goroutines use these Bindings at the same time; " +
	"let one goroutine at a time set and launch them, or instantiate an Exec for each")
