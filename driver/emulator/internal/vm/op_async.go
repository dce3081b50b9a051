package vm

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// cp.async: copies from global to shared memory that the hardware performs in the background. Here
// they are performed immediately or, in a launch with a seed, when they are waited for. A program
// that waits as required sees no difference.

func init() {
	register(lowerCp, "cp")
}

func lowerCp(l *lowerer, i *ptx.Instr, f *form) {
	if slices.Contains(i.Op.Mods, "bulk") {
		l.bulk(i)
		return
	}
	rest := ""
	for _, r := range f.rest {
		if !cacheMod(r) {
			rest += "." + r
		}
	}
	switch rest {
	case ".async.commit_group":
		l.commitGroup(lateAsync)
	case ".async.wait_all", ".async.wait_group":
		l.waitGroup(i, lateAsync, rest == ".async.wait_all")
	case ".async.mbarrier.arrive", ".async.mbarrier.arrive.noinc":
		l.copyArrive(i, f, strings.HasSuffix(rest, ".noinc"))
	case ".async":
		l.asyncCopy(i, f)
	default:
		l.unsupported()
	}
}

// asyncCopy lowers cp.async.ca.shared.global [dst], [src], size {, srcSize} {, policy}, or the form
// with a predicate that ignores the source.
func (l *lowerer) asyncCopy(i *ptx.Instr, f *form) {
	if !l.args(i, 3, 5) {
		return
	}
	size, ok := i.Args[2].(*ptx.Imm)
	if !ok || size.Bits != 4 && size.Bits != 8 && size.Bits != 16 {
		l.bad("size is not 4, 8 or 16")
		return
	}
	dst := l.memoryPlace(i.Args[0], ptx.SharedSpace)
	src := l.memoryPlace(i.Args[1], ptx.GlobalSpace)
	n := l.constant(class32, size.Bits)
	if len(i.Args) > 3 {
		if r, ok := i.Args[3].(*ptx.Reg); ok && l.isPred(r) {
			l.ignoring(r, n, &n)
		} else if !ok || !l.isWide(r) { // a 64-bit register is a cache policy
			n = l.src(i.Args[3], ptx.U32)
		}
	}
	wideDst := dst.base.class == class64
	bytes := size.Bits
	m := l.emit(func(w *warp, in *inst, m uint32) { w.asyncCopy(in, m, wideDst, int(bytes)) }, noReg, dst.base, src.base, n)
	l.slot(m)
	m.in.imm = dst.imm
	m.in.aux = spaceShared | log2(int(bytes))<<accLog | accWrite
	x := m.extra()
	x.from = &inst{imm: src.imm, aux: spaceGlobal | log2(int(bytes))<<accLog, slot: l.b.prog.slots}
	l.b.prog.slots++
}

func (l *lowerer) isPred(r *ptx.Reg) bool {
	d, ok := l.lookupReg(r.Name)
	return ok && d.typ == ptx.Pred
}

func (l *lowerer) isWide(r *ptx.Reg) bool {
	d, ok := l.lookupReg(r.Name)
	return ok && d.reg.class == class64
}

// ignoring makes the source size 0 where the predicate is true.
func (l *lowerer) ignoring(r *ptx.Reg, size reg, n *reg) {
	p, not := l.pred(r)
	t := l.newReg(class32)
	l.emit(execSelp[uint32], t, l.constant(class32, 0), size, p).in.imm = b2u64(not)
	*n = t
}

// asyncCopy copies size bytes for each lane. It reads only as many bytes of the source as its
// column says, and the rest is zero.
func (w *warp) asyncCopy(in *inst, m uint32, wideDst bool, size int) {
	from := in.x.from
	w.pc = w.prog.pcOf(in, w.pc) // for reports about the source
	to, src := w.site(in), w.site(from)
	a := w.addresses(in, wideDst, m)
	b, n := &w.r64[in.b], &w.r32[in.c]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d := unsafe.Slice((*byte)(w.pointer(in, to, a[i], i)), size)
		k := int(n[i])
		if k > size {
			panic(w.accessFault(FaultIllegalInstruction, in, a[i], i, fmt.Sprintf("source size %d is above %d", k, size)))
		}
		var s []byte
		if k > 0 {
			s = unsafe.Slice((*byte)(w.pointer(from, src, b[i]+from.imm, i)), size)[:k]
		}
		if !w.delays() {
			clear(d[copy(d, s):])
			continue
		}
		w.later(lateAsync, i, func() { clear(d[copy(d, s):]) })
	}
}
