package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// SetCond returns the operation that sets the condition of a conditional node to the
// first element of word. For a SWITCH node, that is the number of the body to run.
// SetCond is equivalent to [graph.Cond.SetTo]. The operation reads word. It has an effect
// only as a node of the condition's graph, or of a graph inside that graph's nodes.
func SetCond(c graph.Cond, word driver.MemoryOf[uint32]) (*driver.Launch, error) {
	return c.SetTo(word)
}

// SetCondWhen returns the operation that compares the first element of word with a
// constant. It sets the condition to 1 if the comparison holds, and otherwise to 0. The
// element can be a sum, a norm or a maximum that another kernel computed. SetCondWhen is
// equivalent to [graph.Cond.SetWhen]. [graph.Bound] also limits the number of iterations of a
// loop.
func SetCondWhen[T graph.CondWord](c graph.Cond, word driver.MemoryOf[T], cmp graph.Cmp, constant T) (*driver.Launch, error) {
	return c.SetWhen(graph.When(word, cmp, constant))
}
