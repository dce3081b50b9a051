package vm

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

//go:norace
//go:nocheckptr
func execStore[M uint8 | uint16 | uint32 | uint64, D uint32 | uint64, A uint32 | uint64](w *warp, in *inst, m uint32) {
	a, b := col[A](w, in.a), col[D](w, in.b)
	e := &w.cache[in.slot]
	if e.region.dead.Load() {
		e.n = 0
	}
	var t M
	mask := uint64(unsafe.Sizeof(t)) - 1
	addr, n, base, imm := e.addr, e.n, e.base, in.imm
	if m == full {
		for i := range b {
			p := uint64(a[i]) + imm
			if off := p - addr; off < n && p&mask == 0 {
				*(*M)(unsafe.Add(base, off)) = M(b[i])
				continue
			}
			*(*M)(w.reach(in, e, p, i)) = M(b[i])
			addr, n, base = e.addr, e.n, e.base
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := uint64(a[i]) + imm
		if off := p - addr; off < n && p&mask == 0 {
			*(*M)(unsafe.Add(base, off)) = M(b[i])
			continue
		}
		*(*M)(w.reach(in, e, p, i)) = M(b[i])
		addr, n, base = e.addr, e.n, e.base
	}
}

//go:norace
//go:nocheckptr
func execStoreLocal[M uint8 | uint16 | uint32 | uint64, D uint32 | uint64](w *warp, in *inst, m uint32) {
	b := col[D](w, in.b)
	a := w.addresses(in, in.c != 0, m)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		*(*M)(w.localPointer(in, a[i], i)) = M(b[i])
	}
}

//go:norace
//go:nocheckptr
func storeOne(p unsafe.Pointer, lg uint, v uint64, sync bool) {
	if sync {
		switch lg {
		case 2:
			atomic.StoreUint32((*uint32)(p), uint32(v))
			return
		case 3:
			atomic.StoreUint64((*uint64)(p), v)
			return
		}
	}
	switch lg {
	case 0:
		*(*uint8)(p) = uint8(v)
	case 1:
		*(*uint16)(p) = uint16(v)
	case 2:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}

// storeVector returns the store for the vector and synchronising forms that have no fast path.
func storeVector(v vectorAccess) execFunc {
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
				var x uint64
				if in.x.wide[k] {
					x = w.r64[r][i]
				} else {
					x = uint64(w.r32[r][i])
				}
				storeOne(unsafe.Add(p, k<<v.lg), v.lg, x, v.sync)
			}
		}
	}
}

//go:norace
//go:nocheckptr
func execStoreVec32(w *warp, in *inst, m uint32) {
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
			*(*uint32)(unsafe.Add(q, 4*k)) = w.r32[r][i]
		}
	}
}

//go:norace
//go:nocheckptr
func execStoreVec64(w *warp, in *inst, m uint32) {
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
			*(*uint64)(unsafe.Add(q, 8*k)) = w.r64[r][i]
		}
	}
}

func storeExec(t ptx.Type, d64, a64 bool) execFunc {
	switch {
	case t.Size() == 1 && !d64 && a64:
		return execStore[uint8, uint32, uint64]
	case t.Size() == 1 && !d64:
		return execStore[uint8, uint32, uint32]
	case t.Size() == 2 && !d64 && a64:
		return execStore[uint16, uint32, uint64]
	case t.Size() == 2 && !d64:
		return execStore[uint16, uint32, uint32]
	case t.Size() == 4 && !d64 && a64:
		return execStore[uint32, uint32, uint64]
	case t.Size() == 4 && !d64:
		return execStore[uint32, uint32, uint32]
	case t.Size() == 8 && a64:
		return execStore[uint64, uint64, uint64]
	case t.Size() == 8:
		return execStore[uint64, uint64, uint32]
	}
	return nil
}

func lowerSt(l *lowerer, i *ptx.Instr, f *form) {
	if slices.Contains(f.rest, "async") {
		lowerStAsync(l, i, f)
		return
	}
	mf, ok := l.memory(f)
	if !ok || !l.args(i, 2, 3) {
		return
	}
	if mf.n > 1 && f.op.Has("mmio") {
		l.bad(".mmio is not allowed with vectors")
		return
	}
	t := mf.typ
	p := l.memoryPlace(i.Args[0], mf.space)
	if p.base == noReg {
		l.bad("kernel parameters cannot be written")
		return
	}
	if t.Size()*mf.n > accMaxSize {
		l.bad("vector of %d bytes", t.Size()*mf.n)
		return
	}
	aux := spaceCode(p.space) | log2(t.Size()*mf.n)<<accLog | accWrite
	l.looseWidth = true
	if t == ptx.B128 {
		v := l.reg128(i.Args[1])
		n := l.slot(l.emit(storeVector(vectorAccess{lg: 3, n: 2, wide: p.base.class == class64, sync: mf.sync}), noReg, p.base))
		n.in.imm, n.in.aux = p.imm, aux
		n.more(v[0], false)
		n.more(v[1], false)
		return
	}
	ops := l.elems(i.Args[1], mf.n)
	if len(ops) == 1 && !mf.sync {
		v := l.src(ops[0], t)
		exec := storeExec(t, v.class == class64, p.base.class == class64)
		if p.space == ptx.LocalSpace {
			exec = storeLocalExec(t)
		}
		n := l.slot(l.emit(exec, noReg, p.base, v))
		n.in.imm, n.in.aux = p.imm, aux
		if p.space == ptx.LocalSpace {
			n.in.c = uint32(b2u64(p.base.class == class64))
		}
		return
	}
	var vals []reg
	for _, o := range ops {
		vals = append(vals, l.src(o, t))
	}
	v := vectorAccess{lg: uint(log2(t.Size())), n: len(ops), wide: p.base.class == class64, sync: mf.sync && p.space != ptx.LocalSpace}
	exec := storeVector(v)
	if t.Size() >= 4 && v.wide && !v.sync && p.space != ptx.LocalSpace {
		exec = execStoreVec32
		if t.Size() == 8 {
			exec = execStoreVec64
		}
	}
	n := l.slot(l.emit(exec, noReg, p.base))
	n.in.imm, n.in.aux = p.imm, aux
	if mf.sync {
		n.in.aux |= accSync
	}
	for _, r := range vals {
		n.more(r, false)
	}
}

func storeLocalExec(t ptx.Type) execFunc {
	switch t.Size() {
	case 1:
		return execStoreLocal[uint8, uint32]
	case 2:
		return execStoreLocal[uint16, uint32]
	case 4:
		return execStoreLocal[uint32, uint32]
	}
	return execStoreLocal[uint64, uint64]
}
