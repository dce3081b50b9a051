package vm

import "github.com/purecuda/cuda/ptx"

// Moves between registers, and reading of special registers.

func init() {
	register(lowerMov, "mov")
	register(lowerSelp, "selp")
	register(lowerSlct, "slct")
}

//go:norace
//go:nocheckptr
func execMov[T word](w *warp, in *inst, m uint32) {
	d, a := col[T](w, in.d), col[T](w, in.a)
	if m == full {
		*d = *a
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i]
	}
}

//go:norace
func execMovPred(w *warp, in *inst, m uint32) {
	w.pr[in.d] = w.pr[in.d]&^m | w.pr[in.a]&m
}

//go:norace
func execNotPred(w *warp, in *inst, m uint32) {
	w.pr[in.d] = w.pr[in.d]&^m | ^w.pr[in.a]&m
}

// execLow32 truncates a 64-bit column.
//
//go:norace
func execLow32(w *warp, in *inst, m uint32) {
	d, a := &w.r32[in.d], &w.r64[in.a]
	if m == full {
		for i := range d {
			d[i] = uint32(a[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = uint32(a[i])
	}
}

//go:norace
func execZero64(w *warp, in *inst, m uint32) {
	d, a := &w.r64[in.d], &w.r32[in.a]
	if m == full {
		for i := range d {
			d[i] = uint64(a[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = uint64(a[i])
	}
}

//go:norace
func execSign64(w *warp, in *inst, m uint32) {
	d, a := &w.r64[in.d], &w.r32[in.a]
	if m == full {
		for i := range d {
			d[i] = uint64(int32(a[i]))
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = uint64(int32(a[i]))
	}
}

// execLocalAddr computes the address in local memory of imm in the running frame.
//
//go:norace
func execLocalAddr(w *warp, in *inst, m uint32) {
	fill(&w.r64[in.d], in.imm+uint64(w.frame.local), m)
}

// movFor is the move of a bank.
func movFor(c class) execFunc {
	switch c {
	case class32:
		return execMov[uint32]
	case class64:
		return execMov[uint64]
	}
	return execMovPred
}

func lowerMov(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) {
		return
	}
	t := f.typ()
	switch {
	case t == ptx.NoType:
		l.bad("no type")
		return
	case f.vec > 1:
		l.movVector(i.Args[0], i.Args[1], f.vec, t)
		return
	}
	dv, sv := l.parts(i.Args[0], t), l.parts(i.Args[1], t)
	switch {
	case dv != nil && sv != nil:
		l.bad("both operands are vectors")
	case sv != nil:
		l.pack(i.Args[0], sv, t)
	case dv != nil:
		l.unpack(dv, i.Args[1], t)
	case t == ptx.B128:
		d, a := l.reg128(i.Args[0]), l.src128(i.Args[1])
		l.emit(execMov[uint64], d[0], a[0])
		l.emit(execMov[uint64], d[1], a[1])
	case t == ptx.Pred:
		a, not := l.pred(i.Args[1])
		exec := execMovPred
		if not {
			exec = execNotPred
		}
		l.emit(exec, l.dst(i.Args[0], t), a)
	default:
		l.looseWidth = isSymbol(i.Args[1])
		a := l.src(i.Args[1], t)
		if isSpecial(i.Args[1]) {
			a = l.masked(a, t) // they have 32 bits and more
		}
		l.emit(movFor(classOf(t)), l.dst(i.Args[0], t), a)
	}
}

func isSymbol(o ptx.Operand) bool {
	switch o.(type) {
	case *ptx.Sym, *ptx.Elem, *ptx.Addr:
		return true
	}
	return isSpecial(o)
}

func isSpecial(o ptx.Operand) bool {
	r, ok := o.(*ptx.Reg)
	return ok && r.Special
}

//go:norace
//go:nocheckptr
func execSelp[T word](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	p := w.pr[in.c]
	if in.imm != 0 {
		p = ^p
	}
	if m == full {
		for i := range d {
			v := a[i]
			if p&1 == 0 {
				v = b[i]
			}
			d[i] = v
			p >>= 1
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		if p>>i&1 != 0 {
			d[i] = a[i]
		} else {
			d[i] = b[i]
		}
	}
}

func lowerSelp(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	if !l.args(i, 4, 4) || t == ptx.NoType || !f.only(0) {
		l.unsupported()
		return
	}
	p, not := l.pred(i.Args[3])
	exec := execSelp[uint32]
	if classOf(t) == class64 {
		exec = execSelp[uint64]
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	l.emit(exec, l.dst(i.Args[0], t), a, b, p).in.imm = b2u64(not)
}

func lowerSlct(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 4, 4) || len(f.types) != 2 || !f.only(flagFtz) {
		l.unsupported()
		return
	}
	t, ct := f.types[0], f.types[1]
	a, b, c := l.src(i.Args[1], t), l.src(i.Args[2], t), l.src(i.Args[3], ct)
	p := l.newReg(classPred)
	switch {
	case ct == ptx.S32:
		l.emit(pred1(func(c int32) bool { return c >= 0 }), p, c)
	case ct == ptx.F32 && f.has(flagFtz):
		l.emit(pred1(func(c float32) bool { return flush(c) >= 0 }), p, c)
	case ct == ptx.F32:
		l.emit(pred1(func(c float32) bool { return c >= 0 }), p, c)
	default:
		l.bad("selector of type .%s", ct)
		return
	}
	exec := execSelp[uint32]
	if classOf(t) == class64 {
		exec = execSelp[uint64]
	}
	l.emit(exec, l.dst(i.Args[0], t), a, b, p)
}
