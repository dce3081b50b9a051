package graph

import "github.com/purecuda/cuda/driver"

// Before CUDA 12.8 a launch hangs where the body that a conditional node runs
// has no node in it, and before 12.4 an empty node does not help. So such
// bodies get a kernel that does nothing.
const emptyBodies = 12080

// fillBodies puts something into empty bodies, on drivers that need it.
func (g *Graph) fillBodies() error {
	if g.conds == nil || g.d.Version() >= emptyBodies {
		return nil
	}
	for _, k := range g.conds.byNode {
		for _, body := range k.bodies {
			if err := body.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill adds a node to a body that has none.
func (g *Graph) fill() error {
	if n, err := g.count((*driver.Driver).CuGraphGetNodes); err != nil || n > 0 {
		return err
	}
	k, err := condKernel(g.ctx, "cond_nothing")
	if err != nil {
		return err
	}
	l, err := k.Prepare(condConfig)
	if err != nil {
		return err
	}
	_, err = g.add(l, nil)
	return err
}
