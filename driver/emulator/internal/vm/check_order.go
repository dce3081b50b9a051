package vm

import (
	"maps"
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// The order of the accesses of different blocks. Each block has a clock. For each other block, it
// knows up to which time that block's accesses come before its own. A fence of device or system
// scope publishes what the block did. An atomic or volatile access after the fence stores that at
// its address, and such an access by another block picks it up there. The reader does not need a
// fence of its own, because programs without one use volatile reads.

// memoryOrder is the effect of an instruction on the order between blocks.
type memoryOrder uint8

const (
	orderNone memoryOrder = iota
	orderFence
	orderRelease // an access that is preceded by a fence of its own
)

// orderOf returns the memory order of an instruction.
func orderOf(i *ptx.Instr) memoryOrder {
	if i == nil {
		return orderNone
	}
	has := func(m string) bool { return slices.Contains(i.Op.Mods, m) }
	fence := i.Op.Name == "membar" || i.Op.Name == "fence"
	switch {
	case fence && !has("cta") && !has("proxy"):
		return orderFence
	case !fence && (has("release") || has("acq_rel")) && !has("cta"):
		return orderRelease
	}
	return orderNone
}

// clockSet says up to which time the accesses of each block are known.
type clockSet map[uint64]uint32

func (s clockSet) join(o clockSet) {
	for b, t := range o {
		s[b] = max(s[b], t)
	}
}

// blockClock is a block's place in the order.
type blockClock struct {
	block     uint64 // its number in the grid
	time      uint32
	knows     clockSet
	published clockSet // at the last fence; nil: there was none
	event     *event   // of the instruction that is executing
	hits      []globalHit
	old       []byte
}

func (b *blockClock) reset(c *cta) {
	g := c.run.opts.Grid
	*b = blockClock{block: uint64(c.id.X) + uint64(g.X)*(uint64(c.id.Y)+uint64(g.Y)*uint64(c.id.Z)), time: 1, knows: clockSet{}}
}

// publish performs a fence: later accesses get a later time than earlier ones.
func (b *blockClock) publish() {
	b.published = maps.Clone(b.knows)
	b.published[b.block] = b.time
	b.time++
}

// orderBlocks orders everything that the blocks have done before everything they do next, like a
// barrier across them.
func orderBlocks(blocks []*cta) {
	if blocks[0].shadow == nil {
		return
	}
	all := clockSet{}
	for _, c := range blocks {
		c.shadow.global.publish()
		all.join(c.shadow.global.published)
	}
	for _, c := range blocks {
		c.shadow.global.knows.join(all)
		c.ordered()
	}
}

// Order is the place of a launch or a copy among others. It says whether the program made sure that
// an earlier one had ended when this one began.
type Order interface {
	After(earlier Order) bool
	Made() *Trace // where the program submitted it; nil if that is not known
}
