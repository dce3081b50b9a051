package loader

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Latch is a lock for a driver object that one goroutine uses at a time, with
// calls of about a microsecond: an executable graph, a graph being built. It
// costs less than sync.Mutex when nobody else wants it (BenchmarkLatch,
// BenchmarkMutex). Who waits asks again and again instead of being woken. Of a
// crowd one does, and the others sleep. The zero Latch is open.
type Latch struct {
	held atomic.Uint32
	next sync.Mutex // of the one who asks
}

// Lock takes the latch, waiting until it is free.
func (l *Latch) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// TryLock takes the latch if it is free, and reports whether it did.
func (l *Latch) TryLock() bool { return l.held.CompareAndSwap(0, 1) }

// Unlock gives the latch back. It panics if nobody has it, as somebody then used
// the object without it.
func (l *Latch) Unlock() {
	if l.held.Load() == 0 {
		unlockedOpen()
	}
	storeRelease(&l.held)
}

//go:noinline
func unlockedOpen() { panic("loader: Unlock of a Latch that is open") }

const (
	latchFewYields = 4 // before somebody counts as one of a crowd
	latchYields    = 64
	latchFirstNap  = 10 * time.Microsecond
	latchLastNap   = 200 * time.Microsecond
)

// wait takes the latch when it is free. If all of a crowd asked, the holder would
// wait for the memory that they ask for, and the scheduler for its own lock.
func (l *Latch) wait() {
	if l.yield(latchFewYields) {
		return
	}
	l.next.Lock()
	defer l.next.Unlock()
	if l.yield(latchYields) {
		return
	}
	for nap := latchFirstNap; !l.take(); nap = min(2*nap, latchLastNap) {
		time.Sleep(nap)
	}
}

// yield asks n times, and lets others run before each.
func (l *Latch) yield(n int) bool {
	for range n {
		runtime.Gosched()
		if l.take() {
			return true
		}
	}
	return false
}

// take is TryLock that looks first, which disturbs the holder less.
func (l *Latch) take() bool { return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) }
