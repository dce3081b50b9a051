package vm

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// Branches, exits, block barriers and fences.

func init() {
	register(lowerBra, "bra")
	register(lowerBrx, "brx")
	register(lowerExit, "exit")
	register(lowerRet, "ret")
	register(lowerTrap, "trap", "brkpt")
	register(lowerBar, "bar", "barrier")
	register(lowerFence, "membar", "fence")
	register(lowerNanosleep, "nanosleep")
	register(lowerPmevent, "pmevent", "griddepcontrol", "setmaxnreg")
}

func lowerBra(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 1, 1) || !f.only(flagUni) {
		return
	}
	to := l.labelOf(i.Args[0])
	if to == nil {
		return
	}
	n := l.emit(nil, noReg)
	n.in.ctl = ctlBranch
	n.to = to
}

// labelOf returns the label that an operand refers to. If there is none, it records an error and
// returns nil.
func (l *lowerer) labelOf(o ptx.Operand) *label {
	s, ok := o.(*ptx.Sym)
	if !ok {
		l.bad("target is not a label")
		return nil
	}
	to := l.lookupLabel(s.Name)
	if to == nil {
		l.bad("label %s is not defined here", s.Name)
	}
	return to
}

func lowerBrx(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) || len(f.rest) != 1 || f.rest[0] != "idx" {
		l.unsupported()
		return
	}
	s, ok := i.Args[1].(*ptx.Sym)
	if !ok {
		l.bad("table is not a label")
		return
	}
	var t *ptx.BranchTargets
	for sc := l.scope; sc != nil && t == nil; sc = sc.outer {
		t = sc.tables[s.Name]
	}
	if t == nil {
		l.bad("table %s is not defined here", s.Name)
		return
	}
	n := l.emit(nil, noReg, l.src(i.Args[0], ptx.U32))
	n.in.ctl = ctlTable
	n.extra()
	n.table = l.branchTable(t)
}

// branchTable is the label list of a brx.idx. All instructions that use a list share one table,
// because copies of a long list would take quadratic memory.
type branchTable struct {
	labels []*label
	code   []int32 // the labels' positions in the program, set after placement
}

// branchTable returns the table of a label list. All calls with the same list return the same
// table.
func (l *lowerer) branchTable(t *ptx.BranchTargets) *branchTable {
	if b := l.tables[t]; b != nil {
		return b
	}
	if l.tables == nil {
		l.tables = map[*ptx.BranchTargets]*branchTable{}
	}
	b := &branchTable{labels: make([]*label, 0, len(t.Targets))}
	l.tables[t] = b // store even an invalid table, so that the error is reported only once
	for _, name := range t.Targets {
		to := l.lookupLabel(name)
		if to == nil {
			l.bad("label %s is not defined here", name)
			return b
		}
		b.labels = append(b.labels, to)
	}
	return b
}

func lowerExit(l *lowerer, i *ptx.Instr, f *form) {
	l.emit(nil, noReg).in.ctl = ctlExit
}

func lowerRet(l *lowerer, i *ptx.Instr, f *form) { l.leave() }

func (l *lowerer) leave() {
	if l.fn.Entry {
		l.emit(nil, noReg).in.ctl = ctlExit
		return
	}
	l.storeReturn()
	if l.savedSP != noReg {
		l.emit(execStackRestore, noReg, l.savedSP)
	}
	l.emit(nil, noReg, l.retPC).in.ctl = ctlReturn
}

func lowerTrap(l *lowerer, i *ptx.Instr, f *form) {
	exec := execTrap
	if f.op.Name == "brkpt" {
		exec = execNothing
	}
	l.emit(exec, noReg)
}

func execTrap(w *warp, in *inst, m uint32) {
	panic(w.laneFault(FaultTrap, in, first(m), ""))
}

func execNothing(*warp, *inst, uint32) {}

func lowerBar(l *lowerer, i *ptx.Instr, f *form) {
	if len(f.rest) > 0 && f.rest[0] == "warp" {
		if l.args(i, 1, 1) {
			n := l.syncInstr(execNothing, noReg, i.Args[0])
			n.in.ctl = ctlWarpBarrier
			l.finishSync(n)
		}
		return
	}
	if f.scope == "cluster" || len(f.rest) > 0 && f.rest[0] == "cluster" {
		lowerClusterBarrier(l, i, f)
		return
	}
	op, ok := barrierOp(f)
	if !ok {
		l.unsupported()
		return
	}
	var d reg = noReg
	args := i.Args
	pred, not := noReg, false
	if op >= barRedPopc {
		if !l.args(i, 3, 4) {
			return
		}
		dt := ptx.Pred
		if op == barRedPopc {
			dt = ptx.U32
		}
		d = l.dst(args[0], dt)
		pred, not = l.pred(args[len(args)-1])
		args = args[1 : len(args)-1]
	}
	if len(args) == 0 || len(args) > 2 {
		l.bad("%d operands", len(i.Args))
		return
	}
	id := l.src(args[0], ptx.U32)
	count, flags := noReg, uint64(0)
	if len(args) == 2 {
		count, flags = l.src(args[1], ptx.U32), barHasCount
	}
	if not {
		flags |= barNot
	}
	n := l.emit(nil, noReg, id, count, pred)
	n.ref(fieldD, d, true)
	n.in.ctl, n.in.aux, n.in.imm = ctlBarrier, op, flags
}

func barrierOp(f *form) (uint16, bool) {
	op := uint16(barSync)
	red := false
	for _, r := range f.rest {
		switch r {
		case "arrive":
			op = barArrive
		case "red":
			red = true
		case "popc":
			op = barRedPopc
		case "and":
			op = barRedAnd
		case "or":
			op = barRedOr
		default:
			return 0, false
		}
	}
	if !red && !f.has(flagSync) && op == barSync {
		return 0, false
	}
	return op, red == (op >= barRedPopc)
}

// lowerFence lowers fences. Go's atomics and the execution order within a block already keep memory
// consistent. A fence only records that the warp may be waiting for another thread.
func lowerFence(l *lowerer, i *ptx.Instr, f *form) {
	for _, r := range f.rest {
		switch r {
		case "proxy", "alias", "async", "async::generic", "mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster", "shared::cluster", "tensormap::generic":
		default:
			l.unsupported()
			return
		}
	}
	l.emit(execFence, noReg)
}

func execFence(w *warp, in *inst, m uint32) {
	w.cta.run.fence.Add(1)
	w.synced = true
}

func lowerNanosleep(l *lowerer, i *ptx.Instr, f *form) {
	n := l.emit(nil, noReg)
	n.in.ctl = ctlYield
}

// lowerPmevent emits nothing, because the emulator has no performance monitor events.
func lowerPmevent(l *lowerer, i *ptx.Instr, f *form) {}

// Calls. A function's parameters and results are at the start of its frame in local memory. The
// caller writes arguments to that frame before the call and reads results from it afterwards.

func init() {
	register(lowerCall, "call")
}

// execCalleeAddr computes the address at offset imm in the callee's frame.
func execCalleeAddr(w *warp, in *inst, m uint32) {
	at := uint64(w.frame.local) + uint64(in.x.fn.local) + in.imm
	w.needLocal(in, at+16)
	fill(&w.r64[in.d], at, m)
}

// execCopyArg copies n bytes of each lane between offset imm of the caller's frame and offset b of
// the callee's frame. If aux is 1, it copies from the callee to the caller.
func execCopyArg(w *warp, in *inst, m uint32) {
	own := uint64(w.frame.local) + in.imm
	other := uint64(w.frame.local) + uint64(in.x.fn.local) + uint64(in.b)
	n := uint64(in.x.n)
	w.needLocal(in, other+n)
	for ; m != 0; m &= m - 1 {
		base := uint64(first(m)) * uint64(w.localN)
		mine, theirs := w.local[base+own:base+own+n], w.local[base+other:base+other+n]
		if in.aux != 0 {
			copy(mine, theirs)
		} else {
			copy(theirs, mine)
		}
	}
	if w.cta.shadow != nil {
		w.localWritten(own, n, w.mask)
		w.localWritten(other, n, w.mask)
	}
}

// needLocal ensures that each lane has at least n bytes of local memory. It panics with a fault if
// n exceeds the stack limit.
func (w *warp) needLocal(in *inst, n uint64) {
	if n <= uint64(w.localN) {
		return
	}
	if limit := w.cta.run.stackLimit(); n > limit {
		panic(w.laneFault(FaultStack, in, first(w.mask), fmt.Sprintf("the thread needs more than %d bytes of stack", limit)))
	}
	before := w.bytes()
	w.growLocal(uint32(n))
	w.cta.grew(w, in, w.bytes()-before)
}

func (r *launchRun) stackLimit() uint64 { return max(r.opts.StackLimit, defaultStack) }

func lowerCall(l *lowerer, i *ptx.Instr, f *form) {
	c, ok := i.Call()
	if !ok {
		l.unsupported()
		return
	}
	rets, params, target, fn := l.callee(c)
	if l.failed {
		return
	}
	rl, pl, _ := l.b.c.layoutSlots(rets, params)
	if n := len(pl); n > 0 && len(c.Args) == n-1 && variadic(params[n-1]) {
		pl = pl[:n-1]
	}
	if len(c.Args) != len(pl) || len(c.Return) != len(rl) {
		l.bad("%d arguments and %d results, the function has %d and %d", len(c.Args), len(c.Return), len(pl), len(rl))
		return
	}
	for k, a := range c.Args {
		l.passArg(a, params[k], pl[k], false)
	}
	var n *lowered
	if fn != nil {
		n = l.emit(nil, noReg)
		n.in.ctl = ctlCall
	} else {
		n = l.emit(nil, noReg, target)
		n.in.ctl = ctlCallIndirect
	}
	n.extra().fn = fn
	n.in.x.caller = l.f
	for k, r := range c.Return {
		l.passArg(r, rets[k], rl[k], true)
	}
}

// callee resolves the target of a call, which is a function or a register with a prototype.
func (l *lowerer) callee(c ptx.Call) (rets, params []*ptx.Variable, target reg, fn *function) {
	if s, ok := c.Callee.(*ptx.Sym); ok && l.lookupVar(s.Name) == nil {
		sym := l.b.c.lookup(l.file, s.Name)
		if sym == nil || sym.fn == nil || sym.fn.Entry {
			l.unresolved(s.Name)
			return nil, nil, noReg, nil
		}
		return sym.fn.Return, sym.fn.Params, noReg, l.b.function(l.file, sym)
	}
	target = l.src(c.Callee, ptx.U64)
	l.b.indirect = true
	for sc := l.scope; sc != nil; sc = sc.outer {
		if p := sc.protos[c.Table]; p != nil {
			return p.Return, p.Params, target, nil
		}
		if t := sc.calls[c.Table]; t != nil && len(t.Targets) > 0 {
			last := l.callTargets(t)
			if last == nil {
				return nil, nil, noReg, nil
			}
			return last.fn.Return, last.fn.Params, target, nil
		}
	}
	l.bad("indirect call without a prototype")
	return nil, nil, noReg, nil
}

// callTargets adds the functions in a call target list to the program, once for all calls that use
// the list. It returns the last function, or nil if a function does not exist.
func (l *lowerer) callTargets(t *ptx.CallTargets) *symbol {
	last, known := l.lists[t]
	if known {
		if last == nil {
			l.failed = true // the first call already reported the error
		}
		return last
	}
	if l.lists == nil {
		l.lists = map[*ptx.CallTargets]*symbol{}
	}
	l.lists[t] = nil
	for _, name := range t.Targets {
		sym := l.b.c.lookup(l.file, name)
		if sym == nil || sym.fn == nil {
			l.unresolved(name)
			return nil
		}
		l.b.function(l.file, sym)
		last = sym
	}
	l.lists[t] = last
	return last
}

// frameCost is the stack space, in bytes, that each call uses in addition to the function's local
// memory.
const frameCost = 64

// call enters fn for the running split. If fn is a Go function, call executes it.
func (w *warp) call(in *inst, fn *function) bool {
	if fn.ext != nil || fn.builtin != nil {
		w.callExtern(in, fn)
		w.pc++
		return true
	}
	f := w.frame
	for c := range f.bank {
		f.bank[c] += in.x.caller.banks[c]
	}
	f.local += in.x.caller.local
	f.depth++
	if limit := w.cta.run.stackLimit(); uint64(f.local+fn.local)+uint64(f.depth)*frameCost > limit {
		panic(w.laneFault(FaultStack, in, first(w.mask), fmt.Sprintf("call of %s at depth %d exceeds the stack of %d bytes", fn.name, f.depth, limit)))
	}
	w.needLocal(in, uint64(f.local+fn.local))
	need := f.bank
	for c := range need {
		need[c] += fn.banks[c]
	}
	w.grow(need)
	w.setFrame(f)
	if w.cta.shadow != nil {
		w.enterLocal(fn, w.mask)
	}
	w.fillConstants(fn, w.mask)
	fill(&w.r32[fn.retPC], uint32(w.pc+1), w.mask)
	w.pc = fn.entry
	return true
}

// callIndirect calls the function that a register points to. Lanes with a different target execute
// the instruction again later.
func (w *warp) callIndirect(in *inst) bool {
	a := &w.r64[in.a]
	lane := first(w.mask)
	target := a[lane]
	var g uint32
	for m := w.mask; m != 0; m &= m - 1 {
		if i := first(m); a[i] == target {
			g |= 1 << i
		}
	}
	fn := w.prog.byID[int(target-functionWindow)/functionStep]
	if fn == nil || target < functionWindow || (target-functionWindow)%functionStep != 0 {
		panic(w.laneFault(FaultInvalidPC, in, lane, fmt.Sprintf("%#x is not the address of a function", target)))
	}
	if rest := w.mask &^ g; rest != 0 {
		w.splits = append(w.splits, split{pc: w.pc, mask: rest, frame: w.frame, turn: w.turn})
		w.mask = g
	}
	return w.call(in, fn)
}

func (w *warp) ret(in *inst) bool {
	to := &w.r32[in.a]
	pc := int32(to[first(w.mask)])
	for m := w.mask; m != 0; {
		target := to[first(m)]
		var g uint32
		for k := m; k != 0; k &= k - 1 {
			if j := first(k); to[j] == target {
				g |= 1 << j
			}
		}
		m &^= g
		if int32(target) != pc {
			w.splits = append(w.splits, split{pc: int32(target), mask: g, frame: w.callerFrame(int32(target)), turn: w.turn})
			w.mask &^= g
		}
	}
	w.setFrame(w.callerFrame(pc))
	w.pc = pc
	if len(w.splits) != 0 {
		return w.reschedule(w.pc)
	}
	return true
}

// callerFrame returns the frame of the caller. The split returns to that caller at pc.
func (w *warp) callerFrame(pc int32) frame {
	caller := w.prog.code[pc-1].x.caller
	f := w.frame
	for c := range f.bank {
		f.bank[c] -= caller.banks[c]
	}
	f.local -= caller.local
	f.depth--
	return f
}

func (w *warp) callExtern(in *inst, fn *function) {
	base := uint64(w.frame.local) + uint64(in.x.caller.local)
	w.needLocal(in, base+uint64(fn.local))
	args, rets := uint64(fn.local), uint64(0)
	if n := len(fn.params); n > 0 {
		args = uint64(fn.params[0].offset)
	}
	for _, r := range fn.rets {
		rets = uint64(r.offset + r.size)
	}
	for m := w.mask; m != 0; m &= m - 1 {
		i := first(m)
		at := uint64(i)*uint64(w.localN) + base
		mem := w.local[at : at+uint64(fn.local)]
		if fn.builtin != nil {
			fn.builtin(w, in, i, mem[args:], mem[:rets])
			continue
		}
		call := &ExternCall{Args: mem[args:], Result: mem[:rets], Memory: w.cta.run.mem, Options: w.cta.run.opts, Block: w.cta.id, Thread: w.thread(i)}
		if fn.ext(call); call.Fault != "" {
			panic(w.laneFault(FaultIllegal, in, i, call.Fault))
		}
	}
}
