package graph

import (
	"fmt"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// Burst records many operations at little more than what C pays for the same
// calls, for programs that capture their step anew each time: kernels are
// collected and recorded together, a group in one crossing. See Scope.Burst.
type Burst struct {
	sc     *Scope
	d      *driver.Driver
	batch  *driver.Batch
	ctx    *driver.Context // of the scope's stream
	stream driver.CUstream
	ended  bool
	err    error // of an operation; nothing is recorded after it
	count  int   // operations so far
	first  int   // that of the first call in the batch
	uses   recordedUses

	kernels *[inOneGo]*driver.Kernel // of the calls in the batch, for errors
	last    *driver.Launch           // what it refers to is held
	version uint32                   // if this is its RefsVersion
}

// inOneGo is how many launches one crossing makes at most: enough for its price
// not to show, and few enough for their blocks to stay in the nearest cache.
const inOneGo = 64

// Burst calls record with a Burst of the scope. What record gives to Burst.Do is
// recorded in its order, like Scope.Do, but maybe only when record returns; so
// in record nothing is sent to the stream by other ways. The first error of an
// operation is returned, also if record does not return it, and in front of what
// record returns.
func (sc *Scope) Burst(record func(*Burst) error) error {
	if record == nil {
		return invalid("burst in the capture of %v: no function to record", sc.s)
	}
	b, err := sc.newBurst()
	if err != nil {
		return err
	}
	defer b.end() // record panicked or called runtime.Goexit
	err = record(b)
	if b.err == nil {
		b.flush()
	}
	if b.err != nil && err != b.err {
		return join([]error{b.err, err})
	}
	return err
}

// DoAll records operations one after the other, as a Burst does.
func (sc *Scope) DoAll(ops ...driver.Op) error {
	b, err := sc.newBurst()
	if err != nil {
		return err
	}
	defer b.end()
	for _, op := range ops {
		if err := b.Do(op); err != nil {
			return err
		}
	}
	b.flush()
	return b.err
}

func (sc *Scope) newBurst() (*Burst, error) {
	r := sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, sc.endedError()
	}
	if err := sc.s.Ready(); err != nil {
		return nil, err
	}
	c := sc.s.Context()
	b := &Burst{sc: sc, d: c.Driver(), ctx: c, stream: sc.s.Raw(), batch: batches.get(c.Driver())}
	b.kernels = kernelLists.Get().(*[inOneGo]*driver.Kernel)
	return b, nil
}

// end puts away what is not recorded. The Burst itself is not used again: the
// program may have kept it.
func (b *Burst) end() {
	b.ended = true
	r := b.sc.r
	r.mu.Lock()
	r.uses.burst(&b.uses)
	r.mu.Unlock()
	batches.put(b.batch)
	clear(b.kernels[:])
	kernelLists.Put(b.kernels)
	b.batch, b.kernels = nil, nil
}

// kernelLists are those of bursts that ended.
var kernelLists = sync.Pool{New: func() any { return new([inOneGo]*driver.Kernel) }}

// Do records an operation. It is read before Do returns, and may be changed and
// used again. The error may be that of an operation before, which it names; none
// is recorded after it. A Burst is used by one goroutine at a time.
func (b *Burst) Do(op driver.Op) error {
	if l, ok := op.(*driver.Launch); ok && b.takes(l) {
		i := b.count - b.first
		b.kernels[i%inOneGo] = l.Kernel()
		b.uses.note(l)
		b.batch.Launch(l, b.stream)
		b.count++
		if i+1 == inOneGo {
			b.flush()
		}
		return b.err
	}
	return b.doSlowly(op)
}

// takes reports whether a launch is a call that can be made at any time, and
// what it refers to is held.
func (b *Burst) takes(l *driver.Launch) bool {
	if b.ended || b.err != nil || l == nil || l.Context() != b.ctx || len(l.Attributes()) > 0 {
		return false
	}
	if b.last != nil && b.last.RefsVersion() == b.version && (l == b.last || l.SameRefs(b.last)) {
		return true
	}
	return b.hold(l)
}

// hold has the graph keep what the launch refers to.
func (b *Burst) hold(l *driver.Launch) bool {
	r := b.sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.keep(l.Refs()) != nil {
		return false // for doSlowly to say why
	}
	b.last, b.version = l, l.RefsVersion()
	return true
}

// doSlowly records an operation by itself, behind those before it.
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
	if err := b.sc.Do(op); err != nil {
		b.err = b.error(b.count, err)
		return b.err
	}
	b.count++
	b.first = b.count
	return nil
}

// flush makes the calls of the batch.
func (b *Burst) flush() {
	if b.batch.Len() == 0 {
		return
	}
	r := b.sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		b.err = b.sc.endedError()
		return
	}
	done, err := b.run()
	b.batch.Reset(b.d)
	b.sc.b.open = true
	if err != nil {
		k := b.kernels[done]
		b.err = b.error(b.first+done, fmt.Errorf("launch of %v: %w", k, r.note(k, err)))
	}
	b.first = b.count
}

// run makes the calls, while nobody else changes the graph.
func (b *Burst) run() (int, error) {
	if g := b.sc.r.g; g != nil {
		g.lockLatch()
		defer g.mu.Unlock()
	}
	return b.batch.Run()
}

func (b *Burst) error(i int, err error) error {
	return fmt.Errorf("operation %d: %w", i, err)
}
