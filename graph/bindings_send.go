package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/retain"
)

// configIndex is the argument index that denotes the configuration of a launch.
const configIndex = -1

// BindConfig binds the configuration of a kernel node, as [Bind] binds an argument. Each launch can
// then have a different grid, block and dynamic shared memory size. CUDA cannot change launch
// attributes of executable graphs, such as cluster dimensions. Setting other attributes returns
// CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE.
func BindConfig(bs *Bindings, n Node, l *driver.Launch) (Param[driver.LaunchConfig], error) {
	b, err := bs.bind(n, l)
	if err != nil {
		return Param[driver.LaunchConfig]{}, fmt.Errorf("cannot bind the configuration of %v: %w", n, err)
	}
	return Param[driver.LaunchConfig]{bs: bs, b: b, i: configIndex}, nil
}

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

func sameAttributes(a, b *driver.LaunchConfig) bool {
	return a.Cooperative == b.Cooperative && a.Cluster == b.Cluster && a.Priority == b.Priority &&
		a.Programmatic == b.Programmatic && slices.Equal(a.Attributes, b.Attributes)
}

// Unbind removes the bindings of a node. The node keeps the values that were last sent, until
// Exec.Set or an update changes them. Values not yet sent are discarded. Setting a removed binding
// returns CUDA_ERROR_INVALID_VALUE. The node can be bound again, to the same or another launch.
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
	bs.prepared, bs.settled = prepared{}, settled{}
	return nil
}

var errUnbound = invalid("the node of this Param is no longer bound (Bindings.Unbind); bind it again")

// send sends the changes to the driver and, if s is not nil, a launch on s. The caller must hold
// the Exec's lock.
//
// send retains the new references of each node before the calls. They replace the node's old
// references once its call has succeeded. If the call for a node fails, the node keeps its
// parameters and references.
func (bs *Bindings) send(s *driver.Stream) error {
	g := bs.x.g
	if err := g.lock(); err != nil {
		return fmt.Errorf("its %w", err)
	}
	defer g.mu.Unlock()
	bs.x.uploaded, bs.x.changed = false, true
	o := bs.x.changeRefs()
	ready := bs.isPrepared(s)
	if !ready || !bs.settled.isCurrent(o, g) {
		if err := bs.retainChanged(o); err != nil {
			o.Abandon()
			bs.x.keep.ReleaseDropped(o)
			return err
		}
	}
	if !ready {
		bs.prepare(s)
	}
	done, err := bs.batch.Run()
	runtime.KeepAlive(bs) // the batch holds addresses within the launches
	if err != nil || o.Waiting() > 0 {
		return bs.sent(o, done, err)
	}
	bs.sentAll()
	bs.settled = settled{o, g, o.Epoch, g.removals}
	return nil
}

// settled is the state at the last send for which nothing had to be retained, because the exec
// already retained every reference.
type settled struct {
	o       *retain.References
	g       *Graph
	epoch   uint32
	removed uint32
}

// isCurrent reports whether the references and the graph are unchanged since the send that s
// describes.
func (s *settled) isCurrent(o *retain.References, g *Graph) bool {
	return s.o == o && s.g == g && s.epoch == o.Epoch && s.removed == g.removals
}

// sentAll empties changed and removes all marks. It is sufficient if all calls of the send
// succeeded and nothing had to be retained.
func (bs *Bindings) sentAll() {
	bs.round++
	bs.changed = bs.changed[:0]
}

// retainChanged retains what the launches of the changed nodes refer to, except for nodes whose
// references o already retains.
func (bs *Bindings) retainChanged(o *retain.References) error {
	if err := bs.check(bs.x.g); err != nil {
		return err
	}
	for _, c := range bs.changed {
		if err := c.launch.CheckRestrict(); err != nil {
			return c.error(bs.x, err)
		}
		if !c.isRetainedBy(o) {
			if err := o.Retain(c.launch.Uses().Refs); err != nil {
				return c.error(bs.x, err)
			}
			bs.x.keep.turns |= memoryChanged
		}
		c.fresh = o.Waiting()
	}
	return nil
}

type prepared struct {
	nodes  []*bound
	exec   cu.CUgraphExec
	stream driver.CUstream
	launch bool
}

// isPrepared reports whether the batch already contains the calls for the changed nodes and, if s
// is not nil, a launch on s. Most programs change the same nodes each time. The calls read the
// arguments in place, so the batch can be reused.
func (bs *Bindings) isPrepared(s *driver.Stream) bool {
	l := &bs.prepared
	return l.exec == bs.x.keep.raw && l.stream == s.Raw() && l.launch == (s != nil) && slices.Equal(l.nodes, bs.changed)
}

// prepare fills the batch with the calls for the changed nodes and, if s is not nil, a launch on s.
func (bs *Bindings) prepare(s *driver.Stream) {
	raw, l := bs.x.keep.raw, &bs.prepared
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
	*l = prepared{append(l.nodes[:0], bs.changed...), raw, s.Raw(), s != nil}
}

// check returns an error if a changed node no longer exists. It searches for the nodes again only
// if the exec has another graph, or if its graph or a nested graph lost nodes.
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
			return nil // bs.removed stays outdated, so the next check searches again
		}
	}
	bs.removed, bs.g = g.removals, g
	return nil
}

// check returns an error if the node no longer exists in the exec's graph or in a nested graph.
func (b *bound) check() error {
	g := b.node.g
	if g.shut {
		return g.closed()
	}
	return g.check(b.node)
}

// isRetainedBy reports whether o retains, for this node, everything that the launch refers to. The
// result is cached until the launch or o changes.
func (b *bound) isRetainedBy(o *retain.References) bool {
	l := b.launch
	if b.known == o && (b.epoch == o.Epoch || b.node.g.part) && b.refs == l.Block().Version {
		return true
	}
	if b.node.g.part { // the exec does not number the nodes of nested graphs
		return false
	}
	if !o.HoldsFor(b.node.i, l.Uses().Refs) {
		return false
	}
	b.found(o)
	return true
}

func (b *bound) found(o *retain.References) {
	b.known, b.epoch, b.refs = o, o.Epoch, b.launch.Block().Version
}

// sent records that the first done calls of the batch succeeded. It returns err, with the node
// whose call failed, if any.
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

// commit assigns the retained references to the first n changed nodes and releases the retained
// references of the other nodes.
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
		case c.node.g.part: // as after Exec.Set, the references stay retained until the whole Exec is updated
			o.CommitLoose()
			c.found(o)
		default:
			o.Commit(c.node.i)
		}
	}
	bs.x.keep.ReleaseDropped(o)
}

func (b *bound) error(x *Exec, err error) error { return setError(b.node, x, b.launch, err) }
