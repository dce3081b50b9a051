package vm

import (
	"slices"
	"sync"
	"testing"
)

// Each unit is started exactly once, whatever the number of workers. A worker whose own share is
// empty takes units of others.
func TestSharesAreWholeAndTaken(t *testing.T) {
	for _, units := range []uint64{1, 2, 7, 32, 1000} {
		for _, workers := range []int{1, 2, 3, 7} {
			r := launchRun{units: units}
			r.divide(min(workers, int(units)))
			if i, _ := r.take(0); i != 0 {
				t.Errorf("the first worker begins with unit %d", i)
			}
			for last := uint64(0); ; { // alone
				i, left := r.take(0)
				if !left {
					break
				}
				if i != last+1 {
					t.Fatalf("%d units, %d workers: unit %d after %d", units, workers, i, last)
				}
				last = i
			}
			r.divide(workers)
			if got := takeTogether(&r, workers); !slices.Equal(got, upTo(units)) {
				t.Errorf("%d units, %d workers: %v", units, workers, got)
			}
		}
	}
}

// takeTogether returns the units that concurrent workers take, in order.
func takeTogether(r *launchRun, workers int) (all []uint64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for w := range workers {
		wg.Go(func() {
			for i, left := r.take(w); left; i, left = r.take(w) {
				mu.Lock()
				all = append(all, i)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}

func upTo(n uint64) (all []uint64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
