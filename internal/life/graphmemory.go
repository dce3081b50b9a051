package life

import "github.com/purecuda/cuda/driver/cu"

// GraphMemory is the memory of a graph's allocation node. Its address is fixed when the node is
// created, but it is only backed by memory from a launch until something frees it. Packages that
// launch graphs record here whether it is allocated. Values are equal if they are the same memory.
type GraphMemory interface {
	Destroyer
	// IsGraph returns false for the memory of a stream-ordered allocation, which is no graph's.
	IsGraph() bool
	// Ptr returns the device address.
	Ptr() cu.CUdeviceptr
	// Allocated records that a launch left the memory allocated.
	Allocated()
	// Freed records that a launch freed the memory.
	Freed()
	// IsAllocated reports whether a launch left the memory allocated and no recorded call has freed
	// it since.
	IsAllocated() bool
	// FreeIn frees the memory in the order of s. d is the guarded driver of its context. If s is
	// capturing, it records a free node instead, and the caller tracks what launches of that node do.
	FreeIn(d *cu.Driver, s cu.CUstream) error
	String() string
}

// GraphMemoryOf returns the graph memory that a buffer refers to, or false if it does not belong to
// a graph.
func GraphMemoryOf(r Ref) (GraphMemory, bool) {
	if r == nil {
		return nil, false
	}
	m, ok := r.Lifetime().End().(GraphMemory)
	return m, ok && m.IsGraph()
}

// OpenGraphMemoryOf is GraphMemoryOf, but false for a closed buffer.
func OpenGraphMemoryOf(r Ref) (GraphMemory, bool) {
	m, ok := GraphMemoryOf(r)
	return m, ok && !r.Lifetime().Closed()
}
