package vm

// Waits for mbarrier objects that nobody ends. Such a wait is a loop of the
// program's, so it does not block; but where a warp's loop touches no memory
// besides, and its registers are the same each time it comes round, only
// others of its cluster can end it. When all of them wait so, or at barriers,
// nobody will.

const (
	stuckSteps  = 16  // a block looks at itself after so many turns
	stuckLoops  = 64  // times that a warp has been round its loop by then
	stuckPasses = 64  // turns of a cluster with all blocks stuck
	stuckLength = 256 // instructions of a loop that are looked at
)

// waitLoop is the loop that a warp is in.
type waitLoop struct {
	from, target int32 // of its back edge
	times        int32 // taken in succession, and no mbarrier object changed or passed
	state        uint64
}

// turn notes that a back edge is taken.
func (l *waitLoop) turn(from, target int32) {
	if l.from != from || l.target != target {
		*l = waitLoop{from: from, target: target}
	}
	l.times = min(l.times+1, stuckLoops)
}

// stuckCTA is what a block knows of itself.
type stuckCTA struct {
	steps int
	found *warp // one that waits for ever unless another block helps
}

// lookStuck looks now and then whether the block waits for ever, and ends a
// block that does if it has no other to hope for.
func (c *cta) lookStuck() {
	if c.stuck.steps++; c.stuck.steps%stuckSteps != 0 {
		return
	}
	c.stuck.found = c.stuckWarp()
	if c.stuck.found != nil && (c.cluster == nil || len(c.cluster.ctas) == 1) {
		panic(c.stuck.found.stuckFault())
	}
}

// stuckWarp is a warp that waits in a loop, if all warps wait.
func (c *cta) stuckWarp() (found *warp) {
	if len(c.late) != 0 {
		return nil
	}
	for _, w := range c.warps {
		switch {
		case w.live == 0 || !w.runnable():
		case !w.isStuck():
			return nil
		default:
			found = w
		}
	}
	return found
}

// isStuck reports whether the warp is in a loop that looks at mbarrier
// objects and does nothing else, in the same state as when it was last asked.
func (w *warp) isStuck() bool {
	l := &w.loop
	was := l.state
	if l.times < stuckLoops || !w.inLoop() || w.lookIn() < 0 {
		l.state = 0
		return false
	}
	l.state = w.registers()
	return l.state == was
}

// inLoop reports whether all lanes that could run are in the warp's loop.
func (w *warp) inLoop() bool {
	in := func(pc int32) bool { return pc >= w.loop.target && pc <= w.loop.from }
	if w.mask != 0 && !in(w.pc) {
		return false
	}
	for i := range w.splits {
		if s := &w.splits[i]; s.wait == waitNone && !in(s.pc) {
			return false
		}
	}
	return true
}

// lookIn is where the loop looks at an mbarrier object; -1 if it does not, or
// does more.
func (w *warp) lookIn() int32 {
	prog, at := w.cta.run.kernel.prog, int32(-1) // as compiled, without checks
	if w.loop.from-w.loop.target > stuckLength {
		return -1
	}
	for pc := w.loop.target; pc <= w.loop.from; pc++ {
		in := &prog.code[pc]
		switch in.ctl {
		case ctlNone, ctlBranch, ctlYield, ctlSync, ctlWarpBarrier, ctlExit:
		default:
			return -1
		}
		switch {
		case in.aux&accMemory == 0 || in.ctl != ctlNone:
		case prog.looks[in.slot]:
			at = pc
		default:
			return -1
		}
	}
	return at
}

// registers is a hash of all that a loop without stores can change.
func (w *warp) registers() uint64 {
	h := uint64(len(w.splits)) + 1
	for i := range w.slab32 {
		for _, x := range w.slab32[i] {
			h = splitmix(h ^ uint64(x))
		}
	}
	for i := range w.slab64 {
		for _, x := range w.slab64[i] {
			h = splitmix(h ^ x)
		}
	}
	for _, x := range w.slabP {
		h = splitmix(h ^ uint64(x))
	}
	return h
}

// stuckFault describes the warp's wait.
func (w *warp) stuckFault() *Fault {
	mask := w.mask
	for i := range w.splits {
		if s := &w.splits[i]; mask == 0 && s.wait == waitNone {
			mask = s.mask
		}
	}
	w.pc = w.lookIn()
	return w.laneFault(FaultDeadlock, &w.prog.code[w.pc], first(mask), "every thread of the block waits; this one for an mbarrier object whose phase nobody completes")
}

// lookStuck ends a cluster in which all blocks have waited for so long that
// each has looked at itself again.
func (k *cluster) lookStuck() {
	var found *warp
	for i, c := range k.ctas {
		switch {
		case k.ended[i] || !c.runnable():
		case c.stuck.found == nil:
			k.stuck = 0
			return
		default:
			found = c.stuck.found
		}
	}
	if k.stuck++; found != nil && k.stuck > stuckPasses {
		panic(found.stuckFault())
	}
}

// looksAt notes that a memory instruction looks whether a phase of an
// mbarrier object is complete.
func (p *program) looksAt(slot int32) {
	if p.looks == nil {
		p.looks = map[int32]bool{}
	}
	p.looks[slot] = true
}
