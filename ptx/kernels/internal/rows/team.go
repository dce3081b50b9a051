package rows

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// A Team is the threads that share a row. Its threads call exchange in the same order.
type Team interface {
	*Block | *Cluster
	thread() gpu.Thread
	number() uint64               // number of the block or of the cluster in the grid
	count() uint64                // number of blocks or of clusters in the grid
	block() (rank, blocks uint32) // number of the block in its cluster, and number of the cluster's blocks
	pairs() bool                  // whether the device has the instructions of sm_80
	// copy starts a copy to shared memory. wait waits for the copies of the calling thread that it has committed.
	copy(dst, src *pack)
	commit()
	wait()
	// exchange gives all threads the combination of their pairs. combine combines the pairs of each "width"
	// lanes of a warp that are side by side, and none changes no other pair.
	exchange(v, none pair, combine func(p pair, width uint32) pair) pair
}

// pair is what threads exchange.
type pair [2]float32

// Block is a team of the threads of a block with the same Y index: whole warps, or 1, 2, 4, 8 or 16
// lanes of a warp. A team of several warps has the block for itself.
type Block struct {
	t    gpu.Thread
	turn uint32 // number of exchanges
}

func (b *Block) thread() gpu.Thread           { return b.t }
func (b *Block) number() uint64               { return uint64(b.t.BlockX()) }
func (b *Block) count() uint64                { return uint64(b.t.GridDimX()) }
func (b *Block) block() (rank, blocks uint32) { return 0, 1 }
func (b *Block) pairs() bool                  { return false }
func (b *Block) copy(dst, src *pack)          { *dst = *src }
func (b *Block) commit()                      {}
func (b *Block) wait()                        {}

// mostWarps is the largest number of warps of a block.
const mostWarps = 32

// exchange uses a tree over lanes and then one over warps. The order is always the same.
func (b *Block) exchange(v, none pair, combine func(p pair, width uint32) pair) pair {
	warps, width := uint32(b.t.BlockDimX())/gpu.WarpSize, widthOf(b.t)
	for {
		v = combine(v, width)
		if warps <= 1 {
			return v
		}
		v, width = b.meet(v, none, warps)
		warps = 0
	}
}

// meet gives each warp the pairs of all warps, in groups of "width" lanes. There is one barrier, because two
// exchanges that follow each other use different memory: no thread is at an exchange while others are still before
// the barrier of the previous one.
func (b *Block) meet(v, none pair, warps uint32) (_ pair, width uint32) {
	shared := &gpu.Shared[[2][mostWarps]pair](b.t)[b.turn%2]
	b.turn++
	lane := uint32(b.t.Lane())
	if lane == 0 {
		shared[uint32(b.t.ThreadX())/gpu.WarpSize] = v
	}
	b.t.Sync()
	width = 1 << uint32(bits.Len32(warps-1))
	if lane &= width - 1; lane < warps {
		return shared[lane], width
	}
	return none, width
}

// widthOf returns the number of lanes of a warp that share a row.
func widthOf(t gpu.Thread) uint32 { return min(uint32(t.BlockDimX()), gpu.WarpSize) }

// overLanes combines the values of each "width" lanes that are side by side.
func overLanes[V any](width uint32, v V, with func(v V, distance int) V) V {
	// The number of iterations is not a constant, so the loop is not unrolled. Unrolled, it would be a
	// large part of most kernels.
	for d := width / 2; d > 0; d /= 2 {
		v = with(v, int(d%gpu.WarpSize))
	}
	return v
}

func overWarp[V gpu.Scalar](t gpu.Thread, v V, with func(a, b V) V) V {
	return overLanes(widthOf(t), v, func(v V, d int) V { return with(v, gpu.ShuffleXor(t, v, d)) })
}

func sumOf(t gpu.Thread, v float32, width uint32) float32 {
	return overLanes(width, v, func(v float32, d int) float32 { return v + gpu.ShuffleXor(t, v, d) })
}

func mostOf(t gpu.Thread, v float32, width uint32) float32 {
	return overLanes(width, v, func(v float32, d int) float32 { return num.Max(v, gpu.ShuffleXor(t, v, d)) })
}

func sumsOf(t gpu.Thread, v pair, width uint32) pair {
	return overLanes(width, v, func(v pair, d int) pair {
		return pair{v[0] + gpu.ShuffleXor(t, v[0], d), v[1] + gpu.ShuffleXor(t, v[1], d)}
	})
}

// eachRow calls the function do for the rows of the calling thread's team, with the number of
// columns. The teams of a warp stay together, because they exchange values with shuffles. After the
// last row, some of them therefore get a row without columns.
func eachRow(t gpu.Thread, rows, cols int, do func(row, n int)) {
	teams := t.BlockDimY()
	before := t.ThreadY() & int(31/uint32(t.BlockDimX())) // teams of this warp before this one
	for row := t.BlockX()*teams + t.ThreadY(); row-before < rows; row += t.GridDimX() * teams {
		n := cols
		if row >= rows {
			n = 0
		}
		do(row, n)
	}
}
