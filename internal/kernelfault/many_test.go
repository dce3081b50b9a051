package kernelfault_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// A process must survive a thousand faults, and each must be returned with its own values. Between
// the faults, and in other streams, kernels must compute correct results.
func TestAThousandFaults(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, "index", "busy")
		k, s := kernel(t, m, "index"), stream(t, c)
		out, good := buffer(t, c, 128), buffer(t, c, 128)
		stop := othersAreBusy(t, c, kernel(t, m, "busy"))
		defer stop()
		work, replayed := prepareIndex(t, k, good, 128, 0), instantiated(t, c, prepareIndex(t, k, out, 1, 1))
		for i := range uint64(1000) {
			want := driver.KernelFault{Kind: "index", Kernel: "index", File: "heat/step.go", Line: 17, Column: 9}
			switch i % 3 {
			case 0: // one thread faults
				launchIndex(t, k, s, 4, out, 127+i, i)
				want.Values, want.Block, want.Thread = [3]int64{int64(127 + i), int64(127 + i)}, [3]uint32{3}, [3]uint32{31}
			case 1: // all threads of four blocks fault
				launchIndex(t, k, s, 4, out, 1, i)
			case 2: // all threads fault in a replay
				ok(t, replayed.Launch(s))
			}
			f := faultOf(t, wait(t, s))
			if i%3 == 0 && *f != want {
				t.Fatalf("fault %d is %+v, not %+v", i, *f, want)
			}
			if index, first := f.Values[0], int64(f.Block[0]*32+f.Thread[0]); i%3 == 1 && index != first+int64(i) || i%3 == 2 && index != first+1 {
				t.Fatalf("fault %d is %+v: the values are of another thread", i, *f)
			}
			ok(t, wait(t, s))
			ok(t, good.Fill(0))
			ok(t, s.Do(work))
			ok(t, wait(t, s))
			for j, v := range values(t, good) {
				if v != uint32(j) {
					t.Fatalf("after fault %d, element %d is %d", i, j, v)
				}
			}
		}
	})
}

// othersAreBusy runs correct work in two other streams until the returned function is called. Waits
// for those streams may return the faults as well, because a fault does not tell which stream it
// belongs to.
func othersAreBusy(t *testing.T, c *driver.Context, k *driver.Kernel) (stop func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		s, out := stream(t, c), buffer(t, c, 32)
		all.Go(func() {
			total := uint32(0)
			for !over.Load() {
				if err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, out, uint32(100)); err != nil {
					t.Error(err)
				}
				total += 100
				var f *driver.KernelFault
				if err := s.Wait(context.Background()); err != nil && !errors.As(err, &f) {
					t.Error(err)
				}
			}
			if v := values(t, out); v[0] != total || v[31] != total {
				t.Errorf("other work computed %d and %d, not %d", v[0], v[31], total)
			}
		})
	}
	return func() {
		over.Store(true)
		all.Wait()
	}
}
