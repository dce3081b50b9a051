package gpu

import (
	"fmt"
	"unsafe"
)

// copyGroups contains the asynchronous copies of a thread. They are performed as late as possible,
// so that code that fails to wait for them reads old values.
type copyGroups struct {
	open   []func()
	groups [][]func()
}

func (c *copyGroups) add(copy func()) { c.open = append(c.open, copy) }

func (c *copyGroups) commit() {
	c.groups = append(c.groups, c.open)
	c.open = nil
}

// wait performs the copies of all but the last n groups.
func (c *copyGroups) wait(n int) {
	for len(c.groups) > max(n, 0) {
		for _, copy := range c.groups[0] {
			copy()
		}
		c.groups = c.groups[1:]
	}
}

// flush performs all copies.
func (c *copyGroups) flush() {
	c.commit()
	c.wait(0)
}

func copyAsync[T any](t Thread, dst, src *T, ok bool) {
	if n := unsafe.Sizeof(*dst); n != 4 && n != 8 && n != 16 {
		panic(fmt.Errorf("CopyAsync of %T, which has %d bytes: 4, 8 and 16 are possible", *dst, n))
	}
	copy := func() {
		if ok {
			*dst = *src
		} else {
			*dst = *new(T)
		}
	}
	if t.s == nil {
		copy()
		return
	}
	t.s.copies.add(copy)
}

func (t Thread) commitGroup() {
	if t.s != nil {
		t.s.copies.commit()
	}
}

func (t Thread) waitGroup(n int) {
	if t.s != nil {
		t.s.copies.wait(n)
	}
}

func (t Thread) commitBulkGroup() {
	if t.s != nil {
		t.s.bulk.commit()
	}
}

func (t Thread) waitBulkGroup(n int) {
	if t.s != nil {
		t.s.bulk.wait(n)
	}
}

// bulkSize returns the size of a bulk copy in bytes.
func bulkSize[T any](dst, src []T) int {
	size := len(src) * int(unsafe.Sizeof(*new(T)))
	switch {
	case len(dst) != len(src):
		panic(fmt.Errorf("a bulk copy of %d elements to %d elements", len(src), len(dst)))
	case size%16 != 0:
		panic(fmt.Errorf("a bulk copy of %d bytes, which is not a multiple of 16", size))
	}
	return size
}

func copyBulkOut[T any](t Thread, dst, src []T) {
	bulkSize(dst, src)
	if t.s == nil {
		copy(dst, src)
		return
	}
	t.s.bulk.add(func() { copy(dst, src) })
}

func copyBulk[T any](t Thread, dst, src []T, bar *Barrier) {
	size := bulkSize(dst, src)
	u := t.self().block.unit
	u.mu.Lock()
	defer u.mu.Unlock()
	bar.check("CopyBulk")
	w := t.self().block.barrierOf(bar)
	w.copies = append(w.copies, func() {
		copy(dst, src)
		bar.transfer(-size)
		bar.complete(w)
	})
	if len(w.waiters) > 0 || t.s == nil {
		w.flush()
	}
}

// barrierWaits is the part of a Barrier's state that is not in shared memory.
type barrierWaits struct {
	waiters []barrierWaiter
	copies  []func() // bulk copies that have not been performed
}

type barrierWaiter struct {
	s      *thread
	parity int
}

func (w *barrierWaits) flush() {
	for len(w.copies) > 0 {
		next := w.copies[0]
		w.copies = w.copies[1:]
		next()
	}
}

// barrierOf returns the waits of a barrier. The blocks of a unit share them, because a block may
// use a barrier of another block in its cluster. The caller must hold the lock.
func (b *block) barrierOf(bar *Barrier) *barrierWaits {
	first := b.unit.blocks[0]
	w := first.bars[bar]
	if w == nil {
		if first.bars == nil {
			first.bars = make(map[*Barrier]*barrierWaits)
		}
		w = new(barrierWaits)
		first.bars[bar] = w
	}
	return w
}

// The fields of Barrier.state. The pattern that fills uninitialized memory sets barrierUnset.
const (
	barrierCount    = 1<<20 - 1 // maximum number of arrivals
	barrierExpected = 20        // position of the number of arrivals in each phase
	barrierBytes    = 40        // position of the number of expected bytes
	maxBytes        = 1<<20 - 1
	barrierUnset    = 1 << 62
	barrierPhase    = 63
)

func (b *Barrier) pending() int  { return int(b.state & barrierCount) }
func (b *Barrier) expected() int { return int(b.state >> barrierExpected & barrierCount) }
func (b *Barrier) bytes() int    { return int(int64(b.state) << 2 >> (2 + barrierBytes)) }
func (b *Barrier) parity() int   { return int(b.state >> barrierPhase) }

func (b *Barrier) set(pending, expected, bytes, parity int) {
	b.state = uint64(pending) | uint64(expected)<<barrierExpected |
		uint64(bytes)&(1<<22-1)<<barrierBytes | uint64(parity)<<barrierPhase
}

func (b *Barrier) check(call string) {
	if b.state&barrierUnset != 0 || b.expected() == 0 && b.pending() == 0 {
		panic(fmt.Errorf("%s: the Barrier is not initialized: call Init and then Sync", call))
	}
}

func (b *Barrier) init(t Thread, count int) {
	if count < 1 || count > barrierCount {
		panic(fmt.Errorf("Barrier.Init: %d arrivals are not possible", count))
	}
	u := t.self().block.unit
	u.mu.Lock()
	defer u.mu.Unlock()
	b.set(count, count, 0, 0)
}

func (b *Barrier) invalidate(t Thread) {
	u := t.self().block.unit
	u.mu.Lock()
	defer u.mu.Unlock()
	b.check("Barrier.Invalidate")
	b.state = 0
}

// transfer adds to the number of bytes that the phase expects.
func (b *Barrier) transfer(bytes int) {
	n := b.bytes() + bytes
	if n > maxBytes || n < -maxBytes {
		panic(fmt.Errorf("a Barrier that expects %d bytes: at most %d are possible", n, maxBytes))
	}
	b.set(b.pending(), b.expected(), n, b.parity())
}

func (b *Barrier) arrive(t Thread, n, bytes int, drop bool) BarrierPhase {
	s := t.self()
	s.block.unit.mu.Lock()
	defer s.block.unit.mu.Unlock()
	b.check("Barrier.Arrive")
	if n < 1 || n > b.pending() {
		panic(fmt.Errorf("Barrier.Arrive: %d arrivals, but the phase expects %d more", n, b.pending()))
	}
	phase := BarrierPhase(b.parity())
	b.transfer(bytes)
	expected := b.expected()
	if drop {
		expected--
	}
	b.set(b.pending()-n, expected, b.bytes(), b.parity())
	b.complete(s.block.barrierOf(b))
	return phase
}

// complete begins the next phase if the current one is complete.
func (b *Barrier) complete(w *barrierWaits) {
	if b.pending() != 0 || b.bytes() != 0 {
		return
	}
	b.set(b.expected(), b.expected(), 0, 1-b.parity())
	keep := w.waiters[:0]
	for _, x := range w.waiters {
		if x.parity == b.parity() {
			keep = append(keep, x)
		} else {
			x.s.release()
		}
	}
	w.waiters = keep
}

func (b *Barrier) test(t Thread, parity int) bool {
	t.check()
	s := t.self()
	s.block.unit.mu.Lock()
	defer s.block.unit.mu.Unlock()
	b.check("Barrier.Test")
	s.block.barrierOf(b).flush()
	return b.parity() != parity
}

func (b *Barrier) wait(t Thread, parity int) {
	s := t.self()
	s.block.unit.mu.Lock()
	defer s.block.unit.mu.Unlock()
	b.check("Barrier.Wait")
	w := s.block.barrierOf(b)
	w.flush()
	if b.parity() == parity {
		w.waiters = append(w.waiters, barrierWaiter{s, parity})
		s.park(waitFor{call: "Barrier.Wait"})
	}
}
