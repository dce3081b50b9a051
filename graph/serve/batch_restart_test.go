package serve_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
)

// rowsProgram is a program whose function runs on batches of rows.
type rowsProgram struct {
	*program
	clock *serve.FakeClock
	hold  atomic.Pointer[func()] // runs on the device in each batch, unless it is nil
}

func newRowsProgram(t *testing.T) *rowsProgram {
	return &rowsProgram{program: newProgram(t, recovering()), clock: new(serve.FakeClock)}
}

// openRows is like open, but returns a function that runs on batches. A batch whose first row
// begins with trapping traps.
func (w *rowsProgram) openRows() (*driver.Context, batchFn, error) {
	c, _, err := w.open()
	if err != nil {
		return nil, nil, err
	}
	k := &kit{Kit: &graphtest.Kit{TB: w.TB, C: c}}
	trap, modules, err := k.load()
	w.things = append(w.things, modules...)
	if err != nil {
		return nil, nil, err
	}
	return c, func(t *callable.Trace[[][]uint32]) (output, error) {
		x := callable.StageRows(t, func(in []uint32) []uint32 { return in[:1] })
		h, err := driver.NewHostFunc(k.C, func() {
			if hold := w.hold.Load(); hold != nil {
				(*hold)()
			}
		})
		if err != nil {
			return nil, err
		}
		t.Do(h)
		t.Launch(trap, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, x)
		return k.rows(t)
	}, nil
}

func (w *rowsProgram) batcher(opts ...serve.Option) *batcher {
	w.Helper()
	c, f, err := w.openRows()
	w.OK(err)
	b, err := serve.NewBatcher(c, f, ramp(width, 0), append(opts, serve.WithRestart(0, w.openRows), serve.WithClock(w.clock))...)
	w.OK(err)
	w.Cleanup(func() {
		_ = b.Close() // fails with the driver's code, because a lost context cannot release its objects
		_ = w.close()
	})
	return b
}

// The calls of the batch get the LostError, as do those that wait. Later calls wait for the new
// context.
func TestBatcherContinuesInANewContext(t *testing.T) {
	w := newRowsProgram(t)
	b := w.batcher(serve.WithBatch(2, time.Hour), serve.WithReplicas(2))
	for n := range uint64(3) {
		results := append(w.join(background, b, 1, trapping), joined(background, b, 0, ramp(width, 1)))
		var lost *serve.LostError
		for _, r := range results {
			err := <-r
			if lost == nil && !errors.As(err, &lost) || err != error(lost) || !lost.Restarting {
				t.Fatalf("got %v", err)
			}
		}
		for range 2 {
			w.all(append(w.join(background, b, 1, 5), joined(background, b, 0, ramp(width, 9))))
		}
		if s := b.Stats(); s.Restarts != n+1 || s.LastLoss != error(lost) || s.Failed != 2*(n+1) || s.Calls != 4*(n+1) || s.Refused.Lost != 0 {
			t.Errorf("did %+v", s)
		}
	}
}

// A worker that collects a batch must not prevent the restart. Calls that arrive during the restart
// are served after it, or get the reason why it failed.
func TestBatchesDuringARestart(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w := newRowsProgram(t)
		refused := errors.New("refused")
		opening, proceed := make(chan struct{}, 1), make(chan struct{})
		b := w.batcher(serve.WithBatch(2, time.Hour), serve.WithReplicas(2))
		w.before = func() error {
			opening <- struct{}{}
			<-proceed
			if fails {
				return refused
			}
			return nil
		}
		entered, release := make(chan struct{}), make(chan struct{})
		hold := func() { close(entered); <-release }
		w.hold.Store(&hold)
		lost := append(w.join(background, b, 1, trapping), joined(background, b, 0, ramp(width, 1)))
		<-entered
		w.hold.Store(nil)
		collected := w.join(background, b, 1, 50)
		w.armed(w.clock, time.Hour)
		close(release)
		var first *serve.LostError
		for _, r := range append(lost, collected...) {
			if err := <-r; !errors.As(err, &first) {
				t.Fatalf("got %v", err)
			}
		}
		<-opening
		ctx, cancel := context.WithCancel(background)
		cancelled := w.join(ctx, b, 1, 3)
		cancel()
		if err := <-cancelled[0]; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		later := append(w.join(background, b, 1, 5), joined(background, b, 0, ramp(width, 9)))
		close(proceed)
		for _, r := range later {
			err := <-r
			if !fails {
				w.OK(err)
			} else if !errors.Is(err, refused) || errors.Is(first, refused) {
				t.Errorf("got %v", err)
			}
		}
		if fails {
			if err := batched(background, b, ramp(width, 9)); !errors.Is(err, refused) {
				t.Errorf("got %v", err)
			}
		}
	}
}

// Batches lose the context again and again. Every call must return the right output or a LostError,
// and the Batcher must always continue.
func TestSoakOfRestartsWithBatches(t *testing.T) {
	w := newRowsProgram(t)
	b := w.batcher(serve.WithBatch(4, 0), serve.WithReplicas(3))
	end := time.Now().Add(time.Second / 4)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(i)))
			for time.Now().Before(end) || b.Stats().Restarts < 2 {
				from := r.Uint32N(600)
				if r.IntN(300) == 0 {
					from = trapping
				}
				var lost *serve.LostError
				if err := batched(background, b, ramp(width, from)); err != nil && (!errors.As(err, &lost) || !lost.Restarting) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	w.Eventually("the last restart", func() bool { return batched(background, b, ramp(width, 1)) == nil })
	if s := b.Stats(); s.Busy != 0 || s.Queued != 0 || s.Restarts < 2 {
		t.Errorf("did %+v", s)
	}
}
