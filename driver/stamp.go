package driver

import (
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/internal/launch"
)

// kernelUses are the memory and the accesses of a kernel's most recently prepared launch. It keeps
// no memory alive and only compares addresses of Lifetimes. An address that a caller remembered to
// retain belongs to no other Lifetime.
type kernelUses struct {
	mem   []uintptr
	uses  []Access
	stamp launch.Stamp
}

// shareAccesses gives a new launch the number of the kernel's previously prepared launch if both
// access the same memory. In a list of launches that only differ in numbers, equal numbers show
// that there is nothing to examine.
func (l *Launch) shareAccesses() {
	if last := l.k.uses.Load(); last != nil && last.are(l) {
		l.b.Accesses = last.stamp
		return
	}
	l.b.Accesses = launch.NewStamp()
	now := &kernelUses{make([]uintptr, len(l.b.Mem)), slices.Clone(l.uses), l.b.Accesses}
	for i, m := range l.b.Mem {
		now.mem[i] = uintptr(unsafe.Pointer(m))
	}
	l.k.uses.Store(now)
}

func (u *kernelUses) are(l *Launch) bool {
	if len(u.mem) != len(l.b.Mem) {
		return false
	}
	for i, m := range l.b.Mem {
		if u.mem[i] != uintptr(unsafe.Pointer(m)) {
			return false
		}
	}
	return slices.Equal(u.uses, l.uses)
}
