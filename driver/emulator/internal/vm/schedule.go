package vm

import "math/bits"

// The schedules that a launch's seed selects: the order of blocks, the order of turns of a block's
// warps, and the length of a turn. Without a seed, everything runs in numerical order.

// shuffle puts the warps of a block into a random order if the launch has a seed. It starts from
// the usual order, because the block may be a reused one.
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

// turn returns the warp that has turn i of a round.
func (c *cta) turn(i int) int {
	if len(c.order) == 0 {
		return i
	}
	return c.order[i]
}

// random returns the next number of the block's own sequence.
func (c *cta) random() uint64 {
	c.rng = splitmix(c.rng)
	return c.rng
}

// patience returns how many back edges a warp may take in its turn.
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

// permute returns the block that is started as number i. With a seed it is a permutation: a Feistel
// network over a power of four, repeated until the result is in the grid.
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
