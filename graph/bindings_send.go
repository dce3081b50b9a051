package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/retain"
)

// configIndex is the place of the configuration among the arguments of a launch.
const configIndex = -1

// BindConfig binds the configuration of a kernel node, as [Bind] does an argument. Each launch can
// then have another grid, block and size of dynamic shared memory. Executable graphs cannot change
// launch attributes, such as clusters: setting another one returns
// CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE.
func BindConfig(bs *Bindings, n Node, l *driver.Launch) (Param[driver.LaunchConfig], error) {
	b, err := bs.bind(n, l)
	if err != nil {
		return Param[driver.LaunchConfig]{}, fmt.Errorf("cannot bind the configuration of %v: %w", n, err)
	}
	return Param[driver.LaunchConfig]{bs: bs, b: b, i: configIndex}, nil
}

// configure gives a node another configuration.
func (bs *Bindings) configure(b *bound, cfg *driver.LaunchConfig) error {
	l := b.launch
	was := l.Config()
	if !sameAttributes(&was, cfg) {
		return setError(b.node, bs.x, l, refuse(driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
			"the configuration has other launch attributes, which only instantiating the graph anew can change (Node.Set, then Instantiate)"))
	}
	if was.Grid == cfg.Grid && was.Block == cfg.Block && was.SharedMem == cfg.SharedMem {
		return nil
	}
	if err := l.SetConfig(*cfg); err != nil {
		return err
	}
	to, from := b.params, &l.Block().Node
	to.GridDimX, to.GridDimY, to.GridDimZ = from.GridDimX, from.GridDimY, from.GridDimZ
	to.BlockDimX, to.BlockDimY, to.BlockDimZ = from.BlockDimX, from.BlockDimY, from.BlockDimZ
	to.SharedMemBytes = from.SharedMemBytes
	if bs.marks[b.i] != bs.round {
		bs.mark(b.i)
	}
	return nil
}

// sameAttributes reports whether two configurations differ in nothing but extents.
func sameAttributes(a, b *driver.LaunchConfig) bool {
	return a.Cooperative == b.Cooperative && a.Cluster == b.Cluster && a.Priority == b.Priority &&
		a.Programmatic == b.Programmatic && slices.Equal(a.Attributes, b.Attributes)
}

// Unbind removes the bindings of a node. The node keeps the values that were sent last, until
// Exec.Set or an update changes them. Values that were only set are not sent. Setting one of the
// node's parameters then returns CUDA_ERROR_INVALID_VALUE. The node can be bound again, also to
// another launch.
func (bs *Bindings) Unbind(n Node) error {
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
	b := bs.byNode[n]
	if b == nil {
		return invalid("cannot unbind %v of %v: no argument of it is bound", n, bs.x)
	}
	delete(bs.byNode, n)
	for _, k := range b.slots {
		delete(bs.slotAt, bs.slots[k].at)
		bs.slots[k] = slot{}
		bs.spare = append(bs.spare, k)
	}
	bs.changed = slices.DeleteFunc(bs.changed, func(c *bound) bool { return c == b })
	bs.bound[b.i], bs.marks[b.i] = nil, 0
	bs.vacant = append(bs.vacant, b.i)
	b.i = -1
	bs.laid, bs.settled = laid{}, settled{}
	return nil
}

var errUnbound = invalid("the node of this Param is bound no more (Bindings.Unbind), bind it anew")

// send has the driver take what changed, and, if there is a stream, a launch.
// The exec is locked.
//
// What a node will refer to is held before the calls are made, and takes the
// place of what the node has when its call is known to have succeeded: a call
// that failed leaves the node as it was, and what it refers to held.
func (bs *Bindings) send(s *driver.Stream) error {
	g := bs.x.g
	if err := g.lock(); err != nil {
		return fmt.Errorf("its %w", err)
	}
	defer g.mu.Unlock()
	bs.x.uploaded, bs.x.changed = false, true
	o := bs.x.changeRefs()
	ready := bs.isLaid(s)
	if !ready || !bs.settled.holdsFor(o, g) {
		if err := bs.hold(o); err != nil {
			o.Abandon()
			bs.x.keep.ReleaseDropped(o)
			return err
		}
	}
	if !ready {
		bs.lay(s)
	}
	done, err := bs.batch.Run()
	runtime.KeepAlive(bs) // the batch has addresses in the launches
	if err != nil || o.Waiting() > 0 {
		return bs.sent(o, done, err)
	}
	bs.sentAll()
	bs.settled = settled{o, g, o.Epoch, g.removals}
	return nil
}

// settled is when the calls in the batch were made last without anything to hold
// for them: what they refer to was held already, and their nodes were there.
type settled struct {
	o       *retain.References
	g       *Graph
	epoch   uint32
	removed uint32
}

// holdsFor reports whether it still is so.
func (s *settled) holdsFor(o *retain.References, g *Graph) bool {
	return s.o == o && s.g == g && s.epoch == o.Epoch && s.removed == g.removals
}

// sentAll enters that all calls succeeded and that nothing was held for them.
func (bs *Bindings) sentAll() {
	bs.round++
	bs.changed = bs.changed[:0]
}

// hold holds what the nodes that changed will refer to.
func (bs *Bindings) hold(o *retain.References) error {
	if err := bs.check(bs.x.g); err != nil {
		return err
	}
	for _, c := range bs.changed {
		if !c.holds(o) {
			if err := o.Retain(c.launch.Refs()); err != nil {
				return c.error(bs.x, err)
			}
		}
		c.fresh = o.Waiting()
	}
	return nil
}

// laid is what the calls in a batch are for.
type laid struct {
	nodes  []*bound
	exec   cu.CUgraphExec
	stream driver.CUstream
	launch bool
}

// isLaid reports whether the batch has the calls for what changed, and a launch
// on s unless that is nil. In most programs it is the same nodes each time: the
// calls read the arguments where those are.
func (bs *Bindings) isLaid(s *driver.Stream) bool {
	l := &bs.laid
	return l.exec == bs.x.keep.raw && l.stream == s.Raw() && l.launch == (s != nil) && slices.Equal(l.nodes, bs.changed)
}

// lay puts these calls into the batch.
func (bs *Bindings) lay(s *driver.Stream) {
	raw, l := bs.x.keep.raw, &bs.laid
	bs.settled = settled{}
	if bs.batch == nil {
		bs.batch = bs.x.d.NewBatch()
	}
	bs.batch.Reset(&bs.x.d.Driver)
	for _, c := range bs.changed {
		bs.batch.GraphExecKernelNodeSetParams(raw, c.node.handle(), c.params)
	}
	if s != nil {
		bs.batch.GraphLaunch(raw, s.Raw())
	}
	*l = laid{append(l.nodes[:0], bs.changed...), raw, s.Raw(), s != nil}
}

// check looks whether the nodes still exist. As long as the graph is the same and
// loses none, also in its nodes, they do.
func (bs *Bindings) check(g *Graph) error {
	if bs.removed == g.removals && bs.g == g {
		return nil
	}
	for _, b := range bs.changed {
		if err := b.check(); err != nil {
			return b.error(bs.x, err)
		}
	}
	for _, b := range bs.bound {
		if b != nil && b.check() != nil {
			return nil // look again the next time
		}
	}
	bs.removed, bs.g = g.removals, g
	return nil
}

// check looks whether the node still exists: in the exec's graph, or in one that
// lies in a node of it.
func (b *bound) check() error {
	g := b.node.g
	if g.shut {
		return g.closed()
	}
	return g.check(b.node)
}

// holds reports whether the exec holds all that the launch refers to for the
// node. As long as nothing changes it is not looked up again.
func (b *bound) holds(o *retain.References) bool {
	l := b.launch
	if b.known == o && (b.epoch == o.Epoch || b.node.g.part) && b.refs == l.Block().Version {
		return true
	}
	if b.node.g.part { // the numbers of such nodes mean nothing to the exec
		return false
	}
	if !o.HoldsFor(b.node.i, l.Refs()) {
		return false
	}
	b.found(o)
	return true
}

// found notes that o holds what the launch refers to.
func (b *bound) found(o *retain.References) {
	b.known, b.epoch, b.refs = o, o.Epoch, b.launch.Block().Version
}

// sent enters that the first done calls succeeded.
func (bs *Bindings) sent(o *retain.References, done int, err error) error {
	n := min(done, len(bs.changed))
	bs.commit(o, n)
	var failed *bound
	if n < len(bs.changed) {
		failed = bs.changed[n]
	}
	for _, c := range bs.changed[:n] {
		bs.marks[c.i] = 0
	}
	bs.changed = append(bs.changed[:0], bs.changed[n:]...)
	if err != nil && failed != nil {
		return failed.error(bs.x, err)
	}
	return err
}

// commit gives what is held to the first n nodes that changed, and drops what
// is held for the others.
func (bs *Bindings) commit(o *retain.References, n int) {
	if o.Waiting() == 0 {
		return
	}
	bs.fresh = append(bs.fresh[:0], o.TakePending()...)
	from := 0
	for i, c := range bs.changed {
		part := bs.fresh[from:c.fresh]
		from = c.fresh
		if len(part) == 0 {
			continue
		}
		o.Slots = append(o.Slots, part...)
		switch {
		case i >= n:
			o.Abandon()
		case c.node.g.part: // kept until the exec is updated as a whole, as by Set
			o.CommitLoose()
			c.found(o)
		default:
			o.Commit(c.node.i)
		}
	}
	bs.x.keep.ReleaseDropped(o)
}

func (b *bound) error(x *Exec, err error) error { return setError(b.node, x, b.launch, err) }
