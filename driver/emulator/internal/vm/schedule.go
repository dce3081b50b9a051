package vm

import "math/bits"

// The schedules that a launch's seed chooses: the order of blocks, the order
// in which the warps of a block have their turns, and how long a turn is.
// Without a seed everything runs in the order of its number.

// shuffle puts the warps of a block into a random order, if the launch has a
// seed. It begins with the usual order: the block may be one that is reused.
func (c *cta) shuffle() {
	c.order = c.order[:0]
	if c.run.opts.Seed == 0 {
		return
	}
	for i := range c.warps {
		c.order = append(c.order, i)
		j := c.random() % uint64(i+1)
		c.order[i], c.order[j] = c.order[j], c.order[i]
	}
}

// turn is the warp that has turn i of a round.
func (c *cta) turn(i int) int {
	if len(c.order) == 0 {
		return i
	}
	return c.order[i]
}

// random is the next number of the block's own sequence.
func (c *cta) random() uint64 {
	c.rng = splitmix(c.rng)
	return c.rng
}

// patience is how many back edges a warp may take in its turn.
func (c *cta) patience() int {
	if c.run.opts.Seed == 0 {
		return idleSplit
	}
	return 1 << (c.random() % uint64(bits.Len(idleSplit)))
}

func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// permute is the block that is started as number i. With a seed it is any
// permutation: a Feistel network over a power of four, repeated until it
// lands in the grid.
func (r *launchRun) permute(i uint64) uint64 {
	if r.opts.Seed == 0 || r.units < 2 {
		return i
	}
	half := uint(bits.Len64(r.units-1)+1) / 2
	mask := uint64(1)<<half - 1
	for {
		hi, lo := i>>half, i&mask
		for round := range uint64(4) {
			hi, lo = lo, hi^splitmix(r.opts.Seed+lo<<8+round)&mask
		}
		if i = hi<<half | lo; i < r.units {
			return i
		}
	}
}
