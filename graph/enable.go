package graph

import "fmt"

// Enable switches a node of an Exec on or off, from the next launch on. A node that is off does
// nothing, but its dependencies still hold. Kernel, copy and fill nodes can be switched (CUDA
// 11.6).
func (x *Exec) Enable(n Node, on bool) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	if err := x.has(n); err != nil {
		return fmt.Errorf("cannot switch a node of %v: %w", x, err)
	}
	defer n.g.mu.Unlock()
	flag := uint32(0)
	if on {
		flag = 1
	}
	x.uploaded, x.changed = false, true
	if err := x.d.CuGraphNodeSetEnabled(x.keep.raw, n.handle(), flag); err != nil {
		return fmt.Errorf("cannot switch node %d of %v: %w", n.i, x, err)
	}
	return nil
}

// Enabled reports whether a node of an Exec is switched on.
func (x *Exec) Enabled(n Node) (bool, error) {
	if err := x.lock(); err != nil {
		return false, err
	}
	defer x.keep.mu.Unlock()
	if err := x.has(n); err != nil {
		return false, fmt.Errorf("a node of %v: %w", x, err)
	}
	defer n.g.mu.Unlock()
	var flag uint32
	if err := x.d.CuGraphNodeGetEnabled(x.keep.raw, n.handle(), &flag); err != nil {
		return false, fmt.Errorf("node %d of %v: %w", n.i, x, err)
	}
	return flag != 0, nil
}
