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

// execLocalAddr is the address in local memory of imm in the running frame.
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
	if v, ok := i.Args[1].(*ptx.Vec); ok {
		l.pack(i.Args[0], v, t)
		return
	}
	if v, ok := i.Args[0].(*ptx.Vec); ok {
		l.unpack(v, i.Args[1], t)
		return
	}
	switch {
	case t == ptx.NoType:
		l.bad("no type")
	case t == ptx.B128:
		d, a := l.reg128(i.Args[0]), l.reg128(i.Args[1])
		l.emit(execMov[uint64], d[0], a[0])
		l.emit(execMov[uint64], d[1], a[1])
	case t == ptx.Pred:
		a, not := l.pred(i.Args[1])
		exec := execMovPred
		if not {
			exec = execNotPred
		}
		l.emit(exec, l.dst(i.Args[0], t), a)
	case f.vec > 1:
		l.movVector(i, f.vec)
	default:
		l.looseWidth = isSymbol(i.Args[1])
		a := l.src(i.Args[1], t)
		l.emit(movFor(classOf(t)), l.dst(i.Args[0], t), a)
	}
}

func isSymbol(o ptx.Operand) bool {
	switch o := o.(type) {
	case *ptx.Sym, *ptx.Elem, *ptx.Addr:
		return true
	case *ptx.Reg:
		return o.Special
	}
	return false
}

// movVector moves a vector register as a whole.
func (l *lowerer) movVector(i *ptx.Instr, n int) {
	var regs [2]regDef
	for k, o := range i.Args {
		r, ok := o.(*ptx.Reg)
		if !ok {
			l.bad("operand is not a vector register")
			return
		}
		if r.Special {
			for c := range n {
				comp := *r
				comp.Sel = "xyzw"[c : c+1]
				a, _ := l.special(&comp)
				d := regs[0].reg
				d.id += uint32(c)
				l.emit(movFor(d.class), d, a)
			}
			return
		}
		d, ok := l.lookupReg(r.Name)
		if !ok || d.vector < n {
			l.bad("%s is not a vector of %d", r.Name, n)
			return
		}
		regs[k] = d
	}
	for c := range uint32(n) {
		d, a := regs[0].reg, regs[1].reg
		d.id, a.id = d.id+c, a.id+c
		l.emit(movFor(d.class), d, a)
	}
}

// reg128 is a 128-bit register: two columns, the lower half first.
func (l *lowerer) reg128(o ptx.Operand) [2]reg {
	r, ok := o.(*ptx.Reg)
	if !ok {
		l.bad("operand is not a 128-bit register")
		return [2]reg{l.newReg(class64), l.newReg(class64)}
	}
	d, ok := l.lookupReg(r.Name)
	if !ok || d.typ != ptx.B128 {
		l.bad("%s is not a 128-bit register", r.Name)
		return [2]reg{l.newReg(class64), l.newReg(class64)}
	}
	return [2]reg{d.reg, {d.reg.class, d.reg.id + 1}}
}

// pack is mov.b32 d, {a, b} and its like.
func (l *lowerer) pack(dst ptx.Operand, v *ptx.Vec, t ptx.Type) {
	n := len(v.Elems)
	if t == ptx.B128 && n == 2 {
		d := l.reg128(dst)
		for k := range 2 { // through copies: d may be read by the second
			l.emit(execMov[uint64], d[k], l.src(v.Elems[k], ptx.B64))
		}
		return
	}
	part := partType(t, n)
	if part == ptx.NoType {
		l.bad("%d parts for a .%s", n, t)
		return
	}
	if n == 2 && t.Size() == 8 {
		a, b := l.src(v.Elems[0], part), l.src(v.Elems[1], part)
		l.emit(execJoin64, l.dst(dst, t), a, b)
		return
	}
	acc := l.src(v.Elems[0], part)
	acc = l.convert(l.masked(acc, part), classOf(t))
	for k := 1; k < n; k++ {
		e := l.convert(l.masked(l.src(v.Elems[k], part), part), classOf(t))
		next := l.newReg(classOf(t))
		if k == n-1 {
			next = l.dst(dst, t)
		}
		sh := uint64(8 * part.Size() * k)
		exec := lane2(func(a, b uint32) uint32 { return a | b<<sh })
		if classOf(t) == class64 {
			exec = lane2(func(a, b uint64) uint64 { return a | b<<sh })
		}
		l.emit(exec, next, acc, e)
		acc = next
	}
}

// execJoin64 makes 64 bits of two 32-bit columns.
//
//go:norace
func execJoin64(w *warp, in *inst, m uint32) {
	d, a, b := &w.r64[in.d], &w.r32[in.a], &w.r32[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = uint64(a[i]) | uint64(b[i])<<32
	}
}

// masked clears the bits of a 32-bit column above a narrower type's.
func (l *lowerer) masked(r reg, t ptx.Type) reg {
	if t.Size() >= 4 {
		return r
	}
	mask := uint32(1)<<(8*t.Size()) - 1
	d := l.newReg(class32)
	l.emit(lane1(func(a uint32) uint32 { return a & mask }), d, r)
	return d
}

// unpack is mov.b32 {a, b}, d and its like.
func (l *lowerer) unpack(v *ptx.Vec, src ptx.Operand, t ptx.Type) {
	n := len(v.Elems)
	if t == ptx.B128 && n == 2 {
		s := l.reg128(src)
		for k := range 2 {
			l.emit(execMov[uint64], l.dst(v.Elems[k], ptx.B64), s[k])
		}
		return
	}
	part := partType(t, n)
	if part == ptx.NoType {
		l.bad("%d parts for a .%s", n, t)
		return
	}
	a := l.src(src, t)
	tmp := l.newReg(a.class) // a destination may be the source
	l.emit(movFor(a.class), tmp, a)
	for k, e := range v.Elems {
		if _, ok := e.(*ptx.Sink); ok {
			continue
		}
		d := l.dst(e, part)
		sh := uint32(8 * part.Size() * k)
		mask := uint32(1)<<(8*part.Size()) - 1
		if part.Size() == 4 {
			mask = full
		}
		switch {
		case a.class == class64 && sh == 0 && mask == full:
			l.emit(execLow32, d, tmp)
		case a.class == class64:
			l.emit(lane1(func(a uint64) uint32 { return uint32(a>>sh) & mask }), d, tmp)
		default:
			l.emit(lane1(func(a uint32) uint32 { return a >> sh & mask }), d, tmp)
		}
	}
}

// partType is the type of one of n parts of t.
func partType(t ptx.Type, n int) ptx.Type {
	switch size := t.Size(); {
	case n == 2 && size == 8:
		return ptx.B32
	case n == 2 && size == 4, n == 4 && size == 8:
		return ptx.B16
	case n == 2 && size == 2, n == 4 && size == 4, n == 8 && size == 8:
		return ptx.B8
	}
	return ptx.NoType
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
		l.bad("form is not known")
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
		l.bad("form is not known")
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
