package gpu

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// maxThreads is the maximum number of threads in a block.
const maxThreads = 1024

// grid is the state of one call of Run.
type grid struct {
	size, block, cluster Dim
	dynamic              int // bytes of dynamic shared memory
	cooperative          bool
	output               io.Writer
	printing             sync.Mutex
	kernel               func(Thread)

	mu    sync.Mutex
	fault fault        // the first failure, ordered by unit, block and thread
	limit atomic.Int64 // units with this or a higher index do not start
}

// fault is a failure, with the rank of its thread in the grid.
type fault struct {
	unit, rank int
	deadlock   bool
	err        error
}

// before reports whether f precedes o. Within a unit, a panic precedes a deadlock, because the
// panic is often the cause of the deadlock.
func (f fault) before(o fault) bool {
	switch {
	case o.err == nil || f.unit != o.unit:
		return o.err == nil || f.unit < o.unit
	case f.deadlock != o.deadlock:
		return o.deadlock
	}
	return f.rank < o.rank
}

// fail records a failure. It calls describe only if the failure precedes the one recorded so far.
func (g *grid) fail(f fault, describe func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.before(g.fault) {
		f.err = describe()
		g.fault = f
		g.limit.Store(int64(f.unit) + 1)
	}
}

func run(size, block Dim, kernel func(Thread), options []Option) error {
	g := &grid{size: size.size(), block: block.size(), cluster: D1(1), output: os.Stdout, kernel: kernel}
	for _, o := range options {
		if o != nil {
			o(g)
		}
	}
	if err := g.valid(); err != nil {
		return err
	}
	units := g.units()
	g.limit.Store(int64(units))
	workers := min(units, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := next.Add(1) - 1; i < g.limit.Load(); i = next.Add(1) - 1 {
				g.unit(int(i)).run()
			}
		}()
	}
	wait.Wait()
	return g.fault.err
}

func (g *grid) valid() error {
	for _, d := range []Dim{g.size, g.block, g.cluster} {
		if d.X < 0 || d.Y < 0 || d.Z < 0 {
			return fmt.Errorf("gpu.Run: the size %s is negative", index(d))
		}
	}
	switch {
	case g.kernel == nil:
		return errors.New("gpu.Run: the kernel is nil: pass a function that takes a gpu.Thread")
	case g.block.Count() > maxThreads:
		return fmt.Errorf("gpu.Run: a block of %d threads: at most %d are possible", g.block.Count(), maxThreads)
	case g.dynamic < 0:
		return fmt.Errorf("gpu.Run: %d bytes of shared memory", g.dynamic)
	case g.size.X%g.cluster.X != 0 || g.size.Y%g.cluster.Y != 0 || g.size.Z%g.cluster.Z != 0:
		return fmt.Errorf("gpu.Run: clusters of %s blocks do not divide a grid of %s", index(g.cluster), index(g.size))
	case g.output == nil:
		return errors.New("gpu.Run: the writer of Output is nil: pass os.Stdout or a buffer")
	}
	return nil
}

// units returns the number of units. A unit is a set of blocks that must run concurrently: a
// cluster, or the whole grid if the launch is cooperative.
func (g *grid) units() int {
	if g.cooperative {
		return 1
	}
	return g.size.Count() / g.cluster.Count()
}

// unit returns unit i. Its threads are not started yet.
func (g *grid) unit(i int) *unit {
	u := &unit{grid: g, number: i}
	if !g.cooperative {
		u.addCluster(i)
		return u
	}
	for c := range g.size.Count() / g.cluster.Count() {
		u.addCluster(c)
	}
	return u
}

// unit is a set of blocks that run concurrently. Its lock protects the state of all barriers and
// collective operations of these blocks.
type unit struct {
	grid   *grid
	number int
	lone   bool // created for a call with the zero Thread

	mu      sync.Mutex
	blocks  []*block
	sync    phases    // the barrier of GridSync
	running int       // number of threads that have not ended
	waiting int       // number of waiting threads
	failed  bool      // a thread has panicked, so threads that wait for it can never continue
	dead    []*thread // the threads of a deadlock, ordered by block and thread
}

// block is a running block.
type block struct {
	unit    *unit
	cluster *cluster
	index   Dim
	threads []thread
	warps   []warp
	alive   int // number of threads that have not exited, including panicked threads
	sync    blockBarrier
	named   [16]namedBarrier
	shared  sharedMemory
	bars    map[*Barrier]*barrierWaits
}

// cluster is a running cluster.
type cluster struct {
	blocks []*block // indexed by rank
	sync   phases
}

// thread is a running thread.
type thread struct {
	block *block
	index Dim
	rank  int
	wake  chan struct{}

	// Protected by the unit's lock:
	parked  bool
	stop    bool // whether the thread must end when it wakes up
	wait    waitFor
	site    *site   // call stack of the thread at the time when it was stopped
	call    uintptr // program counter of the call of Sync
	result  uint64  // result of the barrier operation
	cluster phaseOf
	grid    phaseOf

	// Only used by the thread itself:
	copies, bulk copyGroups
}

// waitFor describes what a thread is waiting for.
type waitFor struct {
	call      string
	mask      uint32
	id, count int
}

func (w waitFor) String() string {
	switch {
	case w.mask != 0:
		return fmt.Sprintf("%s (mask %#08x)", w.call, w.mask)
	case w.count != 0:
		return fmt.Sprintf("%s(%d, %d)", w.call, w.id, w.count)
	}
	return w.call
}

// addCluster appends the blocks of a cluster.
func (u *unit) addCluster(i int) {
	g := u.grid
	clusters := Dim{g.size.X / g.cluster.X, g.size.Y / g.cluster.Y, g.size.Z / g.cluster.Z}
	at := clusters.at(i)
	c := new(cluster)
	for rank := range g.cluster.Count() {
		in := g.cluster.at(rank)
		b := newBlock(u, Dim{at.X*g.cluster.X + in.X, at.Y*g.cluster.Y + in.Y, at.Z*g.cluster.Z + in.Z})
		b.cluster = c
		c.blocks = append(c.blocks, b)
		c.sync.alive += len(b.threads)
	}
	u.blocks = append(u.blocks, c.blocks...)
	u.running += c.sync.alive
	u.sync.alive += c.sync.alive
}

func newBlock(u *unit, at Dim) *block {
	n := u.grid.block.Count()
	b := &block{unit: u, index: at, threads: make([]thread, n), warps: make([]warp, (n+WarpSize-1)/WarpSize), alive: n}
	for i := range b.threads {
		b.threads[i] = thread{block: b, index: u.grid.block.at(i), rank: i}
		b.warps[i/WarpSize].alive |= 1 << (i % WarpSize)
	}
	return b
}

// run runs all threads and returns after they have ended.
func (u *unit) run() {
	var wait sync.WaitGroup
	for _, b := range u.blocks {
		wait.Add(len(b.threads))
		for i := range b.threads {
			go b.threads[i].run(&wait)
		}
	}
	wait.Wait()
	u.reportDeadlock()
}

// stopped is the panic value that ends a thread after another one has failed. exited is the panic
// value of Exit.
type (
	stopped struct{}
	exited  struct{}
)

// run calls the kernel for one thread.
func (s *thread) run(wait *sync.WaitGroup) {
	returned := false
	defer func() {
		defer wait.Done()
		switch v := recover().(type) {
		case nil:
			if returned {
				s.end(false)
				return
			}
			s.panicked("runtime.Goexit was called")
		case stopped:
			s.end(true)
		case exited:
			s.end(false)
		default:
			s.panicked(v)
		}
	}()
	s.block.unit.grid.kernel(Thread{s})
	returned = true
}

// panicked records a panic before the stack is unwound.
func (s *thread) panicked(v any) {
	at := here()
	s.fail(false, func() error {
		return &Panic{Block: s.block.index, Thread: s.index, Value: v, Frame: at.frame(), Stack: string(debug.Stack())}
	})
	s.end(true)
}

// fail records a failure of the thread.
func (s *thread) fail(deadlock bool, describe func() error) {
	u := s.block.unit
	rank := u.grid.size.rank(s.block.index)*len(s.block.threads) + s.rank
	u.grid.fail(fault{unit: u.number, rank: rank, deadlock: deadlock}, describe)
}

// end removes the thread from everything that may be waiting for it. If the thread has failed, the
// other threads keep waiting for it until no thread can continue, and are then stopped.
func (s *thread) end(failed bool) {
	s.copies.flush()
	s.bulk.flush()
	u := s.block.unit
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running--
	if failed {
		u.failed = true
	} else {
		s.block.leave(s)
	}
	u.progress()
}

// leave removes a thread that has exited from barriers and collective operations.
func (b *block) leave(s *thread) {
	b.alive--
	b.trySync()
	w := &b.warps[s.rank/WarpSize]
	w.alive &^= 1 << (s.rank % WarpSize)
	w.retry()
	b.cluster.sync.leave(&s.cluster)
	b.unit.sync.leave(&s.grid)
}

// progress stops all threads if none can continue. The caller must hold the lock.
func (u *unit) progress() {
	if u.waiting < u.running || u.waiting == 0 {
		return
	}
	if !u.failed {
		u.deadlock()
	}
	u.stopAll()
}

// stopAll ends all waiting threads.
func (u *unit) stopAll() {
	u.failed = true
	for _, b := range u.blocks {
		for i := range b.threads {
			if s := &b.threads[i]; s.parked {
				s.stop = true
				s.release()
			}
		}
	}
}

// deadlock records which threads wait. When they stop, they report where they were.
func (u *unit) deadlock() {
	for _, b := range u.blocks {
		for i := range b.threads {
			if s := &b.threads[i]; s.parked {
				u.dead = append(u.dead, s)
			}
		}
	}
}

// reportDeadlock reports the deadlock after all threads have stopped.
func (u *unit) reportDeadlock() {
	if len(u.dead) == 0 {
		return
	}
	d := new(Deadlock)
	for _, s := range u.dead {
		d.Waits = append(d.Waits, Wait{s.block.index, s.index, s.wait.String(), s.site.frame()})
	}
	u.dead[0].fail(true, func() error { return d })
}

// park waits until another thread releases s. The caller must hold the lock. The lock is also held
// when park returns or panics.
func (s *thread) park(w waitFor) {
	u := s.block.unit
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	s.wait, s.parked = w, true
	u.waiting++
	u.progress()
	u.mu.Unlock()
	<-s.wake
	u.mu.Lock()
	if s.stop {
		at := here()
		s.site = &at
		if u.lone {
			u.reportDeadlock()
			panic(u.grid.fault.err)
		}
		panic(stopped{})
	}
}

// release lets a parked thread continue. The caller must hold the lock.
func (s *thread) release() {
	s.parked = false
	s.block.unit.waiting--
	s.wake <- struct{}{}
}

// loneGrid is the grid of the zero Thread.
var loneGrid = &grid{size: D1(1), block: D1(1), cluster: D1(1)}

// loneBlock is the block of the zero Thread. It serves queries of the thread's indices.
var loneBlock = &block{unit: &unit{grid: loneGrid}}

// self returns the running thread. For the zero Thread, it returns a new block that consists of a
// single thread.
func (t Thread) self() *thread {
	if t.s != nil {
		return t.s
	}
	u := &unit{grid: &grid{size: D1(1), block: D1(1), cluster: D1(1)}, lone: true}
	u.addCluster(0)
	return &u.blocks[0].threads[0]
}

func (t Thread) index() Dim {
	if t.s == nil {
		return Dim{}
	}
	return t.s.index
}

func (t Thread) block() *block {
	if t.s == nil {
		return loneBlock
	}
	return t.s.block
}

func (t Thread) grid() *grid { return t.block().unit.grid }

// check ends the thread if another one has failed. Threads that poll must call it.
func (t Thread) check() {
	if t.s == nil {
		return
	}
	u := t.s.block.unit
	u.mu.Lock()
	failed := u.failed
	u.mu.Unlock()
	if failed {
		panic(stopped{})
	}
}
