package vm

import (
	"cmp"
	"math/bits"
	"strings"
	"time"

	"github.com/purecuda/cuda/ptx"
	"sync"
)

func (l *lowerer) special(o *ptx.Reg) (reg, ptx.Type) {
	exec, t := specialRegister(strings.TrimPrefix(o.Name, "%"), o.Sel)
	if exec == nil {
		l.fail(CompileUnsupported, "special register %s is not supported by the emulator", specialName(o))
		return l.newReg(class32), ptx.B32
	}
	if strings.HasPrefix(o.Name, "%reserved_smem") {
		l.b.prog.reserve = true
	}
	r := l.newReg(classOf(t))
	l.emit(exec, r)
	return r, t
}

func specialName(o *ptx.Reg) string {
	if o.Sel != "" {
		return o.Name + "." + o.Sel
	}
	return o.Name
}

// component returns the component of d that sel names. If sel is empty, it returns x. For w, it
// returns 0.
func component(d Dim3, sel string) uint32 {
	switch sel {
	case "y":
		return d.Y
	case "z":
		return d.Z
	case "w":
		return 0
	}
	return d.X
}

func uniform(f func(w *warp) uint32) execFunc {
	return func(w *warp, in *inst, m uint32) { fill(&w.r32[in.d], f(w), m) }
}

func uniform64(f func(w *warp) uint64) execFunc {
	return func(w *warp, in *inst, m uint32) { fill(&w.r64[in.d], f(w), m) }
}

func perLane(f func(i uint32) uint32) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d := &w.r32[in.d]
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(uint32(i))
		}
	}
}

// specialRegister returns the instruction that reads a special register and the register's type. It
// returns nil for an unknown name.
func specialRegister(name, sel string) (execFunc, ptx.Type) {
	switch name {
	case "tid":
		return readTid(sel), ptx.U32
	case "ntid":
		return uniform(func(w *warp) uint32 { return component(w.cta.run.opts.Block, sel) }), ptx.U32
	case "ctaid":
		return uniform(func(w *warp) uint32 { return component(w.cta.id, sel) }), ptx.U32
	case "nctaid":
		return uniform(func(w *warp) uint32 { return component(w.cta.run.opts.Grid, sel) }), ptx.U32
	case "laneid":
		return perLane(func(i uint32) uint32 { return i }), ptx.U32
	case "warpid":
		return uniform(func(w *warp) uint32 { return uint32(w.id) }), ptx.U32
	case "nwarpid":
		return uniform(func(w *warp) uint32 { return uint32(cmp.Or(w.cta.run.opts.Device.WarpsPerSM, 64)) }), ptx.U32
	case "smid":
		return uniform(func(w *warp) uint32 { return w.cta.sm() }), ptx.U32
	case "nsmid":
		return uniform(func(w *warp) uint32 { return uint32(max(w.cta.run.opts.Device.SMs, 1)) }), ptx.U32
	case "lanemask_eq":
		return perLane(func(i uint32) uint32 { return 1 << i }), ptx.U32
	case "lanemask_lt":
		return perLane(func(i uint32) uint32 { return 1<<i - 1 }), ptx.U32
	case "lanemask_le":
		return perLane(func(i uint32) uint32 { return 2<<i - 1 }), ptx.U32
	case "lanemask_gt":
		return perLane(func(i uint32) uint32 { return ^(2<<i - 1) }), ptx.U32
	case "lanemask_ge":
		return perLane(func(i uint32) uint32 { return ^(1<<i - 1) }), ptx.U32
	case "gridid":
		return uniform64(func(w *warp) uint64 { return w.cta.run.opts.Device.GridID }), ptx.U64
	case "current_graph_exec":
		return uniform64(func(w *warp) uint64 { return w.cta.run.opts.Device.GraphExec }), ptx.U64
	case "clock":
		return uniform(func(w *warp) uint32 { return uint32(w.clock()) }), ptx.U32
	case "clock_hi":
		return uniform(func(w *warp) uint32 { return uint32(w.clock() >> 32) }), ptx.U32
	case "clock64":
		return uniform64((*warp).clock), ptx.U64
	case "globaltimer":
		return uniform64(func(w *warp) uint64 { return globalTimer() }), ptx.U64
	case "globaltimer_lo":
		return uniform(func(w *warp) uint32 { return uint32(globalTimer()) }), ptx.U32
	case "globaltimer_hi":
		return uniform(func(w *warp) uint32 { return uint32(globalTimer() >> 32) }), ptx.U32
	case "dynamic_smem_size":
		return uniform(func(w *warp) uint32 { return w.cta.run.opts.DynamicShared }), ptx.U32
	case "total_smem_size": // the size, rounded up to the allocation unit
		return uniform(func(w *warp) uint32 { return alignUp(uint32(w.cta.run.sharedBytes()), sharedUnit) }), ptx.U32
	case "aggr_smem_size":
		return uniform(func(w *warp) uint32 { return uint32(w.cta.run.sharedBytes()) + w.cta.run.reservedShared() }), ptx.U32
	}
	if t := counterType(name); t != ptx.NoType {
		return noCounter(t), t
	}
	return clusterRegister(name, sel)
}

// counterType returns the type of a counter named %pm0 to %pm7 or %pm0_64 to %pm7_64. The emulator
// does not count, because only a profiler would start these counters.
func counterType(name string) ptx.Type {
	n, wide := strings.CutSuffix(name, "_64")
	switch {
	case len(n) != 3 || n[:2] != "pm" || n[2] < '0' || n[2] > '7':
		return ptx.NoType
	case wide:
		return ptx.U64
	}
	return ptx.U32
}

func noCounter(t ptx.Type) execFunc {
	if t == ptx.U64 {
		return uniform64(func(*warp) uint64 { return 0 })
	}
	return uniform(func(*warp) uint32 { return 0 })
}

// clusterRegister returns the instruction that reads a cluster register, and the register's type.
// In a launch without clusters, each CTA is a cluster of its own.
func clusterRegister(name, sel string) (execFunc, ptx.Type) {
	var f func(w *warp) uint32
	switch name {
	case "is_explicit_cluster":
		return func(w *warp, in *inst, m uint32) {
			setPred(&w.pr[in.d], m, w.cta.run.opts.Cluster.Count() != 0)
		}, ptx.Pred
	case "clusterid":
		f = func(w *warp) uint32 { return component(over(w.cta.id, w.cluster()), sel) }
	case "nclusterid":
		f = func(w *warp) uint32 { return component(over(w.cta.run.opts.Grid, w.cluster()), sel) }
	case "cluster_ctaid":
		f = func(w *warp) uint32 { return component(w.clusterCTA(), sel) }
	case "cluster_nctaid":
		f = func(w *warp) uint32 { return component(w.cluster(), sel) }
	case "cluster_ctarank":
		f = func(w *warp) uint32 {
			c, n := w.clusterCTA(), w.cluster()
			return c.X + n.X*(c.Y+n.Y*c.Z)
		}
	case "cluster_nctarank":
		f = func(w *warp) uint32 { return uint32(w.cluster().Count()) }
	default:
		if f = reservedRegister(name); f != nil {
			break
		}
		if !strings.HasPrefix(name, "envreg") {
			return nil, ptx.NoType
		}
		f = envreg(name)
	}
	return uniform(f), ptx.U32
}

func (w *warp) cluster() Dim3 {
	if c := w.cta.run.opts.Cluster; c.Count() != 0 {
		return c
	}
	return Dim3{1, 1, 1}
}

func (w *warp) clusterCTA() Dim3 {
	i, c := w.cta.id, w.cluster()
	return Dim3{i.X % c.X, i.Y % c.Y, i.Z % c.Z}
}

func over(a, b Dim3) Dim3 { return Dim3{a.X / b.X, a.Y / b.Y, a.Z / b.Z} }

func readTid(sel string) execFunc {
	k := strings.Index("xyz", sel)
	if sel == "w" {
		return uniform(func(w *warp) uint32 { return 0 })
	}
	k = max(k, 0)
	return func(w *warp, in *inst, m uint32) {
		d, t := &w.r32[in.d], &w.tid[k]
		if m == full {
			*d = *t
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = t[i]
		}
	}
}

// sm returns the number of the multiprocessor on which the CTA would run.
func (c *cta) sm() uint32 {
	g := c.run.opts.Grid
	i := uint64(c.id.X) + uint64(g.X)*(uint64(c.id.Y)+uint64(g.Y)*uint64(c.id.Z))
	return uint32(i % uint64(max(c.run.opts.Device.SMs, 1)))
}

var started = time.Now()

// clock returns the time in cycles of the device's clock. Two reads by the same warp return
// different values.
func (w *warp) clock() uint64 {
	khz := w.cta.run.opts.Device.ClockKHz
	if khz <= 0 {
		khz = 1_000_000
	}
	hi, lo := bits.Mul64(uint64(time.Since(started)), uint64(khz))
	t, _ := bits.Div64(hi, lo, 1_000_000)
	w.lastClock = max(t, w.lastClock+1)
	w.synced = true // code that reads the clock may be waiting for time to pass
	return w.lastClock
}

func globalTimer() uint64 { return uint64(time.Now().UnixNano()) }

// Reserved shared memory: 1 KiB of each block that belongs to system software, such as cooperative
// groups that span several warps. If a kernel reads the address of this reserved part, the part
// follows the kernel's own shared memory. Other kernels have no reserved part.

const (
	reservedBytes = 1024
	reservedUsed  = 0x120 // bytes that system software uses on an H200 with driver 580
	sharedUnit    = 128
)

// reservedStart returns the offset of the reserved part of shared memory. used is the number of bytes
// that the block itself uses.
func reservedStart(used int) int { return (used + 15) &^ 15 }

// reservedRegister returns a function that reads a %reserved_smem register, or nil if name is not
// such a register.
func reservedRegister(name string) func(w *warp) uint32 {
	offset := map[string]uint32{
		"reserved_smem_offset_begin": 0, "reserved_smem_offset_end": reservedUsed,
		"reserved_smem_offset_0": 0, "reserved_smem_offset_1": 0,
	}
	if name == "reserved_smem_offset_cap" {
		return func(*warp) uint32 { return reservedBytes }
	}
	add, ok := offset[name]
	if !ok {
		return nil
	}
	return func(w *warp) uint32 { return uint32(w.cta.sharedRegion.Size) - reservedBytes + add }
}

// reservedShared returns the size, in bytes, of the reserved part on the launch's device.
func (r *launchRun) reservedShared() uint32 {
	if r.opts.Device.ComputeCapability < 80 {
		return 0
	}
	return reservedBytes
}

// gridWorkspace returns the address of the workspace of a cooperative launch, or 0 for another
// launch. The second word counts arrivals at the grid's barrier. Kernels find the address in two
// special registers.
func (r *launchRun) gridWorkspace() uint64 {
	if !r.opts.Cooperative {
		return 0
	}
	r.gridOnce.Do(func() {
		at, err := r.mem.Alloc(gridWorkspaceBytes, AllocOptions{Device: r.opts.Device.Ordinal, Kind: RegionGlobal, Tag: "a cooperative launch"})
		if err == nil { // if the allocation failed, the kernel accesses address 0
			r.grid = at
		}
	})
	return r.grid
}

const gridWorkspaceBytes = 64

// freeGridWorkspace frees the workspace, because the next launch may use the same launchRun.
func (r *launchRun) freeGridWorkspace() {
	if r.grid != 0 {
		r.mem.Free(r.grid, "the end of its launch")
		r.grid, r.gridOnce = 0, sync.Once{}
	}
}

// envreg returns the environment registers. Some hold the address of the workspace. The others are
// 0.
func envreg(name string) func(w *warp) uint32 {
	switch name {
	case "envreg1":
		return func(w *warp) uint32 { return uint32(w.cta.run.gridWorkspace() >> 32) }
	case "envreg2":
		return func(w *warp) uint32 { return uint32(w.cta.run.gridWorkspace()) }
	}
	return func(w *warp) uint32 { return 0 }
}
