package vm

// Waits for mbarrier objects that never end. Such a wait is a loop in the program, so it does not
// block. However, if a warp's loop accesses no other memory, and its registers are the same on each
// iteration, only another warp of the cluster can end it. If all warps of the cluster wait like
// this, or at barriers, none ever will.

const (
	stuckSteps  = 16  // number of turns after which a block checks itself
	stuckLoops  = 64  // iterations of its loop that a warp has made by then
	stuckPasses = 64  // turns of a cluster with all blocks stuck
	stuckLength = 256 // instructions of a loop that are checked
)

// waitLoop is the loop that a warp is in.
type waitLoop struct {
	from, target int32 // of its back edge
	times        int32 // taken in succession, and no mbarrier object changed or passed
	state        uint64
}

// turn records that a back edge is taken.
func (l *waitLoop) turn(from, target int32) {
	if l.from != from || l.target != target {
		*l = waitLoop{from: from, target: target}
	}
	l.times = min(l.times+1, stuckLoops)
}

// stuckCTA is what a block knows about its own state.
type stuckCTA struct {
	steps int
	found *warp // one that waits forever unless another block helps
}

// lookStuck checks periodically whether the block waits forever. If so, and no other block can
// help, it ends the block.
func (c *cta) lookStuck() {
	if c.stuck.steps++; c.stuck.steps%stuckSteps != 0 {
		return
	}
	c.stuck.found = c.stuckWarp()
	if c.stuck.found != nil && (c.cluster == nil || len(c.cluster.ctas) == 1) {
		panic(c.stuck.found.stuckFault())
	}
}

// stuckWarp returns a warp that waits in a loop, if all warps wait.
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

// isStuck reports whether the warp is in a loop that only polls mbarrier objects, in the same state
// as at the previous call.
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

// lookIn returns where the loop polls an mbarrier object. It returns -1 if the loop does not, or
// does more than that.
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

// registers returns a hash of everything that a loop without stores can change.
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

// lookStuck ends a cluster in which all blocks have waited so long that each has checked itself
// again.
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

// looksAt records that a memory instruction tests whether a phase of an mbarrier object is
// complete.
func (p *program) looksAt(slot int32) {
	if p.looks == nil {
		p.looks = map[int32]bool{}
	}
	p.looks[slot] = true
}
