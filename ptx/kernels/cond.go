package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// SetCond returns the operation that gives the condition of a conditional node the
// value of the first element of word, such as the number of the body that a SWITCH node
// is to run. It is [graph.Cond.SetTo], listed here because what these kernels compute
// often decides. It reads word, and has an effect only as a node of the condition's
// graph or of one inside its nodes.
func SetCond(c graph.Cond, word driver.MemoryOf[uint32]) (*driver.Launch, error) {
	return c.SetTo(word)
}

// SetCondWhen returns the operation that sets a condition to 1 if the first element of
// word compares with the constant like that, else to 0: the sum, the norm or the
// largest element that another kernel left there. It is [graph.SetWhen], which also has
// the forms that end a loop after a number of rounds.
func SetCondWhen[T graph.CondWord](c graph.Cond, word driver.MemoryOf[T], cmp graph.Cmp, constant T) (*driver.Launch, error) {
	return graph.SetWhen(c, word, cmp, constant)
}
