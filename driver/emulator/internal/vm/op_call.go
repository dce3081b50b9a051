package vm

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// Calls. A function's parameters and results lie at the start of its frame in
// local memory: the caller copies arguments there before the call and results
// from there after it.

func init() {
	register(lowerCall, "call")
}

// layout computes where results and parameters lie in the frame.
func (f *function) layout(fn *ptx.Function) uint32 {
	var end uint32
	f.rets, f.params, end = layoutSlots(fn.Return, fn.Params)
	f.local = end
	return end
}

// layoutSlots places results, then parameters, each at its own alignment.
func layoutSlots(rets, params []*ptx.Variable) (r, p []slotLayout, end uint32) {
	put := func(list []*ptx.Variable) (out []slotLayout) {
		for _, v := range list {
			a, n := uint32(alignOf(v)), uint32(sizeOf(v))
			end = alignUp(end, a)
			out = append(out, slotLayout{end, n, a})
			end += n
		}
		return out
	}
	r = put(rets)
	end = alignUp(end, 16)
	p = put(params)
	return r, p, alignUp(end, 16)
}

// functionParams declares a device function's parameters.
func (l *lowerer) functionParams() {
	l.local = l.f.layout(l.fn)
	l.retPC = l.newReg(class32)
	declare := func(list []*ptx.Variable, at []slotLayout, load bool) {
		for i, v := range list {
			if v.Space != ptx.RegSpace {
				l.scope.vars[v.Name] = &local{space: ptx.ParamSpace, offset: at[i].offset, size: sizeOf(v), v: v}
				continue
			}
			d := l.makeReg(v.Type, v.Vector)
			l.scope.regs[v.Name] = d
			if load {
				l.loadSlot(d.reg, v.Type, uint64(at[i].offset), execLocalAddr)
			}
		}
	}
	l.pos = l.fn.Pos
	declare(l.fn.Return, l.f.rets, false)
	declare(l.fn.Params, l.f.params, true)
}

// storeReturn stores results that are declared as registers.
func (l *lowerer) storeReturn() {
	for i, v := range l.fn.Return {
		if d, ok := l.lookupReg(v.Name); ok && v.Space == ptx.RegSpace {
			l.storeSlot(d.reg, v.Type, uint64(l.f.rets[i].offset), execLocalAddr)
		}
	}
}

// loadSlot and storeSlot move a register from and to local memory at an
// offset in the running frame or, by another way to find it, in the callee's.
func (l *lowerer) loadSlot(r reg, t ptx.Type, offset uint64, find execFunc) {
	at := l.slotAddress(offset, find)
	n := l.slot(l.emit(loadLocalExec(t, r.class == class64), r, at))
	n.in.aux, n.in.c = spaceLocal|log2(t.Size())<<accLog, 1
}

func (l *lowerer) storeSlot(r reg, t ptx.Type, offset uint64, find execFunc) {
	at := l.slotAddress(offset, find)
	n := l.slot(l.emit(storeLocalExec(t), noReg, at, r))
	n.in.aux, n.in.c = spaceLocal|log2(t.Size())<<accLog|accWrite, 1
}

func (l *lowerer) slotAddress(offset uint64, find execFunc) reg {
	at := l.newReg(class64)
	n := l.emit(find, at)
	n.in.imm = offset
	n.extra().fn = l.f
	return at
}

// execCalleeAddr is the address of imm in the frame of a function that is
// about to be called, or was called last.
func execCalleeAddr(w *warp, in *inst, m uint32) {
	at := uint64(w.frame.local) + uint64(in.x.fn.local) + in.imm
	w.needLocal(in, at+16)
	fill(&w.r64[in.d], at, m)
}

// execCopyArg copies n bytes of each lane between the caller's frame, at imm,
// and the callee's, at b. aux 1 copies back.
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

// needLocal makes sure that each lane has n bytes of local memory.
func (w *warp) needLocal(in *inst, n uint64) {
	if n <= uint64(w.localN) {
		return
	}
	if limit := w.cta.run.stackLimit(); n > limit {
		panic(w.laneFault(FaultStack, in, first(w.mask), fmt.Sprintf("the thread needs more than %d bytes of stack", limit)))
	}
	w.growLocal(uint32(n))
}

func (r *launchRun) stackLimit() uint64 { return max(r.opts.StackLimit, defaultStack) }

func lowerCall(l *lowerer, i *ptx.Instr, f *form) {
	c, ok := i.Call()
	if !ok {
		l.bad("form is not known")
		return
	}
	rets, params, target, fn := l.callee(c)
	if l.failed {
		return
	}
	rl, pl, _ := layoutSlots(rets, params)
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

// callee finds what a call calls: a function, or a register with a prototype.
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
			for _, name := range t.Targets {
				sym := l.b.c.lookup(l.file, name)
				if sym == nil || sym.fn == nil {
					l.unresolved(name)
					return nil, nil, noReg, nil
				}
				l.b.function(l.file, sym)
				rets, params = sym.fn.Return, sym.fn.Params
			}
			return rets, params, target, nil
		}
	}
	l.bad("indirect call without a prototype")
	return nil, nil, noReg, nil
}

// passArg moves one argument to the callee's frame, or one result back.
func (l *lowerer) passArg(o ptx.Operand, v *ptx.Variable, at slotLayout, back bool) {
	if s, ok := o.(*ptx.Sym); ok {
		lv := l.lookupVar(s.Name)
		if lv == nil || lv.kernel || lv.space != ptx.ParamSpace {
			l.bad("%s is not a .param variable", s.Name)
			return
		}
		n := l.emit(execCopyArg, noReg)
		n.in.imm = uint64(lv.offset) + uint64(s.Offset)
		n.in.b = at.offset
		n.in.aux = uint16(b2u(back))
		x := n.extra()
		x.fn, x.n = l.f, int(min(uint64(at.size), lv.size))
		return
	}
	l.looseWidth = true
	if back {
		if _, ok := o.(*ptx.Sink); ok {
			return
		}
		l.loadSlot(l.dst(o, v.Type), v.Type, uint64(at.offset), execCalleeAddr)
		return
	}
	l.storeSlot(l.src(o, v.Type), v.Type, uint64(at.offset), execCalleeAddr)
}

// frameCost is what each activation takes of the stack besides its locals.
const frameCost = 64

// call enters fn for the running split.
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

// callIndirect enters the function that a register points to; lanes that
// want another one come back to the instruction later.
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

// ret returns the running split's lanes to where each was called from.
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

// callerFrame is the frame to which the call before pc returns.
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

// callExtern runs a function that is written in Go, lane by lane.
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
