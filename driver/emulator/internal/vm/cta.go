package vm

import (
	"fmt"
	"math/bits"
	"unsafe"
)

const numBarriers = 16

// cta is a block of threads. Its warps run in turn on one goroutine.
type cta struct {
	prog   *program
	run    *launchRun
	id     Dim3
	warps  []*warp
	live   int // number of threads that have not exited
	bars   [numBarriers]barrier
	shared []byte
	bytes  uint64 // number of bytes of shared and local memory charged to the launch
	cache  []access
	recent [8]*Region // most recently found regions
	matrix *mmaWork   // allocated by the first matrix product

	cluster *cluster // nil if the block is a cluster of its own that has needed no cluster state yet

	late []lateCopy

	tally        *tally  // counts of the block; nil unless LaunchOptions.Count is set
	shadow       *shadow // records of accesses; nil unless the launch checks accesses
	sharedRegion *Region
	stuck        stuckCTA
	rng          uint64
	order        []int // warps in the order of their turns; nil means numerical order
}

type barrier struct {
	waiting int      // number of waiting threads
	arrived int      // number of threads that have arrived, including waiting ones
	units   int      // like arrived, but a whole warp counts as 32
	masks   []uint32 // for each warp, the threads that have arrived
	expect  int      // number of threads that an instruction specified; 0 means all
	pop     int      // number of threads with a true predicate, for bar.red.popc
	some    bool
	none    bool
}

type stepState uint8

const (
	stepDone stepState = iota
	stepYield
	stepWait // every warp waits, and at least one of them waits for another block in the cluster
)

// spinRounds ends a CTA's turn after this many passes over its warps in which a warp used up its
// own turn. A warp that waits in a loop uses up its turn.
const spinRounds = 8

// cancelRounds is the number of passes over a CTA's warps between two calls of endIfAsked.
const cancelRounds = 64

// step runs the CTA until it ends or its turn is over.
func (c *cta) step() stepState {
	for yields, round := 0, 1; yields < spinRounds; round++ {
		if round%cancelRounds == 0 {
			c.endIfAsked()
		}
		running, runnable := 0, 0
		c.shuffle()
		for i := range c.warps {
			w := c.warps[c.turn(i)]
			if w.live == 0 {
				continue
			}
			switch w.run() {
			case ranYielded:
				runnable++
				running++
			case ranBlocked:
				running++
			}
		}
		if running == 0 {
			c.finishLate()
			return stepDone
		}
		if runnable != 0 {
			yields++
		} else if !c.runnable() {
			if c.cluster != nil && c.waitsForCluster() {
				return stepWait
			}
			panic(c.deadlock())
		}
	}
	c.lookStuck()
	return stepYield
}

// endIfAsked ends the kernel if it was cancelled or has exceeded its timeout. The fault names the
// position of a running warp.
func (c *cta) endIfAsked() {
	kind := c.run.ended()
	if kind == FaultNone {
		return
	}
	w := c.warps[0]
	for _, o := range c.warps {
		if o.live != 0 {
			w = o
			break
		}
	}
	panic(w.endFault(kind))
}

func (w *warp) endFault(kind FaultKind) *Fault {
	f := w.fault(kind, nil)
	if kind == FaultTimeout {
		f.Detail = fmt.Sprintf("the kernel ran for longer than %v and was ended; this warp was still in it", w.cta.run.opts.Timeout)
	}
	return f
}

func (c *cta) runnable() bool {
	for _, w := range c.warps {
		if w.live != 0 && w.runnable() {
			return true
		}
	}
	return false
}

func (c *cta) deadlock() *Fault {
	for _, w := range c.warps {
		for i := range w.splits {
			s := &w.splits[i]
			if w.live == 0 || s.wait == waitNone {
				continue
			}
			w.pc = s.pc
			lane := bits.TrailingZeros32(s.mask)
			kind, detail := FaultDeadlock, "every thread of the block waits; this one for lanes of its warp that never arrive"
			if s.wait == waitBarrier {
				w.pc--
				detail = "every thread of the block waits; this one at a barrier that others do not reach"
			}
			return w.laneFault(kind, s.in, lane, detail)
		}
	}
	return &Fault{Kind: FaultInternal, Kernel: c.run.kernel.name, Block: c.id, Detail: "no warp can run"}
}

// lanesExited releases the threads that waited for lanes of w that have exited. Call it after lanes
// exit.
func (c *cta) lanesExited(w *warp) {
	live := 0
	for _, o := range c.warps {
		live += bits.OnesCount32(o.live)
	}
	c.live = live
	for i := range c.bars {
		if b := &c.bars[i]; b.waiting != 0 {
			b.count(c, w)
			c.tryOpen(i)
		}
	}
	if c.cluster != nil {
		c.cluster.tryOpen()
	}
	for i := range w.splits {
		if s := &w.splits[i]; s.wait == waitWarp {
			s.wait = waitNone // the split checks again which lanes have arrived
		}
	}
}

// The barrier instructions, as stored in inst.aux.
const (
	barSync = iota
	barArrive
	barRedPopc
	barRedAnd
	barRedOr
)

// The flags of a barrier instruction in inst.imm.
const (
	barHasCount = 1 << iota
	barNot      // bar.red negates the predicate
)

// barrier executes bar.sync, bar.arrive and bar.red for the running split. Field a is the barrier
// number, b the thread count, c the predicate, and d the result of bar.red.
func (w *warp) barrier(in *inst) bool {
	if in.aux >= barClusterArrive {
		return w.barrierCluster(in)
	}
	c := w.cta
	lane := bits.TrailingZeros32(w.mask)
	id := w.r32[in.a][lane]
	if id >= numBarriers {
		panic(w.laneFault(FaultBarrier, in, lane, "barrier number is above 15"))
	}
	b := &c.bars[id]
	if in.imm&barHasCount != 0 {
		n := w.r32[in.b][lane]
		if n == 0 || n%lanes != 0 {
			panic(w.laneFault(FaultBarrier, in, lane, "thread count of a barrier is not a multiple of the warp size"))
		}
		b.expect = int(n)
	}
	if len(b.masks) < len(c.warps) {
		b.masks = make([]uint32, len(c.warps))
	}
	if in.aux >= barRedPopc {
		p := w.pr[in.c]
		if in.imm&barNot != 0 {
			p = ^p
		}
		b.pop += bits.OnesCount32(p & w.mask)
		b.some = b.some || p&w.mask != 0
		b.none = b.none || ^p&w.mask != 0
	}
	b.masks[w.id] |= w.mask
	b.arrived += bits.OnesCount32(w.mask)
	w.synced = true
	if in.aux == barArrive {
		b.units += bits.OnesCount32(w.mask)
		if w.mask == w.live {
			b.units += lanes - bits.OnesCount32(w.mask)
		}
		b.masks[w.id] &^= w.mask // the lanes may now arrive again
		w.pc++
		c.tryOpen(int(id))
		if len(w.splits) != 0 {
			return w.reschedule(w.pc)
		}
		return true
	}
	b.waiting += bits.OnesCount32(w.mask)
	b.units += bits.OnesCount32(w.mask)
	b.count(c, w)
	w.park(split{pc: w.pc + 1, wait: waitBarrier, bar: int32(id), in: in})
	c.tryOpen(int(id))
	return w.pick()
}

// count counts w as 32 arrived threads once all its live lanes have arrived, because a barrier
// counts whole warps.
func (b *barrier) count(c *cta, w *warp) {
	if w.id < len(b.masks) && b.masks[w.id] == w.live && w.live != 0 {
		b.units += lanes - bits.OnesCount32(w.live)
	}
}

// tryOpen opens the barrier if all expected threads have arrived. Otherwise it does nothing.
func (c *cta) tryOpen(id int) {
	b := &c.bars[id]
	if b.arrived == 0 {
		return
	}
	if b.expect != 0 {
		if b.units < b.expect {
			return
		}
	} else if b.arrived < c.live {
		return
	}
	c.checkBarrier(id)
	for _, w := range c.warps {
		for i := range w.splits {
			s := &w.splits[i]
			if s.wait == waitBarrier && s.bar == int32(id) {
				s.wait = waitNone
				b.deliver(w, s)
			}
		}
	}
	clear(b.masks)
	*b = barrier{masks: b.masks}
	c.ordered()
}

// deliver writes the result of bar.red for a split that waited at the barrier.
func (b *barrier) deliver(w *warp, s *split) {
	switch s.in.aux {
	case barRedPopc:
		col := &w.slab32[s.frame.bank[class32]+s.in.d]
		for m := s.mask; m != 0; m &= m - 1 {
			col[bits.TrailingZeros32(m)] = uint32(b.pop)
		}
	case barRedAnd:
		setPred(&w.slabP[s.frame.bank[classPred]+s.in.d], s.mask, !b.none)
	case barRedOr:
		setPred(&w.slabP[s.frame.bank[classPred]+s.in.d], s.mask, b.some)
	}
}

func setPred(p *uint32, m uint32, v bool) {
	if v {
		*p |= m
	} else {
		*p &^= m
	}
}

// reset prepares c to run the block with index id. All threads start at the kernel's entry.
func (c *cta) reset(id Dim3) {
	c.id, c.cluster, c.stuck = id, nil, stuckCTA{}
	c.live = 0
	for i := range c.bars {
		clear(c.bars[i].masks)
		c.bars[i] = barrier{masks: c.bars[i].masks}
	}
	clear(c.late)
	c.late = c.late[:0]
	poison(c.shared)
	c.resetShadow()
	for _, w := range c.warps {
		w.reset()
		c.live += bits.OnesCount32(w.live)
	}
	c.rng = splitmix(c.run.opts.Seed ^ uint64(id.X)<<40 ^ uint64(id.Y)<<20 ^ uint64(id.Z))
}

// poison fills shared memory with a pattern that is a NaN in every format and an address that is
// never mapped.
func poison(b []byte) {
	if len(b) == 0 {
		return
	}
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8)
	for i := range words {
		words[i] = 0xfffa_fffa_fffa_fffa
	}
}

func (w *warp) reset() {
	n := int(w.cta.run.threads) - w.id*lanes
	w.live = full
	if n < lanes {
		w.live = 1<<n - 1
	}
	w.mask = w.live
	w.pc, w.turn = 0, 0
	w.splits = w.splits[:0]
	w.dyn.top = col64{}
	w.synced = false
	w.arrived, w.passed, w.loop = 0, 0, waitLoop{}
	if w.delays() {
		w.commits = [lateGroups]col32{}
	}
	w.setFrame(frame{})
}

// A launch's seed selects the schedule: the order of blocks, the order of a block's warps, and the
// length of a turn. Without a seed, everything runs in numerical order.

// shuffle randomises the order of a block's warps if the launch has a seed. It starts from
// numerical order, because a reused block has the order of its previous launch.
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

// turn returns the index of the warp that runs at position i of a pass over the warps.
func (c *cta) turn(i int) int {
	if len(c.order) == 0 {
		return i
	}
	return c.order[i]
}

func (c *cta) random() uint64 {
	c.rng = splitmix(c.rng)
	return c.rng
}

// patience returns the number of back edges after which a warp's turn is over.
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

// permute returns the number of the block that starts at position i. With a seed, the block numbers
// are a random permutation of the positions. It is computed by a Feistel network over a power of
// four, which is applied repeatedly until the result is in the grid.
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
