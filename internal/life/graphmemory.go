package life

import "github.com/purecuda/cuda/driver/cu"

// GraphMemory is the memory of a graph's allocation node. Its address is fixed when the node is
// created, but memory backs it only from a launch until the memory is freed. Packages that launch
// graphs record whether it is allocated. Two values are equal if they refer to the same memory.
type GraphMemory interface {
	Destroyer
	// IsGraph returns false for a stream-ordered allocation, which does not belong to a graph.
	IsGraph() bool
	// Ptr returns the device address.
	Ptr() cu.CUdeviceptr
	// Allocated records that a launch left the memory allocated.
	Allocated()
	// Freed records that a launch freed the memory.
	Freed()
	// IsAllocated reports whether a launch left the memory allocated and no later recorded call has
	// freed it.
	IsAllocated() bool
	// FreeIn frees the memory in stream order. d is the guarded driver of the context. If s is
	// capturing, FreeIn records a free node instead, and the caller must track which launches of
	// that node free the memory.
	FreeIn(d *cu.Driver, s cu.CUstream) error
	String() string
}

// GraphMemoryOf returns the graph memory that a buffer refers to. It returns false if the memory
// does not belong to a graph.
func GraphMemoryOf(r Ref) (GraphMemory, bool) {
	if r == nil {
		return nil, false
	}
	m, ok := r.Lifetime().End().(GraphMemory)
	return m, ok && m.IsGraph()
}

// OpenGraphMemoryOf is like GraphMemoryOf, but returns false for a closed buffer.
func OpenGraphMemoryOf(r Ref) (GraphMemory, bool) {
	m, ok := GraphMemoryOf(r)
	return m, ok && !r.Lifetime().Closed()
}
