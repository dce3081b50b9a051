package retain

import (
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// HoldsFor reports whether a node refers to exactly refs. Some of them may have been closed since
// they were retained.
func (o *References) HoldsFor(node uint32, refs []life.Ref) bool {
	if uint64(node) >= uint64(len(o.Nodes)) || o.Nodes[node] == 0 {
		return false
	}
	s := &o.sets[o.Nodes[node]-1]
	if int(s.n) != len(refs) {
		return false
	}
	for i, slot := range o.Slots[s.off : s.off+s.n] {
		if o.entries[slot].Life != refs[i].Lifetime() {
			return false
		}
	}
	return true
}

// Memory describes the allocations and frees of a graph's nodes. It is part of the graph's
// references, which retain the buffers.
type Memory struct {
	Allocs []life.GraphMemory
	Frees  []life.GraphMemory // also lists memory of other graphs
}

func (m *Memory) clone() *Memory {
	if m == nil {
		return nil
	}
	return &Memory{slices.Clone(m.Allocs), slices.Clone(m.Frees)}
}

// Memory returns the writable Memory of o, which it creates on first use.
func (o *References) Memory() *Memory {
	if o.Mem == nil {
		o.Mem = new(Memory)
	}
	return o.Mem
}

func (o *References) addMemoryOf(sub *References) {
	if sub.Mem == nil {
		return
	}
	m := o.Memory()
	m.Allocs = append(m.Allocs, sub.Mem.Allocs...)
	m.Frees = append(m.Frees, sub.Mem.Frees...)
}

// LaunchMemory is the memory that each launch of an Exec leaves allocated or frees.
type LaunchMemory struct {
	Left  []life.GraphMemory // memory that a launch allocates and does not free
	Freed []life.GraphMemory // memory of another graph that a launch frees
	Auto  bool               // a launch first frees the memory left by the previous one
}

// Launches returns the memory to track for launches of the graph in its current state. It returns
// nil if the graph frees all memory that it allocates.
func (m *Memory) Launches(flags cu.CUgraphInstantiate_flags) *LaunchMemory {
	if m == nil {
		return nil
	}
	l := &LaunchMemory{Auto: flags&cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH != 0}
	l.Left = without(m.Allocs, m.Frees)
	l.Freed = without(m.Frees, m.Allocs)
	if len(l.Left)+len(l.Freed) == 0 {
		return nil
	}
	return l
}

func without(all, others []life.GraphMemory) (rest []life.GraphMemory) {
	for _, m := range all {
		if !slices.Contains(others, m) {
			rest = append(rest, m)
		}
	}
	return rest
}

// Launched updates the allocation state of the memory after a launch.
func (l *LaunchMemory) Launched() {
	for _, m := range l.Left {
		m.Allocated()
	}
	for _, m := range l.Freed {
		m.Freed()
	}
}

// RetainMemory retains the memory of an allocation node.
func (o *References) RetainMemory(b driver.Memory) error {
	if err := o.RetainLoose([]life.Ref{b.Ref()}); err != nil {
		return err
	}
	if m, ok := life.OpenGraphMemoryOf(b.Ref()); ok && m.Ptr() != 0 {
		o.Memory().Allocs = append(o.Memory().Allocs, m)
	}
	return nil
}
