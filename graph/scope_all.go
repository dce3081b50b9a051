package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
)

// DoAll records operations one after the other, as Do does each. Kernels that
// follow each other are recorded in one crossing, at about what C pays for the
// same launches; programs that capture their step anew each time want that.
//
// Operations are read before DoAll returns, so the list and what is in it may be
// changed then. When one fails the error names it, and those before it were
// recorded.
func (sc *Scope) DoAll(ops ...driver.Op) error {
	r := sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return sc.endedError()
	}
	if err := sc.s.Ready(); err != nil {
		return err
	}
	d := sc.s.Context().Driver()
	b := recorder{sc: sc, ops: ops, d: d, batch: batches.get(d)}
	err := b.run()
	batches.put(b.batch)
	runtime.KeepAlive(ops) // the batch has addresses in the operations
	if len(ops) > 0 {
		sc.open = sc.open || sc != &r.scope
	}
	return err
}

// recorder is a list of operations on its way into a capture.
type recorder struct {
	sc    *Scope
	ops   []driver.Op
	d     *driver.Driver
	batch *driver.Batch
	first int // the operation of the first call in the batch

	last *driver.Launch // what it refers to is held
}

// inOneGo is how many launches one crossing makes at most: enough for its price
// not to show, and few enough for their blocks to stay in the nearest cache.
const inOneGo = 64

func (b *recorder) run() error {
	for i, op := range b.ops {
		if err := b.record(i, op); err != nil {
			return err
		}
	}
	return b.flush(len(b.ops))
}

func (b *recorder) record(i int, op driver.Op) error {
	if l, ok := op.(*driver.Launch); ok && b.takes(l) {
		if err := b.hold(l); err != nil {
			return b.stop(i, fmt.Errorf("%v: %w", op, err))
		}
		b.batch.LaunchKernel(b.sc.s.Raw(), l.KernelNodeParams())
		if b.batch.Len() == inOneGo {
			return b.flush(i + 1)
		}
		return nil
	}
	if err := b.flush(i); err != nil {
		return err
	}
	b.first = i + 1
	return b.alone(i, op)
}

// takes reports whether a launch is one call without anything to look at. The
// others are Do's.
func (b *recorder) takes(l *driver.Launch) bool {
	return l != nil && l.Context() == b.sc.s.Context() && len(l.Attributes()) == 0
}

// hold has the graph keep what the launch refers to.
func (b *recorder) hold(l *driver.Launch) error {
	if l.SameRefs(b.last) {
		return nil
	}
	o := b.sc.r.own
	if err := o.hold(l.Refs()); err != nil {
		return err
	}
	o.commitLoose()
	b.last = l
	return nil
}

// alone records an operation by itself.
func (b *recorder) alone(i int, op driver.Op) error {
	r := b.sc.r
	if op == nil {
		return b.error(i, invalid("nil operation for the capture of %v", b.sc.s))
	}
	if err := r.own.hold(op.Refs()); err != nil {
		return b.error(i, fmt.Errorf("%v: %w", op, err))
	}
	if err := b.sc.s.Do(op); err != nil {
		r.own.abandon()
		r.note(op, err)
		return b.error(i, err)
	}
	r.own.commitLoose()
	return nil
}

// flush makes the calls of the batch, which end before operation next.
func (b *recorder) flush(next int) error {
	if b.batch.Len() == 0 {
		return nil
	}
	done, err := b.batch.Run()
	b.batch.Reset(b.d)
	if err != nil {
		op := b.ops[b.first+done]
		b.sc.r.note(op, err)
		return b.error(b.first+done, fmt.Errorf("launch of %v: %w", op.(*driver.Launch).Kernel(), err))
	}
	b.first = next
	return nil
}

// stop records what comes before operation i, which was refused.
func (b *recorder) stop(i int, err error) error {
	if earlier := b.flush(i); earlier != nil {
		return earlier
	}
	return b.error(i, err)
}

func (b *recorder) error(i int, err error) error {
	return fmt.Errorf("operation %d: %w", i, err)
}
