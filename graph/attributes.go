package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Attribute returns a launch attribute of a kernel node, such as CU_LAUNCH_ATTRIBUTE_PRIORITY. An
// attribute that was never set has the driver's default.
func (n Node) Attribute(id cu.CUlaunchAttributeID) (v cu.CUlaunchAttributeValue, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error {
		return d.CuGraphKernelNodeGetAttribute(n.handle(), id, &v)
	})
	return v, named(id, err)
}

// SetAttribute sets a launch attribute of a kernel node for Execs instantiated later. An update of
// an Exec cannot change most attributes. Adding or setting a Launch already sets those of its
// LaunchConfig.
func (n Node) SetAttribute(id cu.CUlaunchAttributeID, v cu.CUlaunchAttributeValue) error {
	err := n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error {
		n.g.tune(n.handle(), attributeBit(id))
		return d.CuGraphKernelNodeSetAttribute(n.handle(), id, &v)
	})
	return named(id, err)
}

func named(id cu.CUlaunchAttributeID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", id, err)
}

// CopyAttributes copies the launch attributes from another kernel node to n. The nodes may be in
// different graphs, but their kernels must be of one context.
func (n Node) CopyAttributes(from Node) error {
	if n.g == nil || from.g == nil {
		return errNoNode
	}
	if n.g.latchNow() == from.g.latchNow() {
		return n.copyAttributes(from)
	}
	unlock, err := lockBoth(n.g, from.g)
	if err != nil {
		return err
	}
	defer unlock()
	if err := n.g.check(n); err != nil {
		return err
	}
	return n.copyAttributesLocked(from)
}

func (n Node) copyAttributes(from Node) error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	if err := from.g.closed(); err != nil {
		return err
	}
	return n.copyAttributesLocked(from)
}

func (n Node) copyAttributesLocked(from Node) error {
	if err := from.g.check(from); err != nil {
		return err
	}
	err := n.g.d.CuGraphKernelNodeCopyAttributes(n.handle(), from.handle())
	if err == nil {
		n.g.tune(n.handle(), anyAttribute) // which from has nobody knows
	}
	n.g.alive()
	from.g.alive()
	if err != nil {
		err = n.g.explainType(n, cu.CU_GRAPH_NODE_TYPE_KERNEL, err)
		err = from.g.explainType(from, cu.CU_GRAPH_NODE_TYPE_KERNEL, err)
		return fmt.Errorf("cannot give %v the attributes of %v: %w", n, from, err)
	}
	return nil
}
