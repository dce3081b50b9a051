package retain

import "github.com/purecuda/cuda/internal/life"

// Shared is the Destroyer of memory whose addresses several graphs use. Executable graphs that
// refer to the same addresses must not run concurrently. See package turn.
type Shared interface {
	life.Destroyer
	SharedMemory()
}

// EachShared calls f for all shared memory in o and in the References of nested graphs. It may call
// f more than once for the same memory.
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
