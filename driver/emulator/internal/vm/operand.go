package vm

import (
	"math/bits"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// noReg stands for a missing operand.
var noReg = reg{class: numClasses}

func classOf(t ptx.Type) class {
	switch {
	case t == ptx.Pred:
		return classPred
	case t.Size() >= 8:
		return class64
	}
	return class32
}

func immBits(i *ptx.Imm, t ptx.Type) uint64 {
	var x uint64
	switch {
	case t == ptx.F32:
		return uint64(i.Float32Bits())
	case t == ptx.F64 && i.Kind == ptx.ImmF32:
		return i.Bits // ptxas uses the bit pattern without a conversion
	case t == ptx.F64:
		return i.Float64Bits()
	case t == ptx.F16 && i.IsFloat():
		return uint64(halfFromFloat64(i.Float64()))
	case t == ptx.BF16 && i.IsFloat():
		return uint64(bf16FromFloat64(i.Float64()))
	case i.IsFloat() && i.Kind == ptx.ImmF64 && t.Size() == 4:
		x = uint64(i.Float32Bits())
	default:
		x = i.Bits
	}
	switch t.Size() {
	case 1:
		if t == ptx.Pred {
			return b2u64(x != 0)
		}
		return x & 0xff
	case 2:
		return x & 0xffff
	case 4:
		return x & 0xffffffff
	}
	return x
}

func b2u64(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// scope holds the names declared in one block of a function's body.
type scope struct {
	outer  *scope
	regs   map[string]regDef
	ranges map[string]rangeDef // ranges by prefix
	vars   map[string]*local
	labels map[string]*label
	tables map[string]*ptx.BranchTargets
	protos map[string]*ptx.CallPrototype
	calls  map[string]*ptx.CallTargets
}

type regDef struct {
	reg    reg
	typ    ptx.Type
	vector int
}

// rangeDef is a declaration such as %r<10>. Its registers are created when they are first
// mentioned.
type rangeDef struct {
	typ    ptx.Type
	count  int
	vector int
}

// local is a variable that is visible in a function. It is in local memory (like the parameters of
// functions), in shared or global memory, or it is a kernel parameter.
type local struct {
	space  ptx.Space
	offset uint32
	size   uint64
	v      *ptx.Variable
	kernel bool    // the variable is a kernel parameter
	sym    *symbol // symbol of a variable in shared or global memory
}

type label struct {
	name string
	at   int // index of the next instruction, or -1 before the label is seen
}

func (l *lowerer) newReg(c class) reg {
	l.vregs[c]++
	return reg{c, l.vregs[c] - 1}
}

// mostDigits is the maximum number of digits in the number of a register that belongs to a range
// such as %r<10>.
const mostDigits = 10

func (l *lowerer) lookupReg(name string) (regDef, bool) {
	for s := l.scope; s != nil; s = s.outer {
		if d, ok := s.regs[name]; ok {
			return d, true
		}
		prefix := strings.TrimRight(name, "0123456789")
		digits := name[len(prefix):]
		// The prefix may end in digits: %r1<3> declares %r10, %r11 and %r12. The register's number
		// within its range has at most mostDigits digits.
		for i := max(0, len(digits)-mostDigits); i < len(digits); i++ {
			d, ok := s.ranges[name[:len(prefix)+i]]
			if !ok || (digits[i] == '0' && i+1 < len(digits)) {
				continue
			}
			n := 0
			for _, ch := range digits[i:] {
				n = n*10 + int(ch-'0')
			}
			if n < d.count {
				def := l.makeReg(d.typ, d.vector)
				s.regs[name] = def
				return def, true
			}
		}
	}
	return regDef{}, false
}

// makeReg creates the virtual registers for one declared register: several for a vector, two for
// 128 bits, and otherwise one.
func (l *lowerer) makeReg(t ptx.Type, vector int) regDef {
	d := regDef{l.newReg(classOf(t)), t, vector}
	n := max(vector, 1)
	if t == ptx.B128 {
		n *= 2
	}
	for range n - 1 {
		l.newReg(d.reg.class)
	}
	return d
}

func (l *lowerer) lookupVar(name string) *local {
	for s := l.scope; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	sym := l.b.c.lookup(l.file, name)
	if sym == nil || sym.v == nil {
		return nil
	}
	return &local{space: sym.v.Space, size: sizeOf(sym.v), v: sym.v, sym: sym}
}

func (l *lowerer) lookupLabel(name string) *label {
	for s := l.scope; s != nil; s = s.outer {
		if v, ok := s.labels[name]; ok {
			return v
		}
	}
	return nil
}

func (l *lowerer) constant(c class, x uint64) reg {
	return l.constantOf(constant{reg{class: c}, x, false})
}

func (l *lowerer) constantOf(key constant) reg {
	if r, ok := l.consts[key]; ok {
		return r
	}
	r := l.newReg(key.reg.class)
	l.consts[key] = r
	l.f.consts = append(l.f.consts, constant{r, key.value, key.dynamic})
	return r
}

// src returns a column with the operand's value as type t.
func (l *lowerer) src(o ptx.Operand, t ptx.Type) reg {
	want := classOf(t)
	switch o := o.(type) {
	case *ptx.Imm:
		return l.constant(want, immBits(o, t))
	case *ptx.Reg:
		r, rt := l.readReg(o)
		if r.class == want {
			return r
		}
		return l.convertClass(o, r, rt, want)
	case *ptx.RegSum:
		return l.regSum(o, want)
	case *ptx.Sym, *ptx.Elem, *ptx.Addr:
		return l.convert(l.address(o), want)
	case *ptx.Sink:
		return l.constant(want, 0)
	}
	l.bad("operand is not a register or a constant")
	return l.constant(want, 0)
}

// regSum returns the sum of a register and a constant. The sum wraps at the register's width.
func (l *lowerer) regSum(o *ptx.RegSum, want class) reg {
	r, t := l.readReg(o.Reg)
	if r.class == classPred || t.Kind() == ptx.KindFloat {
		l.bad("a constant cannot be added to %s of type .%s", o.Reg.Name, t)
		return l.newReg(want)
	}
	sum := l.newReg(r.class)
	if r.class == class64 {
		n := uint64(o.Offset)
		l.emit(lane1(func(a uint64) uint64 { return a + n }), sum, r)
	} else {
		n := uint32(o.Offset)
		l.emit(lane1(func(a uint32) uint32 { return a + n }), sum, r)
		sum = l.masked(sum, t)
	}
	if sum.class == want {
		return sum
	}
	return l.convertClass(o.Reg, sum, t, want)
}

// readReg resolves a register operand, including its component and negation.
func (l *lowerer) readReg(o *ptx.Reg) (reg, ptx.Type) {
	if o.Special {
		return l.special(o)
	}
	d, ok := l.lookupReg(o.Name)
	if !ok {
		l.fail(CompileInvalid, "register %s is not declared", o.Name)
		return l.newReg(class32), ptx.B32
	}
	r := d.reg
	if o.Sel == "" && d.vector > 0 {
		l.bad("vector register %s where one value is expected", o.Name)
		return r, d.typ
	}
	if d.typ == ptx.B128 {
		l.bad("128-bit register %s where a narrower one is expected", o.Name)
		return r, d.typ
	}
	if o.Sel != "" {
		i := strings.IndexByte("xyzw", o.Sel[0])
		if i < 0 {
			i = strings.IndexByte("rgba", o.Sel[0])
		}
		if i < 0 || i >= d.vector || len(o.Sel) != 1 {
			l.bad("register %s has no component %s", o.Name, o.Sel)
			return r, d.typ
		}
		r.id += uint32(i)
	}
	if o.Not && d.typ != ptx.Pred || o.Neg {
		l.bad("operand %s is negated", o.Name)
	}
	return r, d.typ
}

// convertClass converts a register from another bank to the bank of the instruction's type. Unless
// the instruction allows other widths, as memory and conversion instructions do, convertClass
// records an error.
func (l *lowerer) convertClass(o *ptx.Reg, r reg, rt ptx.Type, want class) reg {
	if r.class == classPred || want == classPred {
		l.bad("register %s has type .%s", o.Name, rt)
		return l.newReg(want)
	}
	if !l.looseWidth {
		l.bad("register %s of type .%s has the wrong width", o.Name, rt)
	}
	return l.convert(r, want)
}

// convert truncates or zero-extends r to another bank.
func (l *lowerer) convert(r reg, want class) reg {
	if r.class == want {
		return r
	}
	t := l.newReg(want)
	if want == class32 {
		l.emit(execLow32, t, r)
	} else {
		l.emit(execZero64, t, r)
	}
	return t
}

// dst returns the column that receives a result of type t. If the operand is a wider register, a
// signed result is sign-extended after the instruction.
func (l *lowerer) dst(o ptx.Operand, t ptx.Type) reg {
	want := classOf(t)
	switch o := o.(type) {
	case *ptx.Sink:
		return l.newReg(want)
	case *ptx.Reg:
		if o.Special {
			l.bad("special register %s cannot be written", o.Name)
			return l.newReg(want)
		}
		r, rt := l.readReg(o)
		if r.class == want {
			return r
		}
		if !l.looseWidth || want == classPred || r.class == classPred || want == class64 {
			l.bad("register %s of type .%s cannot take a .%s", o.Name, rt, t)
			return l.newReg(want)
		}
		tmp := l.newReg(want)
		l.after = append(l.after, widen{r, tmp, t, 0})
		return tmp
	}
	l.bad("destination is not a register")
	return l.newReg(want)
}

type widen struct {
	dst, src reg
	typ      ptx.Type
	wide     int // size of the register, if it is wider than typ and in the 32-bit bank
}

// pred reads a predicate operand. not reports whether the operand is negated.
func (l *lowerer) pred(o ptx.Operand) (r reg, not bool) {
	switch o := o.(type) {
	case *ptx.Reg:
		r := l.src(o, ptx.Pred)
		return r, o.Not
	case *ptx.Imm:
		return l.constant(classPred, b2u64(o.Bits != 0)), false
	}
	l.bad("operand is not a predicate")
	return l.constant(classPred, 0), false
}

// address returns a column with the address of a variable, function or array element. The address
// is relative to the variable's own space.
func (l *lowerer) address(o ptx.Operand) reg {
	switch o := o.(type) {
	case *ptx.Sym:
		return l.symbol(o.Name, o.Offset)
	case *ptx.Elem:
		if o.Index != nil {
			l.bad("element of %s with an index in a register", o.Name)
		}
		v := l.lookupVar(o.Name)
		if v == nil {
			l.unresolved(o.Name)
			return l.constant(class64, 0)
		}
		return l.symbol(o.Name, o.Offset*int64(v.v.Type.Size()*max(v.v.Vector, 1)))
	case *ptx.Addr:
		if s, ok := o.Base.(*ptx.Sym); ok {
			return l.symbol(s.Name, s.Offset+o.Offset)
		}
	}
	l.bad("operand has no address")
	return l.constant(class64, 0)
}

func (l *lowerer) unresolved(name string) {
	l.fail(CompileUnresolved, "%s is not defined", name)
}

func (l *lowerer) symbol(name string, offset int64) reg {
	v := l.lookupVar(name)
	if v == nil {
		if sym := l.b.c.lookup(l.file, name); sym != nil && sym.fn != nil {
			l.b.addressTaken(sym)
			return l.constant(class64, functionAddr(sym.id)+uint64(offset))
		}
		l.unresolved(name)
		return l.constant(class64, 0)
	}
	switch {
	case v.kernel:
		return l.constant(class64, paramWindow+uint64(v.offset)+uint64(offset))
	case v.space == ptx.LocalSpace || v.space == ptx.ParamSpace:
		t := l.newReg(class64)
		l.emit(execLocalAddr, t).in.imm = uint64(v.offset) + uint64(offset)
		return t
	case v.space == ptx.SharedSpace:
		at, dynamic := l.b.placeShared(v.sym)
		return l.constantOf(constant{reg{class: class64}, uint64(at) + uint64(offset), dynamic})
	case v.sym != nil && v.sym.addr != 0:
		return l.constant(class64, v.sym.addr+uint64(offset))
	}
	l.unresolved(name)
	return l.constant(class64, 0)
}

type word32 interface{ uint32 | int32 | float32 }

type word64 interface{ uint64 | int64 | float64 }

type word interface{ word32 | word64 }

type integer interface {
	uint32 | int32 | uint64 | int64
}

// col returns column i of the bank that holds values of type T.
//
//go:nocheckptr
func col[T word](w *warp, i uint32) *[lanes]T {
	var t T
	if unsafe.Sizeof(t) == 8 {
		return (*[lanes]T)(unsafe.Pointer(&w.r64[i]))
	}
	return (*[lanes]T)(unsafe.Pointer(&w.r32[i]))
}

func first(m uint32) int { return bits.TrailingZeros32(m) & (lanes - 1) }

// The functions below turn a function on one lane's values into an instruction. They serve
// instructions that are too rare for a loop of their own.

func lane1[D, A word](f func(A) D) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d, a := col[D](w, in.d), col[A](w, in.a)
		if m == full {
			for i := range d {
				d[i] = f(a[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(a[i])
		}
	}
}

func lane2[D, A, B word](f func(A, B) D) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d, a, b := col[D](w, in.d), col[A](w, in.a), col[B](w, in.b)
		if m == full {
			for i := range d {
				d[i] = f(a[i], b[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(a[i], b[i])
		}
	}
}

func lane3[D, A, B, C word](f func(A, B, C) D) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d, a, b, c := col[D](w, in.d), col[A](w, in.a), col[B](w, in.b), col[C](w, in.c)
		if m == full {
			for i := range d {
				d[i] = f(a[i], b[i], c[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(a[i], b[i], c[i])
		}
	}
}

// pred1 returns an instruction that writes a predicate.
func pred1[A word](f func(A) bool) execFunc {
	return func(w *warp, in *inst, m uint32) {
		a := col[A](w, in.a)
		var r uint32
		for k := m; k != 0; k &= k - 1 {
			i := first(k)
			r |= b2u(f(a[i])) << i
		}
		w.setPred(in, r, m)
	}
}
