package launch

import (
	"sync/atomic"
)

// Stamp is a version number. No two versions of any objects have the same number, so a number
// identifies a version. Each Stamp takes its numbers from a common counter in blocks.
type Stamp uint64

const stampBlock = 1 << 10

var stamps atomic.Uint64

// NewStamp returns a number that no other Stamp has.
func NewStamp() Stamp { return Stamp(stamps.Add(stampBlock)) }

// Change takes the next number. The first number of a block may be shared by several Stamps, so
// changing such a Stamp takes a new block.
func (s *Stamp) Change() {
	if *s%stampBlock == 0 {
		*s = NewStamp()
	}
	if *s++; *s%stampBlock == 0 {
		*s = NewStamp() + 1
	}
}
