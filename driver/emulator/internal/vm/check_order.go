package vm

import (
	"maps"
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// What orders the accesses of different blocks. Each block has a clock, and
// knows of other blocks up to which time their accesses come before its own.
// A fence of the device or the system publishes what the block did; an atomic
// or volatile access after it leaves that at its address, where such an access
// of another block picks it up. The reader is not asked for a fence of its
// own: volatile reads are what programs that forgo one use.

// memoryOrder is what an instruction does for the order between blocks.
type memoryOrder uint8

const (
	orderNone memoryOrder = iota
	orderFence
	orderRelease // an access that is preceded by a fence of its own
)

// orderOf finds it in an opcode.
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

// clockSet says up to which time the accesses of blocks are known.
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

// publish is a fence: what comes next is later than what was before.
func (b *blockClock) publish() {
	b.published = maps.Clone(b.knows)
	b.published[b.block] = b.time
	b.time++
}

// orderBlocks orders all that the blocks did before all that they do next, as
// a barrier of theirs does.
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

// Order is a launch's or a copy's place among the others: whether an earlier
// one had ended, as far as the program made sure of it, when this one began.
type Order interface {
	After(earlier Order) bool
	Made() *Trace // where the program submitted it; nil if that is not known
}
