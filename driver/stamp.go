package driver

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// stamp is a version number that is unique among all versions of everything, so a number alone
// identifies a version. A stamp takes numbers from a common counter in blocks.
type stamp uint64

const stampBlock = 1 << 10

var stamps atomic.Uint64

func newStamp() stamp { return stamp(stamps.Add(stampBlock)) }

// change takes the next number. The first number of a block may be shared, so a change takes a new
// block.
func (s *stamp) change() {
	if *s%stampBlock == 0 {
		*s = newStamp()
	}
	if *s++; *s%stampBlock == 0 {
		*s = newStamp() + 1
	}
}

// AccessesVersion returns a number that changes whenever Accesses or its memory does. Two launches
// have the same number only if they are of one kernel and access the same memory in the same way.
// It is for packages that cache Accesses.
func (l *Launch) AccessesVersion() uint64 {
	if l == nil {
		return 0
	}
	return uint64(l.accesses)
}

// kernelUses are the memory and the accesses of a kernel's most recently prepared launch. It keeps
// no memory alive and only compares addresses of Lifetimes. An address that a caller remembered to
// retain belongs to no other Lifetime.
type kernelUses struct {
	mem   []uintptr
	uses  []Access
	stamp stamp
}

// shareAccesses gives a new launch the number of the kernel's previously prepared launch if both
// access the same memory. In a list of launches that only differ in numbers, equal numbers show
// that there is nothing to examine.
func (l *Launch) shareAccesses() {
	if last := l.k.uses.Load(); last != nil && last.are(l) {
		l.accesses = last.stamp
		return
	}
	l.accesses = newStamp()
	now := &kernelUses{make([]uintptr, len(l.mem)), slices.Clone(l.uses), l.accesses}
	for i, m := range l.mem {
		now.mem[i] = lifeAddress(m)
	}
	l.k.uses.Store(now)
}

func lifeAddress(m *allocation) uintptr {
	if m == nil {
		return 0
	}
	return uintptr(unsafe.Pointer(m.life))
}

func (u *kernelUses) are(l *Launch) bool {
	if len(u.mem) != len(l.mem) {
		return false
	}
	for i, m := range l.mem {
		if u.mem[i] != lifeAddress(m) {
			return false
		}
	}
	return slices.Equal(u.uses, l.uses)
}
