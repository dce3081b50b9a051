package graph

import "sync/atomic"

// use marks bindings that somebody is setting, sending or changing. It finds two
// goroutines that use them at a time, which would leave values unsent without a
// word. It is no lock: whoever finds the mark is refused.
//
// Setting a number only looks at the mark. To make one costs more than storing the
// number does, and the calls that take long are the others.
type use struct{ by atomic.Uint32 }

func (u *use) begin() error {
	if !u.by.CompareAndSwap(0, 1) {
		return errShared
	}
	return nil
}

func (u *use) end() { u.by.Store(0) }

// others reports whether somebody is at it.
func (u *use) others() bool { return u.by.Load() != 0 }

var errShared = invalid("two goroutines use these Bindings at the same time; " +
	"let one goroutine at a time set and launch them, or instantiate an Exec for each")
