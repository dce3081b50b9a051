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
	turn uint32
}

// mostBlocks is the largest number of blocks of a cluster that every device with clusters supports.
const mostBlocks = 8

// notes are those of two exchanges: a block at the next exchange may write while others still read. No
// block is further, because that takes a note of every block at this exchange.
type notes [2][2][mostBlocks]uint64

func (c *Cluster) board() *notes { return gpu.Shared[notes](c.t) }

// begin clears the notes. exchange waits until all blocks have done so.
func (c *Cluster) begin() {
	if c.blocks() == 1 {
		return
	}
	if i := c.t.ThreadX(); i < 4*mostBlocks {
		c.board()[i/16][i/8%2][i%8] = 0
	}
	c.t.ClusterArrive()
}

func (c *Cluster) pairs() bool { return true }

func (c *Cluster) copies(start func(t gpu.Thread)) bool {
	start(c.t)
	c.t.CommitGroup()
	return true
}

func (c *Cluster) wait() { c.t.WaitGroup(0) }

// blocks returns at least 1, so that the compiler adds no checks of divisions.
func (c *Cluster) blocks() int { return max(c.t.ClusterDimX(), 1) }

// share gives the block a part of the packs. The first block has the single elements.
func (c *Cluster) share(p *parts) {
	if c.blocks() == 1 {
		return
	}
	rank, each := c.t.ClusterBlockX(), shareOf(p.packs, c.blocks())
	before := min(rank*each, p.packs)
	p.packs = min(each, p.packs-before)
	p.first += uint64(before * 16)
	p.begin += before * p.perPack
	if rank > 0 {
		p.singles = 0
	}
}

// shareOf returns the largest number of packs of a block.
func shareOf(packs, blocks int) int {
	if blocks == 1 {
		return packs
	}
	return (packs + blocks - 1) / blocks
}

func (c *Cluster) exchange(v, none pair, combine func(pair) pair) pair {
	v = c.Block.exchange(v, none, combine)
	if c.blocks() == 1 {
		return v
	}
	c.turn++
	if c.turn == 1 {
		c.t.ClusterWait()
	}
	// Each warp reads the notes that one warp has written for its block.
	here := &c.board()[c.turn%2]
	lane := c.t.Lane()
	if c.t.ThreadX() < c.blocks() {
		for i := range v {
			note := uint64(c.turn)<<32 | uint64(math.Float32bits(v[i]))
			gpu.AtomicStore(gpu.MapShared(c.t, &here[i][c.t.ClusterBlockX()], lane), note, gpu.Relaxed, gpu.ScopeCluster)
		}
	}
	v = none
	if lane < c.blocks() {
		for i := range v {
			v[i] = c.read(&here[i][lane])
		}
	}
	c.t.SyncWarp()
	return combine(v)
}

// read waits for a note of this exchange.
func (c *Cluster) read(place *uint64) float32 {
	for {
		note := gpu.AtomicLoad(place, gpu.Relaxed, gpu.ScopeCluster)
		if uint32(note>>32) == c.turn {
			return math.Float32frombits(uint32(note))
		}
	}
}
