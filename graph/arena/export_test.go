package arena

import "github.com/purecuda/cuda/driver"

// WithoutMapping makes the arena allocate its chunks separately, as on a device that cannot map
// memory to addresses.
func WithoutMapping() Option { return func(c *core) { c.unmapped = true } }

// RangeOf returns the address and the size of a buffer of an arena.
func RangeOf(m driver.Memory) (at, size uint64) {
	p := m.Ref().Lifetime().End().(*piece)
	return p.memory.At, p.memory.Size
}
