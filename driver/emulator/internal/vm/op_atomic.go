package vm

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// Atomic operations and reductions. A few use Go's atomic functions directly. The others are
// compare-and-swap loops on 32 or 64 bits. Narrower values are updated within the 32 bits that
// contain them.

func init() {
	register(lowerAtom, "atom", "red")
}

// wide128 serialises 128-bit atomics, because Go has no 128-bit atomics.
var wide128 sync.Mutex

// atomicOp returns the new value for an old value and two operands. Each value is in the low bits
// of its argument.
type atomicOp func(old, b, c uint64) uint64

func lowerAtom(l *lowerer, i *ptx.Instr, f *form) {
	red := f.op.Name == "red"
	args := i.Args
	var d ptx.Operand = &ptx.Sink{}
	if !red {
		if len(args) < 3 {
			l.bad("%d operands", len(args))
			return
		}
		d, args = args[0], args[1:]
	}
	op, noftz := "", false
	for _, r := range f.rest {
		switch {
		case r == "noftz":
			noftz = true
		case r == "async":
			lowerRedAsync(l, i, f)
			return
		case r == "shared::cluster":
		case cacheMod(r):
		case op == "":
			op = r
		default:
			l.unsupported()
			return
		}
	}
	_ = noftz
	t := f.typ()
	n := 1
	if op == "cas" {
		n = 2
	}
	if len(args) == n+2 { // the last operand holds a cache policy
		args = args[:n+1]
	}
	if len(args) != n+1 || len(f.types) != 1 {
		l.bad("%d operands", len(i.Args))
		return
	}
	p := l.memoryPlace(args[0], f.space)
	if p.base == noReg || p.space == ptx.LocalSpace || p.space == ptx.ConstSpace {
		l.bad("an atomic operation cannot be in space .%s", p.space)
		return
	}
	if t == ptx.B128 {
		l.atomic128(d, args, p, op)
		return
	}
	if f.vec > 1 {
		l.atomicVector(d, args, p, op, t, f.vec)
		return
	}
	fn := atomicFunc(op, t)
	if fn == nil {
		l.bad("operation .%s on type .%s is not possible", op, t)
		return
	}
	l.looseWidth = true
	b := l.src(args[1], t)
	c := b
	if n == 2 {
		c = l.src(args[2], t)
	}
	exec := atomicExec(fn, t, p.base.class == class64)
	if (op == "add" || op == "inc0") && t.Size() == 4 && !isFloat(t) {
		exec = addExec(red, p.base.class == class64)
	}
	if op == "add" && (t == ptx.F32 || t == ptx.F64) {
		exec = sumExec(p.space, t, p.base.class == class64)
	}
	m := l.slot(l.emit(exec, l.dst(d, t), p.base, b, c))
	m.in.imm = p.imm
	m.in.aux = spaceCode(p.space) | log2(t.Size())<<accLog | accWrite | accAtomic
}

// atomicFunc returns the function that op applies to a value of type t, or nil.
func atomicFunc(op string, t ptx.Type) atomicOp {
	switch op {
	case "exch":
		return func(_, b, _ uint64) uint64 { return b }
	case "cas":
		return func(old, b, c uint64) uint64 {
			if old == b {
				return c
			}
			return old
		}
	case "and":
		return func(old, b, _ uint64) uint64 { return old & b }
	case "or":
		return func(old, b, _ uint64) uint64 { return old | b }
	case "xor":
		return func(old, b, _ uint64) uint64 { return old ^ b }
	case "inc":
		if t != ptx.U32 {
			return nil
		}
		return func(old, b, _ uint64) uint64 {
			if old >= b {
				return 0
			}
			return old + 1
		}
	case "dec":
		if t != ptx.U32 {
			return nil
		}
		return func(old, b, _ uint64) uint64 {
			if old == 0 || old > b {
				return b
			}
			return old - 1
		}
	case "add":
		return atomicAdd(t)
	case "min", "max":
		return atomicMinMax(op == "max", t)
	}
	return nil
}

func atomicAdd(t ptx.Type) atomicOp {
	switch {
	case t == ptx.F32: // for global memory; sumExec handles shared memory
		return addFlushed
	case t == ptx.F64:
		return addGlobal64
	case isHalf(t):
		add := numAdd.of(halfOf(t, &form{}))
		return func(old, b, _ uint64) uint64 { return uint64(add(uint32(old), uint32(b))) }
	}
	return func(old, b, _ uint64) uint64 { return old + b }
}

func atomicMinMax(isMax bool, t ptx.Type) atomicOp {
	if isHalf(t) {
		n := numMin
		if isMax {
			n = numMax
		}
		pick := n.of(halfOf(t, &form{}))
		return func(old, b, _ uint64) uint64 { return uint64(pick(uint32(old), uint32(b))) }
	}
	var less func(a, b uint64) bool
	switch t {
	case ptx.U32, ptx.U64:
		less = func(a, b uint64) bool { return a < b }
	case ptx.S32:
		less = func(a, b uint64) bool { return int32(a) < int32(b) }
	case ptx.S64:
		less = func(a, b uint64) bool { return int64(a) < int64(b) }
	default:
		return nil
	}
	return func(old, b, _ uint64) uint64 {
		if less(b, old) != isMax && b != old {
			return b
		}
		return old
	}
}

// atomicExec returns the execFunc that applies fn at the address of each lane.
func atomicExec(fn atomicOp, t ptx.Type, wide bool) execFunc {
	size := t.Size()
	is64 := size == 8
	return func(w *warp, in *inst, m uint32) {
		w.synced = true
		e := w.site(in)
		a := w.addresses(in, wide, m)
		for ; m != 0; m &= m - 1 {
			i := first(m)
			p := w.pointer(in, e, a[i], i)
			switch {
			case is64:
				w.r64[in.d][i] = update64((*uint64)(p), fn, w.r64[in.b][i], w.r64[in.c][i])
			case size == 4:
				w.r32[in.d][i] = update32((*uint32)(p), fn, w.r32[in.b][i], w.r32[in.c][i])
			default:
				w.r32[in.d][i] = updatePart(p, size, fn, w.r32[in.b][i], w.r32[in.c][i])
			}
		}
	}
}

func update32(p *uint32, fn atomicOp, b, c uint32) uint32 {
	for {
		old := atomic.LoadUint32(p)
		if atomic.CompareAndSwapUint32(p, old, uint32(fn(uint64(old), uint64(b), uint64(c)))) {
			return old
		}
	}
}

func update64(p *uint64, fn atomicOp, b, c uint64) uint64 {
	for {
		old := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, old, fn(old, b, c)) {
			return old
		}
	}
}

// updatePart updates 8 or 16 bits within the aligned 32 bits that contain them, and returns their
// old value.
func updatePart(p unsafe.Pointer, size int, fn atomicOp, b, c uint32) uint32 {
	off := uint(uintptr(p) & 3)
	word := (*uint32)(unsafe.Add(p, -int(off)))
	sh := off * 8
	mask := uint32(1)<<(8*size) - 1
	for {
		all := atomic.LoadUint32(word)
		old := all >> sh & mask
		v := uint32(fn(uint64(old), uint64(b&mask), uint64(c&mask))) & mask
		if atomic.CompareAndSwapUint32(word, all, all&^(mask<<sh)|v<<sh) {
			return old
		}
	}
}

// addExec returns the execFunc for 32-bit addition, for which Go has an atomic function.
func addExec(red, wide bool) execFunc {
	return func(w *warp, in *inst, m uint32) {
		w.synced = true
		e := w.site(in)
		a := w.addresses(in, wide, m)
		b, d := w.r32[in.b], &w.r32[in.d]
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = atomic.AddUint32((*uint32)(w.pointer(in, e, a[i], i)), b[i]) - b[i]
		}
	}
}

// addFlushed is f32 addition in global memory. It flushes subnormal operands and results to zero,
// whatever the instruction specifies.
func addFlushed(old, b, _ uint64) uint64 {
	x, y := flush(math.Float32frombits(uint32(old))), flush(math.Float32frombits(uint32(b)))
	return uint64(math.Float32bits(narrow32(float64(flush(x + y)))))
}

// addKept is f32 addition in shared memory, which keeps subnormal numbers.
func addKept(old, b, _ uint64) uint64 {
	return uint64(math.Float32bits(narrow32(float64(math.Float32frombits(uint32(old)) + math.Float32frombits(uint32(b))))))
}

func addShared64(old, b, _ uint64) uint64 {
	x, y := math.Float64frombits(old), math.Float64frombits(b)
	if s := x + y; s == s {
		return math.Float64bits(s)
	}
	return math.Float64bits(nanOf(y, x))
}

// addGlobal64 is f64 addition in global memory. It propagates NaNs without quieting them.
func addGlobal64(old, b, _ uint64) uint64 {
	x, y := math.Float64frombits(old), math.Float64frombits(b)
	switch s := x + y; {
	case y != y:
		return b
	case x != x:
		return old
	case s != s:
		return defaultNaN64
	default:
		return math.Float64bits(s)
	}
}

// sumExec returns the execFunc for f32 or f64 addition. The handling of subnormal numbers and NaNs
// depends on the memory space. For a generic address, the address determines the space.
func sumExec(space ptx.Space, t ptx.Type, wide bool) execFunc {
	return func(w *warp, in *inst, m uint32) {
		w.synced = true
		e := w.site(in)
		a := w.addresses(in, wide, m)
		for ; m != 0; m &= m - 1 {
			i := first(m)
			shared := space == ptx.SharedSpace || space != ptx.GlobalSpace && a[i]&windowMask == sharedWindow
			p := w.pointer(in, e, a[i], i)
			if t == ptx.F64 {
				w.r64[in.d][i] = update64((*uint64)(p), sumOf(shared, addShared64, addGlobal64), w.r64[in.b][i], 0)
			} else {
				w.r32[in.d][i] = update32((*uint32)(p), sumOf(shared, addKept, addFlushed), w.r32[in.b][i], 0)
			}
		}
	}
}

func sumOf(shared bool, inShared, inGlobal atomicOp) atomicOp {
	if shared {
		return inShared
	}
	return inGlobal
}

func (l *lowerer) atomic128(d ptx.Operand, args []ptx.Operand, p place, op string) {
	if op != "exch" && op != "cas" {
		l.bad("operation .%s on type .b128 is not possible", op)
		return
	}
	b := l.reg128(args[1])
	c := b
	if op == "cas" {
		c = l.reg128(args[2])
	}
	dst := [2]reg{l.newReg(class64), l.newReg(class64)}
	if _, ok := d.(*ptx.Sink); !ok {
		dst = l.reg128(d)
	}
	wide := p.base.class == class64
	cas := op == "cas"
	n := l.slot(l.emit(func(w *warp, in *inst, m uint32) {
		w.synced = true
		e, x := w.site(in), in.x.regs
		a := w.addresses(in, wide, m)
		wide128.Lock()
		defer wide128.Unlock()
		for ; m != 0; m &= m - 1 {
			i := first(m)
			q := (*[2]uint64)(w.pointer(in, e, a[i], i))
			old := *q
			b := [2]uint64{w.r64[x[0]][i], w.r64[x[1]][i]}
			switch {
			case !cas:
				*q = b
			case old == b:
				*q = [2]uint64{w.r64[x[2]][i], w.r64[x[3]][i]}
			}
			w.r64[x[4]][i], w.r64[x[5]][i] = old[0], old[1]
		}
	}, noReg, p.base))
	n.in.imm = p.imm
	n.in.aux = spaceCode(p.space) | 4<<accLog | accWrite | accAtomic
	for _, r := range []reg{b[0], b[1], c[0], c[1]} {
		n.more(r, false)
	}
	n.more(dst[0], true)
	n.more(dst[1], true)
}

// atomicVector lowers atom and red on vectors. Each element is updated by a separate atomic
// operation.
func (l *lowerer) atomicVector(d ptx.Operand, args []ptx.Operand, p place, op string, t ptx.Type, n int) {
	fn := atomicFunc(op, t)
	if fn == nil || classOf(t) != class32 {
		l.bad("operation .%s on a vector of .%s is not possible", op, t)
		return
	}
	vals := l.elems(args[1], n)
	var ds []ptx.Operand
	if _, ok := d.(*ptx.Sink); !ok {
		ds = l.elems(d, n)
	}
	wide := p.base.class == class64
	size := t.Size()
	m := l.slot(l.emit(func(w *warp, in *inst, m uint32) {
		w.synced = true
		e, x := w.site(in), in.x.regs
		a := w.addresses(in, wide, m)
		for ; m != 0; m &= m - 1 {
			i := first(m)
			q := w.pointer(in, e, a[i], i)
			for k := range n {
				q := unsafe.Add(q, k*size)
				b := w.r32[x[k]][i]
				var old uint32
				if size == 4 {
					old = update32((*uint32)(q), fn, b, 0)
				} else {
					old = updatePart(q, size, fn, b, 0)
				}
				w.r32[x[n+k]][i] = old
			}
		}
	}, noReg, p.base))
	m.in.imm = p.imm
	m.in.aux = spaceCode(p.space) | log2(size*n)<<accLog | accWrite | accAtomic
	for _, v := range vals {
		m.more(l.src(v, t), false)
	}
	for k := range n {
		r := l.newReg(class32)
		if ds != nil {
			r = l.dst(ds[k], t)
		}
		m.more(r, true)
	}
}
