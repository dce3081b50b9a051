package graph

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// memory is what the nodes of a graph allocate and free. It belongs to the
// owners of the graph, which hold the buffers.
type memory struct {
	allocs []driver.GraphMemory
	frees  []driver.GraphMemory // also of memory of other graphs
}

func (m *memory) clone() *memory {
	if m == nil {
		return nil
	}
	return &memory{slices.Clone(m.allocs), slices.Clone(m.frees)}
}

// memory returns the account, to be changed.
func (o *owners) memory() *memory {
	if o.mem == nil {
		o.mem = new(memory)
	}
	return o.mem
}

// addMemoryOf has the graph allocate and free what a graph in it does.
func (o *owners) addMemoryOf(sub *owners) {
	if sub.mem == nil {
		return
	}
	m := o.memory()
	m.allocs = append(m.allocs, sub.mem.allocs...)
	m.frees = append(m.frees, sub.mem.frees...)
}

// launchMemory is what each launch of an exec leaves behind.
type launchMemory struct {
	left  []driver.GraphMemory // allocated and not freed
	freed []driver.GraphMemory // that another graph allocated
	auto  bool                 // a launch frees what is left first
}

// launches returns what is to be followed of launches of the graph as it is
// now: nothing, if the graph frees all that it allocates.
func (m *memory) launches(flags cu.CUgraphInstantiate_flags) *launchMemory {
	if m == nil {
		return nil
	}
	l := &launchMemory{auto: flags&cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH != 0}
	l.left = without(m.allocs, m.frees)
	l.freed = without(m.frees, m.allocs)
	if len(l.left)+len(l.freed) == 0 {
		return nil
	}
	return l
}

func without(all, others []driver.GraphMemory) (rest []driver.GraphMemory) {
	for _, m := range all {
		if !slices.Contains(others, m) {
			rest = append(rest, m)
		}
	}
	return rest
}

// launched follows a launch.
func (l *launchMemory) launched() {
	for _, m := range l.left {
		m.Allocated()
	}
	for _, m := range l.freed {
		m.Freed()
	}
}

// memoryError says what the driver does not: why a graph with memory nodes was
// not launched.
func (x *Exec) memoryError(err error) error {
	x.keep.mu.Lock()
	l := x.keep.mem
	x.keep.mu.Unlock()
	if l == nil || resultOf(err) != driver.CUDA_ERROR_INVALID_VALUE {
		return err
	}
	for _, m := range l.left {
		if m.IsAllocated() && !l.auto {
			return fmt.Errorf("the launch before left %v allocated: free it by Stream.FreeGraphMemory or a free node, or instantiate WithAutoFree: %w", m, err)
		}
	}
	for _, m := range l.freed {
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
	if g.keep.own.mem != nil {
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
