package vm

import "strings"

// Reads of memory that was never written, in global and in local memory (for shared memory see
// checks.go). The check covers device memory and the heap of kernels. A program may write
// page-locked and managed memory without the driver, and variables are initialised, so those count
// as written.

// byteSet has a bit for each byte of a region. Memory.track guards it.
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

// access records an instruction's access, and reports whether it reads memory that was never
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

// uninitialized reports lane i's read of global memory.
func (w *warp) uninitialized(in *inst, p uint64, i int) {
	detail := "global memory that nobody has written; " + w.cta.run.mem.Nearest(p)
	w.find(w.accessFault(FaultUninitialized, in, p, i, detail), w.prog.pcOf(in, w.pc), -1)
}

// Written records that a range of memory has contents.
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

// WrittenFrom records that a range was copied. What was not written in the source is not written in
// the destination either.
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

// copyWritten copies to [off, off+n) of a region what is known about the source.
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

// eachPart calls f with the parts of a range that lie in regions.
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

// localShadow says which bytes of a warp's local memory were written, by lane.
type localShadow [lanes][]bool

// localOf returns lane i's shadow with at least n bytes.
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

// beforeLocal checks an instruction's accesses to local memory.
func (w *warp) beforeLocal(in *inst, m uint32) {
	a := w.addresses(in, in.aux&accWide != 0, m)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		w.localAccess(in, a[i], i)
	}
}

// localAccess checks lane i's access to its local memory. It skips parameters of functions: their
// padding is read and never written.
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

// enterLocal marks the frame of a called function as unwritten, except for its parameters and
// results.
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

// localWritten records that bytes of each lane in m have contents.
func (w *warp) localWritten(off, n uint64, m uint32) {
	for ; m != 0; m &= m - 1 {
		s := w.localOf(first(m), off+n)[off : off+n]
		for k := range s {
			s[k] = true
		}
	}
}
