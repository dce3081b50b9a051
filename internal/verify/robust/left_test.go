package robust

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// eachDriverAnew calls the function use repeatedly, first with a new emulator each time, then with
// the GPU. After each of these calls, it calls the function then.
func eachDriverAnew(t *testing.T, times int, use func(t *testing.T, d *driver.Driver), then func(t *testing.T, round int)) {
	t.Run("emulator", func(t *testing.T) {
		for i := range times {
			t.Run("round", func(t *testing.T) { use(t, gputest.Emulator(t, emulator.Config{})) })
			then(t, i)
		}
	})
	t.Run("gpu", func(t *testing.T) {
		d := gputest.GPU(t)
		for i := range times {
			use(t, d)
			then(t, i)
		}
	})
}

// wholeLife runs a program that uses all features for which this module starts goroutines, from
// creating a context to closing everything.
func wholeLife(t *testing.T, d *driver.Driver) {
	p := newProgram(t, d)
	defer p.closeAll(driver.CUDA_SUCCESS)
	ok(t, p.s.HostFunc(func() { time.Sleep(time.Millisecond) }))
	cancelled, cancel := context.WithTimeout(t.Context(), time.Microsecond)
	defer cancel()
	_ = p.s.Wait(cancelled) // leaves a goroutine that continues to wait
	g, err := graph.Capture(p.s, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(p.launch) })
	ok(t, err)
	p.keep(g)
	ok(t, p.x.Run(t.Context(), p.s))
	ok(t, p.c.Synchronize(t.Context()))
}

func TestNoGoroutineIsLeft(t *testing.T) {
	const rounds = 10
	before := 0
	eachDriverAnew(t, rounds, wholeLife, func(t *testing.T, round int) {
		if round == 0 {
			before = runtime.NumGoroutine()
			return
		}
		if n := settled(before); n > before {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines after round %d, %d after the first:\n%s", n, round, before, stacks[:runtime.Stack(stacks, true)])
		}
	})
}

// settled waits up to 10 seconds until the number of goroutines is at most want, and returns that
// number.
func settled(want int) int {
	end := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > want && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine()
}
