package vm

import (
	"fmt"
	"math/bits"
	"slices"
)

// The checks that are made on request. A checked launch runs a copy of the
// program in which every memory instruction is wrapped, so that others pay
// nothing.
//
// Order within a block is known from barriers and from operations that
// synchronise lanes. An atomic or volatile access counts as if it ordered the
// whole block: programs that synchronise by flags are not accused, and races
// across such an access are not found.

// implementedChecks are the flags that have an effect.
const implementedChecks = CheckBarriers | CheckSharedRaces | CheckUninitialized

// accessChecks are the flags for which memory instructions are wrapped.
const accessChecks = CheckSharedRaces | CheckUninitialized

// resultNotSupported is CUDA_ERROR_NOT_SUPPORTED.
const resultNotSupported = 801

// shadow is what is known of each byte of a block's shared memory.
type shadow struct {
	bytes []shadowByte
	epoch uint32 // of the block; raised where all its accesses become ordered
	batch uint32 // instructions so far
	hits  []hit  // of the instruction that is executing
	old   []byte // what it overwrites
}

// shadowByte is the last write and the last read of a byte.
type shadowByte struct{ write, read touch }

// touch is one access. thread 0 is none, others count from 1.
type touch struct {
	thread      uint32
	pc          int32
	epoch, warp uint32 // epochs of the block and of the thread's warp
	batch       uint32 // the instruction's number
}

// hit is an access that conflicts with an earlier one.
type hit struct {
	lane  int
	addr  uint64
	prev  touch
	waw   bool // both write
	index int  // of the old bytes
}

// checked returns the program with its memory instructions wrapped.
func (k *Kernel) checked() *program {
	k.checkOnce.Do(func() {
		p := *k.prog
		p.code = slices.Clone(k.prog.code)
		for i := range p.code {
			if in := &p.code[i]; in.aux&accMemory != 0 && in.ctl == ctlNone {
				exec := in.exec
				in.exec = func(w *warp, in *inst, m uint32) {
					w.beforeAccess(in, m)
					exec(w, in, m)
					w.afterAccess(in)
				}
			}
		}
		k.checkProg = &p
	})
	return k.checkProg
}

// resetShadow makes all of shared memory unwritten.
func (c *cta) resetShadow() {
	if c.run.opts.Checks&accessChecks == 0 {
		c.shadow = nil
		return
	}
	c.shadow = &shadow{bytes: make([]shadowByte, len(c.shared)), epoch: 1}
}

// ordered notes that all accesses of the block so far come before all later
// ones.
func (c *cta) ordered() {
	if c.shadow != nil {
		c.shadow.epoch++
	}
}

// beforeAccess looks at an instruction's accesses to shared memory.
func (w *warp) beforeAccess(in *inst, m uint32) {
	s := w.cta.shadow
	space := in.aux & spaceMask
	if s == nil || space != spaceShared && space != spaceGeneric {
		return
	}
	s.hits, s.old = s.hits[:0], s.old[:0]
	s.batch++
	if in.aux&(accAtomic|accSync) != 0 {
		s.epoch++
	}
	pc := w.prog.pcOf(in, w.pc)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		at, ok := w.sharedOffset(in, i)
		if ok && at <= uint64(len(s.bytes)) && uint64(len(s.bytes))-at >= in.size() {
			w.touch(in, pc, i, at)
		}
	}
}

// sharedOffset is where lane i accesses shared memory, if it does.
func (w *warp) sharedOffset(in *inst, i int) (uint64, bool) {
	var at uint64
	if in.aux&accWide != 0 {
		at = w.r64[in.a][i] + in.imm
	} else {
		at = uint64(w.r32[in.a][i]) + in.imm
	}
	if in.aux&spaceMask == spaceShared {
		return at, true
	}
	return at - sharedWindow, at&windowMask == sharedWindow
}

// touch records lane i's access at offset at, after comparing it with those
// before.
func (w *warp) touch(in *inst, pc int32, i int, at uint64) {
	s := w.cta.shadow
	now := touch{uint32(w.id*lanes+i) + 1, pc, s.epoch, w.epoch, s.batch}
	write := in.aux&accWrite != 0
	sync := in.aux&(accAtomic|accSync) != 0
	conflict, unwritten := touch{}, false
	waw := false
	for k := at; k < at+in.size(); k++ {
		b := &s.bytes[k]
		unwritten = unwritten || b.write.thread == 0
		switch {
		case sync:
		case w.races(b.write, now):
			conflict, waw = b.write, write
		case write && w.races(b.read, now):
			conflict, waw = b.read, false
		}
		if write {
			b.write = now
		} else {
			b.read = now
		}
	}
	checks := w.cta.run.opts.Checks
	if conflict.thread != 0 && checks&CheckSharedRaces != 0 {
		s.hits = append(s.hits, hit{i, at, conflict, waw, len(s.old)})
		s.old = append(s.old, w.shared[at:at+in.size()]...)
	}
	if unwritten && (!write || in.aux&accAtomic != 0) && checks&CheckUninitialized != 0 {
		w.find(w.accessFault(FaultUninitialized, in, at, i, "shared memory that no thread of the block has written"), pc, -1)
	}
}

// races reports whether an earlier access is unordered with one that is made
// now.
func (w *warp) races(t, now touch) bool {
	if t.thread == 0 || t.thread == now.thread || t.epoch != now.epoch {
		return false
	}
	sameWarp := int(t.thread-1)/lanes == w.id
	return !sameWarp || t.warp == now.warp
}

// afterAccess reports the conflicts. Two writes of the same value are none.
func (w *warp) afterAccess(in *inst) {
	s := w.cta.shadow
	if s == nil {
		return
	}
	for _, h := range s.hits {
		t := int(h.prev.thread - 1)
		if h.waw && w.sameValue(in, h, t%lanes) {
			continue
		}
		o := w.cta.warps[t/lanes]
		detail := fmt.Sprintf("unordered with the access of thread %v at line %d", o.thread(t%lanes), w.lineOf(h.prev.pc).line)
		w.find(w.accessFault(FaultRace, in, h.addr, h.lane, detail), w.prog.pcOf(in, w.pc), h.prev.pc)
	}
	s.hits = s.hits[:0]
}

// sameValue reports whether the two writes of a conflict wrote the same: both
// lanes of one instruction, or this one what was there before.
func (w *warp) sameValue(in *inst, h hit, other int) bool {
	s, n := w.cta.shadow, in.size()
	if h.prev.batch != s.batch {
		return slices.Equal(w.shared[h.addr:h.addr+n], s.old[h.index:h.index+int(n)])
	}
	if in.x != nil {
		return false
	}
	if n == 8 {
		return w.r64[in.b][h.lane] == w.r64[in.b][other]
	}
	keep := ^uint32(0) >> (32 - 8*n)
	return (w.r32[in.b][h.lane]^w.r32[in.b][other])&keep == 0
}

// find reports a finding, once for each pair of instructions.
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

// unimplemented names the flags that have no effect yet.
func (c Checks) unimplemented() string {
	left := c &^ implementedChecks
	if left == 0 {
		return ""
	}
	names := map[Checks]string{CheckGlobalRaces: "CheckGlobalRaces"}
	flag := Checks(1) << bits.TrailingZeros32(uint32(left))
	if n := names[flag]; n != "" {
		return n
	}
	return fmt.Sprintf("Checks(%#x)", uint32(flag))
}
