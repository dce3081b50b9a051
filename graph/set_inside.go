package graph

import "github.com/purecuda/cuda/driver"

// hasInside is has for a node that is not of the exec's graph itself: it may be
// of a graph in one of its nodes, where the driver takes new parameters too.
func (x *Exec) hasInside(n Node) error {
	if n.g == nil {
		return errNoNode
	}
	if err := n.lock(); err != nil {
		return err
	}
	if n.g.outermost() == x.g {
		return nil
	}
	n.g.mu.Unlock()
	return x.foreignNode(n)
}

// setInside is setLocked for a node of a graph that lies in another. What it
// refers to belongs to the exec as a whole: the numbers of such nodes mean
// nothing to it.
func (x *Exec) setInside(n Node, op driver.Op) error {
	if err := n.g.accepts(op); err != nil {
		return err
	}
	if noBytes(op) {
		return errNoBytes
	}
	if l, ok := op.(*driver.Launch); ok && len(l.Attributes()) > 0 {
		if err := n.g.checkAttributes(n, l); err != nil {
			return err
		}
	}
	o := x.changeRefs()
	if err := o.Retain(op.Refs()); err != nil {
		return err
	}
	if err := x.setRaw(n.handle(), op); err != nil {
		o.Abandon()
		x.keep.ReleaseDropped(o)
		return x.explainSet(n, op, err)
	}
	o.CommitLoose()
	x.keep.ReleaseDropped(o)
	return nil
}
