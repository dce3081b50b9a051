package vm

import (
	"fmt"
	"strings"
	"sync"
)

// Races in global memory. Each granule of memory that a checked launch accesses has a record. The
// record holds the last write and up to three reads, from different threads and warps if possible.
// A granule has 4 bytes until a smaller access occurs, and 1 byte from then on.

// tracker holds the state of the checks on global memory. mu also guards the access records of all
// regions.
type tracker struct {
	mu     sync.Mutex
	checks Checks
	sync   map[syncKey]clockSet // clocks published at each address
}

type syncKey struct {
	launch *launchRun
	addr   uint64
}

// event is one execution of an instruction by a warp, or one copy.
type event struct {
	launch      *launchRun // nil for a copy
	id          uint64     // number of the launch
	order       Order
	what        string // name of the kernel or description of the copy
	place       string // position of the instruction
	pc          int32
	block       uint64
	warp        uint32
	epoch, lane uint32 // epoch of the block and epoch of the warp
	time        uint32 // clock of the block
	batch       uint32
	shape, grid Dim3
}

type mark struct {
	*event
	thread uint8
	wrote  bool
}

const (
	granule     = 4
	shadowPage  = 256 // number of bytes of memory that one page covers
	pageEntries = shadowPage / granule
)

// cell is the access record of a granule. Its fields have the same meaning as in shadowByte.
type cell struct{ write, read, mate, other mark }

// globalShadow holds the access records of a region, by page.
type globalShadow struct{ pages map[uint64][]cell }

type globalHit struct {
	lane  int
	addr  uint64
	prev  mark
	waw   bool
	index int
	data  []byte
}

// cells calls f with the record of each granule in [off, off+n). If the range begins or ends inside
// a granule, the page gets one record for each byte.
func (g *globalShadow) cells(off, n uint64, f func(*cell)) {
	for end := off + n; off < end; {
		page, stop := off/shadowPage, min(end, (off/shadowPage+1)*shadowPage)
		cells := g.pages[page]
		if cells == nil {
			cells = make([]cell, pageEntries)
		}
		if len(cells) == pageEntries && (off%granule != 0 || stop%granule != 0) {
			cells = toBytes(cells)
		}
		g.pages[page] = cells
		size := uint64(shadowPage / len(cells))
		for ; off < stop; off += size {
			f(&cells[off%shadowPage/size])
		}
	}
}

// toBytes returns four copies of each record, one for each byte of the granule.
func toBytes(cells []cell) []cell {
	out := make([]cell, 0, shadowPage)
	for _, c := range cells {
		out = append(out, c, c, c, c)
	}
	return out
}

func (w *warp) globalAccess(in *inst, e *access, r *Region, p uint64, i int) {
	w.unremember(in, e)
	if w.trackGlobal(in, r, p, i) {
		w.uninitialized(in, p, i)
	}
}

// trackGlobal records an access and reports whether it reads memory that was never written. The
// caller reports the finding after trackGlobal has released the lock, because LaunchOptions.Report
// may access the Memory.
func (w *warp) trackGlobal(in *inst, r *Region, p uint64, i int) (unwritten bool) {
	m := w.cta.run.mem
	m.track.mu.Lock()
	defer m.track.mu.Unlock()
	checks := w.cta.run.opts.Checks
	if checks&CheckUninitialized != 0 && r.written != nil {
		unwritten = r.written.access(p-r.Addr, in)
	}
	if checks&CheckGlobalRaces == 0 || r.ReadOnly {
		return unwritten
	}
	if in.aux&(accAtomic|accSync) != 0 {
		m.track.meet(w, in, p)
	}
	w.raceGlobal(in, r, p, i)
	return unwritten
}

// meet handles an atomic or volatile access at p. The block learns the clocks stored at that
// address. If the access is a write and the block has executed a fence, the clocks of its last
// fence are then stored there.
func (t *tracker) meet(w *warp, in *inst, p uint64) {
	b := &w.cta.shadow.global
	key := syncKey{w.cta.run, p &^ 3}
	left := t.sync[key]
	b.knows.join(left)
	if in.aux&accWrite == 0 || b.published == nil {
		return
	}
	if left == nil {
		if t.sync == nil {
			t.sync = map[syncKey]clockSet{}
		}
		left = clockSet{}
		t.sync[key] = left
	}
	left.join(b.published)
}

// forget deletes the clocks that an ended launch published.
func (t *tracker) forget(r *launchRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.sync {
		if k.launch == r {
			delete(t.sync, k)
		}
	}
}

// eventOf returns the event of the current instruction. All lanes share it.
func (w *warp) eventOf(in *inst) *event {
	s, r := w.cta.shadow, w.cta.run
	if s.global.event == nil {
		pc := w.prog.pcOf(in, w.pc)
		s.global.event = &event{
			launch: r, id: r.id, order: r.opts.Order, what: "kernel " + r.kernel.name, place: w.prog.placeOf(pc), pc: pc,
			block: s.global.block, warp: uint32(w.id), epoch: s.epoch, lane: w.epoch, time: s.global.time, batch: s.batch,
			shape: r.opts.Block, grid: r.opts.Grid,
		}
	}
	return s.global.event
}

func (w *warp) raceGlobal(in *inst, r *Region, p uint64, i int) {
	if r.shadow == nil {
		r.shadow = &globalShadow{pages: map[uint64][]cell{}}
	}
	write := in.aux&accWrite != 0
	sync := in.aux&(accAtomic|accSync) != 0
	now := mark{w.eventOf(in), uint8(i), write}
	var conflict mark
	waw := false
	r.shadow.cells(p-r.Addr, in.size(), func(c *cell) {
		if prev, both := c.conflict(now, write, w.cta.shadow.global.knows); !sync && prev.event != nil {
			conflict, waw = prev, both
		}
		c.record(now, write)
	})
	if conflict.event != nil {
		b := &w.cta.shadow.global
		off := p - r.Addr
		data := r.data[off : off+in.size()]
		b.hits = append(b.hits, globalHit{i, p, conflict, waw, len(b.old), data})
		b.old = append(b.old, data...)
	}
}

// conflict returns an earlier access that is unordered with the current access now. The result both
// reports whether both accesses are writes.
func (c *cell) conflict(now mark, write bool, knows clockSet) (prev mark, both bool) {
	switch {
	case c.write.unordered(now, knows):
		return c.write, write
	case !write:
	case c.read.unordered(now, knows):
		return c.read, false
	case c.mate.unordered(now, knows):
		return c.mate, false
	case c.other.unordered(now, knows):
		return c.other, false
	}
	return mark{}, false
}

// record stores the current access now. A write replaces the whole record. A read replaces the last
// read, which moves to mate if another lane of the same warp made it, or to other if another warp
// made it.
func (c *cell) record(now mark, write bool) {
	if write {
		*c = cell{write: now}
		return
	}
	switch r := c.read; {
	case r.event == nil:
	case r.block != now.block || r.warp != now.warp || r.id != now.id:
		c.other, c.mate = r, mark{}
	case r.thread != now.thread:
		c.mate = r
	}
	c.read = now
}

// unordered reports whether the earlier access p and the current access now are unordered. knows is
// the clock set of the block that makes the current access.
func (p mark) unordered(now mark, knows clockSet) bool {
	switch {
	case p.event == nil:
		return false
	case p.id != now.id:
		return p.order != nil && now.order != nil && !now.order.After(p.order)
	case p.launch == nil:
		return false
	case p.block != now.block:
		return knows[p.block] < p.time
	case p.epoch != now.epoch, p.warp == now.warp && p.thread == now.thread:
		return false
	}
	return p.warp != now.warp || p.lane == now.lane
}

// afterGlobal reports the conflicts that an instruction caused in global memory, except conflicts
// between writes of the same value.
func (w *warp) afterGlobal(in *inst) {
	b := &w.cta.shadow.global
	for _, h := range b.hits {
		if h.waw && w.sameGlobal(in, h) {
			continue
		}
		detail := fmt.Sprintf("unordered with the %s of %s", verb(h.prev.wrote), h.prev.describe(w.cta.run))
		f := w.accessFault(FaultRace, in, h.addr, h.lane, detail)
		f.Space = "global"
		if h.prev.id == w.cta.run.id {
			f.adviseRace(h.prev.block == b.block)
		}
		f.Detail += "; " + w.cta.run.mem.Nearest(h.addr)
		w.find(f, w.prog.pcOf(in, w.pc), h.prev.pc)
	}
	b.hits, b.old = b.hits[:0], b.old[:0]
}

func (w *warp) sameGlobal(in *inst, h globalHit) bool {
	if h.prev.event == w.cta.shadow.global.event {
		return w.sameRegister(in, h.lane, int(h.prev.thread))
	}
	return string(h.data) == string(w.cta.shadow.global.old[h.index:h.index+len(h.data)])
}

func (p mark) describe(r *launchRun) string {
	if p.launch == nil {
		return p.what
	}
	t := uint32(p.warp)*lanes + uint32(p.thread)
	s := p.shape
	thread := Dim3{t % s.X, t / s.X % s.Y, t / s.X / s.Y}
	g := p.grid
	block := Dim3{uint32(p.block % uint64(g.X)), uint32(p.block / uint64(g.X) % uint64(g.Y)), uint32(p.block / uint64(g.X) / uint64(g.Y))}
	out := fmt.Sprintf("block %v thread %v at %s", block, thread, p.place)
	if p.id != r.id {
		out += " of an earlier launch of " + p.what
		if p.order != nil {
			out += p.order.Made().at(", submitted at ")
		}
	}
	return out
}

// Track enables CheckUninitialized for global memory, if c contains it, in regions created from now
// on. CheckGlobalRaces does not require Track.
func (m *Memory) Track(c Checks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.track.checks |= c
}

// traced records where a new region was created and prepares the region's checks.
func (m *Memory) traced(r *Region) *Region {
	if r.Kind == RegionHeap {
		r.Made = nil
	} else if r.Made == nil {
		r.Made = Here()
	}
	if m.track.checks&CheckUninitialized != 0 && (r.Kind == RegionDevice || r.Kind == RegionHeap) {
		r.written = newByteSet(r.Size)
	}
	return r
}

// freedAt returns the trace of the call that freed the region, or nil for a region in a kernel's
// heap.
func (r *Region) freedAt() *Trace {
	if r.Kind == RegionHeap {
		return nil
	}
	return Here()
}

// Touch records an access by a copy or a fill. order is its position relative to other work. Touch
// returns a report on the first conflict with an earlier access, or "" if there is none.
func (m *Memory) Touch(addr, size uint64, write bool, order Order, what string) string {
	found := ""
	for size > 0 {
		r := m.find(addr)
		if r == nil || r.Size == 0 {
			return found
		}
		off := addr - r.Addr
		n := min(size, r.Size-off)
		if s := m.touchRegion(r, off, n, write, order, what); found == "" {
			found = s
		}
		addr, size = addr+n, size-n
	}
	return found
}

func (m *Memory) touchRegion(r *Region, off, n uint64, write bool, order Order, what string) string {
	m.track.mu.Lock()
	if r.shadow == nil {
		r.shadow = &globalShadow{pages: map[uint64][]cell{}}
	}
	now := mark{event: &event{id: nextLaunch.Add(1), order: order, what: what}, wrote: write}
	var conflict mark
	at, cur := uint64(0), off
	r.shadow.cells(off, n, func(c *cell) {
		if prev, _ := c.conflict(now, write, nil); prev.event != nil && conflict.event == nil {
			conflict, at = prev, cur
		}
		c.record(now, write)
		cur = min(off+n, cur+granule)
	})
	m.track.mu.Unlock()
	if conflict.event == nil {
		return ""
	}
	return fmt.Sprintf("%s is unordered with the %s of %s; %s", what, verb(conflict.wrote), conflict.describe(new(launchRun)), m.Nearest(r.Addr+at))
}

// Reads of global and local memory that was never written (checks.go covers shared memory). The
// check covers device memory and the heap that kernels allocate from. Page-locked and managed
// memory counts as written, because a program may write it without the driver. Module variables
// also count as written, because they are initialised.

// byteSet has one bit for each byte of a region. It is guarded by Memory.track.
type byteSet struct{ words []uint64 }

func newByteSet(n uint64) *byteSet { return &byteSet{make([]uint64, (n+63)/64)} }

func (s *byteSet) add(off, n uint64) {
	for ; n > 0 && off%64 != 0; off, n = off+1, n-1 {
		s.words[off/64] |= 1 << (off % 64)
	}
	for ; n >= 64; off, n = off+64, n-64 {
		s.words[off/64] = ^uint64(0)
	}
	for ; n > 0; off, n = off+1, n-1 {
		s.words[off/64] |= 1 << (off % 64)
	}
}

func (s *byteSet) remove(off uint64) { s.words[off/64] &^= 1 << (off % 64) }

func (s *byteSet) has(off uint64) bool { return s.words[off/64]>>(off%64)&1 != 0 }

func (s *byteSet) hasAll(off, n uint64) bool {
	for ; n > 0; off, n = off+1, n-1 {
		if !s.has(off) {
			return false
		}
	}
	return true
}

// access records an instruction's access and reports whether the access reads memory that was never
// written.
func (s *byteSet) access(off uint64, in *inst) (unwritten bool) {
	n := in.size()
	write := in.aux&accWrite != 0
	unwritten = (!write || in.aux&accAtomic != 0) && !s.hasAll(off, n)
	if write {
		s.add(off, n)
	}
	return unwritten
}

func (w *warp) uninitialized(in *inst, p uint64, i int) {
	detail := "global memory that was never written: Alloc does not clear it, use Fill or AllocFrom; " + w.cta.run.mem.Nearest(p)
	w.find(w.accessFault(FaultUninitialized, in, p, i, detail), w.prog.pcOf(in, w.pc), -1)
}

// Written marks a range of memory as written.
func (m *Memory) Written(addr, size uint64) {
	if m.track.checks&CheckUninitialized == 0 {
		return
	}
	m.eachPart(addr, size, func(r *Region, off, n uint64) {
		if r.written != nil {
			r.written.add(off, n)
		}
	})
}

// WrittenFrom records a copy. Bytes that are unwritten in the source count as unwritten in the
// destination.
func (m *Memory) WrittenFrom(dst, src, size uint64) {
	if m.track.checks&CheckUninitialized == 0 {
		return
	}
	m.eachPart(dst, size, func(r *Region, off, n uint64) {
		if r.written != nil {
			m.copyWritten(r, off, n, src+r.Addr+off-dst)
		}
	})
}

// copyWritten copies the written state of n bytes at src to offset off of region r.
func (m *Memory) copyWritten(r *Region, off, n, src uint64) {
	r.written.add(off, n)
	for n > 0 {
		from := m.find(src)
		if from == nil || from.Size == 0 {
			return
		}
		part := min(n, from.Size-(src-from.Addr))
		for k := uint64(0); from.written != nil && k < part; k++ {
			if !from.written.has(src - from.Addr + k) {
				r.written.remove(off + k)
			}
		}
		off, n, src = off+part, n-part, src+part
	}
}

// eachPart calls f for each region in a range, with the part of the range that lies in the region.
// It stops at the first address without a region.
func (m *Memory) eachPart(addr, size uint64, f func(r *Region, off, n uint64)) {
	m.track.mu.Lock()
	defer m.track.mu.Unlock()
	for size > 0 {
		r := m.find(addr)
		if r == nil || r.Size == 0 {
			return
		}
		off := addr - r.Addr
		n := min(size, r.Size-off)
		f(r, off, n)
		addr, size = addr+n, size-n
	}
}

type localShadow [lanes][]bool

// localOf returns lane i's shadow, extended to at least n bytes.
func (w *warp) localOf(i int, n uint64) []bool {
	s := w.cta.shadow.local[w]
	if s == nil {
		s = new(localShadow)
		w.cta.shadow.local[w] = s
	}
	if uint64(len(s[i])) < n {
		s[i] = append(s[i], make([]bool, n-uint64(len(s[i])))...)
	}
	return s[i]
}

func (w *warp) beforeLocal(in *inst, m uint32) {
	a := w.addresses(in, in.aux&accWide != 0, m)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		w.localAccess(in, a[i], i)
	}
}

// localAccess checks lane i's access to its local memory. It skips function parameters, because
// calls read their padding, which nothing writes.
func (w *warp) localAccess(in *inst, off uint64, i int) {
	n := in.size()
	if off >= uint64(w.localN) || uint64(w.localN)-off < n || w.cta.run.opts.Checks&CheckUninitialized == 0 {
		return
	}
	seen := w.localOf(i, off+n)[off : off+n]
	if in.aux&accWrite != 0 {
		for k := range seen {
			seen[k] = true
		}
		return
	}
	for _, ok := range seen {
		if ok {
			continue
		}
		f := w.accessFault(FaultUninitialized, in, off, i, "local memory that the thread has not written")
		if f.Space = "local"; !strings.Contains(f.Instr, ".param") {
			w.find(f, w.prog.pcOf(in, w.pc), -1)
		}
		return
	}
}

// enterLocal marks the frame of a called function as unwritten, except its parameters and results.
func (w *warp) enterLocal(fn *function, m uint32) {
	from := uint32(0)
	for _, p := range append(append([]slotLayout(nil), fn.params...), fn.rets...) {
		from = max(from, p.offset+p.size)
	}
	base := uint64(w.frame.local)
	for ; m != 0; m &= m - 1 {
		s := w.localOf(first(m), base+uint64(fn.local))
		clear(s[base+uint64(min(from, fn.local)) : base+uint64(fn.local)])
	}
}

// localWritten marks bytes of local memory as written for each lane in m.
func (w *warp) localWritten(off, n uint64, m uint32) {
	for ; m != 0; m &= m - 1 {
		s := w.localOf(first(m), off+n)[off : off+n]
		for k := range s {
			s[k] = true
		}
	}
}
