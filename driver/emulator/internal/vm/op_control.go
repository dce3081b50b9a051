package vm

import (
	"github.com/purecuda/cuda/ptx"
)

// Branches, exits, barriers of the block, and fences.

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

// labelOf returns the label that an operand names.
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

// branchTable is a list of labels that brx.idx chooses from. All instructions with the list share
// it, because one copy each of a long list would take quadratic memory.
type branchTable struct {
	labels []*label
	code   []int32 // where they are in the program, once it is placed
}

// branchTable resolves the labels of a list.
func (l *lowerer) branchTable(t *ptx.BranchTargets) *branchTable {
	if b := l.tables[t]; b != nil {
		return b
	}
	if l.tables == nil {
		l.tables = map[*ptx.BranchTargets]*branchTable{}
	}
	b := &branchTable{labels: make([]*label, 0, len(t.Targets))}
	l.tables[t] = b // even if it is invalid, which is reported once
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

// leave emits the end of a kernel or the return from a function.
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

// lowerBar lowers the barriers of the block and of the warp.
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

// lowerFence lowers fences. Go's atomics and the order of execution within a block keep memory
// consistent. A fence only marks that the warp may be waiting for others.
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

// lowerPmevent lowers instructions that have no effect here.
func lowerPmevent(l *lowerer, i *ptx.Instr, f *form) {}
