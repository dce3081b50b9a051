package graph

import (
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
)

// lone counts the executable graphs of a graph with conditional nodes. CUDA
// allows one at a time.
type lone struct{ execs atomic.Int32 }

// free refuses a second one.
func (l *lone) free(g *Graph, k *conditional) error {
	if l == nil || l.execs.Load() == 0 {
		return nil
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
		"cannot instantiate %v: it has an executable graph already, and because %v in it is a %v node there can be one at a time; close that one, or build the graph a second time", g, k.node, k.form)
}

// made counts a new one, gone one that the driver destroyed.
func (l *lone) made() *lone {
	if l != nil {
		l.execs.Add(1)
	}
	return l
}

func (l *lone) gone() {
	if l != nil {
		l.execs.Add(-1)
	}
}

// instantiable refuses what the driver would without a reason, and makes a
// graph with conditional nodes ready.
func (g *Graph) instantiable() error {
	if g.part {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"cannot instantiate %v: it lies in %v of %v, instantiate the graph around it", g, g.in, g.in.g)
	}
	k := g.holds()
	if k == nil {
		return nil
	}
	if err := g.conds.lone.free(g, k); err != nil {
		return err
	}
	return g.fillBodies()
}

// loneExec counts an executable that was made of g.
func (g *Graph) loneExec() *lone {
	if g.holds() == nil {
		return nil
	}
	return g.conds.lone.made()
}
