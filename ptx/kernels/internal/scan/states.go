package scan

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// A tile adds the sums of earlier tiles in an order that depends only on its index, not on what
// other tiles know at that time. A group has 32 tiles, and a section has 32 groups. A tile adds
//
//   - the sum of all sections before its own,
//   - the sums of the groups before its own in its section,
//   - the sums of the tiles before itself in its group.
//
// A warp loads all of them at once. Each sum is published once: that of a tile by the tile, that of
// a group by its last tile, and that of all sections up to one by the last tile of this section.
const group = gpu.WarpSize

// states contains the sums that tiles have published, and the number of tiles that blocks have
// begun.
//
// A sum has one word for types of 4 bytes, and two for types of 8 bytes. The high half of a word is
// the sum, or half of it. The low half is 1 when it is known. One store writes both halves, so no
// fence is needed. A window has the words of 32 sums. Their second words follow the first ones, so
// the lanes of a warp load words that are next to each other.
//
// A section has a window of its own, one for its groups, and one for the tiles of each group. The
// first sum of its own window is that of all sections up to this one. The other words of this
// window are unused, except for the counter in the first section.
type states[T Number] struct {
	words  []uint64
	floats bool // see plus
}

// counter is the index of the word that counts the tiles that blocks have begun.
const counter = 1

// window returns the number of words of a window.
func window[T Number]() uint32 { return group * uint32(size[T]()/4) }

// groupsOf returns the index of the first word for the groups of a section.
func groupsOf[T Number](section uint32) uint32 { return (section*(group+2) + 1) * window[T]() }

// windowsOf returns the number of windows for all tiles.
func windowsOf(tiles uint64) uint64 {
	groups := (tiles + group - 1) / group
	return groups + (groups+group-1)/group*2
}

// startOf publishes the sum of a tile, and returns the sum of all tiles before it. All lanes of one
// warp call it.
func (x states[T]) startOf(t gpu.Thread, tile uint32, sum T) T {
	section := tile / (group * group)
	inSection, inGroup := tile/group%group, tile%group
	groups := groupsOf[T](section) // the first word of the window of the groups
	tiles := groups + (1+inSection)*window[T]()
	lane := uint32(t.Lane())
	if lane == 0 {
		x.publish(tiles+inGroup, sum)
	}
	ofTile := expect[T](lane < inGroup)
	if inGroup == group-1 { // This comes first, because later tiles wait for the sum of the group.
		for !gpu.All(t, ofTile.known()) {
			ofTile = x.load(tiles+lane, ofTile)
		}
		s := ofTile.number()
		if lane == group-1 {
			s = sum
		}
		sum = x.addRolled(t, s)
		if lane == 0 {
			x.publish(groups+inSection, sum)
		}
	}
	ofGroup := expect[T](lane < inSection)
	ofSections := expect[T](section > 0)
	for !gpu.All(t, ofTile.known() && ofGroup.known() && ofSections.known()) {
		ofTile = x.load(tiles+lane, ofTile)
		ofGroup = x.load(groups+lane, ofGroup)
		ofSections = x.load(groupsOf[T](max(section, 1)-1)-window[T](), ofSections)
	}
	before := ofSections.number()
	if inGroup == group-1 && inSection == group-1 {
		s := ofGroup.number()
		if lane == group-1 {
			s = sum // of the group
		}
		s = plus(x.floats, before, x.addRolled(t, s))
		if lane == 0 {
			x.publish(groups-window[T](), s)
		}
	}
	return plus(x.floats, before, x.add(t, plus(x.floats, ofGroup.number(), ofTile.number())))
}

// add returns the sum of the numbers of all lanes.
func (x states[T]) add(t gpu.Thread, v T) T {
	for d := 1; d < gpu.WarpSize; d *= 2 {
		v = plus(x.floats, v, gpu.ShuffleXor(t, v, d))
	}
	return v
}

// addRolled is add for few tiles. Its code is shorter.
func (x states[T]) addRolled(t gpu.Thread, v T) T {
	//gpu:unroll 1
	for d := 1; d < gpu.WarpSize; d *= 2 {
		v = plus(x.floats, v, gpu.ShuffleXor(t, v, d))
	}
	return v
}

// publish stores the sum whose first word is word i.
func (x states[T]) publish(i uint32, v T) {
	at := x.words[i:]
	low, high := split(v)
	gpu.AtomicStore(&at[0], uint64(low)<<32|1)
	if size[T]() == 8 {
		gpu.AtomicStore(&at[group], uint64(high)<<32|1)
	}
}

// load loads those words of a sum that are not known. Word i is the first one.
func (x states[T]) load(i uint32, w words[T]) words[T] {
	at := x.words[i:]
	if uint32(w.low) == 0 {
		w.low = gpu.AtomicLoad(&at[0])
	}
	if size[T]() == 8 && uint32(w.high) == 0 {
		w.high = gpu.AtomicLoad(&at[group])
	}
	return w
}

// words contains the words of a sum, or 0 if they are not known. Types of 4 bytes have no second
// one.
type words[T Number] struct{ low, high uint64 }

// expect returns words that are not known, or those of the sum 0 if the lane needs none.
func expect[T Number](needed bool) (w words[T]) {
	if !needed {
		w.low, w.high = 1, 1
	}
	return w
}

func (w words[T]) known() bool { return uint32(w.low) != 0 && (size[T]() == 4 || uint32(w.high) != 0) }

func (w words[T]) number() T { return join[T](uint32(w.low>>32), uint32(w.high>>32)) }

// size returns the number of bytes of an element.
func size[T Number]() uint64 {
	switch any(T(0)).(type) {
	case uint64, float64:
		return 8
	}
	return 4
}

// split returns the bits of v in halves. For types of 4 bytes, the high half is 0.
func split[T Number](v T) (low, high uint32) {
	switch v := any(v).(type) {
	case uint32:
		return v, 0
	case float32:
		return math.Float32bits(v), 0
	case uint64:
		return uint32(v), uint32(v >> 32)
	case float64:
		b := math.Float64bits(v)
		return uint32(b), uint32(b >> 32)
	}
	return 0, 0
}

// join is the inverse of split.
func join[T Number](low, high uint32) T {
	var v T
	switch p := any(&v).(type) {
	case *uint32:
		*p = low
	case *float32:
		*p = math.Float32frombits(low)
	case *uint64:
		*p = uint64(high)<<32 | uint64(low)
	case *float64:
		*p = math.Float64frombits(uint64(high)<<32 | uint64(low))
	}
	return v
}
