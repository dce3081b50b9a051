package vm

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Kernel is a module's entry point, which can be launched.
type Kernel struct {
	name   string
	module *Module
	params []Param
	attrs  Attributes
	prog   *program
	main   *function
	// dynamicStart is the offset in shared memory at which dynamic shared memory begins.
	dynamicStart int
	build        func() // compiles the program; nil if it was compiled at load
	buildOnce    sync.Once
	maxRegs      int       // from .maxnreg; 0 if absent
	blocks       uint64    // from .minnctapersm; 0 if absent
	pool         sync.Pool // reusable *cta values
	runs         sync.Pool // reusable *launchRun values

	checkOnce sync.Once
	checkProg *program // the program with access checks
	count     [2]countedProgram
}

// Launch limits common to every device since compute capability 3.0.
const (
	maxThreads      = 1024
	maxBlockZ       = 64
	maxGridX        = 1<<31 - 1
	maxGridYZ       = 65535
	maxResident     = 256 // maximum number of live CTAs per worker
	defaultStack    = 512 << 10
	defaultHeap     = 8 << 20
	resultInvalid   = 1
	resultMemory    = 2
	resultResources = 701
)

// launchRun is the state shared by the workers of one launch.
type launchRun struct {
	kernel  *Kernel
	id      uint64 // number of the launch
	ctx     context.Context
	opts    *LaunchOptions
	mem     *Memory
	params  []byte
	threads uint32
	ctas    uint64
	units   uint64 // number of clusters, or of CTAs if there are no clusters
	shares  []*share
	joined  atomic.Int32 // number of workers started
	aborted atomic.Bool
	fault   atomic.Pointer[Fault]

	warpInsts, laneInsts atomic.Uint64

	begun      time.Time     // start time; zero unless there is a timeout
	blockBytes atomic.Uint64 // bytes of local and shared memory used by the running blocks

	fence       atomic.Uint64
	outMu       sync.Mutex
	tally       *tally     // counts of all CTAs that have ended; nil unless the launch counts
	found       [][2]int32 // instructions in findings that have already been reported
	paramRegion Region
	heapOnce    sync.Once
	ownHeap     *Heap
	gridOnce    sync.Once
	grid        uint64 // address of a cooperative launch's workspace; 0 until a kernel reads it
}

func (k *Kernel) launch(ctx context.Context, opts *LaunchOptions) error {
	k.ready()
	if err := k.check(opts); err != nil {
		return err
	}
	r := k.newRun(ctx, opts)
	r.work()
	r.freeGridWorkspace()
	if r.ownHeap != nil {
		r.ownHeap.Release()
	}
	if s := opts.Stats; s != nil {
		atomic.AddUint64(&s.WarpInstructions, r.warpInsts.Load())
		atomic.AddUint64(&s.LaneInstructions, r.laneInsts.Load())
		if r.tally != nil {
			s.Counts.Add(r.tally.counts(k.prog))
		}
	}
	if f := r.fault.Load(); f != nil {
		return f
	}
	r.release()
	return nil
}

var nextLaunch atomic.Uint64

func (k *Kernel) newRun(ctx context.Context, opts *LaunchOptions) *launchRun {
	r, _ := k.runs.Get().(*launchRun)
	if r == nil {
		r = new(launchRun)
	}
	r.kernel, r.ctx, r.opts, r.mem, r.params = k, ctx, opts, k.module.mem, opts.Params
	r.id = nextLaunch.Add(1)
	if opts.Timeout > 0 {
		r.begun = time.Now()
	}
	r.threads = uint32(opts.Block.Count())
	r.ctas = opts.Grid.Count()
	r.units = r.ctas / opts.clusterSize().Count()
	p := &r.paramRegion
	p.Addr, p.Size, p.data, p.base = paramWindow, uint64(len(opts.Params)), opts.Params, nil
	p.Device, p.ReadOnly, p.Tag = HostDevice, true, "the kernel's parameters"
	if len(opts.Params) > 0 {
		p.base = unsafe.Pointer(&opts.Params[0])
	}
	return r
}

// release returns the state to the pool. The state of a failed launch is not reused.
func (r *launchRun) release() {
	r.ctx, r.opts, r.params, r.paramRegion.data, r.paramRegion.base = nil, nil, nil, nil, nil
	r.joined.Store(0)
	r.blockBytes.Store(0)
	r.warpInsts.Store(0)
	r.laneInsts.Store(0)
	r.ownHeap, r.heapOnce = nil, sync.Once{}
	r.found = r.found[:0]
	r.tally = nil
	r.kernel.runs.Put(r)
}

// work runs the launch's CTAs on this goroutine and on helper goroutines.
func (r *launchRun) work() {
	n := r.opts.Workers
	if r.opts.Checks&accessChecks != 0 {
		n = 1 // use one worker, because findings must not depend on timing
		defer r.mem.track.forget(r)
	}
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	n = int(min(uint64(n), r.units))
	if most := r.opts.BlockMemory; most != 0 {
		n = int(min(uint64(n), max(most/max(r.kernel.blockBytes(r.opts)*r.opts.clusterSize().Count(), 1), 1)))
	}
	r.divide(n)
	if n == 1 {
		r.worker()
		return
	}
	var wg sync.WaitGroup
	for range n - 1 {
		wg.Go(r.worker)
	}
	r.worker()
	wg.Wait()
}

func (k *Kernel) check(o *LaunchOptions) error {
	bad := func(code uint32, format string, args ...any) error {
		return &LaunchError{Result: code, Msg: fmt.Sprintf("launch of "+k.name+": "+format, args...)}
	}
	g, b := o.Grid, o.Block
	switch {
	case g.X == 0 || g.Y == 0 || g.Z == 0:
		return bad(resultInvalid, "grid %v has a zero dimension", g)
	case b.X == 0 || b.Y == 0 || b.Z == 0:
		return bad(resultInvalid, "block %v has a zero dimension", b)
	case g.X > maxGridX || g.Y > maxGridYZ || g.Z > maxGridYZ:
		return bad(resultInvalid, "grid %v is larger than a device accepts", g)
	case b.X > maxThreads || b.Y > maxThreads || b.Z > maxBlockZ || b.Count() > maxThreads:
		return bad(resultInvalid, "block %v is larger than a device accepts", b)
	case k.attrs.ReqBlock != (Dim3{}) && b != k.attrs.ReqBlock:
		return bad(resultInvalid, "block %v is not the %v that .reqntid requires", b, k.attrs.ReqBlock)
	case b.Count() > uint64(k.attrs.MaxThreads):
		return bad(resultResources, "block %v has more than the %d threads of .maxntid", b, k.attrs.MaxThreads)
	case o.Checks.unimplemented() != "":
		return bad(resultNotSupported, "the check %s is not implemented", o.Checks.unimplemented())
	case g.X%o.clusterSize().X != 0 || g.Y%o.clusterSize().Y != 0 || g.Z%o.clusterSize().Z != 0:
		return bad(resultInvalid, "grid %v is not a multiple of the cluster %v", g, o.Cluster)
	case uint64(k.attrs.LocalBytes) >= max(o.StackLimit, defaultStack):
		return bad(resultInvalid, "a thread has %d bytes of local memory, the kernel declares %d", max(o.StackLimit, defaultStack), k.attrs.LocalBytes)
	case o.BlockMemory != 0 && k.blockBytes(o) > o.BlockMemory:
		return bad(resultMemory, "a block takes %d bytes of local and shared memory, of %d", k.blockBytes(o), o.BlockMemory)
	case len(o.Params) < k.attrs.ParamBytes:
		return bad(resultInvalid, "parameter block has %d bytes, the kernel takes %d", len(o.Params), k.attrs.ParamBytes)
	}
	return nil
}

// oneThread is true on platforms that do not preempt goroutines. On such a platform, a CTA that
// waits for the host or another launch must yield, or it would wait forever.
const oneThread = runtime.GOARCH == "wasm"

// worker runs CTAs until none is left. It sets a waiting CTA aside and starts others, because the
// waiting CTA may need one that has not started.
func (r *launchRun) worker() {
	var resident []*cta
	me, none := int(r.joined.Add(1))-1, false // none is set when no CTA is left to start
	limit := maxResident
	if r.opts.Cooperative {
		limit = int(min(r.ctas, 1<<30))
	}
	for i := 0; ; i++ {
		var c *cta
		if !none && len(resident) < limit && (len(resident) == 0 || r.roomForBlock()) {
			c = r.startCTA(me)
			none = c == nil
		}
		if c == nil {
			if len(resident) == 0 {
				return
			}
			i %= len(resident)
			c = resident[i]
			if !r.step(c) {
				if oneThread {
					runtime.Gosched()
				}
				continue
			}
			resident = append(resident[:i], resident[i+1:]...)
			r.retire(c)
			continue
		}
		if r.step(c) {
			r.retire(c)
		} else {
			resident = append(resident, c)
		}
	}
}

// startCTA prepares the next CTA of the grid. It returns nil if none is left to start.
func (r *launchRun) startCTA(worker int) *cta {
	if r.aborted.Load() {
		return nil
	}
	i, left := r.take(worker)
	if !left {
		return nil
	}
	i = r.permute(i)
	if r.units != r.ctas {
		return r.startCluster(i)
	}
	c := r.newCTA()
	x, y := uint64(r.opts.Grid.X), uint64(r.opts.Grid.Y)
	c.reset(Dim3{uint32(i % x), uint32(i / x % y), uint32(i / x / y)})
	return c
}

// step runs c, or all blocks in its cluster, for one turn and reports whether they have ended. A
// panic during the turn ends the launch.
func (r *launchRun) step(c *cta) (ended bool) {
	defer func() {
		if x := recover(); x != nil {
			r.failed(c, x)
			ended = true
		}
	}()
	c.endIfAsked()
	if c.cluster != nil && len(c.cluster.ctas) > 1 {
		return c.cluster.step() == stepDone
	}
	return c.step() == stepDone
}

// ended returns the reason why the launch must end, or FaultNone.
func (r *launchRun) ended() FaultKind {
	switch {
	case r.aborted.Load() || r.ctx.Err() != nil:
		return FaultAborted
	case r.opts.Timeout > 0 && time.Since(r.begun) > r.opts.Timeout:
		return FaultTimeout
	}
	return FaultNone
}

// failed records x as the launch's fault if there is none yet, and stops all workers.
func (r *launchRun) failed(c *cta, x any) {
	f, ok := x.(*Fault)
	if !ok {
		buf := make([]byte, 4096)
		buf = buf[:runtime.Stack(buf, false)]
		f = &Fault{Kind: FaultInternal, Kernel: r.kernel.name, Block: c.id, Detail: fmt.Sprintf("%v\n%s", x, buf)}
		for _, w := range c.warps {
			if w.mask != 0 {
				f.Line = int(w.lineOf(w.pc).line)
			}
		}
	}
	r.fault.CompareAndSwap(nil, f)
	r.aborted.Store(true)
}

func (r *launchRun) report(f *Fault) {
	if r.opts.Report != nil {
		r.opts.Report(f)
	}
}

// retire returns a CTA, or all CTAs in its cluster, to the kernel's pool.
func (r *launchRun) retire(c *cta) {
	if k := c.cluster; k != nil {
		for _, o := range k.ctas {
			o.cluster = nil
			r.retire(o)
		}
		return
	}
	for _, w := range c.warps {
		r.warpInsts.Add(w.count)
		r.laneInsts.Add(w.laneCount)
		w.count, w.laneCount = 0, 0
	}
	r.sum(c)
	r.blockBytes.Add(-c.bytes)
	c.run = nil
	if c.prog == r.kernel.prog {
		r.kernel.pool.Put(c)
	}
}

// newCTA reuses a CTA from the pool or creates one, and prepares it for the launch.
func (r *launchRun) newCTA() *cta {
	prog := r.kernel.prog
	var c *cta
	switch {
	case r.opts.Checks&accessChecks != 0:
		prog = r.kernel.checked()
	case !r.opts.Count:
		c, _ = r.kernel.pool.Get().(*cta)
	}
	if r.opts.Count {
		prog = r.kernel.counting(prog)
	}
	if c == nil {
		c = &cta{prog: prog, cache: make([]access, prog.slots)}
	}
	c.run = r
	if r.opts.Count {
		c.tally = &tally{ops: make([]OpCount, len(prog.code))}
	}
	used := r.sharedBytes()
	if prog.reserve {
		used = reservedStart(used) + reservedBytes
	}
	size := (used + 15) &^ 15
	if len(c.shared) != size {
		c.shared, _ = NewBuffer(uint64(size))
		c.sharedRegion = nil
	}
	if c.sharedRegion == nil {
		c.sharedRegion = newRegion(sharedWindow, c.shared, AllocOptions{Device: HostDevice, Tag: "shared memory"})
	}
	c.sharedRegion.Size = uint64(used)
	for i := range c.cache {
		c.cache[i] = access{region: deadRegion}
	}
	clear(c.recent[:])
	n := int(r.threads+lanes-1) / lanes
	for len(c.warps) < n {
		c.warps = append(c.warps, newWarp(c, len(c.warps)))
	}
	c.warps = c.warps[:n]
	for _, w := range c.warps {
		w.shared = c.shared[:c.sharedRegion.Size]
		w.setBlock(r.opts.Block)
	}
	c.bytes = uint64(len(c.shared))
	for _, w := range c.warps {
		c.bytes += w.bytes()
	}
	r.blockBytes.Add(c.bytes)
	return c
}

func (w *warp) bytes() uint64 { return uint64(len(w.local)) + w.dyn.bytes }

// grew charges n bytes that a block uses beyond what the kernel declares. It panics with a fault if
// the memory of all running blocks then exceeds the limit.
func (c *cta) grew(w *warp, in *inst, n uint64) {
	c.bytes += n
	if most := c.run.opts.BlockMemory; c.run.blockBytes.Add(n) > most && most != 0 {
		panic(w.laneFault(FaultStack, in, first(w.mask), fmt.Sprintf("the blocks that run take more than %d bytes of local and shared memory", most)))
	}
}

// BlockBytes returns how many bytes of local and shared memory a block uses from the start.
func (k *Kernel) BlockBytes(block Dim3, dynamicShared uint32) uint64 {
	k.ready()
	warps := (block.Count() + lanes - 1) / lanes
	return uint64(alignUp(k.main.local, 16))*lanes*warps + uint64(k.attrs.SharedBytes) + uint64(dynamicShared)
}

func (k *Kernel) blockBytes(o *LaunchOptions) uint64 { return k.BlockBytes(o.Block, o.DynamicShared) }

// roomForBlock reports whether another block may start while earlier blocks wait.
func (r *launchRun) roomForBlock() bool {
	most := r.opts.BlockMemory
	return most == 0 || r.blockBytes.Load()+r.kernel.blockBytes(r.opts) <= most
}

func (r *launchRun) sharedBytes() int {
	if r.opts.DynamicShared != 0 {
		return r.kernel.dynamicStart + int(r.opts.DynamicShared)
	}
	return r.kernel.attrs.SharedBytes
}

func newWarp(c *cta, id int) *warp {
	k := c.run.kernel
	w := &warp{cta: c, prog: c.prog, id: id, cache: c.cache}
	w.grow(k.main.banks)
	w.growLocal(k.main.local)
	w.setFrame(frame{})
	w.fillConstants(k.main, full)
	return w
}

// grow enlarges the register slabs to at least the given numbers of columns. Each bank has a spare
// column, so slices at its end are never empty.
func (w *warp) grow(banks [numClasses]uint32) {
	w.slab32 = growTo(w.slab32, banks[class32]+1)
	w.slab64 = growTo(w.slab64, banks[class64]+1)
	w.slabP = growTo(w.slabP, banks[classPred]+1)
}

func growTo[T any](s []T, n uint32) []T {
	if uint32(len(s)) >= n {
		return s
	}
	if len(s) != 0 {
		n = max(n, uint32(len(s))*2)
	}
	t := make([]T, n)
	copy(t, s)
	return t
}

// growLocal enlarges each lane's local memory to at least n bytes.
func (w *warp) growLocal(n uint32) {
	if n <= w.localN {
		return
	}
	if w.localN != 0 {
		n = max(n, w.localN*2)
	}
	n = (n + 15) &^ 15
	buf, _ := NewBuffer(uint64(n) * lanes)
	for l := range uint32(lanes) {
		copy(buf[l*n:], w.local[l*w.localN:(l+1)*w.localN])
	}
	w.local, w.localN = buf, n
}

// fillConstants writes a function's constants into the current frame, for the lanes in m.
func (w *warp) fillConstants(f *function, m uint32) {
	for _, k := range f.consts {
		switch k.reg.class {
		case class32:
			fill(&w.r32[k.reg.id], uint32(k.value), m)
		case class64:
			fill(&w.r64[k.reg.id], k.value, m)
		case classPred:
			setPred(&w.pr[k.reg.id], m, k.value != 0)
		}
	}
}

func fill[T any](c *[lanes]T, v T, m uint32) {
	if m == full {
		for i := range c {
			c[i] = v
		}
		return
	}
	for i := range c {
		if m>>i&1 != 0 {
			c[i] = v
		}
	}
}

// setBlock computes the thread indices for a block's shape.
func (w *warp) setBlock(b Dim3) {
	if w.block == b {
		return
	}
	w.block = b
	for l := range uint32(lanes) {
		t := uint32(w.id)*lanes + l
		w.tid[0][l] = t % b.X
		w.tid[1][l] = t / b.X % b.Y
		w.tid[2][l] = t / b.X / b.Y
	}
}

// share is a range of adjacent units of a grid. A worker starts the units in its own share first,
// and then those left in other shares. Workers therefore run in different parts of the grid, and
// adjacent units mostly use adjacent memory. When a kernel is launched again, each processor's
// caches contain the data that it needs.
type share struct {
	next atomic.Uint64
	end  uint64
	_    [112]byte // keeps shares in separate cache lines
}

func (r *launchRun) divide(n int) {
	for len(r.shares) < n {
		r.shares = append(r.shares, new(share))
	}
	r.shares = r.shares[:n]
	next, each, more := uint64(0), r.units/uint64(n), r.units%uint64(n)
	for i, s := range r.shares {
		s.next.Store(next)
		if next += each; uint64(i) < more {
			next++
		}
		s.end = next
	}
}

// take returns the number of the next unit that a worker should start. It returns false if none is
// left.
func (r *launchRun) take(worker int) (uint64, bool) {
	for i := range r.shares {
		s := r.shares[(worker+i)%len(r.shares)]
		if i := s.next.Add(1) - 1; i < s.end {
			return i, true
		}
	}
	return 0, false
}
