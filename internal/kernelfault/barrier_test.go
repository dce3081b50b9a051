package kernelfault_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

const barrierThreads = 128

// left reports whether a thread of kernel meet or warp leaves early, as described in
// testdata/sync.txt.
func left(mode, tid int) bool {
	switch mode {
	case 1:
		return tid%4 == 3
	case 2:
		return tid/32 == 1
	case 3:
		return tid != 0
	}
	return false
}

// After some threads of a block have faulted, a barrier without a thread count must wait only for
// the other threads, and a barrier reduction must count only those other threads.
func TestBarriersDoNotWaitForThreadsThatFaulted(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "sync"), "meet")
		for mode := range 4 {
			t.Run(fmt.Sprint("mode ", mode), func(t *testing.T) {
				got := afterLeaving(t, c, k, mode, 2)
				alive := uint32(0)
				for tid := range barrierThreads {
					if !left(mode, tid) {
						alive++
					}
				}
				const rounds = 50
				for tid := range barrierThreads {
					counted, reduced := alive*rounds*(rounds+1)/2, alive*rounds
					if left(mode, tid) {
						counted, reduced = 0, 0
					}
					if got[2*tid] != counted || got[2*tid+1] != reduced {
						t.Fatalf("thread %d counted %d and %d, not %d and %d", tid, got[2*tid], got[2*tid+1], counted, reduced)
					}
				}
			})
		}
	})
}

// Votes, shuffles and bar.warp.sync with the full mask must not wait for lanes that have faulted. A
// ballot has no bit for such a lane, and a shuffle that reads from it returns an unspecified value.
func TestWarpsDoNotWaitForLanesThatFaulted(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "sync"), "warp")
		for mode := range 4 {
			t.Run(fmt.Sprint("mode ", mode), func(t *testing.T) {
				got := afterLeaving(t, c, k, mode, 4)
				for tid := range barrierThreads {
					if left(mode, tid) {
						continue
					}
					first, ballot := tid/32*32, uint32(0)
					for lane := range 32 {
						if !left(mode, first+lane) {
							ballot |= 1 << lane
						}
					}
					v := got[4*tid : 4*tid+4]
					if v[0] != ballot || v[1] != uint32(first) || v[3] != 7 {
						t.Fatalf("thread %d has %#x, %d and %d, not %#x, %d and 7", tid, v[0], v[1], v[3], ballot, first)
					}
					if !left(mode, first+31) && v[2] != uint32(first+31) {
						t.Fatalf("thread %d has %d of lane 31", tid, v[2])
					}
				}
			})
		}
	})
}

// afterLeaving runs a block of kernel meet or warp and returns n numbers from each thread.
func afterLeaving(t *testing.T, c *driver.Context, k *driver.Kernel, mode, n int) []uint32 {
	s, out := stream(t, c), buffer(t, c, n*barrierThreads)
	ok(t, k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(barrierThreads)}, out, uint32(mode)))
	err := wait(t, s)
	if mode == 0 {
		ok(t, err)
	} else if f := faultOf(t, err); f.Kind != "assert" || !left(mode, int(f.Thread[0])) || f.Values[0] != int64(f.Thread[0]) {
		t.Errorf("the fault is %v", f)
	}
	return values(t, out)
}
