package vm

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// alloca, stacksave and stackrestore: local memory whose size is known at run time. It is separate
// from the frames, at local addresses from allocaBase on. Each lane has its own stack pointer.

func init() {
	register(lowerAlloca, "alloca")
	register(lowerStackSave, "stacksave")
	register(lowerStackRestore, "stackrestore")
}

// allocaBase is the local address where such memory begins.
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

// saveStack makes the function restore the stack pointer when it returns.
func (l *lowerer) saveStack() {
	if l.fn.Entry || l.savedSP != noReg {
		return
	}
	l.savedSP = l.newReg(class64)
	// The pointer is read at the start of the function: put the instruction before the code.
	n := &lowered{in: inst{exec: execStackSave, target: -1}, pos: l.fn.Pos}
	n.ref(fieldD, l.savedSP, true)
	l.prologue = append(l.prologue, n)
}

// toStackType moves a 64-bit value to a destination of 32 or 64 bits.
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
		if a[i] > uint64(len(w.dyn.mem[i])) { // everything below the top exists
			panic(w.laneFault(FaultStack, in, i, fmt.Sprintf("stackrestore of %#x, which no stacksave returned", a[i])))
		}
		w.dyn.top[i] = a[i]
	}
}

// dynamicStack is a warp's memory for alloca.
type dynamicStack struct {
	top col64 // bytes in use, by lane
	mem [lanes][]byte

	bytes uint64 // of mem
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
