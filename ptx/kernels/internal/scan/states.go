package scan

import (
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// A tile has one word for types of 4 bytes, and two for types of 8 bytes. The low half of a word is
// the state of the tile. The high half is a number, or half of one. Both halves are written with one
// store, so no fence is needed.
const (
	unknown = iota // no number yet
	own            // the sum of the tile
	all            // the sum of the tile and of all tiles before it
)

// publish stores the number of a tile.
func publish[T Number](states []uint64, tile int, v T, state uint64) {
	low, high, two := split(v)
	if two {
		gpu.AtomicStore(&states[2*tile], uint64(low)<<32|state)
		gpu.AtomicStore(&states[2*tile+1], uint64(high)<<32|state)
		return
	}
	gpu.AtomicStore(&states[tile], uint64(low)<<32|state)
}

// load returns the state of a tile and its number. Before the first tile, the sum is 0.
func load[T Number](states []uint64, tile int) (v T, state uint64) {
	if tile < 0 {
		return 0, all
	}
	if _, _, two := split(v); two {
		a, b := gpu.AtomicLoad(&states[2*tile]), gpu.AtomicLoad(&states[2*tile+1])
		if uint32(a) != uint32(b) {
			return 0, unknown // between the two stores of publish
		}
		return join[T](uint32(a>>32), uint32(b>>32)), a & 3
	}
	a := gpu.AtomicLoad(&states[tile])
	return join[T](uint32(a>>32), 0), a & 3
}

// startOf publishes the sum of a tile, and returns the sum of all tiles before it. All lanes of one
// warp call it. It first goes back to a tile that knows the sum of all tiles before it, and then
// adds the sums of the tiles from there on. The additions have the same order in every run.
func startOf[T Number](t gpu.Thread, states []uint64, tile int, sum T) T {
	if tile == 0 {
		if t.Lane() == 0 {
			publish(states, 0, sum, all)
		}
		return 0
	}
	if t.Lane() == 0 {
		publish(states, tile, sum, own)
	}
	var s T
	first := tile - gpu.WarpSize // the tile of the first lane
	for back := true; ; {
		v, known := wait[T](t, states, first)
		if back && known == 0 {
			first -= gpu.WarpSize
			continue
		}
		// From here on, it goes forward. Some of these tiles may know more by now.
		back = false
		s = fold(t, s, v, known)
		if first += gpu.WarpSize; first >= tile {
			break
		}
	}
	if t.Lane() == 0 {
		publish(states, tile, s+sum, all)
	}
	return s
}

// wait waits until the tiles from first on, one for each lane, have published numbers. It returns the
// number of the lane's tile, and the lanes whose tiles know the sum of all tiles before them.
func wait[T Number](t gpu.Thread, states []uint64, first int) (v T, known uint32) {
	for {
		v, state := load[T](states, first+t.Lane())
		if !gpu.Any(t, state == unknown) {
			return v, gpu.Ballot(t, state == all)
		}
	}
}

// fold adds the numbers of the lanes to s. It begins with the last lane that is known, whose number
// replaces s.
func fold[T Number](t gpu.Thread, s, v T, known uint32) T {
	last := 31 - bits.LeadingZeros32(known) // -1 if known is 0
	if known != 0 {
		s = 0
	}
	if !isFloat[T]() {
		if t.Lane() < last {
			v = 0
		}
		for d := 1; d < gpu.WarpSize; d *= 2 {
			v += gpu.ShuffleXor(t, v, d)
		}
		return s + v
	}
	//gpu:unroll 8
	for lane := range gpu.WarpSize {
		if u := gpu.Shuffle(t, v, lane); lane == last {
			s = u // not 0 + u, which would change -0
		} else if lane > last {
			s += u
		}
	}
	return s
}

func isFloat[T Number]() bool {
	switch any(T(0)).(type) {
	case f32, f64:
		return true
	}
	return false
}

// size returns the number of bytes of an element.
func size[T Number]() uint64 {
	if _, _, two := split(T(0)); two {
		return 8
	}
	return 4
}

// split returns the bits of v in halves, and whether it has two.
func split[T Number](v T) (low, high uint32, two bool) {
	switch v := any(v).(type) {
	case uint32:
		return v, 0, false
	case float32:
		return math.Float32bits(v), 0, false
	case uint64:
		return uint32(v), uint32(v >> 32), true
	case float64:
		b := math.Float64bits(v)
		return uint32(b), uint32(b >> 32), true
	}
	return 0, 0, false
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
