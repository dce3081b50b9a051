package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Cluster is a team of the blocks of a cluster. If clusters have one block, it is like Block. All
// blocks take part in all exchanges, also those that have no columns.
//
// The blocks exchange notes: a value and the number of the exchange in one word of 64 bits, which is
// written and read as a whole. A thread that reads a note with the right number therefore has its
// value, and does not wait for all earlier writes, among them those of rows, as it would at a barrier.
// A block ends only after it has read the notes of all blocks, so no note is written to a block that
// has ended.
type Cluster struct {
	Block
	exchanges uint32 // number of exchanges with other blocks
}

// mostBlocks is the largest number of blocks of a cluster that every device with clusters supports.
const mostBlocks = 8

// notes are those of two exchanges: a block at the next exchange may write while others still read. No
// block is further, because that takes a note of every block at this exchange.
type notes [2][2][mostBlocks]uint64

func (c *Cluster) board() *notes { return gpu.Shared[notes](c.t) }

// clusterOf returns the team of the cluster and clears its notes. exchange waits until all blocks have done so.
func clusterOf(t gpu.Thread) *Cluster {
	c := &Cluster{Block: Block{t: t}}
	if c.blocks() > 1 {
		if i := uint32(t.ThreadX()); i < 4*mostBlocks {
			c.board()[i/16][i/8%2][i%8] = 0
		}
		t.ClusterArrive()
	}
	return c
}

func (c *Cluster) pairs() bool { return true }

func (c *Cluster) copy(dst, src *pack) { gpu.CopyAsync(c.t, dst, src) }
func (c *Cluster) commit()             { c.t.CommitGroup() }
func (c *Cluster) wait()               { c.t.WaitGroup(0) }

func (c *Cluster) number() uint64 { return uint64(c.t.ClusterX()) }
func (c *Cluster) count() uint64  { return uint64(uint32(c.t.GridDimX()) / c.blocks()) }

// blocks returns at least 1, so that the compiler adds no checks of divisions.
func (c *Cluster) blocks() uint32 { return max(uint32(c.t.ClusterDimX()), 1) }

func (c *Cluster) block() (rank, blocks uint32) { return uint32(c.t.ClusterBlockX()), c.blocks() }

// exchange combines the values of a warp, then those of a block, and then those of a cluster.
func (c *Cluster) exchange(v, none pair, combine func(p pair, width uint32) pair) pair {
	warps, blocks, width := uint32(c.t.BlockDimX())/gpu.WarpSize, c.blocks(), widthOf(c.t)
	for {
		v = combine(v, width)
		switch {
		case warps > 1:
			v, width = c.meet(v, none, warps)
			warps = 0
		case blocks > 1:
			v, width = c.tell(v, none), mostBlocks
			blocks = 0
		default:
			return v
		}
	}
}

// tell gives each warp the pairs of all blocks, in groups of mostBlocks lanes. One warp writes the notes of its block,
// and waits for those of the others.
func (c *Cluster) tell(v, none pair) pair {
	c.exchanges++
	if c.exchanges == 1 {
		c.t.ClusterWait()
	}
	here := &c.board()[c.exchanges%2]
	if block := c.t.ThreadX(); uint32(block) < c.blocks() {
		for i := range v {
			note := uint64(c.exchanges)<<32 | uint64(math.Float32bits(v[i]))
			gpu.AtomicStore(gpu.MapShared(c.t, &here[i][c.t.ClusterBlockX()], block), note, gpu.Relaxed, gpu.ScopeCluster)
		}
		for i := range v {
			for uint32(gpu.AtomicLoad(&here[i][block], gpu.Relaxed, gpu.ScopeCluster)>>32) != c.exchanges {
			}
		}
	}
	c.t.Sync()
	if block := uint32(c.t.Lane()) % mostBlocks; block < c.blocks() {
		return pair{c.read(&here[0][block]), c.read(&here[1][block])}
	}
	return none
}

func (c *Cluster) read(place *uint64) float32 {
	return math.Float32frombits(uint32(gpu.AtomicLoad(place, gpu.Relaxed, gpu.ScopeCluster)))
}
