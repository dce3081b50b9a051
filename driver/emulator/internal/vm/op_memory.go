package vm

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// Loads and stores.

func init() {
	register(lowerLd, "ld", "ldu")
	register(lowerSt, "st")
	register(lowerNothing, "prefetch", "prefetchu", "applypriority", "discard", "createpolicy")
}

// access is what a memory instruction remembers of the region it touched
// last: an access at address a is inside if a-addr < n.
type access struct {
	addr   uint64
	n      uint64
	base   unsafe.Pointer
	region *Region
}

// deadRegion is in the accesses that remember nothing.
var deadRegion = func() *Region {
	r := new(Region)
	r.dead.Store(true)
	return r
}()

// The space of an access, in inst.aux.
const (
	spaceGeneric = iota
	spaceGlobal
	spaceShared
	spaceLocal
	spaceConst
	spaceParam
	spaceMask  = 7
	accWrite   = 8
	accAtomic  = 16
	accLog     = 8 // shift of log2 of the access's size
	accMaxSize = 32
)

var spaceText = [...]string{"generic", "global", "shared", "local", "const", "param", "?", "?"}

// memWord are the types that memory holds.
type memWord interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64
}

// size is the number of bytes of an instruction's access.
func (in *inst) size() uint64 { return 1 << (in.aux >> accLog) }

// execLoad loads elements of type M into a column of type D from addresses in
// a column of type A.
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

// execStore stores a column of type D (in b) as elements of type M.
//
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

// pointer returns the memory at p for lane i, checked.
//
//go:norace
//go:nocheckptr
func (w *warp) pointer(in *inst, e *access, p uint64, i int) unsafe.Pointer {
	if off := p - e.addr; off < e.n && p&(in.size()-1) == 0 {
		return unsafe.Add(e.base, off)
	}
	return w.reach(in, e, p, i)
}

// site is the cache entry of a memory instruction.
func (w *warp) site(in *inst) *access {
	e := &w.cache[in.slot]
	if e.region.dead.Load() {
		e.n = 0
	}
	return e
}

// addresses computes the addresses of an instruction's access into w.addr.
//
//go:norace
func (w *warp) addresses(in *inst, wide bool, m uint32) *col64 {
	if wide {
		a := &w.r64[in.a]
		for i := range w.addr {
			w.addr[i] = a[i] + in.imm
		}
		return &w.addr
	}
	a := &w.r32[in.a]
	for i := range w.addr {
		w.addr[i] = uint64(a[i]) + in.imm
	}
	return &w.addr
}

// reach finds the memory at address p for an access of lane i that is not in
// the region accessed last, or faults.
func (w *warp) reach(in *inst, e *access, p uint64, i int) unsafe.Pointer {
	size := in.size()
	if p&(size-1) != 0 {
		panic(w.accessFault(FaultMisaligned, in, p, i, fmt.Sprintf("%#x is not a multiple of %d", p, size)))
	}
	space := in.aux & spaceMask
	if space == spaceGeneric {
		switch p & windowMask {
		case sharedWindow:
			space = spaceShared
			return w.reachIn(in, e, w.cta.sharedRegion, p, i)
		case localWindow:
			return w.reachLocal(in, p-localWindow, i)
		case paramWindow:
			return w.reachIn(in, e, &w.cta.run.paramRegion, p, i)
		}
		return w.reachGlobal(in, e, p, i)
	}
	switch space {
	case spaceShared:
		r := w.cta.sharedRegion
		if p >= r.Size || r.Size-p < size {
			panic(w.accessFault(FaultIllegal, in, p, i, fmt.Sprintf("the block has %d bytes of shared memory", r.Size)))
		}
		*e = access{0, r.Size - size + 1, r.base, r}
		return unsafe.Add(r.base, p)
	case spaceLocal:
		return w.reachLocal(in, p, i)
	case spaceParam:
		return w.reachIn(in, e, &w.cta.run.paramRegion, p, i)
	}
	return w.reachGlobal(in, e, p, i)
}

// reachIn is reach for a region that is known.
func (w *warp) reachIn(in *inst, e *access, r *Region, p uint64, i int) unsafe.Pointer {
	size := in.size()
	off := p - r.Addr
	if off >= r.Size || r.Size-off < size {
		panic(w.accessFault(FaultIllegal, in, p, i, "beyond the end of "+describe(r.Addr, r.Size, r.Tag)))
	}
	if r.ReadOnly && in.aux&accWrite != 0 {
		panic(w.accessFault(FaultSpace, in, p, i, describe(r.Addr, r.Size, r.Tag)+" is read-only"))
	}
	*e = access{r.Addr, r.Size - size + 1, r.base, r}
	return unsafe.Add(r.base, off)
}

// reachLocal is reach for lane i's local memory.
func (w *warp) reachLocal(in *inst, off uint64, i int) unsafe.Pointer {
	size := in.size()
	if off >= uint64(w.localN) || uint64(w.localN)-off < size {
		panic(w.accessFault(FaultIllegal, in, off, i, fmt.Sprintf("the thread has %d bytes of local memory", w.localN)))
	}
	return unsafe.Pointer(&w.local[uint64(i)*uint64(w.localN)+off])
}

// reachGlobal is reach for device and host memory.
func (w *warp) reachGlobal(in *inst, e *access, p uint64, i int) unsafe.Pointer {
	size := in.size()
	r := w.cta.lookup(p)
	if r == nil {
		kind := FaultIllegal
		if w.cta.run.mem.wasFreed(p) {
			kind = FaultUseAfterFree
		}
		panic(w.accessFault(kind, in, p, i, w.cta.run.mem.Nearest(p)))
	}
	off := p - r.Addr
	switch {
	case r.Size-off < size:
		panic(w.accessFault(FaultIllegal, in, p, i, w.cta.run.mem.Nearest(p)))
	case r.ReadOnly && in.aux&accWrite != 0:
		panic(w.accessFault(FaultSpace, in, p, i, describe(r.Addr, r.Size, r.Tag)+" is read-only"))
	case !w.cta.run.mayAccess(r):
		panic(w.accessFault(FaultIllegal, in, p, i, fmt.Sprintf("%s belongs to device %d, and peer access is not enabled", describe(r.Addr, r.Size, r.Tag), r.Device)))
	}
	*e = access{r.Addr, r.Size - size + 1, r.base, r}
	return unsafe.Add(r.base, off)
}

// mayAccess reports whether the launch's device can reach the region.
func (r *launchRun) mayAccess(g *Region) bool {
	return g.Device == HostDevice || g.Device == r.opts.Device.Ordinal || r.opts.Peers>>uint(g.Device)&1 != 0
}

// lookup finds the live region at p, first among those found last.
func (c *cta) lookup(p uint64) *Region {
	for _, r := range c.recent {
		if r != nil && p-r.Addr < r.Size && !r.dead.Load() {
			return r
		}
	}
	r := c.run.mem.find(p)
	if r != nil && p-r.Addr < r.Size {
		copy(c.recent[1:], c.recent[:])
		c.recent[0] = r
		return r
	}
	return nil
}

// execLoadLocal and execStoreLocal access each lane's own memory.
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

func (w *warp) localPointer(in *inst, off uint64, i int) unsafe.Pointer {
	size := in.size()
	if off < uint64(w.localN) && uint64(w.localN)-off >= size && off&(size-1) == 0 {
		return unsafe.Pointer(&w.local[uint64(i)*uint64(w.localN)+off])
	}
	if off&(size-1) != 0 {
		panic(w.accessFault(FaultMisaligned, in, off, i, fmt.Sprintf("%#x is not a multiple of %d", off, size)))
	}
	return w.reachLocal(in, off, i)
}

// execLoadParam loads a kernel parameter, the same for all lanes.
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

// loadOne loads an element of log2 size lg, sign-extended if signed.
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

// vector describes a vector or synchronising access, in extra.
type vectorAccess struct {
	lg     uint // log2 of an element's size
	n      int
	wide   bool // the address column is in the 64-bit bank
	signed bool
	sync   bool
	narrow bool // sign-extended elements are cut to 16 bits
}

// loadVector makes the general load: vectors and synchronising forms.
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

// storeVector makes the general store.
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

// execLoadVec4 loads .v4 elements of 32 bits, the vector that is used most.
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

// cacheMods are modifiers of loads and stores that are hints only.
func cacheMod(m string) bool {
	switch m {
	case "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak":
		return true
	}
	for _, p := range []string{"L1::", "L2::", "level::"} {
		if len(m) > len(p) && m[:len(p)] == p {
			return true
		}
	}
	return false
}

// memForm is a memory instruction's form.
type memForm struct {
	typ   ptx.Type
	n     int // elements
	space ptx.Space
	sync  bool
}

// memory checks the modifiers of a load or store.
func (l *lowerer) memory(f *form) (mf memForm, ok bool) {
	for _, r := range f.rest {
		if r == "shared::cluster" {
			l.unsupported()
			return mf, false
		}
		if !cacheMod(r) {
			l.bad("modifier .%s is not known", r)
			return mf, false
		}
	}
	mf = memForm{typ: f.typ(), n: max(f.vec, 1), space: f.space}
	mf.sync = f.sem != "" && f.sem != "weak"
	if f.flags&^flagNC != 0 || len(f.types) != 1 || mf.typ == ptx.Pred {
		l.bad("form is not known")
		return mf, false
	}
	return mf, true
}

// place is where a memory operand points: a column and an offset.
type place struct {
	space ptx.Space
	base  reg // noReg for a kernel parameter
	imm   uint64
}

// place resolves a memory operand.
func (l *lowerer) memoryPlace(o ptx.Operand, space ptx.Space) place {
	switch o := o.(type) {
	case *ptx.Elem:
		return l.elemPlace(o, space)
	case *ptx.Sym:
		return l.symPlace(o.Name, o.Offset, space)
	case *ptx.Addr:
		if len(o.Rest) != 0 {
			l.unsupported()
		}
		switch b := o.Base.(type) {
		case nil:
			return place{space, l.constant(class64, uint64(o.Offset)), 0}
		case *ptx.Sym:
			return l.symPlace(b.Name, b.Offset+o.Offset, space)
		case *ptx.Reg:
			if space == ptx.ParamSpace && !l.fn.Entry {
				space = ptx.LocalSpace // where functions have their parameters
			}
			l.looseWidth = true
			r, _ := l.readReg(b)
			if r.class == classPred {
				l.bad("address is a predicate")
			}
			if r.class == class32 && space == ptx.GenericSpace {
				r = l.convert(r, class64)
			}
			return place{space, r, uint64(o.Offset)}
		case *ptx.Imm:
			return place{space, l.constant(class64, b.Bits+uint64(o.Offset)), 0}
		case *ptx.Elem:
			p := l.elemPlace(b, space)
			p.imm += uint64(o.Offset)
			return p
		}
	}
	l.bad("operand is not a memory operand")
	return place{space, l.constant(class64, 0), 0}
}

// elemPlace is the place of an array element.
func (l *lowerer) elemPlace(o *ptx.Elem, space ptx.Space) place {
	v := l.lookupVar(o.Name)
	if v == nil {
		l.unresolved(o.Name)
		return place{space, l.constant(class64, 0), 0}
	}
	size := int64(v.v.Type.Size() * max(v.v.Vector, 1))
	p := l.symPlace(o.Name, o.Offset*size, space)
	if o.Index == nil {
		return p
	}
	l.looseWidth = true
	idx := l.convert(l.src(o.Index, ptx.U32), class64)
	at := l.newReg(class64)
	base := p.base
	if base == noReg {
		base = l.constant(class64, paramWindow+p.imm)
		p.imm = 0
	}
	l.emit(execMadLo[uint64], at, idx, l.constant(class64, uint64(size)), base)
	p.base = at
	return p
}

// symPlace is the place of a variable.
func (l *lowerer) symPlace(name string, offset int64, space ptx.Space) place {
	v := l.lookupVar(name)
	if v == nil {
		r := l.symbol(name, offset) // reports what is wrong
		return place{space, r, 0}
	}
	if v.kernel {
		return place{ptx.ParamSpace, noReg, uint64(v.offset) + uint64(offset)}
	}
	s := v.space
	if s == ptx.ParamSpace {
		s = ptx.LocalSpace
	}
	if space == ptx.GenericSpace && s != ptx.GlobalSpace && s != ptx.ConstSpace {
		space = s // [var] without a space is an access in var's own
	}
	if space == ptx.ParamSpace {
		space = ptx.LocalSpace
	}
	if space != s && !(space == ptx.GenericSpace || s == ptx.ConstSpace && space == ptx.GlobalSpace) {
		l.bad("variable %s is not in space .%s", name, space)
	}
	return place{space, l.symbol(name, offset), 0}
}

// spaceCode is the number of a space in inst.aux.
func spaceCode(s ptx.Space) uint16 {
	switch s {
	case ptx.GlobalSpace:
		return spaceGlobal
	case ptx.SharedSpace:
		return spaceShared
	case ptx.LocalSpace:
		return spaceLocal
	case ptx.ConstSpace:
		return spaceConst
	}
	return spaceGeneric
}

func log2(n int) uint16 { return uint16(bits.TrailingZeros(uint(n))) }

// loads is the table of plain loads: by element type, bank of the
// destination, bank of the address.
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

// memType is the integer type with a type's size and sign.
func memType(t ptx.Type) ptx.Type {
	signed := t.Kind() == ptx.KindSigned
	switch t.Size() {
	case 1:
		if signed {
			return ptx.S8
		}
		return ptx.U8
	case 2:
		if signed {
			return ptx.S16
		}
		return ptx.U16
	case 4:
		if signed {
			return ptx.S32
		}
		return ptx.U32
	}
	return ptx.U64
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

// elems are the operands of a vector access, or the single one. n128 says
// that elements have 128 bits, which are two of 64.
func (l *lowerer) elems(o ptx.Operand, n int) []ptx.Operand {
	if v, ok := o.(*ptx.Vec); ok {
		if len(v.Elems) != n {
			l.bad("vector of %d elements, want %d", len(v.Elems), n)
		}
		return v.Elems
	}
	if n == 1 {
		return []ptx.Operand{o}
	}
	r, ok := o.(*ptx.Reg) // a vector register
	if !ok {
		l.bad("operand is not a vector")
		return nil
	}
	var out []ptx.Operand
	for k := range n {
		c := *r
		c.Sel = "xyzw"[k : k+1]
		out = append(out, &c)
	}
	return out
}

// loadReg is the register that a loaded element goes to, of whatever width.
func (l *lowerer) loadReg(o ptx.Operand, t ptx.Type) (r reg, rt ptx.Type) {
	switch o := o.(type) {
	case *ptx.Sink:
		return l.newReg(classOf(t)), t
	case *ptx.Reg:
		if !o.Special {
			r, rt := l.readReg(o)
			if r.class == classPred || rt.Size() < t.Size() {
				l.bad("register %s of type .%s can not take a .%s", o.Name, rt, t)
			}
			return r, rt
		}
	}
	l.bad("destination is not a register")
	return l.newReg(classOf(t)), t
}

func lowerLd(l *lowerer, i *ptx.Instr, f *form) {
	mf, ok := l.memory(f)
	if !ok || !l.args(i, 2, 3) { // a third operand is a cache policy
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

// loadScalar emits the load of one element.
func (l *lowerer) loadScalar(o ptx.Operand, t ptx.Type, p place, aux uint16) {
	d, rt := l.loadReg(o, t)
	exec := loadExec(t, d.class == class64, p.base.class == class64)
	if p.space == ptx.LocalSpace {
		exec = loadLocalExec(t, d.class == class64)
	}
	if exec == nil { // a 64-bit register and a 32-bit address
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

// loadGeneral emits vector and synchronising loads.
func (l *lowerer) loadGeneral(ops []ptx.Operand, t ptx.Type, p place, aux uint16, sync bool) {
	v := vectorAccess{lg: uint(log2(t.Size())), n: len(ops), wide: p.base.class == class64, sync: sync && p.space != ptx.LocalSpace}
	v.signed = t.Kind() == ptx.KindSigned
	fast := t.Size() == 4 && v.wide && !v.sync && p.space != ptx.LocalSpace
	n := l.slot(l.emit(nil, noReg, p.base))
	n.in.imm, n.in.aux = p.imm, aux
	for _, o := range ops {
		d, rt := l.loadReg(o, t)
		n.more(d, true)
		fast = fast && d.class == class32
		v.narrow = v.narrow || v.signed && rt.Size() == 2
	}
	n.in.exec = loadVector(v)
	if fast {
		n.in.exec = execLoadVec32
	}
}

// load128 loads 128-bit elements as pairs.
func (l *lowerer) load128(i *ptx.Instr, mf memForm, p place, aux uint16) {
	if p.base == noReg || mf.n != 1 {
		l.unsupported()
		return
	}
	d := l.reg128(i.Args[0])
	n := l.slot(l.emit(loadVector(vectorAccess{lg: 3, n: 2, wide: p.base.class == class64, sync: mf.sync}), noReg, p.base))
	n.in.imm, n.in.aux = p.imm, aux
	n.more(d[0], true)
	n.more(d[1], true)
}

// loadParam emits loads of kernel parameters.
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

func lowerSt(l *lowerer, i *ptx.Instr, f *form) {
	mf, ok := l.memory(f)
	if !ok || !l.args(i, 2, 3) {
		return
	}
	t := mf.typ
	p := l.memoryPlace(i.Args[0], mf.space)
	if p.base == noReg {
		l.bad("kernel parameters can not be written")
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
	if t.Size() == 4 && v.wide && !v.sync && p.space != ptx.LocalSpace {
		exec = execStoreVec32
	}
	n := l.slot(l.emit(exec, noReg, p.base))
	n.in.imm, n.in.aux = p.imm, aux
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

// lowerNothing lowers hints to the caches, which there are none of.
func lowerNothing(l *lowerer, i *ptx.Instr, f *form) {
	if f.op.Name == "createpolicy" && len(i.Args) > 0 {
		l.emit(execMov[uint64], l.dst(i.Args[0], ptx.B64), l.constant(class64, 0))
	}
}
