package vm

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// This file implements memory accesses by instructions: the check of each address, the cache of the
// most recently accessed region, and the faults. In a launch with checks, nothing is cached, so
// every access takes the slow path in this file.

// access caches the region that a memory instruction accessed last. The instruction may access
// address a in the region if a-addr < n.
type access struct {
	addr   uint64
	n      uint64
	base   unsafe.Pointer
	region *Region
}

var deadRegion = func() *Region {
	r := new(Region)
	r.dead.Store(true)
	return r
}()

// The memory space of an access and its flags, as stored in inst.aux.
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
	accWide    = 32  // the address column is in the 64-bit bank
	accSync    = 64  // the access is volatile, relaxed, acquire or release
	accMemory  = 128 // field a holds an address
	accLog     = 8   // shift of the field that holds log2 of the access size
	accMaxSize = 32
)

var spaceText = [...]string{"generic", "global", "shared", "local", "const", "param", "?", "?"}

// size returns the number of bytes that each lane accesses.
func (in *inst) size() uint64 { return 1 << (in.aux >> accLog) }

// pointer returns the memory at p. It panics with a fault if lane i may not access it.
//
//go:norace
//go:nocheckptr
func (w *warp) pointer(in *inst, e *access, p uint64, i int) unsafe.Pointer {
	if off := p - e.addr; off < e.n && p&(in.size()-1) == 0 {
		return unsafe.Add(e.base, off)
	}
	return w.reach(in, e, p, i)
}

// site returns the cache entry of a memory instruction. If the region has been freed, site empties
// the entry.
func (w *warp) site(in *inst) *access {
	e := &w.cache[in.slot]
	if e.region.dead.Load() {
		e.n = 0
	}
	return e
}

// addresses stores the address of every lane, active or not, in w.addr and returns &w.addr.
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

// reach returns the memory at address p, which lies outside the cached region. It panics with a
// fault if lane i may not access it.
func (w *warp) reach(in *inst, e *access, p uint64, i int) unsafe.Pointer {
	size := in.size()
	if p&(size-1) != 0 {
		panic(w.accessFault(FaultMisaligned, in, p, i, fmt.Sprintf("%#x is not a multiple of %d", p, size)))
	}
	space := in.aux & spaceMask
	if space == spaceGeneric {
		switch p & windowMask {
		case sharedWindow:
			if p >= sharedWindow+clusterBytes {
				return w.reachCluster(in, e, p-sharedWindow, sharedWindow, i)
			}
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
		if p >= clusterBytes && p>>32 == 0 {
			return w.reachCluster(in, e, p, 0, i)
		}
		if p >= r.Size || r.Size-p < size {
			panic(w.accessFault(FaultIllegal, in, p, i, fmt.Sprintf("the block has %d bytes of shared memory", r.Size)))
		}
		*e = access{0, r.Size - size + 1, r.base, r}
		if w.cta.shadow != nil {
			w.sharedAccess(in, e, p, i)
		}
		return unsafe.Add(r.base, p)
	case spaceLocal:
		return w.reachLocal(in, p, i)
	case spaceParam:
		return w.reachIn(in, e, &w.cta.run.paramRegion, p, i)
	}
	return w.reachGlobal(in, e, p, i)
}

// reachIn returns the memory at p in region r. It panics with a fault if lane i may not access it.
func (w *warp) reachIn(in *inst, e *access, r *Region, p uint64, i int) unsafe.Pointer {
	size := in.size()
	off := p - r.Addr
	if off >= r.Size || r.Size-off < size {
		panic(w.accessFault(FaultIllegal, in, p, i, "beyond the end of "+describe(r.Addr, r.Size, r.Tag)))
	}
	if r.ReadOnly && in.aux&accWrite != 0 {
		panic(w.accessFault(FaultSpace, in, p, i, r.describe()+" is read-only"))
	}
	*e = access{r.Addr, r.Size - size + 1, r.base, r}
	if w.cta.shadow != nil && r == w.cta.sharedRegion {
		w.sharedAccess(in, e, off, i)
	}
	return unsafe.Add(r.base, off)
}

func (w *warp) reachLocal(in *inst, off uint64, i int) unsafe.Pointer {
	size := in.size()
	if at := off - allocaBase; at < w.dyn.top[i] && w.dyn.top[i]-at >= size {
		return unsafe.Pointer(&w.dyn.mem[i][at])
	}
	if off >= uint64(w.localN) || uint64(w.localN)-off < size {
		panic(w.accessFault(FaultIllegal, in, off, i, fmt.Sprintf("the thread has %d bytes of local memory", w.localN)))
	}
	if w.cta.shadow != nil {
		w.localAccess(in, off, i)
	}
	return unsafe.Pointer(&w.local[uint64(i)*uint64(w.localN)+off])
}

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
		panic(w.accessFault(FaultSpace, in, p, i, r.describe()+" is read-only"))
	case r.Reach != nil && !w.cta.run.allowed(r, in.aux&accWrite != 0):
		panic(w.accessFault(FaultIllegal, in, p, i, fmt.Sprintf("device %d was not given this access to %s", w.cta.run.opts.Device.Ordinal, r.describe())))
	case !w.cta.run.mayAccess(r):
		panic(w.accessFault(FaultIllegal, in, p, i, fmt.Sprintf("%s belongs to device %d, and peer access is not enabled", r.describe(), r.Device)))
	}
	*e = access{r.Addr, r.Size - size + 1, r.base, r}
	if w.cta.shadow != nil {
		w.globalAccess(in, e, r, p, i)
	}
	return unsafe.Add(r.base, off)
}

func (r *launchRun) mayAccess(g *Region) bool {
	return g.Reach != nil || g.Device == HostDevice || g.Device == r.opts.Device.Ordinal || r.opts.Peers>>uint(g.Device)&1 != 0
}

// lookup returns the live region that contains p, or nil. It searches recently found regions first.
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

// Operands of memory instructions: forms, spaces, places and vectors.

// cacheMod reports whether a modifier of a load or store has no effect here: a cache hint, .nc or
// .weak.
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

type memForm struct {
	typ   ptx.Type
	n     int // number of elements
	space ptx.Space
	sync  bool
}

// memory returns the form of a load or store. If the form is unsupported, memory reports the error
// and returns false.
func (l *lowerer) memory(f *form) (mf memForm, ok bool) {
	for _, r := range f.rest {
		if r != "shared::cluster" && !cacheMod(r) {
			l.unsupported()
			return mf, false
		}
	}
	mf = memForm{typ: f.typ(), n: max(f.vec, 1), space: f.space}
	mf.sync = f.sem != "" && f.sem != "weak"
	if f.flags&^flagNC != 0 || len(f.types) != 1 || mf.typ == ptx.Pred {
		l.unsupported()
		return mf, false
	}
	return mf, true
}

// place is the location of a memory operand: a space, a base column and an offset in bytes.
type place struct {
	space ptx.Space
	base  reg // base address; noReg for a kernel parameter
	imm   uint64
}

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
				space = ptx.LocalSpace // a function's parameters are in local memory
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

func (l *lowerer) symPlace(name string, offset int64, space ptx.Space) place {
	v := l.lookupVar(name)
	if v == nil {
		r := l.symbol(name, offset) // symbol reports any error
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
		space = s // without a space, [var] uses var's own space
	}
	if space == ptx.ParamSpace {
		space = ptx.LocalSpace
	}
	if space != s && !(space == ptx.GenericSpace || s == ptx.ConstSpace && space == ptx.GlobalSpace) {
		l.bad("variable %s is not in space .%s", name, space)
	}
	return place{space, l.symbol(name, offset), 0}
}

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

// memType returns the integer type with the size and signedness of t.
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

// elems returns the n operands of an access: the elements of a vector, or the single operand.
func (l *lowerer) elems(o ptx.Operand, n int) []ptx.Operand {
	if v, ok := o.(*ptx.Vec); ok {
		if len(v.Elems) != n {
			l.bad("vector of %d elements, want %d", len(v.Elems), n)
			return nil
		}
		return v.Elems
	}
	if n == 1 {
		return []ptx.Operand{o}
	}
	r, ok := o.(*ptx.Reg)
	if !ok || r.Sel != "" {
		l.bad("operand is not a vector")
		return nil
	}
	if d, ok := l.lookupReg(r.Name); ok && d.vector != n {
		l.bad("register %s is not a vector of %d", r.Name, n)
		return nil
	}
	return components(r, n)
}
