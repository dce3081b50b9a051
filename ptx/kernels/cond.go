package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// SetCond returns the operation that sets the condition of a conditional node to the
// first element of word, such as the number of the body that a SWITCH node is to run.
// It is
// [graph.Cond.SetTo], listed here because results of these kernels often decide. It reads
// word. It has an effect only as a node of the condition's graph, or of a graph inside
// that graph's nodes.
func SetCond(c graph.Cond, word driver.MemoryOf[uint32]) (*driver.Launch, error) {
	return c.SetTo(word)
}

// SetCondWhen returns the operation that compares the first element of word with a
// constant. It sets the condition to 1 if the comparison holds, else to 0. The element
// can be a sum, a norm or a maximum that another kernel computed. It is
// [graph.Cond.SetWhen]. [graph.Bound] has forms that end a loop after a number of rounds.
func SetCondWhen[T graph.CondWord](c graph.Cond, word driver.MemoryOf[T], cmp graph.Cmp, constant T) (*driver.Launch, error) {
	return c.SetWhen(graph.When(word, cmp, constant))
}
