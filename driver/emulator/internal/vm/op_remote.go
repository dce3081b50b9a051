package vm

import (
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// st.async and red.async: stores and reductions to the shared memory of a block of the cluster,
// which signal an mbarrier object there.

// remoteMods checks the modifiers that both may have.
func remoteMods(l *lowerer, f *form) (op string, ok bool) {
	for _, m := range f.rest {
		switch m {
		case "async", "shared::cluster", "mbarrier::complete_tx::bytes":
		default:
			if op != "" {
				return "", false
			}
			op = m
		}
	}
	// The forms with .global and without an mbarrier belong to later devices.
	return op, f.space == ptx.SharedSpace && slices.Contains(f.rest, "mbarrier::complete_tx::bytes") && len(f.types) == 1
}

func lowerStAsync(l *lowerer, i *ptx.Instr, f *form) {
	op, ok := remoteMods(l, f)
	t := f.typ()
	if !ok || op != "" || f.flags != 0 || t.Size() < 4 || t == ptx.B128 || f.sem != "" && f.sem != "weak" {
		l.refuseRemote(f)
		return
	}
	if !l.args(i, 3, 3) {
		return
	}
	to, p := l.wideAddress(i.Args[0], ptx.SharedSpace)
	bar, b := l.wideAddress(i.Args[2], ptx.SharedSpace)
	l.looseWidth = true
	var vals []reg
	for _, o := range l.elems(i.Args[1], max(f.vec, 1)) {
		vals = append(vals, l.src(o, t))
	}
	size, imm := t.Size(), b.imm
	n := l.slot(l.emit(func(w *warp, in *inst, m uint32) { w.storeAsync(in, m, size, imm) }, noReg, to, bar))
	n.in.imm, n.in.aux = p.imm, spaceShared|log2(size*len(vals))<<accLog|accWrite|accSync
	for _, v := range vals {
		n.more(v, false)
	}
}

// refuseRemote distinguishes forms of later devices from invalid forms.
func (l *lowerer) refuseRemote(f *form) {
	if f.space == ptx.GlobalSpace {
		l.unsupported()
		return
	}
	l.unsupported()
}

//go:norace
func (w *warp) storeAsync(in *inst, m uint32, size int, barImm uint64) {
	w.synced = true
	w.pc = w.prog.pcOf(in, w.pc) // for reports about the mbarrier object
	e, a := w.site(in), *w.addresses(in, true, m)
	bar := &w.r64[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := w.pointer(in, e, a[i], i)
		for k, r := range in.x.regs {
			q := unsafe.Add(p, k*size)
			if size == 8 {
				*(*uint64)(q) = w.r64[r][i]
			} else {
				*(*uint32)(q) = w.r32[r][i]
			}
		}
		w.completeBytes(in, spaceShared, bar[i]+barImm, size*len(in.x.regs), i)
	}
}

func lowerRedAsync(l *lowerer, i *ptx.Instr, f *form) {
	op, ok := remoteMods(l, f)
	t := f.typ()
	if !ok || f.flags != 0 || f.sem != "relaxed" || f.scope != "cluster" {
		l.refuseRemote(f)
		return
	}
	fn := atomicFunc(op, t)
	if fn == nil || !bulkReduces("shared::cluster", op, t) {
		l.bad("operation .%s on type .%s is not possible", op, t)
		return
	}
	if !l.args(i, 3, 3) {
		return
	}
	to, p := l.wideAddress(i.Args[0], ptx.SharedSpace)
	bar, b := l.wideAddress(i.Args[2], ptx.SharedSpace)
	v := l.src(i.Args[1], t)
	imm := b.imm
	n := l.slot(l.emit(func(w *warp, in *inst, m uint32) { w.reduceAsync(in, m, fn, imm) }, noReg, to, bar, v))
	n.in.imm, n.in.aux = p.imm, spaceShared|log2(t.Size())<<accLog|accWrite|accAtomic
}

//go:norace
func (w *warp) reduceAsync(in *inst, m uint32, fn atomicOp, barImm uint64) {
	w.synced = true
	w.pc = w.prog.pcOf(in, w.pc) // for reports about the mbarrier object
	e, a := w.site(in), *w.addresses(in, true, m)
	bar := &w.r64[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := w.pointer(in, e, a[i], i)
		if in.size() == 8 {
			update64((*uint64)(p), fn, w.r64[in.c][i], 0)
		} else {
			update32((*uint32)(p), fn, w.r32[in.c][i], 0)
		}
		w.completeBytes(in, spaceShared, bar[i]+barImm, int(in.size()), i)
	}
}
