package loader

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Latch is a lock for a driver object that one goroutine uses at a time, with
// calls of about a microsecond: an executable graph, a graph being built. It
// costs less than sync.Mutex when nobody else wants it (BenchmarkLatch,
// BenchmarkMutex), and waiters ask again and again instead of being woken. The
// zero Latch is open.
type Latch struct {
	held atomic.Uint32
}

// Lock takes the latch, waiting until it is free.
func (l *Latch) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// TryLock takes the latch if it is free, and reports whether it did.
func (l *Latch) TryLock() bool { return l.held.CompareAndSwap(0, 1) }

// Unlock gives the latch back.
func (l *Latch) Unlock() {
	storeRelease(&l.held)
}

const (
	latchYields   = 64
	latchFirstNap = 10 * time.Microsecond
	latchLastNap  = time.Millisecond
)

func (l *Latch) wait() {
	for range latchYields {
		runtime.Gosched()
		if l.held.CompareAndSwap(0, 1) {
			return
		}
	}
	for nap := latchFirstNap; !l.held.CompareAndSwap(0, 1); nap = min(2*nap, latchLastNap) {
		time.Sleep(nap)
	}
}
