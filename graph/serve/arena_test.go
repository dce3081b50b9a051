package serve_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

// model returns a function like affine that uses temporary memory of size elements for each input
// element. The result passes through the end of that memory.
func (k *kit) model(size int) fn {
	return func(t *callable.Trace[[]uint32]) (output, error) {
		x := callable.StageSlice(t, func(in []uint32) []uint32 { return in })
		y := callable.Scratch[uint32](t, size*x.Len())
		if t.Err() != nil {
			return nil, nil
		}
		end := y.View(y.Len()-x.Len(), y.Len())
		down, err := driver.CopyDevice[uint32](end, x)
		if err != nil {
			return nil, err
		}
		t.Do(down)
		t.Launch(k.Times, config, end, uint32(x.Len()), uint32(3))
		t.Launch(k.Plus, config, end, uint32(x.Len()), uint32(1))
		return callable.Result(t, end), nil
	}
}

func (k *kit) arenas(n int) (all []*arena.Arena) {
	k.Helper()
	for range n {
		a, err := arena.New(k.C)
		k.OK(err)
		k.CloseLater(a)
		all = append(all, a)
	}
	return all
}

// Two Pools with many callers use the same arenas. They record shapes at the same time, and a third
// Pool's calls are eager. All results must be correct, and the arenas must need at most 1.15 times
// the memory of the largest Pool. The emulator must find no race.
func TestPoolsShareArenas(t *testing.T) {
	e := emulator.New(emulator.Config{Check: emulator.CheckGlobalRaces})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, e)))
	k.shareArenas(4)
	if found := e.Findings(); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	each(t, func(k *kit) { k.shareArenas(12) })
}

func (k *kit) shareArenas(calls int) {
	k.Helper()
	const replicas, callers, large = 3, 8, 1 << 20
	all := k.arenas(replicas)
	opts := []serve.Option{serve.WithReplicas(replicas), serve.WithArenas(all...)}
	pools := []*pool{
		k.pool(k.model(large), opts...),
		k.pool(k.model(large/2), opts...),
		k.pool(k.model(large/4), append(opts, serve.WithCallable(callable.WithAdaptive(1<<30)))...),
	}
	var wg sync.WaitGroup
	for caller := range callers {
		for i, p := range pools {
			wg.Go(func() {
				for n := range calls {
					in := ramp(5+(n+caller)%4, uint32(1000*i+100*caller+n))
					if err := call(background, p, in); err != nil {
						k.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	var bytes uint64
	for _, a := range all {
		bytes += a.Report().Bytes
	}
	const largest = replicas * 8 * (large*4 + 4)
	if float64(bytes) > 1.15*largest || bytes < largest {
		k.Errorf("the arenas have %d bytes, and the largest Pool needs %d:\n%v", bytes, uint64(largest), all[0].Report())
	}
	for i, p := range pools {
		if s := p.Stats(); s.Calls != uint64(callers*calls) || s.Failed != 0 {
			k.Errorf("pool %d did %+v", i, s)
		}
	}
}

// While a replica of one Pool runs, a call of the other Pool must wait if its replica uses the same
// arena. With the next replica, which has another arena, the call must not wait.
func TestReplicasOfOneArenaTakeTurns(t *testing.T) {
	each(t, func(k *kit) {
		f, open, entered := k.gate(k.model(100))
		all := k.arenas(2)
		blocked := k.pool(f, serve.WithArenas(all[1]))
		p := k.pool(k.model(10), serve.WithReplicas(2), serve.WithArenas(all...))
		for range 4 { // enough calls for each replica to load and upload everything
			k.OK(call(background, p, ramp(8, 1)))
		}
		first := start(background, blocked, 0, checked(ramp(8, 5)))
		entered()
		ended, release := make(chan struct{}, 2), make(chan struct{})
		use := func(out output) error {
			ended <- struct{}{}
			<-release
			return checked(ramp(8, 5))(out)
		}
		second, third := start(background, p, 0, use), start(background, p, 0, use)
		<-ended // the call whose replica uses the free arena
		k.busy(p, 2)
		select {
		case <-ended:
			k.Error("both calls ended before the gate was opened")
		case <-time.After(20 * time.Millisecond): // if the other call did not wait, it would have ended by now
		}
		close(release)
		open()
		for _, result := range []<-chan error{first, second, third} {
			k.OK(<-result)
		}
	})
}

// Replicas must be spread evenly over the arenas, even if growth fails in between.
func TestReplicasAreSpreadOverArenas(t *testing.T) {
	k, lib, _ := faultyKit(t)
	all := k.arenas(3)
	p := k.pool(k.model(10), serve.WithReplicas(2), serve.WithGrowth(6, 1), serve.WithArenas(all...), serve.WithQueue(100))
	p.SetPause(0)
	release := make(chan struct{})
	use := func(out output) error {
		<-release
		return checked(ramp(8, 5))(out)
	}
	var results []<-chan error
	for i := range 14 {
		if i == 3 || i == 5 { // only these calls would create a replica
			lib.FailCall("cuGraphInstantiateWithParams", 1, uint32(graphtest.Injected))
		}
		results = append(results, start(background, p, 0, use))
		k.until(p, fmt.Sprint(i+1, " calls"), func(s serve.Stats) bool { return s.Busy+s.Queued == i+1 })
		lib.Stop()
	}
	close(release)
	for _, r := range results {
		k.OK(<-r)
	}
	if s := p.Stats(); s.Replicas != 6 || s.BuildsFailed != 2 {
		t.Errorf("did %+v", s)
	}
	for _, a := range all {
		if r := a.Report(); len(r.Plans) != 2 {
			t.Errorf("an arena has these plans:\n%v", r)
		}
	}
}

func TestUnusableArenas(t *testing.T) {
	each(t, func(k *kit) {
		for _, a := range []*arena.Arena{nil, new(arena.Arena)} {
			_, err := serve.New(k.C, k.affine, nil, serve.WithReplicas(2), serve.WithArenas(k.arenas(1)[0], a))
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("got %v", err)
			}
		}
		closed := k.arenas(1)[0]
		k.OK(closed.Close())
		if _, err := serve.New(k.C, k.affine, nil, serve.WithArenas(closed)); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
	})
}

// All batch sizes of a replica must use the same memory. They must share that memory with a Pool
// that has the same arenas. All results must be correct.
func TestBatchSizesShareAnArena(t *testing.T) {
	each(t, func(k *kit) {
		const large, sizes = 1 << 20, 8
		all := k.arenas(2)
		b := k.batcher(func(t *callable.Trace[[][]uint32]) (output, error) {
			x := callable.StageRows(t, func(in []uint32) []uint32 { return in })
			y := callable.Scratch[uint32](t, x.Len()*large/width)
			down, err := driver.CopyDevice[uint32](y.View(0, x.Len()), x)
			if err != nil {
				return nil, err
			}
			t.Do(down)
			t.Launch(k.Times, config, y, uint32(x.Len()), uint32(3))
			t.Launch(k.Plus, config, y, uint32(x.Len()), uint32(1))
			return callable.Result(t, y.View(0, x.Len())), nil
		}, serve.WithBatch(sizes, 0), serve.WithReplicas(2), serve.WithArenas(all...))
		p := k.pool(k.model(1000), serve.WithReplicas(2), serve.WithArenas(all...))
		var wg sync.WaitGroup
		for caller := range uint32(12) {
			wg.Go(func() {
				for i := range uint32(10) {
					if err := batched(background, b, ramp(width, 100*caller+i)); err != nil {
						k.Error(err)
					}
					if err := call(background, p, ramp(8, i)); err != nil {
						k.Error(err)
					}
				}
			})
		}
		wg.Wait()
		const largest = sizes * (large + width) * 4
		for _, a := range all {
			if r := a.Report(); float64(r.Bytes) > 1.15*largest || r.Bytes < largest || len(r.Plans) != 5 {
				k.Errorf("the largest batch needs %d bytes:\n%v", largest, r)
			}
		}
	})
}
