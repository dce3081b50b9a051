package graph

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// explainSet adds to the driver's refusal to set a node of an Exec what it never
// accepts.
func (x *Exec) explainSet(n Node, op driver.Op, err error) error {
	if typed := n.g.explainOp(n, op, err); typed != err {
		return typed
	}
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		return err
	}
	why := ""
	switch op := op.(type) {
	case *driver.CopyOp:
		if p := op.Memcpy3D(); p.Height > 1 || p.Depth > 1 || p.DstMemoryType == cu.CU_MEMORYTYPE_ARRAY || p.SrcMemoryType == cu.CU_MEMORYTYPE_ARRAY {
			why = "only copies of one row of linear memory can be set in an executable graph, for others update it from the graph"
		}
	case *driver.FillOp:
		why = "of a fill only the address and the value can be set in an executable graph, not how many rows there are"
	case *driver.MemOp:
		why = "of memory operations only addresses and values can be set in an executable graph, neither the number of steps nor what they do"
	case *driver.SemaphoreOp:
		why = "how many semaphores a node is about cannot be set in an executable graph"
	}
	if why == "" {
		return err
	}
	return fmt.Errorf("%s: %w", why, err)
}

// explainOp adds to an error that the node is not of the operation's type, if so.
func (g *Graph) explainOp(n Node, op driver.Op, err error) error {
	if err == nil {
		return nil
	}
	p, unknown := tagged(op)
	if unknown != nil {
		return err
	}
	return g.explainType(n, p.Type, err)
}

// errNoBytes is for nodes that are set to a copy or fill of no bytes, which CUDA
// has no node for. Added to a graph it is an empty node.
var errNoBytes = invalid("a node cannot become a copy or fill of no bytes; switch it off (Exec.Enable)")

func noBytes(op driver.Op) bool {
	switch op := op.(type) {
	case *driver.CopyOp:
		return op.Bytes() == 0
	case *driver.FillOp:
		return op.Bytes() == 0
	}
	return false
}
