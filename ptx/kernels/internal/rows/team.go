package rows

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// A Team is the threads that share a row. Its threads call exchange in the same order.
type Team interface {
	*Block | *Cluster
	rank() int      // number of the thread among those of its block
	size() int      // number of the block's threads in the team
	share(p *parts) // reduces the parts of a row to those of the block
	blocks() int
	pairs() bool // whether the device has the instructions of sm_80
	// copies lets start start copies to shared memory. It returns false if the device has no such copies.
	copies(start func(t gpu.Thread)) bool
	wait() // waits for the copies of the calling thread
	// exchange gives all threads the combination of their pairs. combine combines the pairs of the
	// lanes of a warp, or of a team that is smaller than a warp, and none changes no other pair.
	exchange(v, none pair, combine func(pair) pair) pair
}

// pair is what threads exchange.
type pair [2]float32

// Block is a team of the threads of a block with the same Y index: whole warps, or 1, 2, 4, 8 or 16
// lanes of a warp. A team of several warps has the block for itself.
type Block struct{ t gpu.Thread }

func (b *Block) rank() int    { return b.t.ThreadX() }
func (b *Block) size() int    { return b.t.BlockDimX() }
func (b *Block) share(*parts) {}
func (b *Block) blocks() int  { return 1 }
func (b *Block) pairs() bool  { return false }

func (b *Block) copies(func(t gpu.Thread)) bool { return false }
func (b *Block) wait()                          {}

// mostWarps is the largest number of warps of a block.
const mostWarps = 32

// exchange uses a tree over lanes and then one over warps. The order is always the same.
func (b *Block) exchange(v, none pair, combine func(pair) pair) pair {
	shared := gpu.Shared[[mostWarps]pair](b.t)
	warps := b.size() / gpu.WarpSize
	for {
		v = combine(v)
		if warps <= 1 {
			return v
		}
		if b.t.Lane() == 0 {
			shared[b.t.ThreadX()/gpu.WarpSize] = v
		}
		b.t.Sync()
		v = none
		if b.t.Lane() < warps {
			v = shared[b.t.Lane()]
		}
		b.t.Sync() // shared is free for the next exchange
		warps = 0
	}
}

// overWarp combines the values of the lanes of a warp, or of a smaller team.
func overWarp[V gpu.Scalar](t gpu.Thread, v V, with func(a, b V) V) V {
	// The number of iterations is not a constant, so the loop is not unrolled. Unrolled, it would be a
	// large part of most kernels.
	size := uint32(min(t.BlockDimX(), gpu.WarpSize))
	for d := uint32(1); d < size; d *= 2 {
		v = with(v, gpu.ShuffleXor(t, v, int(d)))
	}
	return v
}

func sumOfWarp(t gpu.Thread, v float32) float32 {
	return overWarp(t, v, func(a, b float32) float32 { return a + b })
}

func mostOfWarp(t gpu.Thread, v float32) float32 {
	return overWarp(t, v, num.Max[float32])
}

// sumsOfWarp is sumOfWarp for two values.
func sumsOfWarp(t gpu.Thread, v pair) pair {
	size := uint32(min(t.BlockDimX(), gpu.WarpSize))
	for d := uint32(1); d < size; d *= 2 {
		v = pair{v[0] + gpu.ShuffleXor(t, v[0], int(d)), v[1] + gpu.ShuffleXor(t, v[1], int(d))}
	}
	return v
}

// offset returns the number of bytes before a row.
func offset[T Element](row int, pitch uint64) uint64 {
	return uint64(row) * pitch * uint64(Size[T]())
}

// endOf returns the address of the end of a matrix.
func endOf[T Element](at, rows, cols, pitch uint64) uint64 {
	return at + offset[T](int(rows)-1, pitch) + cols*uint64(Size[T]())
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

// eachRowOfClusters is eachRow for clusters. Clusters of several blocks have one team.
func eachRowOfClusters(c *Cluster, rows, cols int, do func(row, n int)) {
	t := c.t
	c.begin()
	teams := t.BlockDimY()
	before := t.ThreadY() & int(31/uint32(t.BlockDimX()))
	step := t.GridDimX() / c.blocks()
	for row := t.ClusterX()*teams + t.ThreadY(); row-before < rows; row += step * teams {
		n := cols
		if row >= rows {
			n = 0
		}
		do(row, n)
	}
}
