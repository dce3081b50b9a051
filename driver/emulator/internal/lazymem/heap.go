//go:build !linux || race

package lazymem

// Mapping is memory outside of Go's heap. There is none on this system.
type Mapping struct{}

// New always returns nil: the memory must come from Go's heap.
func New(uint64) ([]byte, *Mapping) { return nil, nil }

// Release does nothing.
func (*Mapping) Release() {}
