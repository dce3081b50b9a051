package graph

import "sync/atomic"

// use marks bindings that a goroutine is setting, sending or changing. It detects concurrent use,
// which would silently leave values unsent. It is not a lock: a second user gets an error.
//
// Setting a number only checks the mark. Setting the mark costs more than storing the number does,
// and the calls that take long set it.
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
