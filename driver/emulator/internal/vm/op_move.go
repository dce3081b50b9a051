package vm

import (
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// Register moves and reads of special registers.

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

// execLocalAddr computes the local-memory address of offset imm in the current frame.
//
//go:norace
func execLocalAddr(w *warp, in *inst, m uint32) {
	fill(&w.r64[in.d], in.imm+uint64(w.frame.local), m)
}

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
			a = l.masked(a, t) // special registers have at least 32 bits
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

// Vector moves: between vectors, and between a scalar and its parts.

// parts returns the elements of a vector operand whose total size is that of t. It returns nil for
// a scalar.
func (l *lowerer) parts(o ptx.Operand, t ptx.Type) []ptx.Operand {
	switch o := o.(type) {
	case *ptx.Vec:
		return o.Elems
	case *ptx.Reg:
		if o.Sel != "" {
			return nil
		}
		if o.Special {
			if t == ptx.B128 { // %tid and similar registers are four-element vectors
				return components(o, 4)
			}
			return nil
		}
		if d, ok := l.lookupReg(o.Name); ok && d.vector > 0 {
			if d.size() != t.Size() {
				l.bad("register %s has %d bytes", o.Name, d.size())
			}
			return components(o, d.vector)
		}
	}
	return nil
}

// scalar reports whether an operand is a declared register with one value.
func (l *lowerer) scalar(o ptx.Operand) bool {
	r, ok := o.(*ptx.Reg)
	if !ok || r.Special {
		return false
	}
	d, ok := l.lookupReg(r.Name)
	return ok && (d.vector == 0 || r.Sel != "")
}

// isScalarSpecial reports whether o is a scalar special register or one component of a special
// register.
func isScalarSpecial(o ptx.Operand) bool {
	r, ok := o.(*ptx.Reg)
	if !ok || !r.Special {
		return false
	}
	switch r.Name {
	case "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid":
		return r.Sel != ""
	}
	return true
}

func components(r *ptx.Reg, n int) []ptx.Operand {
	out := make([]ptx.Operand, n)
	for k := range out {
		c := *r
		c.Sel = "xyzw"[k : k+1]
		out[k] = &c
	}
	return out
}

// movVector lowers mov.v2 and mov.v4, which copy a vector or split a scalar into its parts.
func (l *lowerer) movVector(dst, src ptx.Operand, n int, t ptx.Type) {
	if t == ptx.Pred || n*t.Size() > 16 {
		l.bad("a vector of predicates, or of more than 16 bytes")
		return
	}
	to := l.elems(dst, n)
	if l.failed {
		return
	}
	from := make([]reg, n)
	if imm, ok := src.(*ptx.Imm); ok {
		bits := immBits(imm, t)
		if !imm.IsFloat() {
			bits = imm.Bits
		}
		for k := range from {
			from[k] = l.constant(classOf(t), bits&^(^uint64(0)<<(8*t.Size())))
			bits >>= 8 * t.Size() % 64
			if t.Size() == 8 {
				bits = 0
			}
		}
	} else if l.scalar(src) && t.Size() > 2 {
		for k, r := range l.split(l.src(src, t), t, n, nil) {
			from[k] = l.convert(r, classOf(t))
		}
	} else if _, symbol := src.(*ptx.Sym); symbol || l.scalar(src) || isScalarSpecial(src) {
		l.unsupported()
	} else {
		for k, o := range l.elems(src, n) {
			from[k] = l.src(o, t)
			if isSpecial(o) {
				from[k] = l.masked(from[k], t)
			}
		}
	}
	if l.failed {
		return
	}
	l.moveAll(to, from, t)
}

// moveAll moves registers as if simultaneously, because a destination may be the source of a later
// move.
func (l *lowerer) moveAll(to []ptx.Operand, from []reg, t ptx.Type) {
	dsts := l.dsts(to, t)
	for k := range from {
		if slices.Contains(dsts[:k], from[k]) {
			tmp := l.newReg(from[k].class)
			l.emit(movFor(tmp.class), tmp, from[k])
			from[k] = tmp
		}
	}
	for k, d := range dsts {
		if d != noReg {
			l.emit(movFor(d.class), d, from[k])
		}
	}
}

// dsts returns the columns of several destinations. For a sink, it returns noReg.
func (l *lowerer) dsts(to []ptx.Operand, t ptx.Type) []reg {
	out := make([]reg, len(to))
	for k, o := range to {
		out[k] = noReg
		if _, sink := o.(*ptx.Sink); !sink {
			out[k] = l.dst(o, t)
		}
	}
	return out
}

// reg128 returns the two columns of a 128-bit register, lower half first.
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

func (l *lowerer) src128(o ptx.Operand) [2]reg {
	if imm, ok := o.(*ptx.Imm); ok && !imm.IsFloat() {
		return [2]reg{l.constant(class64, imm.Bits), l.constant(class64, 0)} // the upper half is zero even for negative constants
	}
	return l.reg128(o)
}

// pack lowers mov.b32 d, {a, b} and similar forms.
func (l *lowerer) pack(dst ptx.Operand, v []ptx.Operand, t ptx.Type) {
	part := partType(t, len(v))
	if part == ptx.NoType {
		l.bad("%d parts for a .%s", len(v), t)
		return
	}
	from := make([]reg, len(v))
	for k, o := range v {
		if _, sum := o.(*ptx.RegSum); sum {
			l.bad("a sum as an element")
		}
		from[k] = l.src(o, part)
	}
	if t != ptx.B128 {
		l.join(l.dst(dst, t), from, part)
		return
	}
	d := l.reg128(dst)
	if len(v) == 2 {
		l.emit(execMov[uint64], d[0], from[0])
		l.emit(execMov[uint64], d[1], from[1])
		return
	}
	l.emit(execJoin64, d[0], from[0], from[1])
	l.emit(execJoin64, d[1], from[2], from[3])
}

// join combines parts, lowest first, into a scalar.
func (l *lowerer) join(dst reg, from []reg, part ptx.Type) {
	if dst.class == class64 && part.Size() == 4 {
		l.emit(execJoin64, dst, from[0], from[1])
		return
	}
	acc := l.convert(l.masked(from[0], part), dst.class)
	for k := 1; k < len(from); k++ {
		e := l.convert(l.masked(from[k], part), dst.class)
		next := dst
		if k < len(from)-1 {
			next = l.newReg(dst.class)
		}
		sh := uint64(8 * part.Size() * k)
		exec := lane2(func(a, b uint32) uint32 { return a | b<<sh })
		if dst.class == class64 {
			exec = lane2(func(a, b uint64) uint64 { return a | b<<sh })
		}
		l.emit(exec, next, acc, e)
		acc = next
	}
}

//go:norace
func execJoin64(w *warp, in *inst, m uint32) {
	d, a, b := &w.r64[in.d], &w.r32[in.a], &w.r32[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = uint64(a[i]) | uint64(b[i])<<32
	}
}

// masked clears the bits of a 32-bit column that a narrower type does not use.
func (l *lowerer) masked(r reg, t ptx.Type) reg {
	if t.Size() >= 4 {
		return r
	}
	mask := uint32(1)<<(8*t.Size()) - 1
	d := l.newReg(class32)
	l.emit(lane1(func(a uint32) uint32 { return a & mask }), d, r)
	return d
}

// unpack lowers mov.b32 {a, b}, d and similar forms.
func (l *lowerer) unpack(v []ptx.Operand, src ptx.Operand, t ptx.Type) {
	part := partType(t, len(v))
	if part == ptx.NoType {
		l.bad("%d parts for a .%s", len(v), t)
		return
	}
	if t != ptx.B128 {
		a, to := l.src(src, t), l.dsts(v, part)
		if slices.Contains(to, a) {
			tmp := l.newReg(a.class)
			l.emit(movFor(a.class), tmp, a)
			a = tmp
		}
		l.split(a, t, len(v), to)
		return
	}
	s := l.src128(src)
	from := s[:]
	if len(v) == 4 {
		from = append(l.split(s[0], ptx.B64, 2, nil), l.split(s[1], ptx.B64, 2, nil)...)
	}
	l.moveAll(v, from, part)
}

// split splits a scalar of type t into n zero-extended parts, lowest part first. It writes the
// parts to the registers in to, or to new registers if to is nil.
func (l *lowerer) split(a reg, t ptx.Type, n int, to []reg) []reg {
	if to == nil {
		for range n {
			to = append(to, l.newReg(class32))
		}
	}
	part := partType(t, n)
	if part == ptx.NoType {
		l.bad("%d parts for a .%s", n, t)
		return to
	}
	for k, d := range to {
		if d == noReg {
			continue
		}
		sh := uint32(8 * part.Size() * k)
		mask := ^uint32(0) >> (32 - 8*part.Size())
		switch {
		case a.class == class64 && sh == 0 && mask == full:
			l.emit(execLow32, d, a)
		case a.class == class64:
			l.emit(lane1(func(a uint64) uint32 { return uint32(a>>sh) & mask }), d, a)
		default:
			l.emit(lane1(func(a uint32) uint32 { return a >> sh & mask }), d, a)
		}
	}
	return to
}

// partType returns the type of one of n equal parts of t.
func partType(t ptx.Type, n int) ptx.Type {
	switch size := t.Size(); {
	case n == 2 && size == 16:
		return ptx.B64
	case n == 2 && size == 8, n == 4 && size == 16:
		return ptx.B32
	case n == 2 && size == 4, n == 4 && size == 8:
		return ptx.B16
	case n == 2 && size == 2, n == 4 && size == 4, n == 8 && size == 8:
		return ptx.B8
	}
	return ptx.NoType
}
