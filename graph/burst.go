package graph

import (
	"fmt"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/internal/launch"
)

// Burst records many operations at nearly the cost of the same calls in C. It is for programs that
// capture their step anew each time. It batches kernel launches and records each batch with one
// native call. See Scope.Burst.
type Burst struct {
	sc       *Scope
	ctx      *driver.Context // context of the scope's stream
	launches *launch.Batch

	last    *driver.Launch // last launch with retained references and recorded accesses
	version uint64         // AccessesVersion of last; other launches with this version need no recording

	ended bool
	err   error // first error of an operation; it stops the recording
	first int   // number of operations recorded so far
	*group
	accesses *access.Sets // accesses of the launches
}

// group is the reusable part of a Burst: the argument blocks of the collected launches, and their
// kernels.
type group struct {
	kinds  [launch.Max + 1]kind // kernels of the collected launches, for errors
	n      int                  // number of kinds
	noted  int                  // number of launches whose accesses are recorded
	places *launch.Batch
}

// kind is a sequence of consecutive launches of one kernel.
type kind struct {
	from   int
	kernel *driver.Kernel
}

// other and unnoted are sentinels: no launch of a program equals other or has the AccessesVersion
// unnoted.
var other = new(driver.Launch)

const unnoted = ^uint64(0)

// Burst calls record with a Burst of the scope. Burst.Do records operations in order, like
// Scope.Do, but may delay them until record returns. So record must not use the stream in other
// ways. Use a Burst to record one launch many times with different arguments, which [driver.Arg]
// changes cheaply. For a list of operations, use Scope.Do. Burst returns the first error of an
// operation, even if record ignores it, joined with the error of record.
func (sc *Scope) Burst(record func(*Burst) error) error {
	b, err := sc.newBurst()
	if err != nil {
		return err
	}
	defer b.end() // runs even if record panics or calls runtime.Goexit
	if record == nil {
		return invalid("burst in the capture of %v: no function to record", sc.s)
	}
	err = record(b)
	if b.err == nil {
		b.flush()
	}
	if b.err != nil && err != b.err {
		return join([]error{b.err, err})
	}
	return err
}

func (sc *Scope) newBurst() (*Burst, error) {
	r, err := sc.lock()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	if err := sc.s.Ready(); err != nil {
		return nil, err
	}
	c, p := sc.s.Context(), groups.Get().(*group)
	p.places.Reset(&c.Driver().Driver, sc.s.Raw())
	return &Burst{sc: sc, ctx: c, group: p, launches: p.places, last: other, version: unnoted, accesses: access.New()}, nil
}

// end discards launches that are not recorded yet. The Burst object is never reused, because the
// program may have kept it.
func (b *Burst) end() {
	b.ended, b.last, b.version = true, other, unnoted
	r := b.sc.r
	r.mu.Lock()
	r.accesses.Burst(b.accesses)
	r.mu.Unlock()
	b.launches.Empty()
	clear(b.kinds[:])
	b.n, b.noted = 0, 0
	groups.Put(b.group)
	b.group, b.launches, b.accesses = nil, nil, nil
}

// groups holds the groups of ended bursts, for reuse. The argument blocks of their launches stay
// filled, so a program that captures the same step again need not fill them.
var groups = sync.Pool{New: func() any { return &group{places: launch.NewBatch()} }}

// Do records operations in order. It reads the operations before it returns, so you may change and
// reuse them. The error may come from an earlier operation, and contains that operation's number.
// After an error, Do records nothing. Only one goroutine at a time may use a Burst.
func (b *Burst) Do(ops ...driver.Op) error {
	if b == nil || b.launches == nil && !b.ended {
		return aBurst.Error(b == nil)
	}
	for _, op := range ops {
		l, ok := op.(*driver.Launch)
		if !ok || l == nil || !(uint64(l.Block().Accesses) == b.version && len(l.Block().Attributes()) == 0) && !b.takes(l) {
			if err := b.doSlowly(op); err != nil {
				return err
			}
			continue
		}
		b.launches.Add(l.Block())
		if b.launches.Len() == launch.Max {
			if b.flush(); b.err != nil {
				return b.err
			}
		}
	}
	return nil
}

// takes reports whether a launch can be batched. If so, it also retains the launch's references and
// records its accesses.
func (b *Burst) takes(l *driver.Launch) bool {
	if b.ended || b.err != nil || l.Context() != b.ctx || len(l.Block().Attributes()) > 0 {
		return false
	}
	if l.CheckRestrict() != nil { // doSlowly returns the error for the overlap
		return false
	}
	if (uint64(b.last.Block().Accesses) != b.version || !l.Block().SameRefs(b.last.Block())) && !b.retain(l) {
		return false
	}
	b.note(b.launches.Len())
	b.accesses.Launch(b.accesses.Noted(), l)
	b.noted++
	b.last, b.version = l, uint64(l.Block().Accesses)
	if k := l.Kernel(); b.n == 0 || b.kinds[b.n-1].kernel != k {
		b.kinds[b.n] = kind{b.launches.Len(), k}
		b.n++
	}
	return true
}

// note records accesses for the launches of the group up to the nth. Launches not yet noted repeat
// the accesses of the launch before them.
func (b *Burst) note(n int) {
	b.accesses.Again(n - b.noted)
	b.noted = n
}

func (b *Burst) retain(l *driver.Launch) bool {
	r := b.sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ended && r.keep(l.Uses().Refs) == nil // on failure, doSlowly returns the reason
}

// doSlowly flushes the batch and then records op on its own.
func (b *Burst) doSlowly(op driver.Op) error {
	switch {
	case b.ended:
		return fmt.Errorf("burst in the %w", b.sc.endedError())
	case b.err != nil:
		return b.err
	}
	if b.flush(); b.err != nil {
		return b.err
	}
	if err := b.sc.doOne(op); err != nil {
		b.fail(0, err)
		return b.err
	}
	b.first++
	return nil
}

func (b *Burst) flush() {
	n := b.launches.Len()
	if n == 0 {
		return
	}
	b.note(n)
	r := b.sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		b.err, b.last, b.version = b.sc.endedError(), other, unnoted
		return
	}
	done, err := b.run()
	b.sc.b.open = true
	if err != nil {
		k := b.kernel(done)
		b.fail(done, fmt.Errorf("launch of %v: %w", k, r.note(k, err)))
	}
	b.first += n
	b.again()
}

// again begins the next group. The group starts with the kernel of the last launch, because Do may
// add further launches of it without calling takes.
func (b *Burst) again() {
	b.launches.Empty()
	b.noted = 0
	if b.n > 0 {
		b.kinds[0], b.n = kind{0, b.kinds[b.n-1].kernel}, 1
	}
}

// run makes the batched calls. If the capture has a Graph, run locks it, because the program may
// use it.
func (b *Burst) run() (int, error) {
	if g := b.sc.r.g; g != nil {
		g.lockLatch()
		defer g.mu.Unlock()
	}
	return b.launches.Run()
}

func (b *Burst) kernel(i int) *driver.Kernel {
	k := b.kinds[0].kernel
	for _, kind := range b.kinds[1:b.n] {
		if kind.from <= i {
			k = kind.kernel
		}
	}
	return k
}

// fail ends the burst because operation i, counted from the first operation of the group, failed.
func (b *Burst) fail(i int, err error) {
	b.err, b.last, b.version = fmt.Errorf("operation %d: %w", b.first+i, err), other, unnoted
}
