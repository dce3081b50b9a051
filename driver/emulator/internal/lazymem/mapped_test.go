//go:build linux && !race

package lazymem

import "testing"

// The garbage collector may finalize a freed region long after its mapping was reused. This second
// release must not clear the new owner's memory.
func TestLateReleaseLeavesTheNextOwnersMemory(t *testing.T) {
	const size = 37 << 20 // a size used by no other test
	first, old := New(size)
	old.Release()
	second, owner := New(size)
	if &first[0] != &second[0] {
		t.Fatal("the mapping is not used again")
	}
	second[0], second[size-1] = 1, 2
	old.Release()
	if second[0] != 1 || second[size-1] != 2 {
		t.Error("a late release emptied memory that is in use")
	}
	third, other := New(size)
	if &third[0] == &second[0] {
		t.Error("a late release gave memory in use to another owner")
	}
	owner.Release()
	other.Release()
}
