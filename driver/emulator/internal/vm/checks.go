package vm

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// The optional checks. A checked launch runs a copy of the program in which every memory
// instruction is wrapped. It caches no region, so each access goes through warp.reach. Unchecked
// launches have no overhead. The blocks of a checked launch run on one goroutine, in an order that
// depends only on the seed. The findings therefore do not depend on timing.
//
// Barriers and lane-synchronising operations order accesses within a block. An atomic or volatile
// access is treated as if it ordered the whole block. Programs that synchronise through flags
// therefore cause no false reports, but a race between accesses before and after such an access is
// missed.

const implementedChecks = CheckBarriers | CheckSharedRaces | CheckUninitialized | CheckGlobalRaces

// accessChecks is the set of flags for which memory instructions are wrapped.
const accessChecks = CheckSharedRaces | CheckUninitialized | CheckGlobalRaces

const resultNotSupported = 801

type shadow struct {
	bytes  []shadowByte // one for each byte of shared memory
	epoch  uint32       // incremented whenever all accesses so far by the block become ordered
	batch  uint32       // number of memory instructions executed so far
	hits   []hit        // conflicts of the current instruction in shared memory
	old    []byte       // the bytes that the current instruction overwrites
	global blockClock
	local  map[*warp]*localShadow
}

// shadowByte records the last write to a byte and up to three reads of it. read is the last read.
// mate is the last earlier read by another lane of the same warp. other is the last earlier read by
// another warp.
type shadowByte struct{ write, read, mate, other touch }

func (b *shadowByte) reads(now touch) {
	switch r := b.read; {
	case r.thread == 0 || r.thread == now.thread:
	case (r.thread-1)/lanes == (now.thread-1)/lanes:
		b.mate = r
	default:
		b.other, b.mate = r, touch{}
	}
	b.read = now
}

// race returns an earlier access that is unordered with w's current access now. If there is none, it
// returns a zero touch. The result wrote reports whether the earlier access is a write.
func (b *shadowByte) race(w *warp, now touch, write bool) (prev touch, wrote bool) {
	if w.races(b.write, now) {
		return b.write, true
	}
	for _, r := range []*touch{&b.read, &b.mate, &b.other} {
		if write && w.races(*r, now) {
			return *r, false
		}
	}
	return touch{}, false
}

// touch is one access. thread is 1 plus the thread's index, or 0 for no access.
type touch struct {
	thread      uint32
	pc          int32
	epoch, warp uint32 // epoch of the block and epoch of the thread's warp
	batch       uint32 // number of the instruction
	open        bool   // a write by cp.async for which the thread has not waited yet
}

type hit struct {
	lane  int
	addr  uint64
	prev  touch
	wrote bool // the earlier access was a write
	waw   bool // both accesses are writes
	index int  // index in old of the overwritten bytes
}

// checked returns the program with every memory instruction wrapped in checks.
func (k *Kernel) checked() *program {
	k.checkOnce.Do(func() {
		p := *k.prog
		p.code = slices.Clone(k.prog.code)
		for i := range p.code {
			switch in := &p.code[i]; {
			case in.exec == nil || in.ctl != ctlNone && in.ctl != ctlSync:
			case in.aux&accMemory != 0:
				in.exec = checkedAccess(in.exec, p.lines[i].order)
			case p.lines[i].order == orderFence:
				in.exec = checkedFence(in.exec)
			}
		}
		k.checkProg = &p
	})
	return k.checkProg
}

func checkedAccess(exec execFunc, order memoryOrder) execFunc {
	return func(w *warp, in *inst, m uint32) {
		w.beforeAccess(in, m, order)
		exec(w, in, m)
		w.afterAccess(in)
	}
}

func checkedFence(exec execFunc) execFunc {
	return func(w *warp, in *inst, m uint32) {
		w.cta.shadow.global.publish()
		exec(w, in, m)
	}
}

// resetShadow creates empty access records for a new block. If the launch does not check accesses,
// it creates none.
func (c *cta) resetShadow() {
	if c.run.opts.Checks&accessChecks == 0 {
		c.shadow = nil
		return
	}
	c.shadow = &shadow{bytes: make([]shadowByte, len(c.shared)), epoch: 1, local: map[*warp]*localShadow{}}
	c.shadow.global.reset(c)
}

// ordered records that all accesses so far by the block happen before its later accesses.
func (c *cta) ordered() {
	if c.shadow != nil {
		c.shadow.epoch++
	}
}

// waited records that the block has observed the end of an mbarrier phase. Every block in its
// cluster may have contributed to that phase.
func (c *cta) waited() {
	if c.cluster != nil {
		orderBlocks(c.cluster.ctas)
		return
	}
	c.ordered()
}

// writtenOutside records that another block in the cluster wrote n bytes of this block's shared
// memory, starting at offset at. Such writes are not checked for races.
func (s *shadow) writtenOutside(at, n uint64) {
	for k := at; k < at+n; k++ {
		s.bytes[k].write = touch{thread: 1, pc: -1}
	}
}

func (w *warp) beforeAccess(in *inst, m uint32, order memoryOrder) {
	s := w.cta.shadow
	s.hits, s.old = s.hits[:0], s.old[:0]
	s.batch++
	s.global.event = nil
	if in.aux&(accAtomic|accSync) != 0 {
		s.epoch++
	}
	if order == orderRelease {
		s.global.publish()
	}
	if in.aux&spaceMask == spaceLocal {
		w.beforeLocal(in, m)
	}
}

// unremember empties the cache entry, so that the instruction's next access goes through reach again.
func (w *warp) unremember(in *inst, e *access) {
	if int(in.slot) < len(w.cache) && e == &w.cache[in.slot] {
		e.n = 0
	}
}

func (w *warp) sharedAccess(in *inst, e *access, at uint64, i int) {
	w.unremember(in, e)
	if s := w.cta.shadow; uint64(len(s.bytes)) >= at+in.size() {
		w.touch(in, w.prog.pcOf(in, w.pc), i, at)
	}
}

// touch compares lane i's access at a shared memory offset with earlier accesses and then records
// it.
func (w *warp) touch(in *inst, pc int32, i int, at uint64) {
	s := w.cta.shadow
	now := touch{thread: uint32(w.id*lanes+i) + 1, pc: pc, epoch: s.epoch, warp: w.epoch, batch: s.batch}
	write := in.aux&accWrite != 0
	sync := in.aux&(accAtomic|accSync) != 0
	conflict, unwritten := touch{}, false
	wrote := false
	for k := at; k < at+in.size(); k++ {
		b := &s.bytes[k]
		unwritten = unwritten || b.write.thread == 0
		if prev, by := b.race(w, now, write); !sync && prev.thread != 0 {
			conflict, wrote = prev, by
		}
		if write {
			b.write = now
		} else {
			b.reads(now)
		}
	}
	checks := w.cta.run.opts.Checks
	if conflict.thread != 0 && checks&CheckSharedRaces != 0 {
		s.hits = append(s.hits, hit{i, at, conflict, wrote, wrote && write, len(s.old)})
		s.old = append(s.old, w.shared[at:at+in.size()]...)
	}
	if unwritten && (!write || in.aux&accAtomic != 0) && checks&CheckUninitialized != 0 {
		w.find(w.accessFault(FaultUninitialized, in, at, i, "shared memory that no thread of the block has written: it is not cleared, and the writes of other threads need a barrier before the read"), pc, -1)
	}
}

// open records that the bytes of d, which cp.async has just accessed for a lane of w, may be written
// until the lane waits for the copy. It returns the function that records the end of the wait. From
// then on the bytes count as written by the lane at that time.
func (s *shadow) open(w *warp, d []byte) (waited func()) {
	at := uintptr(unsafe.Pointer(&d[0])) - uintptr(w.cta.sharedRegion.base)
	if at >= uintptr(len(s.bytes)) {
		return func() {} // the shared memory of another block
	}
	bytes := s.bytes[at:][:len(d)]
	for i := range bytes {
		bytes[i].write.open = true
	}
	mine := bytes[0].write
	return func() {
		for i := range bytes {
			if b := &bytes[i]; b.write == mine {
				b.write.open, b.write.epoch, b.write.warp = false, s.epoch, w.epoch
			}
		}
	}
}

// races reports whether the earlier access t and the current access now are
// unordered.
func (w *warp) races(t, now touch) bool {
	if t.open {
		return true
	}
	if t.thread == 0 || t.thread == now.thread || t.epoch != now.epoch {
		return false
	}
	sameWarp := int(t.thread-1)/lanes == w.id
	return !sameWarp || t.warp == now.warp
}

// afterAccess reports the conflicts that the current instruction caused, except conflicts between
// writes of the same value.
func (w *warp) afterAccess(in *inst) {
	s := w.cta.shadow
	for _, h := range s.hits {
		t := int(h.prev.thread - 1)
		if h.waw && w.sameValue(in, h, t%lanes) {
			continue
		}
		o := w.cta.warps[t/lanes]
		what := verb(h.wrote)
		if h.prev.open {
			what = "cp.async"
		}
		detail := fmt.Sprintf("unordered with the %s of thread %v at %s", what, o.thread(t%lanes), w.prog.placeOf(h.prev.pc))
		f := w.accessFault(FaultRace, in, h.addr, h.lane, detail)
		f.Space = "shared"
		if h.prev.open {
			f.adviseCopy(h.prev.thread != uint32(w.id*lanes+h.lane)+1)
		} else {
			f.adviseRace(true)
		}
		w.find(f, w.prog.pcOf(in, w.pc), h.prev.pc)
	}
	s.hits = s.hits[:0]
	w.afterGlobal(in)
}

func verb(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

// sameValue reports whether two conflicting writes wrote the same value. Either two lanes of the
// current instruction wrote, or the current instruction overwrote an earlier write.
func (w *warp) sameValue(in *inst, h hit, other int) bool {
	s, n := w.cta.shadow, in.size()
	if h.prev.batch != s.batch {
		return slices.Equal(w.shared[h.addr:h.addr+n], s.old[h.index:h.index+int(n)])
	}
	return w.sameRegister(in, h.lane, other)
}

// sameRegister reports whether lanes i and j store the same value. It returns false if the
// instruction does not store a single register.
func (w *warp) sameRegister(in *inst, i, j int) bool {
	n := in.size()
	switch {
	case in.x != nil || n > 8:
		return false
	case n == 8:
		return w.r64[in.b][i] == w.r64[in.b][j]
	}
	keep := ^uint32(0) >> (32 - 8*n)
	return (w.r32[in.b][i]^w.r32[in.b][j])&keep == 0
}

// placeOf returns the source line of an instruction. If it is unknown, placeOf returns the PTX
// line.
func (p *program) placeOf(pc int32) string {
	if pc < 0 || int(pc) >= len(p.lines) {
		return "an unknown line"
	}
	at := p.lines[pc]
	if at.loc > 0 {
		return p.locs[at.loc-1]
	}
	return fmt.Sprintf("line %d", at.line)
}

// find reports a finding once for each pair of instructions.
func (w *warp) find(f *Fault, pc, other int32) {
	r := w.cta.run
	r.outMu.Lock()
	key := [2]int32{pc, other}
	seen := slices.Contains(r.found, key)
	if !seen {
		r.found = append(r.found, key)
	}
	r.outMu.Unlock()
	if !seen {
		r.report(f)
	}
}

// unimplemented returns the lowest flag that has no effect, or "" if all flags have one.
func (c Checks) unimplemented() string {
	left := c &^ implementedChecks
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("Checks(%#x)", uint32(1)<<bits.TrailingZeros32(uint32(left)))
}

// The barrier check: all threads of a block must reach a barrier, and each warp must reach it as a
// whole.

func (c *cta) checkBarrier(id int) {
	if c.run.opts.Checks&CheckBarriers == 0 {
		return
	}
	b := &c.bars[id]
	for _, w := range c.warps {
		if s, o := w.apart(id); o != nil {
			detail := fmt.Sprintf("other lanes of the warp wait at %s: a warp has to reach a barrier as a whole", w.prog.placeOf(o.pc-1))
			w.findAt(s, detail)
		}
	}
	if w, s := c.waiter(id); s != nil && b.expect == 0 && c.live < int(c.run.threads) {
		who := c.exited()
		detail := fmt.Sprintf("%d of the block's %d threads have exited, thread %v among them, and do not reach the barrier",
			int(c.run.threads)-c.live, c.run.threads, who)
		w.findAt(s, detail)
	}
}

// apart returns two splits of the warp that wait at barrier id in different instructions. If all
// splits at the barrier wait in the same instruction, b is nil. If none waits there, a is nil as
// well.
func (w *warp) apart(id int) (a, b *split) {
	for i := range w.splits {
		s := &w.splits[i]
		switch {
		case s.wait != waitBarrier || s.bar != int32(id):
		case a == nil:
			a = s
		case s.pc != a.pc:
			return a, s
		}
	}
	return a, nil
}

func (c *cta) waiter(id int) (*warp, *split) {
	for _, w := range c.warps {
		if s, _ := w.apart(id); s != nil {
			return w, s
		}
	}
	return nil, nil
}

// exited returns the first thread in the block that has exited.
func (c *cta) exited() Dim3 {
	for _, w := range c.warps {
		all := full
		if n := int(c.run.threads) - w.id*lanes; n < lanes {
			all = 1<<n - 1
		}
		if gone := all &^ w.live; gone != 0 {
			return w.thread(first(gone))
		}
	}
	return Dim3{}
}

func (w *warp) findAt(s *split, detail string) {
	f := w.laneFault(FaultBarrier, s.in, bits.TrailingZeros32(s.mask), detail)
	w.find(f, s.pc-1, -1)
}

// How accesses of different blocks are ordered. Each block has a clock. It also records, for each
// other block, the time up to which that block's accesses happen before its own. A fence with
// device or system scope publishes this record. An atomic or volatile write after the fence stores
// the published record at its address. An atomic or volatile access by another block reads it from
// that address. The reader needs no fence, because programs without one use volatile reads.

type memoryOrder uint8

const (
	orderNone memoryOrder = iota
	orderFence
	orderRelease // an access that includes a fence
)

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

// clockSet holds, for each block, the time up to which its accesses are known to have happened.
type clockSet map[uint64]uint32

func (s clockSet) join(o clockSet) {
	for b, t := range o {
		s[b] = max(s[b], t)
	}
}

// blockClock holds a block's clock and the accesses ordered before the block's own.
type blockClock struct {
	block     uint64 // the block's number in the grid
	time      uint32
	knows     clockSet
	published clockSet // copy of knows at the last fence; nil if there was none
	event     *event   // event of the current instruction
	hits      []globalHit
	old       []byte
}

func (b *blockClock) reset(c *cta) {
	g := c.run.opts.Grid
	*b = blockClock{block: uint64(c.id.X) + uint64(g.X)*(uint64(c.id.Y)+uint64(g.Y)*uint64(c.id.Z)), time: 1, knows: clockSet{}}
}

// publish performs a fence: accesses after it have a later time than accesses before it.
func (b *blockClock) publish() {
	b.published = maps.Clone(b.knows)
	b.published[b.block] = b.time
	b.time++
}

// orderBlocks makes all accesses of the blocks so far happen before their later accesses, as a
// barrier across the blocks would.
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

// Order is the position of a launch or copy relative to others. After reports whether the program
// guarantees that the earlier operation ends before this one begins.
type Order interface {
	After(earlier Order) bool
	Made() *Trace // where the program submitted the operation; nil if unknown
}
