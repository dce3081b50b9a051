package vm

import (
	"math"
	"math/bits"
)

// frame holds where the columns and the local memory of one function activation start. Lanes can
// run together only if their frames are equal.
type frame struct {
	bank  [numClasses]uint32
	local uint32
	depth int32
}

// split is a set of lanes in a warp that have the same program counter.
type split struct {
	pc    int32
	mask  uint32
	frame frame
	turn  uint32 // the split with the lowest turn runs first
	wait  waitKind
	in    *inst // instruction at which the split waits
	bar   int32 // number of the barrier for which the split waits
}

type waitKind uint8

const (
	waitNone    waitKind = iota
	waitBarrier          // wait for a barrier of the CTA
	waitWarp             // wait for lanes of the same warp
)

// A turn ends after idleSplit back edges. If the back edges follow atomic, volatile or shared
// accesses, it already ends after spinSplit of them, because such a loop probably waits for another
// thread. The running split then yields to other splits of its warp, or the warp to other warps of
// its CTA.
const (
	spinSplit = 32
	idleSplit = 1 << 14
	spinCost  = idleSplit / spinSplit
)

type warp struct {
	r32  [][lanes]uint32 // columns of the current frame
	r64  [][lanes]uint64
	pr   []uint32
	mask uint32 // lanes of the running split
	live uint32 // lanes that have not exited

	pc     int32
	turn   uint32
	frame  frame
	splits []split // all other splits

	cta  *cta
	prog *program
	id   int // number of the warp in the CTA

	block  Dim3 // block shape for which tid was computed
	shared []byte
	local  []byte // local memory, localN bytes for each lane
	localN uint32
	cache  []access
	tid    [3]col32
	slab32 [][lanes]uint32
	slab64 [][lanes]uint64
	slabP  []uint32
	synced bool // since the last back edge, the warp has accessed memory that other threads may change

	lastClock uint64
	count     uint64 // number of instructions issued
	laneCount uint64
	scratch   syncScratch
	arrived   uint32 // lanes that have arrived at the cluster barrier
	passed    uint32 // lanes for which the cluster barrier opened before they waited
	epoch     uint32 // incremented whenever the lanes synchronise
	loop      waitLoop
	dyn       dynamicStack
	commits   [lateGroups]col32 // number of copy groups that each lane has committed
	addr      col64             // scratch space for instructions that compute all addresses first
}

func (w *warp) setFrame(f frame) {
	w.frame = f
	w.r32 = w.slab32[f.bank[class32]:]
	w.r64 = w.slab64[f.bank[class64]:]
	w.pr = w.slabP[f.bank[classPred]:]
}

// runState is the reason why warp.run returned.
type runState uint8

const (
	ranDone    runState = iota // all threads have exited
	ranBlocked                 // every split waits
	ranYielded                 // the turn is over
)

// run executes the warp until all threads have exited, every split waits, or the turn is over.
//
//go:norace
func (w *warp) run() runState {
	budget := w.cta.patience()
	if w.mask == 0 && !w.pick() {
		return w.idle()
	}
	w.merge()
	code := w.prog.code
	pc := w.pc
	stop := w.nextStop(pc + 1)
	start, n := uint64(0), uint64(0)
	for {
		in := &code[pc]
		n++
		m := w.mask
		switch in.kind {
		case guardIf:
			m &= w.pr[in.guard]
		case guardNot:
			m &^= w.pr[in.guard]
		}
		if in.ctl == ctlNone {
			if m != 0 {
				in.exec(w, in, m)
			}
			if pc++; pc < stop {
				continue
			}
		} else if in.ctl == ctlBranch && m == w.mask && in.target > pc && in.target < stop {
			pc = in.target // all lanes branch forward
			continue
		} else {
			w.pc = pc
			w.laneCount += (n - start) * uint64(bits.OnesCount32(w.mask))
			start = n
			if in.ctl == ctlBranch && m == 0 {
				w.pc++
			} else if !w.control(in, m, &budget) {
				w.count += n
				return w.idle()
			}
			pc = w.pc
			if len(w.splits) == 0 {
				stop = math.MaxInt32
				continue
			}
		}
		// Merge lanes that wait at pc, or switch to another split.
		w.pc = pc
		w.laneCount += (n - start) * uint64(bits.OnesCount32(w.mask))
		start = n
		w.merge()
		pc = w.pc
		stop = w.nextStop(pc + 1)
	}
}

func (w *warp) idle() runState {
	switch {
	case w.live == 0:
		return ranDone
	case w.runnable():
		return ranYielded
	}
	return ranBlocked
}

func (w *warp) runnable() bool {
	if w.mask != 0 {
		return true
	}
	for i := range w.splits {
		if w.splits[i].wait == waitNone {
			return true
		}
	}
	return false
}

// nextStop returns the lowest program counter, not below pc, at which the running split could merge
// with another.
func (w *warp) nextStop(pc int32) int32 {
	stop := int32(math.MaxInt32)
	for i := range w.splits {
		s := &w.splits[i]
		if s.pc >= pc && s.pc < stop && s.wait != waitBarrier && s.frame == w.frame {
			stop = s.pc
		}
	}
	return stop
}

// merge merges the running split with the splits that have the same program counter and frame,
// except those that wait at a CTA's barrier.
func (w *warp) merge() {
	for i := 0; i < len(w.splits); {
		s := &w.splits[i]
		if s.pc != w.pc || s.wait == waitBarrier || s.frame != w.frame {
			i++
			continue
		}
		w.mask |= s.mask
		w.turn = min(w.turn, s.turn)
		w.drop(i)
	}
}

func (w *warp) drop(i int) {
	last := len(w.splits) - 1
	w.splits[i] = w.splits[last]
	w.splits = w.splits[:last]
}

// park turns the running split into a parked split with s's program counter and wait. After that,
// no split is running.
func (w *warp) park(s split) {
	s.mask, s.frame = w.mask, w.frame
	if s.turn == 0 {
		s.turn = w.turn
	}
	if s.wait != waitBarrier {
		for i := range w.splits {
			o := &w.splits[i]
			if o.pc == s.pc && o.frame == s.frame && o.wait == s.wait {
				o.mask |= s.mask
				o.turn = min(o.turn, s.turn)
				w.mask = 0
				return
			}
		}
	}
	w.splits = append(w.splits, s)
	w.mask = 0
}

// pick selects the split to run: the lowest turn first, then the deepest call, then the lowest
// program counter. It returns false if no split can run.
func (w *warp) pick() bool {
	best := -1
	for i := range w.splits {
		s := &w.splits[i]
		if s.wait != waitNone {
			continue
		}
		if best < 0 || s.before(&w.splits[best]) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	s := w.splits[best]
	w.drop(best)
	w.pc, w.mask, w.turn = s.pc, s.mask, s.turn
	w.setFrame(s.frame)
	w.merge()
	return true
}

func (s *split) before(o *split) bool {
	if s.turn != o.turn {
		return s.turn < o.turn
	}
	if s.frame.depth != o.frame.depth {
		return s.frame.depth > o.frame.depth
	}
	return s.pc < o.pc
}

// reschedule parks the running split at pc and picks the next split to run.
func (w *warp) reschedule(pc int32) bool {
	if len(w.splits) == 0 {
		w.pc = pc
		return true
	}
	w.park(split{pc: pc})
	return w.pick()
}

// control executes a control instruction for the lanes in m. It leaves w.pc at the next instruction
// of the running split. It returns false if no split can run or the turn is over.
func (w *warp) control(in *inst, m uint32, budget *int) bool {
	if m == 0 {
		w.pc++
		return true
	}
	if in.ctl == ctlCounted {
		in = w.countControl(in, m)
	}
	switch in.ctl {
	case ctlBranch:
		return w.branch(in.target, m, budget)
	case ctlExit:
		return w.exit(m)
	}
	if m != w.mask { // the lanes outside m skip the instruction
		rest := w.mask &^ m
		w.mask = m
		w.splits = append(w.splits, split{pc: w.pc + 1, mask: rest, frame: w.frame, turn: w.turn})
	}
	switch in.ctl {
	case ctlTable:
		return w.branchTable(in, budget)
	case ctlCall:
		return w.call(in, in.x.fn)
	case ctlCallIndirect:
		return w.callIndirect(in)
	case ctlReturn:
		return w.ret(in)
	case ctlBarrier:
		return w.barrier(in)
	case ctlWarpBarrier, ctlSync:
		return w.syncLanes(in)
	case ctlYield:
		return w.yield(in, budget)
	}
	panic("vm: unknown control instruction")
}

// branch moves the lanes in m to target. The other lanes of the running split become a separate
// split and continue at the next instruction.
func (w *warp) branch(target int32, m uint32, budget *int) bool {
	from := w.pc
	if m != w.mask {
		rest := split{pc: from + 1, mask: w.mask &^ m, frame: w.frame, turn: w.turn}
		w.mask = m
		w.splits = append(w.splits, rest)
		if target <= from {
			return w.backEdge(from, target, budget)
		}
		return w.reschedule(target)
	}
	if target <= from {
		return w.backEdge(from, target, budget)
	}
	w.pc = target
	if len(w.splits) != 0 {
		return w.reschedule(target)
	}
	return true
}

// backEdge branches to target. It yields if the running split has looped long enough.
func (w *warp) backEdge(from, target int32, budget *int) bool {
	w.loop.turn(from, target)
	w.pc = target
	cost := 1
	if w.synced {
		w.synced = false
		cost = spinCost
	}
	if w.cta.run.aborted.Load() {
		panic(w.fault(FaultAborted, nil))
	}
	if *budget -= cost; *budget > 0 {
		if len(w.splits) != 0 {
			return w.reschedule(target)
		}
		return true
	}
	if len(w.splits) == 0 {
		return false
	}
	w.turn = w.lastTurn() + 1
	w.park(split{pc: target})
	return false
}

func (w *warp) lastTurn() uint32 {
	t := w.turn
	for i := range w.splits {
		t = max(t, w.splits[i].turn)
	}
	return t
}

// branchTable executes brx.idx, which sends each lane to the label that its index selects.
func (w *warp) branchTable(in *inst, budget *int) bool {
	idx := &w.r32[in.a]
	from := w.pc
	last := int32(-1)
	for m := w.mask; m != 0; {
		l := bits.TrailingZeros32(m)
		i := idx[l]
		if uint64(i) >= uint64(len(in.x.table)) {
			panic(w.laneFault(FaultInvalidPC, in, l, "index of brx.idx is outside its table"))
		}
		var g uint32
		for k := m; k != 0; k &= k - 1 {
			if j := bits.TrailingZeros32(k); idx[j] == i {
				g |= 1 << j
			}
		}
		m &^= g
		last = in.x.table[i]
		if m == 0 {
			break // the remaining lanes are the running split
		}
		w.splits = append(w.splits, split{pc: last, mask: g, frame: w.frame, turn: w.turn})
		w.mask &^= g
	}
	if last <= from {
		return w.backEdge(from, last, budget)
	}
	return w.reschedule(last)
}

func (w *warp) exit(m uint32) bool {
	w.live &^= m
	w.mask &^= m
	w.pc++
	w.cta.lanesExited(w)
	if w.mask != 0 {
		return true
	}
	return w.pick()
}

// yield executes an instruction that lets other splits and warps run. When the budget is used up,
// it ends the turn.
func (w *warp) yield(in *inst, budget *int) bool {
	if in.exec != nil {
		in.exec(w, in, w.mask)
	}
	w.synced = true
	*budget -= spinCost
	w.pc++
	if *budget > 0 {
		return true
	}
	if len(w.splits) != 0 {
		w.turn = w.lastTurn() + 1
		w.park(split{pc: w.pc})
	}
	return false
}
