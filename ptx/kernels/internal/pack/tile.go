package pack

import "github.com/purecuda/cuda/ptx/gpu"

// TileSide returns the side of the square tiles of elements of a size in bytes. Package kernels uses
// the same number.
func TileSide(size int) int {
	if size == 8 {
		return 32
	}
	return 64
}

// tileThreads is the number of threads of a block that moves tiles.
const tileThreads = 256

// Tile moves a tile through shared memory, so that both sides are accessed along rows. Element x of
// row y, with x < width and y < height, as far as they are in the tile, is at from + x*size + y*fromRow, and goes to
// to + y*size + x*toRow, except that the first distances are fromStep and toStep instead of size. All
// are in bytes.
func Tile[B Bits](t gpu.Thread, to, from uint64, toStep, toRow, fromStep, fromRow int, width, height int) {
	side := TileSide(Size[B]())
	high := tileThreads / side
	tile := tileOf[B](t, side)
	width, height = min(width, side), min(height, side)
	x, y := t.ThreadX()%side, t.ThreadX()/side
	from += uint64(x*fromStep + y*fromRow)
	to += uint64(x*toStep + y*toRow)
	if width == side && height == side {
		// Each thread has all its elements of a tile on their way at once.
		var v [16]B
		for k := range side / high {
			v[k] = *Element[B](from + uint64(k*high*fromRow))
		}
		for k := range side / high {
			tile.set(x, y+k*high, v[k])
		}
		t.Sync()
		for k := range side / high {
			*Element[B](to + uint64(k*high*toRow)) = tile.at(y+k*high, x)
		}
	} else {
		for k := y; k < height && x < width; k += high {
			seldom()
			tile.set(x, k, *Element[B](from))
			from += uint64(high * fromRow)
		}
		t.Sync()
		for k := y; k < width && x < height; k += high {
			seldom()
			*Element[B](to) = tile.at(k, x)
			to += uint64(high * toRow)
		}
	}
	t.Sync()
}

// tile is a tile in shared memory. Small elements have 4 bytes too, so that all types share the memory,
// and neighbours are in different banks. The column that is too many keeps rows in different banks.
type tile[B Bits] struct {
	words []uint32
	longs []uint64
	pitch int
}

func tileOf[B Bits](t gpu.Thread, side int) tile[B] {
	if Size[B]() == 8 {
		return tile[B]{nil, longsOf(t), side + 1}
	}
	return tile[B]{wordsOf(t), nil, side + 1}
}

// These functions are not generic, because each instance would have a variable of its own.
func longsOf(t gpu.Thread) []uint64 { return gpu.Shared[[32 * 33]uint64](t)[:] }
func wordsOf(t gpu.Thread) []uint32 { return gpu.Shared[[64 * 65]uint32](t)[:] }

func (l *tile[B]) set(x, y int, v B) {
	if Size[B]() == 8 {
		l.longs[y*l.pitch+x] = uint64(v)
	} else {
		l.words[y*l.pitch+x] = uint32(v)
	}
}

func (l *tile[B]) at(x, y int) B {
	if Size[B]() == 8 {
		return B(l.longs[y*l.pitch+x])
	}
	return B(l.words[y*l.pitch+x])
}

// seldom keeps the compiler from unrolling the loop around it, which runs only in incomplete tiles.
func seldom() {
	if gpu.Device() {
		gpu.PTX("")
	}
}
