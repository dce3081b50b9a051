package driver

import "sync/atomic"

// stamp numbers the versions of something. No two versions of anything have the
// same number, so that who remembers a number needs to remember nothing else. A
// stamp takes numbers from a common counter by the block.
type stamp uint64

const stampBlock = 1 << 10

var stamps atomic.Uint64

func newStamp() stamp { return stamp(stamps.Add(stampBlock)) }

// change takes the next number.
func (s *stamp) change() {
	if *s++; *s%stampBlock == 0 {
		*s = newStamp()
	}
}

// AccessesVersion is another number after every change of Accesses, and one
// that no other Launch has: for packages that remember what they found there.
func (l *Launch) AccessesVersion() uint64 { return uint64(l.accesses) }
