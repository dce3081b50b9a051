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
// A bound node has the arguments of the launch it was bound with, plus the values set since.
// Changes by Exec.Set last only until a binding of the node changes. After an update of the Exec,
// the next Launch sends all bindings again.
//
// [BindConfig] binds the grid and block of a node. [Bindings.Unbind] removes a node's bindings.
// Bind also accepts nodes of nested graphs.
//
// Only one goroutine at a time may change and send the bindings of an Exec. Launch and Send wait
// for other uses of the Exec to finish. Setting a parameter while another goroutine binds or
// launches returns CUDA_ERROR_INVALID_VALUE.
type Bindings struct {
	use      use
	x        *Exec
	round    uint64   // current round, at least 1; incrementing it removes all marks at once
	slots    []slot   // numeric arguments
	spare    []int    // free indices of slots
	vacant   []int    // free indices of bound
	marks    []uint64 // for each node in bound; equal to round while the node is in changed
	bound    []*bound // nil for a node that is no longer bound
	changed  []*bound // in the order of their first change
	byNode   map[Node]*bound
	slotAt   map[*uint64]int // index in slots, by the address that the driver reads
	updates  uint64          // Exec.updates at the last refresh
	g        *Graph          // the graph in which all bound nodes were last found
	removed  uint32          // g.removals at that time
	batch    *cu.Batch
	prepared prepared // what the calls in batch were prepared for
	settled  settled  // state at the last send for which nothing had to be retained
	fresh    []uint32 // reference slots retained for the nodes in changed
	shares   bool     // a bound launch may have new memory that graphs share (package turn)
}

// slot is a numeric argument. Slots are contiguous and separate from the memory that the driver
// reads, because a launch evicts most of both from the processor's caches. Set reads only the slot.
// It writes the driver's memory without reading it.
type slot struct {
	word  uint64  // value of the argument
	at    *uint64 // the address that the driver reads
	b     *bound  // node of the argument; only compared, never dereferenced
	bound int     // index of b in Bindings.bound
}

type bound struct {
	node   Node
	from   *driver.Launch // the launch that was passed to Bind
	launch *driver.Launch // a copy of from, with the values set since
	params *cu.CUDA_KERNEL_NODE_PARAMS
	i      int   // index in Bindings.bound; -1 if no longer bound
	slots  []int // indices in Bindings.slots of the node's arguments

	fresh int                // end of the node's part of Bindings.fresh
	known *retain.References // retains the references of launch as long as epoch and refs match
	epoch uint32             // known.Epoch when known was set
	refs  uint32             // launch.Block().Version when known was set
}

// Bindings returns the bindings of the Exec, always the same object.
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

// Param is one bound argument. Copies denote the same argument.
type Param[T any] struct {
	bs   *Bindings
	b    *bound
	i    int32
	slot int32 // slot index of a numeric argument plus 1, otherwise 0
}

// Bind binds argument i, counted from 0, of a kernel node. The next Launch passes the arguments of
// l to the node. Bind copies the arguments, so the caller may change and reuse l. To bind other
// arguments of the same node, pass the same l.
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

// slotOf returns 1 plus the index of the slot for the numeric argument that the driver reads at
// address at. It creates the slot on first use. If at is nil, the argument is not numeric, and
// slotOf returns 0.
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

// take removes and returns the last element of the list. If the list is empty, take returns its
// second argument.
func take(list *[]int, or int) int {
	n := len(*list)
	if n == 0 {
		return or
	}
	last := (*list)[n-1]
	*list = (*list)[:n-1]
	return last
}

// BindName is like Bind, but selects the argument by the parameter's name in the kernel's PTX.
func BindName[T any](bs *Bindings, n Node, l *driver.Launch, name string) (Param[T], error) {
	i, err := l.ArgIndex(name)
	if err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	return Bind[T](bs, n, l, i)
}

// Set sets the parameter's value, which the next Launch of the bindings sends. Setting the current
// value sends nothing. Set retains a Memory value. It releases the previous Memory when the
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

// setAny sets a configuration or an argument that is not a plain number.
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
		p.bs.shares = p.bs.shares || retain.SharesAny(l.Uses().Refs)
	}
	return err
}

// setElsewhere marks b as changed and reloads its slots after an argument was set without its slot.
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

// bind returns the entry of node n. The first call for a node creates the entry with a copy of l.
// Later calls must pass the same l.
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
			return nil, invalid("it is already bound to the arguments of another launch, %v", b.from)
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
	bs.shares = bs.shares || retain.SharesAny(b.launch.Uses().Refs)
	return b, nil
}

// bindable returns an error if n is not a kernel node or if its graph does not accept l.
func (n Node) bindable(l *driver.Launch) error {
	if err := n.g.accepts(l); err != nil {
		return err
	}
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
		return err
	}
	if t != cu.CU_GRAPH_NODE_TYPE_KERNEL {
		return invalid("it is not a kernel node but a %v", t)
	}
	return nil
}

// refresh marks all bound nodes as changed if an update of the Exec has overwritten their
// parameters.
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

// Launch launches the Exec with the parameters set since the last launch. It makes one native call
// if s belongs to the Exec's context. If it fails, the next Launch sends again the parameters that
// the driver did not accept.
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
	if s.Context() != k.ctx || bs.shares { // each call must run in the context of its node
		if err := bs.send(nil); err != nil {
			return err
		}
		bs.shares = false
		return k.launch(s)
	}
	if k.turns != 0 {
		if turn, err := k.takesTurns(); err != nil || turn {
			return k.launchInTurn(s, bs, err)
		}
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

// Send sends the parameters without launching. Use it before launching the Exec by other means.
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

// use marks that a goroutine is setting, sending or changing the bindings. It detects concurrent
// use, which would silently leave values unsent. It is not a lock: the second goroutine gets an
// error.
//
// Setting a number only checks the mark, because setting the mark costs more than storing the
// number. Longer calls set it.
type use struct{ by atomic.Uint32 }

func (u *use) begin() error {
	if !u.by.CompareAndSwap(0, 1) {
		return errShared
	}
	return nil
}

func (u *use) end() { u.by.Store(0) }

func (u *use) others() bool { return u.by.Load() != 0 }

var errShared = invalid("two goroutines use these Bindings at the same time; " +
	"let one goroutine at a time set and launch them, or instantiate an Exec for each")
