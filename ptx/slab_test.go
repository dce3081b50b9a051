package ptx

import (
	"slices"
	"testing"
)

// Lists built in place must keep their elements even when a chunk becomes full, and must not
// overlap each other.
func TestSlabListsAreApart(t *testing.T) {
	var s slab[int]
	var lists, want [][]int
	for n := range 300 {
		s.begin()
		var list []int
		for i := range n {
			s.push(n*1000 + i)
			list = append(list, n*1000+i)
		}
		lists, want = append(lists, s.end()), append(want, list)
		if n%7 == 0 {
			*s.get() = -1
			lists, want = append(lists, s.copyOf(list)), append(want, list)
		}
	}
	for i, l := range lists {
		if !slices.Equal(l, want[i]) || len(l) != cap(l) {
			t.Fatalf("list %d is %v with room for %d, want %v", i, l, cap(l), want[i])
		}
	}
	if s.begin(); s.end() != nil {
		t.Error("an empty list is not nil")
	}
}
