package retain

import "github.com/purecuda/cuda/internal/life"

// Shared is the Destroyer of memory whose addresses other graphs use too. Executable graphs that
// refer to such memory must not run concurrently; see package turn.
type Shared interface {
	life.Destroyer
	SharedMemory()
}

// EachShared calls f for all shared memory among the things, including those of nested graphs. It
// may call f more than once for the same memory.
func (o *References) EachShared(f func(Shared)) {
	if o == nil || !o.Shares {
		return
	}
	for i := range o.entries {
		e := &o.entries[i]
		if e.Of != nil {
			e.Of.EachShared(f)
			continue
		}
		if m, ok := e.Life.End().(Shared); ok {
			f(m)
		}
	}
}

// SharesAny reports whether any of refs is shared memory.
func SharesAny(refs []life.Ref) bool {
	for _, r := range refs {
		if _, ok := r.Lifetime().End().(Shared); ok {
			return true
		}
	}
	return false
}
