package launch

import (
	"sync/atomic"
)

// Stamp is a version number that is unique among all versions of everything, so a number alone
// identifies a version. A Stamp takes numbers from a common counter in blocks.
type Stamp uint64

const stampBlock = 1 << 10

var stamps atomic.Uint64

// NewStamp returns a number that no other Stamp has.
func NewStamp() Stamp { return Stamp(stamps.Add(stampBlock)) }

// Change takes the next number. The first number of a block may be shared, so a change takes a new
// block.
func (s *Stamp) Change() {
	if *s%stampBlock == 0 {
		*s = NewStamp()
	}
	if *s++; *s%stampBlock == 0 {
		*s = NewStamp() + 1
	}
}
