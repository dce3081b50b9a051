package launch

import (
	"sync/atomic"
)

// Stamp is a version number that no other version of any object has. To make changes cheap, a Stamp
// reserves numbers from a common counter in blocks.
type Stamp uint64

const stampBlock = 1 << 10

var stamps atomic.Uint64

// NewStamp returns the first number of a new block.
func NewStamp() Stamp { return Stamp(stamps.Add(stampBlock)) }

// Change replaces s with the next number. Copies of a Stamp from NewStamp share the first number of
// its block, so changing such a Stamp takes a new block.
func (s *Stamp) Change() {
	if *s%stampBlock == 0 {
		*s = NewStamp()
	}
	if *s++; *s%stampBlock == 0 {
		*s = NewStamp() + 1
	}
}
