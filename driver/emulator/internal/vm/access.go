package vm

import (
	"fmt"
	"unsafe"
)

// How memory instructions reach memory: the check of each address, the cache of the region that was
// accessed last, and the faults. In a launch with checks nothing is cached, so every access goes
// through the slow path in this file.

// access caches the region that a memory instruction accessed last: an access at address a is
// inside if a-addr < n.
type access struct {
	addr   uint64
	n      uint64
	base   unsafe.Pointer
	region *Region
}

// deadRegion is the region of accesses that cache nothing.
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
	accWide    = 32  // the address is in the 64-bit bank
	accSync    = 64  // volatile, relaxed, acquire, release
	accMemory  = 128 // an instruction with an address in a
	accLog     = 8   // shift of log2 of the access's size
	accMaxSize = 32
)

var spaceText = [...]string{"generic", "global", "shared", "local", "const", "param", "?", "?"}

// size returns the number of bytes of an instruction's access.
func (in *inst) size() uint64 { return 1 << (in.aux >> accLog) }

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

// site returns the cache entry of a memory instruction.
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

// reach finds the memory at address p for an access of lane i outside the cached region, or faults.
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

// reachIn is reach for a known region.
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

// reachLocal is reach for lane i's local memory.
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

// mayAccess reports whether the launch's device can access the region.
func (r *launchRun) mayAccess(g *Region) bool {
	return g.Reach != nil || g.Device == HostDevice || g.Device == r.opts.Device.Ordinal || r.opts.Peers>>uint(g.Device)&1 != 0
}

// lookup finds the live region at p. It first searches the regions found most recently.
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
