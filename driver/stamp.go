package driver

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// stamp numbers the versions of something. No two versions of anything have the
// same number, so that who remembers a number needs to remember nothing else. A
// stamp takes numbers from a common counter by the block.
type stamp uint64

const stampBlock = 1 << 10

var stamps atomic.Uint64

func newStamp() stamp { return stamp(stamps.Add(stampBlock)) }

// change takes the next number. The first number of a block may be shared, so that
// who changes takes a block of its own.
func (s *stamp) change() {
	if *s%stampBlock == 0 {
		*s = newStamp()
	}
	if *s++; *s%stampBlock == 0 {
		*s = newStamp() + 1
	}
}

// AccessesVersion is another number after every change of Accesses and of the
// memory that they are of. Two launches have the same only if they are of one kernel
// and refer to the same memory in the same way. It is for packages that remember
// what they found there.
func (l *Launch) AccessesVersion() uint64 {
	if l == nil {
		return 0
	}
	return uint64(l.accesses)
}

// kernelUses are the memory and the accesses of the latest launch of a kernel that
// was prepared. It keeps no memory: addresses of Lifetimes are compared only. One that
// somebody remembers to retain has an address that no other has.
type kernelUses struct {
	mem   []uintptr
	uses  []Access
	stamp stamp
}

// shareAccesses gives a new launch the number of the one of the same kernel that was
// prepared before it, if both are of the same memory. Whoever records a list of
// launches that differ in numbers sees by that that there is nothing to look at.
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
