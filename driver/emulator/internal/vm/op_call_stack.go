package vm

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// Parameters and results: where they are in a frame, and how they are passed.

func (f *function) layout(c *compiler, fn *ptx.Function) {
	f.rets, f.params, f.local = c.layoutSlots(fn.Return, fn.Params)
}

// layoutSlots places the results, followed by the parameters, each at its own alignment.
func (c *compiler) layoutSlots(rets, params []*ptx.Variable) (r, p []slotLayout, end uint32) {
	put := func(list []*ptx.Variable) (out []slotLayout) {
		for _, v := range list {
			a, n := uint32(alignOf(v)), uint32(sizeOf(v))
			if variadic(v) {
				n = c.variadicRoom()
			} else if size := roundUp(uint64(end), alignOf(v)); size > mostLocal || sizeOf(v) > mostLocal-size {
				c.fail(c.sources[0], v.Pos, CompileInvalid, "parameter %s: %d bytes are more local memory than any thread has", v.Name, sizeOf(v))
				n = 0
			}
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

// variadic reports whether v is a parameter without a size, such as .param .b8 v[]. A caller may
// pass an array of any size or omit it.
func variadic(v *ptx.Variable) bool {
	return len(v.Dims) > 0 && v.Dims[0] == ptx.Unsized
}

// variadicRoom returns the size that a frame reserves for a variadic parameter. A callee has one
// frame layout for all callers, so this is the size of the largest .param array in any function.
func (c *compiler) variadicRoom() uint32 {
	if c.room == 0 {
		c.room = 16 // a callee may read the parameter even if the caller passed none
		for _, s := range c.sources {
			for _, d := range s.mod.Decls {
				if f, ok := d.(*ptx.Function); ok && f.Body != nil {
					c.room = max(c.room, largestParam(f.Body))
				}
			}
		}
	}
	return c.room
}

func largestParam(b *ptx.Block) uint32 {
	n := uint32(0)
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Block:
			n = max(n, largestParam(s))
		case *ptx.Variable:
			if s.Space == ptx.ParamSpace {
				n = max(n, uint32(min(sizeOf(s), 1<<16)))
			}
		}
	}
	return n
}

// functionParams places a device function's results and parameters in its frame and declares them.
func (l *lowerer) functionParams() {
	l.f.layout(l.b.c, l.fn)
	l.local = l.f.local
	l.retPC = l.newReg(class32)
	declare := func(list []*ptx.Variable, at []slotLayout, load bool) {
		for i, v := range list {
			if v.Space != ptx.RegSpace {
				l.scope.vars[v.Name] = &local{space: ptx.ParamSpace, offset: at[i].offset, size: uint64(at[i].size), v: v}
				continue
			}
			d := l.makeReg(v.Type, v.Vector)
			l.scope.regs[v.Name] = d
			if load {
				l.loadSlot(d, uint64(at[i].offset), execLocalAddr)
			}
		}
	}
	l.pos = l.fn.Pos
	declare(l.fn.Return, l.f.rets, false)
	declare(l.fn.Params, l.f.params, true)
}

// storeReturn writes the results that are declared as registers to the frame.
func (l *lowerer) storeReturn() {
	for i, v := range l.fn.Return {
		if d, ok := l.lookupReg(v.Name); ok && v.Space == ptx.RegSpace {
			l.storeSlot(d, uint64(l.f.rets[i].offset), execLocalAddr)
		}
	}
}

// piece is the part of a value that one register holds: a vector element, or half of 128 bits.
type piece struct {
	reg    reg
	typ    ptx.Type
	offset uint64
}

func (d regDef) pieces() []piece {
	t, n := d.typ, max(d.vector, 1)
	if t == ptx.B128 {
		t, n = ptx.B64, 2*n
	}
	out := make([]piece, n)
	for k := range out {
		out[k] = piece{reg{d.reg.class, d.reg.id + uint32(k)}, t, uint64(k * t.Size())}
	}
	return out
}

func (d regDef) size() int { return d.typ.Size() * max(d.vector, 1) }

// loadSlot moves a register from local memory, and storeSlot moves it there. find selects whether
// the offset is in the current frame or in the callee's frame. A predicate occupies one byte.
func (l *lowerer) loadSlot(d regDef, offset uint64, find execFunc) {
	for _, c := range d.pieces() {
		at := l.slotAddress(offset+c.offset, find)
		r := c.reg
		if c.typ == ptx.Pred {
			r = l.newReg(class32)
		}
		n := l.slot(l.emit(loadLocalExec(c.typ, r.class == class64), r, at))
		n.in.aux, n.in.c = spaceLocal|log2(c.typ.Size())<<accLog, 1
		if c.typ == ptx.Pred {
			l.emit(pred1(func(a uint32) bool { return a != 0 }), c.reg, r)
		}
	}
}

func (l *lowerer) storeSlot(d regDef, offset uint64, find execFunc) {
	for _, c := range d.pieces() {
		at := l.slotAddress(offset+c.offset, find)
		r := c.reg
		if c.typ == ptx.Pred {
			r = l.newReg(class32)
			l.emit(execSelp[uint32], r, l.constant(class32, 1), l.constant(class32, 0), c.reg)
		}
		n := l.slot(l.emit(storeLocalExec(c.typ), noReg, at, r))
		n.in.aux, n.in.c = spaceLocal|log2(c.typ.Size())<<accLog|accWrite, 1
	}
}

func (l *lowerer) slotAddress(offset uint64, find execFunc) reg {
	at := l.newReg(class64)
	n := l.emit(find, at)
	n.in.imm = offset
	n.extra().fn = l.f
	return at
}

// passArg copies one argument to the callee's frame or, if back is set, one result from it.
func (l *lowerer) passArg(o ptx.Operand, v *ptx.Variable, at slotLayout, back bool) {
	offset := uint64(at.offset)
	switch o := o.(type) {
	case *ptx.Sym:
		l.passParam(o, at, back)
		return
	case *ptx.Sink:
		if back {
			return
		}
	case *ptx.Imm:
		if !back && v.Type != ptx.Pred && len(v.Dims) == 0 {
			d := l.makeReg(v.Type, v.Vector)
			for k, c := range d.pieces() {
				bits := uint64(0)
				if k == 0 {
					bits = immBits(o, c.typ)
				}
				l.emit(movFor(c.reg.class), c.reg, l.constant(c.reg.class, bits))
			}
			l.storeSlot(d, offset, execCalleeAddr)
			return
		}
	case *ptx.Reg:
		d, ok := l.lookupReg(o.Name)
		switch {
		case o.Special || o.Sel != "" || o.Not || o.Neg:
		case !ok:
			l.fail(CompileInvalid, "register %s is not declared", o.Name)
			return
		case len(v.Dims) == 0 && d.size() == v.Type.Size()*max(v.Vector, 1) && (d.typ == ptx.Pred) == (v.Type == ptx.Pred):
			// The sizes are equal, but each side divides the value as its own register type
			// requires.
			if back {
				l.loadSlot(d, offset, execCalleeAddr)
			} else {
				l.storeSlot(d, offset, execCalleeAddr)
			}
			return
		default:
			l.bad("register %s of %s for a parameter of %s", o.Name, shape(d.typ, d.vector), shape(v.Type, v.Vector))
			return
		}
	}
	l.bad("operand cannot be passed to or from a function")
}

func shape(t ptx.Type, vector int) string {
	if vector > 0 {
		return fmt.Sprintf("type .v%d .%s", vector, t)
	}
	return fmt.Sprintf("type .%s", t)
}

// passParam copies an argument or a result that is a .param variable.
func (l *lowerer) passParam(s *ptx.Sym, at slotLayout, back bool) {
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
}

// alloca, stacksave and stackrestore: local memory whose size is known only at run time. It is
// separate from the frames and starts at local address allocaBase. Each lane has its own stack
// pointer.

func init() {
	register(lowerAlloca, "alloca")
	register(lowerStackSave, "stacksave")
	register(lowerStackRestore, "stackrestore")
}

// allocaBase is the first local address of alloca memory.
const allocaBase = 0x4000_0000

func lowerAlloca(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 3) || !f.only(0) {
		l.unsupported()
		return
	}
	align := uint64(8)
	if len(i.Args) == 3 {
		imm, ok := i.Args[2].(*ptx.Imm)
		if !ok || imm.Bits == 0 || imm.Bits&(imm.Bits-1) != 0 {
			l.bad("alignment is not a power of two")
			return
		}
		align = imm.Bits
	}
	l.saveStack()
	l.looseWidth = true
	size := l.src(i.Args[1], ptx.U64)
	t := l.newReg(class64)
	l.emit(execAlloca, t, size).in.imm = align
	l.toStackType(i.Args[0], t, f)
}

// saveStack makes the function restore alloca's stack pointer when it returns.
func (l *lowerer) saveStack() {
	if l.fn.Entry || l.savedSP != noReg {
		return
	}
	l.savedSP = l.newReg(class64)
	// The prologue reads the stack pointer at function entry.
	n := &lowered{in: inst{exec: execStackSave, target: -1}, pos: l.fn.Pos}
	n.ref(fieldD, l.savedSP, true)
	l.prologue = append(l.prologue, n)
}

// toStackType moves the 64-bit register r to a destination of 32 or 64 bits.
func (l *lowerer) toStackType(o ptx.Operand, r reg, f *form) {
	d := l.dst(o, f.typ())
	if d.class == class32 {
		l.emit(execLow32, d, r)
		return
	}
	l.emit(execMov[uint64], d, r)
}

func lowerStackSave(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 1, 1) {
		return
	}
	t := l.newReg(class64)
	l.emit(execStackSave, t)
	l.toStackType(i.Args[0], t, f)
}

func lowerStackRestore(l *lowerer, i *ptx.Instr, f *form) {
	if l.args(i, 1, 1) {
		l.looseWidth = true
		l.emit(execStackRestore, noReg, l.src(i.Args[0], ptx.U64))
	}
}

func execStackSave(w *warp, in *inst, m uint32) {
	d := &w.r64[in.d]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = w.dyn.top[i]
	}
}

func execStackRestore(w *warp, in *inst, m uint32) {
	a := &w.r64[in.a]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		if a[i] > uint64(len(w.dyn.mem[i])) { // memory below the top is already allocated
			panic(w.laneFault(FaultStack, in, i, fmt.Sprintf("stackrestore of %#x, which no stacksave returned", a[i])))
		}
		w.dyn.top[i] = a[i]
	}
}

type dynamicStack struct {
	top col64 // number of bytes in use by each lane
	mem [lanes][]byte

	bytes uint64 // total size of mem in bytes
}

func execAlloca(w *warp, in *inst, m uint32) {
	d, a := &w.r64[in.d], &w.r64[in.a]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		at := (w.dyn.top[i] + in.imm - 1) &^ (in.imm - 1)
		end := at + a[i]
		if limit := w.cta.run.stackLimit(); end > limit || end < at {
			panic(w.laneFault(FaultStack, in, i, fmt.Sprintf("alloca of %d bytes exceeds the stack of %d bytes", a[i], limit)))
		}
		if uint64(len(w.dyn.mem[i])) < end {
			buf, _ := NewBuffer(max(end, 2*uint64(len(w.dyn.mem[i]))))
			copy(buf, w.dyn.mem[i])
			more := uint64(len(buf) - len(w.dyn.mem[i]))
			w.dyn.mem[i] = buf
			w.dyn.bytes += more
			w.cta.grew(w, in, more)
		}
		w.dyn.top[i] = end
		d[i] = allocaBase + at
	}
}
