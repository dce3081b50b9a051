package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Change is a new operation for a node of an Exec.
type Change struct {
	Node Node
	Op   driver.Op
}

// SetBatch is Set for many nodes. Kernels of the Exec's graph itself that keep their memory, and
// only change numbers among their arguments, are set with one native call, at about the cost of C.
// Operations are read before SetBatch returns. Changes may share an operation only if its arguments
// are the same for each.
//
// On failure, the error names the change, and the changes before it have been made.
func (x *Exec) SetBatch(changes []Change) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	x.g.lockLatch()
	defer x.g.mu.Unlock()
	if err := x.g.life.Check(); err != nil {
		return err
	}
	b := setter{x: x, changes: changes, batch: batches.get(x.d)}
	err := b.run()
	batches.put(b.batch)
	runtime.KeepAlive(changes) // the batch has addresses in the operations
	return err
}

// setter is a batch of changes on its way to an exec.
type setter struct {
	x       *Exec
	changes []Change
	batch   *cu.Batch
	first   int // the change of the first call in the batch

	last    *driver.Launch // of the change before, if it was put into the batch
	lastSet uint32         // of that change's node
}

func (b *setter) run() error {
	b.x.uploaded, b.x.changed = false, true
	for i := range b.changes {
		if err := b.set(i); err != nil {
			return err
		}
	}
	return b.flush(len(b.changes))
}

// set puts a change into the batch, or, if it concerns more than numbers, makes
// those in it and then this one.
func (b *setter) set(i int) error {
	x, c := b.x, &b.changes[i]
	if c.Node.g != x.g {
		return b.setInside(i)
	}
	if err := x.g.check(c.Node); err != nil {
		return b.error(i, err)
	}
	if l, ok := c.Op.(*driver.Launch); ok && (l == b.last && x.keep.refs.SetOf(c.Node.i) == b.lastSet || b.keeps(c.Node, l)) {
		b.batch.GraphExecKernelNodeSetParams(x.keep.raw, c.Node.handle(), &l.Block().Node)
		return nil
	}
	if err := b.flush(i); err != nil {
		return err
	}
	b.first, b.last = i+1, nil
	if err := x.setLocked(c.Node, c.Op); err != nil {
		return b.error(i, err)
	}
	return nil
}

// setInside is set for a node of a graph that lies in the exec's, which is
// unlocked meanwhile: who has that node locks it.
func (b *setter) setInside(i int) error {
	if err := b.flush(i); err != nil {
		return err
	}
	b.first, b.last = i+1, nil
	x, c := b.x, &b.changes[i]
	x.g.mu.Unlock()
	err := x.set(c.Node, c.Op)
	x.g.lockLatch()
	if err == nil {
		err = x.g.life.Check()
	}
	if err != nil {
		return b.error(i, err)
	}
	return nil
}

// keeps reports whether the exec holds what the node needs for l already. The
// next change is likely to need the same for a node with the same set.
func (b *setter) keeps(n Node, l *driver.Launch) bool {
	if l.Context() != b.x.ctx || len(l.Attributes()) > 0 {
		return false
	}
	o := b.x.changeRefs()
	if !o.RefersTo(int(n.i), l.Refs()) {
		return false
	}
	b.last, b.lastSet = l, o.SetOf(n.i)
	return true
}

// flush makes the calls of the batch, which end before change next.
func (b *setter) flush(next int) error {
	done, err := b.batch.Run()
	b.batch.Reset(&b.x.d.Driver)
	if err != nil {
		return b.error(b.first+done, err)
	}
	b.first = next
	return nil
}

func (b *setter) error(i int, err error) error {
	c := &b.changes[i]
	return fmt.Errorf("change %d: %w", i, setError(c.Node, b.x, c.Op, err))
}
