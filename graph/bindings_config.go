package graph

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
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
	bs.laid, bs.sure = laid{}, sure{}
	return nil
}

var errUnbound = invalid("the node of this Param is bound no more (Bindings.Unbind), bind it anew")
