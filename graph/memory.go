package graph

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// memoryError says what the driver does not: why a graph with memory nodes was
// not launched.
func (x *Exec) memoryError(err error) error {
	x.keep.mu.Lock()
	l := x.keep.Mem
	x.keep.mu.Unlock()
	if l == nil || resultOf(err) != driver.CUDA_ERROR_INVALID_VALUE {
		return err
	}
	for _, m := range l.Left {
		if m.IsAllocated() && !l.Auto {
			return fmt.Errorf("the launch before left %v allocated: free it by Stream.FreeGraphMemory or a free node, or instantiate WithAutoFree: %w", m, err)
		}
	}
	for _, m := range l.Freed {
		if !m.IsAllocated() {
			return fmt.Errorf("it frees %v, which no launch has allocated or something freed already: %w", m, err)
		}
	}
	return err
}

// What cannot be done to graphs with memory nodes.
const (
	noClone   = "it allocates or frees memory, and such graphs cannot be cloned: their addresses are theirs alone"
	noCopy    = "it allocates or frees memory, and such graphs cannot be copied into a node; move it there (CUDA 12.9)"
	noRemoval = "it allocates or frees memory, and of such graphs no node or dependency can be removed"
	oneExec   = "it allocates or frees memory, and of such graphs there can be only one executable graph at a time: close the other first"
)

// memoryLimit gives the reason why the driver does not support something, if
// that is that g has memory nodes. g is locked.
func (g *Graph) memoryLimit(err error, reason string) error {
	if resultOf(err) != driver.CUDA_ERROR_NOT_SUPPORTED || !g.hasMemory() {
		return err
	}
	return fmt.Errorf("%s: %w", reason, err)
}

// hasMemory reports whether g has memory nodes: its own account says, or, for
// those that other libraries captured, the driver does.
func (g *Graph) hasMemory() bool {
	if g.keep.refs.Mem != nil {
		return true
	}
	raws, err := g.handles()
	return err == nil && slices.ContainsFunc(raws, g.isMemory)
}

func (g *Graph) isMemory(raw cu.CUgraphNode) bool {
	var t Type
	err := g.d.CuGraphNodeGetType(raw, &t)
	return err == nil && isMemoryNode(t)
}

func isMemoryNode(t Type) bool {
	return t == cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC || t == cu.CU_GRAPH_NODE_TYPE_MEM_FREE
}
