//go:build !linux || race

package lazymem

// Mapping is memory outside Go's heap, which this build does not use.
type Mapping struct{}

// New always returns nil. The caller must then allocate the memory on Go's heap.
func New(uint64) ([]byte, *Mapping) { return nil, nil }

// Release does nothing.
func (*Mapping) Release() {}
