package loader

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Latch is a lock that protects a driver object, such as an executable graph, during calls that
// take about a microsecond. Without contention, it costs less than sync.Mutex (BenchmarkLatch,
// BenchmarkMutex). A waiting goroutine polls, so that nobody has to wake it. If several goroutines
// wait, one polls and the others sleep. The zero Latch is unlocked.
type Latch struct {
	held atomic.Uint32
	next sync.Mutex // held by the polling goroutine
}

// Lock acquires the latch. It waits until the latch is free.
func (l *Latch) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// TryLock acquires the latch if it is free, and reports whether it did.
func (l *Latch) TryLock() bool { return l.held.CompareAndSwap(0, 1) }

// Unlock releases the latch. It panics if the latch is not locked, because the object was then used
// without the lock.
func (l *Latch) Unlock() {
	if l.held.Load() == 0 {
		unlockedOpen()
	}
	storeRelease(&l.held)
}

// Unlock releases the latch. It panics if the latch is not locked, because the object has then been
// used without protection.
//
//go:noinline
func unlockedOpen() { panic("loader: Unlock of an unlocked Latch") }

const (
	latchFewYields = 4 // number of attempts before a goroutine locks Latch.next
	latchYields    = 64
	latchFirstNap  = 10 * time.Microsecond
	latchLastNap   = 200 * time.Microsecond
)

// wait acquires the latch when it becomes free. Only one waiting goroutine polls for long. If all
// of them did, they would slow down the holder's access to the latch's memory and contend for the
// scheduler's lock.
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

// yield makes n attempts to acquire the latch, and yields to other goroutines before each one. It
// reports whether it acquired the latch.
func (l *Latch) yield(n int) bool {
	for range n {
		runtime.Gosched()
		if l.take() {
			return true
		}
	}
	return false
}

// take is TryLock preceded by a read of the latch. A read disturbs the holder less than a failed
// write.
func (l *Latch) take() bool { return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) }
