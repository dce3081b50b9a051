package loader_test

import (
	"sync"
	"testing"

	"github.com/purecuda/cuda/loader"
)

func TestLatchKeepsOthersOut(t *testing.T) {
	const goroutines, rounds = 16, 2000
	var l loader.Latch
	var n int
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				l.Lock()
				n++
				l.Unlock()
			}
		})
	}
	wg.Wait()
	if n != goroutines*rounds {
		t.Errorf("%d of %d increments arrived", n, goroutines*rounds)
	}
}

func TestTryLockDoesNotWait(t *testing.T) {
	var l loader.Latch
	for range 2 {
		if !l.TryLock() {
			t.Error("an open latch was not taken")
		}
		if l.TryLock() {
			t.Error("a latch was taken twice")
		}
		l.Unlock()
	}
}

func TestUnlockOfAnOpenLatchPanics(t *testing.T) {
	var l loader.Latch
	unlock := func() (said any) {
		defer func() { said = recover() }()
		l.Unlock()
		return nil
	}
	if unlock() == nil {
		t.Error("a latch that was never taken was given back")
	}
	l.Lock()
	if said := unlock(); said != nil {
		t.Errorf("a latch that was taken: %v", said)
	}
	if unlock() == nil {
		t.Error("a latch was given back twice")
	}
}

func BenchmarkLatch(b *testing.B) {
	var l loader.Latch
	for b.Loop() {
		l.Lock()
		l.Unlock() //lint:ignore SA2001 what is measured
	}
}

func BenchmarkMutex(b *testing.B) {
	var l sync.Mutex
	for b.Loop() {
		l.Lock()
		l.Unlock() //lint:ignore SA2001 what is measured
	}
}
