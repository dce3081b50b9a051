package vm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

func init() {
	register(lowerLd, "ld", "ldu")
	register(lowerSt, "st")
	register(lowerNothing, "prefetch", "prefetchu", "applypriority", "discard", "createpolicy")
}

type memWord interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64
}

// execLoad loads elements of type M into a column of type D. The addresses are in a column of type
// A.
//
//go:norace
//go:nocheckptr
func execLoad[M memWord, D uint32 | uint64, A uint32 | uint64](w *warp, in *inst, m uint32) {
	d, a := col[D](w, in.d), col[A](w, in.a)
	e := &w.cache[in.slot]
	if e.region.dead.Load() {
		e.n = 0
	}
	var t M
	const one = uint64(1)
	mask := uint64(unsafe.Sizeof(t)) - one
	addr, n, base, imm := e.addr, e.n, e.base, in.imm
	if m == full {
		for i := range d {
			p := uint64(a[i]) + imm
			if off := p - addr; off < n && p&mask == 0 {
				d[i] = D(*(*M)(unsafe.Add(base, off)))
				continue
			}
			d[i] = D(*(*M)(w.reach(in, e, p, i)))
			addr, n, base = e.addr, e.n, e.base
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := uint64(a[i]) + imm
		if off := p - addr; off < n && p&mask == 0 {
			d[i] = D(*(*M)(unsafe.Add(base, off)))
			continue
		}
		d[i] = D(*(*M)(w.reach(in, e, p, i)))
		addr, n, base = e.addr, e.n, e.base
	}
}

// execLoadLocal and execStoreLocal access each lane's own local memory.
//
//go:norace
//go:nocheckptr
func execLoadLocal[M memWord, D uint32 | uint64](w *warp, in *inst, m uint32) {
	d := col[D](w, in.d)
	a := w.addresses(in, in.c != 0, m)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = D(*(*M)(w.localPointer(in, a[i], i)))
	}
}

// execLoadParam loads a kernel parameter. All lanes receive the same value.
//
//go:norace
//go:nocheckptr
func execLoadParam[M memWord, D uint32 | uint64](w *warp, in *inst, m uint32) {
	b := w.cta.run.params
	if in.imm >= uint64(len(b)) || uint64(len(b))-in.imm < in.size() {
		panic(w.accessFault(FaultIllegal, in, in.imm, first(m), fmt.Sprintf("the kernel has %d bytes of parameters", len(b))))
	}
	fill(col[D](w, in.d), D(*(*M)(unsafe.Pointer(&b[in.imm]))), m)
}

// loadOne loads an element of 1<<lg bytes and sign-extends it if signed is set.
//
//go:norace
//go:nocheckptr
func loadOne(p unsafe.Pointer, lg uint, signed, sync bool) uint64 {
	if sync {
		switch lg {
		case 2:
			v := atomic.LoadUint32((*uint32)(p))
			if signed {
				return uint64(int32(v))
			}
			return uint64(v)
		case 3:
			return atomic.LoadUint64((*uint64)(p))
		}
	}
	switch {
	case lg == 0 && signed:
		return uint64(*(*int8)(p))
	case lg == 0:
		return uint64(*(*uint8)(p))
	case lg == 1 && signed:
		return uint64(*(*int16)(p))
	case lg == 1:
		return uint64(*(*uint16)(p))
	case lg == 2 && signed:
		return uint64(*(*int32)(p))
	case lg == 2:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

type vectorAccess struct {
	lg     uint // log2 of the element size
	n      int
	wide   bool // the address column is in the 64-bit bank
	signed bool
	sync   bool
	narrow bool // sign-extended elements are truncated to 16 bits
}

// loadVector returns the load for the vector and synchronising forms that have no fast path.
func loadVector(v vectorAccess) execFunc {
	return func(w *warp, in *inst, m uint32) {
		e := w.site(in)
		a := w.addresses(in, v.wide, m)
		if v.sync {
			w.synced = true
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			p := w.pointer(in, e, a[i], i)
			for k, r := range in.x.regs[:v.n] {
				x := loadOne(unsafe.Add(p, k<<v.lg), v.lg, v.signed, v.sync)
				if v.narrow {
					x &= 0xffff
				}
				if in.x.wide[k] {
					w.r64[r][i] = x
				} else {
					w.r32[r][i] = uint32(x)
				}
			}
		}
	}
}

// execLoadVec32 and similar functions are fast paths for the most frequent vectors: elements of 32
// or 64 bits in registers of the same width.
//
//go:norace
//go:nocheckptr
func execLoadVec32(w *warp, in *inst, m uint32) {
	e := w.site(in)
	a := &w.r64[in.a]
	regs := in.x.regs
	size := in.size()
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := a[i] + in.imm
		var q unsafe.Pointer
		if off := p - e.addr; off < e.n && p&(size-1) == 0 {
			q = unsafe.Add(e.base, off)
		} else {
			q = w.reach(in, e, p, i)
		}
		for k, r := range regs {
			w.r32[r][i] = *(*uint32)(unsafe.Add(q, 4*k))
		}
	}
}

//go:norace
//go:nocheckptr
func execLoadVec64(w *warp, in *inst, m uint32) {
	e := w.site(in)
	a := &w.r64[in.a]
	regs := in.x.regs
	size := in.size()
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := a[i] + in.imm
		var q unsafe.Pointer
		if off := p - e.addr; off < e.n && p&(size-1) == 0 {
			q = unsafe.Add(e.base, off)
		} else {
			q = w.reach(in, e, p, i)
		}
		for k, r := range regs {
			w.r64[r][i] = *(*uint64)(unsafe.Add(q, 8*k))
		}
	}
}

// loadExec returns the plain load for an element type, or nil. d64 and a64 select the 64-bit bank
// for the destination and the address.
func loadExec(t ptx.Type, d64, a64 bool) execFunc {
	type key struct {
		t        ptx.Type
		d64, a64 bool
	}
	switch (key{memType(t), d64, a64}) {
	case key{ptx.U8, false, false}:
		return execLoad[uint8, uint32, uint32]
	case key{ptx.U8, false, true}:
		return execLoad[uint8, uint32, uint64]
	case key{ptx.U8, true, true}:
		return execLoad[uint8, uint64, uint64]
	case key{ptx.S8, false, false}:
		return execLoad[int8, uint32, uint32]
	case key{ptx.S8, false, true}:
		return execLoad[int8, uint32, uint64]
	case key{ptx.S8, true, true}:
		return execLoad[int8, uint64, uint64]
	case key{ptx.U16, false, false}:
		return execLoad[uint16, uint32, uint32]
	case key{ptx.U16, false, true}:
		return execLoad[uint16, uint32, uint64]
	case key{ptx.U16, true, true}:
		return execLoad[uint16, uint64, uint64]
	case key{ptx.S16, false, false}:
		return execLoad[int16, uint32, uint32]
	case key{ptx.S16, false, true}:
		return execLoad[int16, uint32, uint64]
	case key{ptx.S16, true, true}:
		return execLoad[int16, uint64, uint64]
	case key{ptx.U32, false, false}, key{ptx.S32, false, false}:
		return execLoad[uint32, uint32, uint32]
	case key{ptx.U32, false, true}, key{ptx.S32, false, true}:
		return execLoad[uint32, uint32, uint64]
	case key{ptx.U32, true, true}:
		return execLoad[uint32, uint64, uint64]
	case key{ptx.S32, true, true}:
		return execLoad[int32, uint64, uint64]
	case key{ptx.U64, true, false}:
		return execLoad[uint64, uint64, uint32]
	case key{ptx.U64, true, true}:
		return execLoad[uint64, uint64, uint64]
	}
	return nil
}

// loadReg returns the register that receives a loaded element. It also returns the register's type,
// which may be wider.
func (l *lowerer) loadReg(o ptx.Operand, t ptx.Type) (r reg, rt ptx.Type) {
	switch o := o.(type) {
	case *ptx.Sink:
		return l.newReg(classOf(t)), t
	case *ptx.Reg:
		if !o.Special {
			r, rt := l.readReg(o)
			if r.class == classPred || rt.Size() < t.Size() {
				l.bad("register %s of type .%s cannot take a .%s", o.Name, rt, t)
			}
			return r, rt
		}
	}
	l.bad("destination is not a register")
	return l.newReg(classOf(t)), t
}

func lowerLd(l *lowerer, i *ptx.Instr, f *form) {
	mf, ok := l.memory(f)
	if !ok || !l.args(i, 2, 3) { // the third operand holds a cache policy
		return
	}
	if mf.n > 1 && f.op.Has("mmio") {
		l.bad(".mmio is not allowed with vectors")
		return
	}
	t := mf.typ
	p := l.memoryPlace(i.Args[1], mf.space)
	aux := spaceCode(p.space) | log2(t.Size()*mf.n)<<accLog
	if t.Size()*mf.n > accMaxSize {
		l.bad("vector of %d bytes", t.Size()*mf.n)
		return
	}
	if t == ptx.B128 {
		l.load128(i, mf, p, aux)
		return
	}
	ops := l.elems(i.Args[0], mf.n)
	if p.base == noReg {
		l.loadParam(ops, t, p)
		return
	}
	if len(ops) == 1 && !mf.sync {
		l.loadScalar(ops[0], t, p, aux)
		return
	}
	l.loadGeneral(ops, t, p, aux, mf.sync)
}

func (l *lowerer) loadScalar(o ptx.Operand, t ptx.Type, p place, aux uint16) {
	d, rt := l.loadReg(o, t)
	exec := loadExec(t, d.class == class64, p.base.class == class64)
	if p.space == ptx.LocalSpace {
		exec = loadLocalExec(t, d.class == class64)
	}
	if exec == nil { // there is no function for a 64-bit register and a 32-bit address
		p.base = l.convert(p.base, class64)
		exec = loadExec(t, d.class == class64, true)
	}
	n := l.slot(l.emit(exec, d, p.base))
	n.in.imm, n.in.aux = p.imm, aux
	if p.space == ptx.LocalSpace {
		n.in.c = uint32(b2u64(p.base.class == class64))
	}
	if t == ptx.S8 && rt.Size() == 2 {
		l.emit(lane1(func(a uint32) uint32 { return a & 0xffff }), d, d)
	}
	if t == ptx.S16 && rt.Size() == 2 {
		l.emit(lane1(func(a uint32) uint32 { return a & 0xffff }), d, d)
	}
}

func loadLocalExec(t ptx.Type, d64 bool) execFunc {
	switch t := memType(t); {
	case t == ptx.U8 && d64:
		return execLoadLocal[uint8, uint64]
	case t == ptx.U8:
		return execLoadLocal[uint8, uint32]
	case t == ptx.S8 && d64:
		return execLoadLocal[int8, uint64]
	case t == ptx.S8:
		return execLoadLocal[int8, uint32]
	case t == ptx.U16 && d64:
		return execLoadLocal[uint16, uint64]
	case t == ptx.U16:
		return execLoadLocal[uint16, uint32]
	case t == ptx.S16 && d64:
		return execLoadLocal[int16, uint64]
	case t == ptx.S16:
		return execLoadLocal[int16, uint32]
	case t == ptx.S32 && d64:
		return execLoadLocal[int32, uint64]
	case t == ptx.U32 && d64:
		return execLoadLocal[uint32, uint64]
	case t.Size() == 4:
		return execLoadLocal[uint32, uint32]
	}
	return execLoadLocal[uint64, uint64]
}

func (l *lowerer) loadGeneral(ops []ptx.Operand, t ptx.Type, p place, aux uint16, sync bool) {
	v := vectorAccess{lg: uint(log2(t.Size())), n: len(ops), wide: p.base.class == class64, sync: sync && p.space != ptx.LocalSpace}
	v.signed = t.Kind() == ptx.KindSigned
	fast := t.Size() >= 4 && v.wide && !v.sync && p.space != ptx.LocalSpace
	n := l.slot(l.emit(nil, noReg, p.base))
	n.in.imm, n.in.aux = p.imm, aux
	if sync {
		n.in.aux |= accSync
	}
	for _, o := range ops {
		d, rt := l.loadReg(o, t)
		n.more(d, true)
		fast = fast && d.class == classOf(t)
		v.narrow = v.narrow || v.signed && rt.Size() == 2
	}
	n.in.exec = loadVector(v)
	if fast && t.Size() == 8 {
		n.in.exec = execLoadVec64
	} else if fast {
		n.in.exec = execLoadVec32
	}
}

// load128 loads a 128-bit element as a pair of 64-bit elements.
func (l *lowerer) load128(i *ptx.Instr, mf memForm, p place, aux uint16) {
	if mf.n != 1 {
		l.unsupported()
		return
	}
	d := l.reg128(i.Args[0])
	if p.base == noReg {
		for k, r := range d {
			n := l.emit(execLoadParam[uint64, uint64], r)
			n.in.imm = p.imm + uint64(8*k)
			n.in.aux = spaceParam | log2(8)<<accLog
		}
		return
	}
	n := l.slot(l.emit(loadVector(vectorAccess{lg: 3, n: 2, wide: p.base.class == class64, sync: mf.sync}), noReg, p.base))
	n.in.imm, n.in.aux = p.imm, aux
	n.more(d[0], true)
	n.more(d[1], true)
}

func (l *lowerer) loadParam(ops []ptx.Operand, t ptx.Type, p place) {
	for k, o := range ops {
		d, rt := l.loadReg(o, t)
		wide := d.class == class64
		var exec execFunc
		switch t := memType(t); {
		case t == ptx.U8 && wide:
			exec = execLoadParam[uint8, uint64]
		case t == ptx.U8:
			exec = execLoadParam[uint8, uint32]
		case t == ptx.S8 && wide:
			exec = execLoadParam[int8, uint64]
		case t == ptx.S8:
			exec = execLoadParam[int8, uint32]
		case t == ptx.U16 && wide:
			exec = execLoadParam[uint16, uint64]
		case t == ptx.U16:
			exec = execLoadParam[uint16, uint32]
		case t == ptx.S16 && wide:
			exec = execLoadParam[int16, uint64]
		case t == ptx.S16:
			exec = execLoadParam[int16, uint32]
		case t == ptx.S32 && wide:
			exec = execLoadParam[int32, uint64]
		case t == ptx.U32 && wide:
			exec = execLoadParam[uint32, uint64]
		case t.Size() == 4:
			exec = execLoadParam[uint32, uint32]
		default:
			exec = execLoadParam[uint64, uint64]
		}
		n := l.emit(exec, d)
		n.in.imm = p.imm + uint64(k*t.Size())
		n.in.aux = spaceParam | log2(t.Size())<<accLog
		if t.Kind() == ptx.KindSigned && rt.Size() == 2 {
			l.emit(lane1(func(a uint32) uint32 { return a & 0xffff }), d, d)
		}
	}
}

// lowerNothing lowers cache hints, which have no effect in the emulator.
func lowerNothing(l *lowerer, i *ptx.Instr, f *form) {
	if f.op.Name == "createpolicy" && len(i.Args) > 0 {
		l.emit(execMov[uint64], l.dst(i.Args[0], ptx.B64), l.constant(class64, 0))
	}
}
