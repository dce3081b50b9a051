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

// Word lists the types in which a tile holds elements: of up to 4 bytes, and of 8 bytes.
type Word interface{ uint32 | uint64 }

// WordSide returns TileSide for the elements that W holds.
func WordSide[W Word]() int { return TileSide(Size[W]()) }

// Tile moves a tile of elements of a size in bytes through shared memory, so that both sides are accessed
// along rows. Element x of row y, with x < width and y < height, as far as they are in the tile, is at
// from + x*size + y*fromRow, and goes to to + y*size + x*toRow, except that the first distances are
// fromStep and toStep instead of size. All are in bytes.
func Tile[W Word](t gpu.Thread, to, from uint64, toStep, toRow, fromStep, fromRow int, width, height, size int) {
	side := WordSide[W]()
	high := tileThreads / side
	tile := tileOf[W](t)
	width, height = min(width, side), min(height, side)
	x, y := t.ThreadX()%side, t.ThreadX()/side
	from += uint64(x*fromStep + y*fromRow)
	to += uint64(x*toStep + y*toRow)
	if width == side && height == side {
		row, column := tile[y*(side+1)+x:], tile[x*(side+1)+y:] // the other indices are constants
		// Each thread has all its elements of a tile on their way at once.
		var v [16]W
		switch size {
		case 1:
			loadColumn[uint8](from, high*fromRow, &v)
		case 2:
			loadColumn[uint16](from, high*fromRow, &v)
		default:
			loadColumn[W](from, high*fromRow, &v)
		}
		for k := range side / high {
			row[k*high*(side+1)] = v[k]
		}
		t.Sync()
		//gpu:unroll 1
		for range columns[W]() {
			var v [8]W
			for k := range inColumn[W]() {
				v[k] = column[k*high]
			}
			column = column[inColumn[W]()*high:]
			switch size {
			case 1:
				to = storeColumn[uint8](to, high*toRow, &v)
			case 2:
				to = storeColumn[uint16](to, high*toRow, &v)
			default:
				to = storeColumn[W](to, high*toRow, &v)
			}
		}
	} else {
		//gpu:unroll 1
		for k := y; k < height && x < width; k += high {
			at := &tile[k*(side+1)+x]
			switch size {
			case 1:
				*at = W(*Element[uint8](from))
			case 2:
				*at = W(*Element[uint16](from))
			default:
				*at = *Element[W](from)
			}
			from += uint64(high * fromRow)
		}
		t.Sync()
		//gpu:unroll 1
		for k := y; k < width && x < height; k += high {
			v := tile[x*(side+1)+k]
			switch size {
			case 1:
				*Element[uint8](to) = uint8(v)
			case 2:
				*Element[uint16](to) = uint16(v)
			default:
				*Element[W](to) = v
			}
			to += uint64(high * toRow)
		}
	}
	t.Sync()
}

func loadColumn[B Bits, W Word](from uint64, step int, v *[16]W) {
	n := WordSide[W]()
	for k := range n * n / tileThreads {
		v[k] = W(*Element[B](from))
		from += uint64(step)
	}
}

// inColumn returns the number of elements that a thread stores at once. It stores columns of so many.
func inColumn[W Word]() int { return min(WordSide[W]()*WordSide[W]()/tileThreads, 8) }

func columns[W Word]() int { return WordSide[W]() * WordSide[W]() / tileThreads / inColumn[W]() }

// storeColumn returns the address after the elements.
func storeColumn[B Bits, W Word](to uint64, step int, v *[8]W) uint64 {
	for k := range inColumn[W]() {
		*Element[B](to) = B(v[k])
		to += uint64(step)
	}
	return to
}

// tileOf returns the shared memory of a tile. Its rows have a column that is too many, so that neighbours
// in a column are in different banks.
func tileOf[W Word](t gpu.Thread) []W {
	const side32, side64 = 64, 32
	var tile []W
	switch tile := any(&tile).(type) {
	case *[]uint32:
		*tile = gpu.Shared[[side32 * (side32 + 1)]uint32](t)[:]
	case *[]uint64:
		*tile = gpu.Shared[[side64 * (side64 + 1)]uint64](t)[:]
	}
	return tile
}
