package serve_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/ptx/kernels"
)

// The outputs of batches, padded or not, must equal the outputs of a Pool bit for bit.
func TestBatchedOutputsEqualUnbatchedOnes(t *testing.T) {
	type host = *driver.HostBuffer[float32]
	step := func(t interface{ Do(...driver.Op) }, x *driver.Buffer[float32]) {
		for i := range 5 {
			a, err := kernels.MulScalar(x, x, float32(1.1)+float32(i))
			if err != nil {
				panic(err)
			}
			b, err := kernels.DivScalar(x, x, float32(0.7))
			if err != nil {
				panic(err)
			}
			c, err := kernels.AddScalar(x, x, float32(1e-3))
			if err != nil {
				panic(err)
			}
			t.Do(a, b, c)
		}
	}
	each(t, func(k *kit) {
		pool, err := serve.New(k.C, func(t *callable.Trace[[]float32]) (host, error) {
			x := callable.StageSlice(t, func(in []float32) []float32 { return in })
			step(t, x)
			return callable.Result(t, x), nil
		}, [][]float32{make([]float32, 7)})
		k.OK(err)
		k.CloseLater(pool)
		b, err := serve.NewBatcher(k.C, func(t *callable.Trace[[][]float32]) (host, error) {
			x := callable.StageRows(t, func(in []float32) []float32 { return in })
			step(t, x)
			return callable.Result(t, x), nil
		}, make([]float32, 7), serve.WithBatch(12, 0))
		k.OK(err)
		k.CloseLater(b)
		bits := func(x []float32) (to []uint32) {
			for _, v := range x {
				to = append(to, math.Float32bits(v))
			}
			return to
		}
		compare := func(seed int, use func()) error {
			in := make([]float32, 7)
			for j := range in {
				in[j] = float32(math.Sin(float64(10*seed + j)))
			}
			var alone, together []uint32
			err := pool.Call(background, in, func(out host) error { alone = bits(out.Slice()); return nil })
			err = errors.Join(err, b.Call(background, in, func(out host, i int) error {
				use()
				together = bits(out.Slice()[7*i : 7*i+7])
				return nil
			}))
			if err == nil && !slices.Equal(alone, together) {
				err = fmt.Errorf("alone %x, together %x", alone, together)
			}
			return err
		}
		for waits := range 24 { // the first call holds the replica until the other calls wait
			results := make(chan error, waits)
			k.OK(compare(1000*waits, func() {
				for i := range waits {
					go func() { results <- compare(1000*waits+i+1, func() {}) }()
				}
				k.Eventually("waiting calls", func() bool { return b.Stats().Queued == waits })
			}))
			for range waits {
				k.OK(<-results)
			}
		}
		for _, size := range b.Stats().Sizes {
			if size.Batches == 0 {
				t.Errorf("no batch of size %d", size.Size)
			}
		}
		if s := b.Stats(); s.Calls != 24+23*12 || s.Queued != 0 || s.Failed != 0 || s.Padded == 0 {
			t.Errorf("did %+v", s)
		}
	})
}

// Without a window, a call that finds a free replica must start alone. A replica that becomes free
// must take all waiting calls.
func TestFreeReplicaTakesWhatWaits(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(8, 0))
		results := []<-chan error{joined(background, b, 0, ramp(width, 90))}
		<-v.entered
		results = append(results, k.join(background, b, 5, 10)...)
		v.pass <- struct{}{}
		<-v.entered
		results = append(results, k.join(background, b, 8, 20)...)
		results = append(results, k.join(background, b, 1, 30)...)
		v.open()
		k.all(results)
		if got := sizes(b); got != "1: 2/2 2: 0/0 4: 0/0 8: 2/13 " {
			t.Errorf("sizes %s", got)
		}
		if s := b.Stats(); s.Calls != 15 || s.Padded != 3 || s.Batches() != 4 || s.CallsPerBatch() != 3.75 || s.MostQueued != 9 || s.Queued != 0 || s.Busy != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

// If all sizes are listed, no batch may be padded.
func TestExactSizes(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(4, 0), serve.WithBatchSizes(3, 1, 2))
		var results []<-chan error
		for n := range 5 {
			results = append(results, k.join(background, b, n, uint32(10*n))...)
			if n > 0 {
				v.pass <- struct{}{}
			}
			if n == 0 {
				results = append(results, joined(background, b, 0, ramp(width, 1)))
			}
			<-v.entered
		}
		v.open()
		k.all(results)
		if got, s := sizes(b), b.Stats(); got != "1: 2/2 2: 1/2 3: 1/3 4: 1/4 " || s.Padded != 0 {
			t.Errorf("sizes %s, padded %d", got, s.Padded)
		}
		// There may be more sizes than a Callable keeps variants by default.
		many := k.batcher(k.rows, serve.WithBatch(20, 0), serve.WithBatchSizes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
		k.OK(batched(background, many, ramp(width, 1)))
	})
}

func TestWindowCollectsABatch(t *testing.T) {
	each(t, func(k *kit) {
		clock := new(serve.FakeClock)
		b := k.batcher(k.rows, serve.WithBatch(4, 10), serve.WithClock(clock))
		results := k.join(background, b, 1, 0)
		k.armed(clock, 10)
		clock.Advance(6)
		results = append(results, k.join(background, b, 1, 5)...)
		k.armed(clock, 4) // the window began with the first call
		clock.Advance(3)
		if s := b.Stats(); s.Queued != 2 || s.Busy != 0 {
			t.Errorf("began early: %+v", s)
		}
		clock.Advance(1)
		k.all(results)
		s := b.Stats()
		if got := sizes(b); got != "1: 0/0 2: 1/2 4: 0/0 " || s.Waited != 14 || s.Window != 14 {
			t.Errorf("sizes %s, waited %d, window %d", got, s.Waited, s.Window)
		}
	})
}

func TestFullBatchDoesNotWaitForTheWindow(t *testing.T) {
	each(t, func(k *kit) {
		clock := new(serve.FakeClock)
		b := k.batcher(k.rows, serve.WithBatch(3, 10), serve.WithClock(clock))
		results := k.join(background, b, 1, 0)
		k.armed(clock, 10)
		results = append(results, k.join(background, b, 1, 5)...)
		results = append(results, joined(background, b, 0, ramp(width, 7)))
		k.all(results)
		if got := sizes(b); got != "1: 0/0 2: 0/0 3: 1/3 " || b.Stats().CallsPerBatch() != 3 {
			t.Errorf("sizes %s", got)
		}
		// Exactly enough calls for two batches arrive. Both replicas must begin, and no call may be
		// left in the queue.
		two := k.batcher(k.rows, serve.WithBatch(2, 10), serve.WithClock(clock), serve.WithReplicas(2))
		results = nil
		for i := range uint32(4) {
			results = append(results, joined(background, two, 0, ramp(width, i)))
		}
		k.all(results)
		if got := sizes(two); got != "1: 0/0 2: 2/4 " {
			t.Errorf("sizes %s", got)
		}
	})
}

// After the oldest call leaves, the window of the next call must count.
func TestWindowOfTheOldestCall(t *testing.T) {
	each(t, func(k *kit) {
		clock := new(serve.FakeClock)
		b := k.batcher(k.rows, serve.WithBatch(4, 10), serve.WithClock(clock))
		ctx, cancel := context.WithCancel(background)
		first := k.join(ctx, b, 1, 0)
		k.armed(clock, 10)
		clock.Advance(6)
		second := k.join(background, b, 1, 5)
		cancel()
		if err := <-first[0]; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		clock.Advance(4)
		k.armed(clock, 6)
		clock.Advance(6)
		k.all(second)
		if got := sizes(b); got != "1: 1/1 2: 0/0 4: 0/0 " {
			t.Errorf("sizes %s", got)
		}
		// If all calls leave, no batch may run, and later calls must get a whole window.
		ctx, cancel = context.WithCancel(background)
		third := k.join(ctx, b, 1, 0)
		k.armed(clock, 10)
		cancel()
		<-third[0]
		clock.Advance(10)
		k.Eventually("an idle worker", func() bool { return b.Idle() == 1 })
		fourth := k.join(background, b, 1, 0)
		k.armed(clock, 10)
		clock.Advance(10)
		k.all(fourth)
		if s := b.Stats(); s.Batches() != 2 || s.CancelledQueued != 2 {
			t.Errorf("did %+v", s)
		}
	})
}

// Calls that waited longer than the window for a replica must begin as soon as a replica is free.
func TestWindowEndsWhileReplicasAreBusy(t *testing.T) {
	each(t, func(k *kit) {
		clock := new(serve.FakeClock)
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(4, 10), serve.WithClock(clock))
		results := k.join(background, b, 1, 0)
		k.armed(clock, 10)
		clock.Advance(10)
		<-v.entered
		results = append(results, k.join(background, b, 2, 5)...)
		clock.Advance(10)
		if s := b.Stats(); s.Queued != 2 || s.Busy != 1 {
			t.Errorf("did %+v", s)
		}
		v.open()
		k.all(results)
		if got, s := sizes(b), b.Stats(); got != "1: 1/1 2: 1/2 4: 0/0 " || s.Waited != 30 || s.Window != 10 {
			t.Errorf("sizes %s, waited %d, window %d", got, s.Waited, s.Window)
		}
		// A replica becomes free within the window of a call. Only the rest of the window counts as
		// Window.
		results = nil
		k.OK(k.alone(b, clock, func() {
			results = k.join(background, b, 1, 5)
			clock.Advance(4)
		}))
		k.armed(clock, 6)
		clock.Advance(6)
		k.all(results)
		if s := b.Stats(); s.Waited != 30+10+10 || s.Window != 10+10+6 {
			t.Errorf("waited %d, window %d", s.Waited, s.Window)
		}
	})
}

// Without WithBatch, a batch has up to 16 calls and no window.
func TestDefaultBatch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.batcher(k.rows)
		for i := range uint32(3) {
			k.OK(batched(background, b, ramp(width, i)))
		}
		var none context.Context // has no deadline and never ends
		k.OK(b.Call(none, ramp(width, 1), nil))
		mine := errors.New("mine")
		if err := b.Call(none, ramp(width, 1), func(output, int) error { return mine }); err != mine {
			t.Errorf("got %v", err)
		}
		if got := sizes(b); got != "1: 5/5 2: 0/0 4: 0/0 8: 0/0 16: 0/0 " {
			t.Errorf("sizes %s", got)
		}
	})
}

func TestReplicasRunBatchesAtTheSameTime(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(2, 0), serve.WithReplicas(2))
		results := []<-chan error{joined(background, b, 0, ramp(width, 0))}
		<-v.entered
		results = append(results, joined(background, b, 0, ramp(width, 5)))
		k.running(b, 2) // both run before the first batch has passed the valve
		results = append(results, k.join(background, b, 3, 9)...)
		if s := b.Stats(); s.Busy != 2 || s.Queued != 3 {
			t.Errorf("did %+v", s)
		}
		v.open()
		k.all(results)
	})
}

func TestBatcherGrowsWhenMoreThanABatchWaits(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(2, 0), serve.WithGrowth(2, 1), serve.WithQueue(3))
		results := []<-chan error{joined(background, b, 0, ramp(width, 0))}
		<-v.entered
		results = append(results, k.join(background, b, 2, 5)...)
		if s := b.Stats(); s.Replicas != 1 {
			t.Errorf("did %+v", s)
		}
		results = append(results, joined(background, b, 0, ramp(width, 9)))
		k.running(b, 2)
		if s := b.Stats(); s.Replicas != 2 || s.Grown != 1 || s.Queued != 1 {
			t.Errorf("did %+v", s)
		}
		results = append(results, k.join(background, b, 2, 5)...)
		var busy *serve.BusyError
		if err := batched(background, b, ramp(width, 1)); !errors.As(err, &busy) || *busy != (serve.BusyError{Waiting: 3, Replicas: 2}) {
			t.Errorf("got %v", err)
		}
		v.open()
		k.all(results)
	})
}

func TestBatcherQueueIsBounded(t *testing.T) {
	each(t, func(k *kit) {
		for _, bound := range []int{0, 3} {
			f, v := k.valved()
			b := k.batcher(f, serve.WithBatch(2, 0), serve.WithQueue(bound))
			results := []<-chan error{joined(background, b, 0, ramp(width, 0))}
			<-v.entered
			results = append(results, k.join(background, b, bound, 5)...)
			err := batched(background, b, ramp(width, 1))
			var busy *serve.BusyError
			if !errors.As(err, &busy) || *busy != (serve.BusyError{Waiting: bound, Replicas: 1}) {
				t.Errorf("bound %d: got %v", bound, err)
			}
			v.open()
			k.all(results)
			for i := range uint32(20) { // one call at a time always finds a free replica
				k.OK(batched(background, b, ramp(width, i)))
			}
			if s := b.Stats(); s.Refused != (serve.Refused{Busy: 1}) || s.Calls != uint64(21+bound) {
				t.Errorf("bound %d: did %+v", bound, s)
			}
		}
		// While a free replica collects a batch, its calls do not count as queued.
		clock := new(serve.FakeClock)
		b := k.batcher(k.rows, serve.WithBatch(3, 10), serve.WithQueue(0), serve.WithClock(clock))
		results := k.join(background, b, 2, 0)
		k.armed(clock, 10)
		clock.Advance(10)
		k.all(results)
	})
}

func TestHigherPrioritiesAreBatchedFirst(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(2, 0))
		first := joined(background, b, 0, ramp(width, 0))
		<-v.entered
		var results []<-chan error
		for i, priority := range []int{0, 1, 0, 2, 1} {
			results = append(results, joined(background, b, priority, ramp(width, uint32(i))))
			k.waiting(b, i+1)
		}
		for _, batch := range [][]int{{3, 1}, {4, 0}} {
			v.pass <- struct{}{}
			<-v.entered
			for _, i := range batch {
				select {
				case err := <-results[i]:
					t.Errorf("call %d returned %v before its batch", i, err)
				default:
				}
			}
		}
		v.pass <- struct{}{} // lets the batch of calls 4 and 0 pass
		for _, r := range []<-chan error{first, results[3], results[1], results[4], results[0]} {
			k.OK(<-r)
		}
		<-v.entered
		if s := b.Stats(); s.Calls != 5 {
			t.Errorf("did %+v", s)
		}
		v.open()
		k.OK(<-results[2])
	})
}

func TestBatcherRefusesDeadlinesThatCannotBeMet(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(2, 0), serve.WithDeadlines())
		ctx, cancel := context.WithTimeout(background, 4*time.Hour)
		defer cancel()
		b.SetMean(10 * time.Hour)
		results := []<-chan error{joined(ctx, b, 0, ramp(width, 0))} // admitted, because no batch is running
		<-v.entered
		v.pass <- struct{}{}
		k.OK(<-results[0])
		k.Eventually("an idle worker", func() bool { return b.Idle() == 1 })
		results = []<-chan error{joined(background, b, 0, ramp(width, 0))}
		<-v.entered
		results = append(results, k.join(ctx, b, 1, 5)...) // joins after the first batch has been measured
		v.pass <- struct{}{}
		k.OK(<-results[0])
		<-v.entered
		v.pass <- struct{}{}
		k.OK(<-results[1])
		k.Eventually("an idle worker", func() bool { return b.Idle() == 1 })
		b.SetMean(time.Hour)
		results = []<-chan error{joined(ctx, b, 0, ramp(width, 0))}
		<-v.entered
		b.SetMean(90 * time.Minute)
		results = append(results, k.join(ctx, b, 1, 5)...) // this call and the next one need 3 hours each
		results = append(results, k.join(ctx, b, 1, 6)...)
		err := batched(ctx, b, ramp(width, 7)) // this call needs 4.5 hours
		if !errors.Is(err, serve.ErrTooLate) || !strings.Contains(err.Error(), "4h30m0s with 2 calls") {
			t.Errorf("got %v", err)
		}
		results = append(results, joined(ctx, b, 1, ramp(width, 8))) // has a higher priority, so it is next
		k.waiting(b, 3)
		v.open()
		k.all(results)
		if s := b.Stats(); s.Refused != (serve.Refused{TooLate: 1}) {
			t.Errorf("did %+v", s)
		}
		// Even with a free replica, the call would have to wait for the window.
		f, v = k.valved()
		late := k.batcher(f, serve.WithBatch(2, 10*time.Hour), serve.WithDeadlines(), serve.WithReplicas(2))
		results = []<-chan error{joined(background, late, 0, ramp(width, 0)), joined(background, late, 0, ramp(width, 0))}
		k.running(late, 1)
		late.SetMean(time.Hour)
		if err := batched(ctx, late, ramp(width, 7)); !errors.Is(err, serve.ErrTooLate) || !strings.Contains(err.Error(), "11h0m0s with 0 calls") {
			t.Errorf("got %v", err)
		}
		results = append(results, k.join(background, late, 1, 0)...)
		results = append(results, joined(ctx, late, 0, ramp(width, 0))) // completes the batch
		v.open()
		k.all(results)
	})
}

func TestUseOfOneCallDoesNotAffectOthers(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(8, 0))
		first := joined(background, b, 0, ramp(width, 0))
		<-v.entered
		mine := errors.New("mine")
		hold := make(chan struct{})
		var inside, outside sync.WaitGroup
		var panics atomic.Int32
		start := func(in []uint32, use func(output, int) error) {
			before := b.Stats().Queued
			inside.Add(1)
			outside.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				err := b.Call(background, in, func(out output, i int) error {
					inside.Done()
					<-hold
					return errors.Join(checkedRow(in)(out, i), use(out, i))
				})
				if err != nil && !errors.Is(err, mine) {
					t.Error(err)
				}
			})
			k.waiting(b, before+1)
		}
		start(ramp(width, 1), func(output, int) error { panic("of use") })
		start(ramp(width, 2), func(output, int) error { runtime.Goexit(); return nil })
		start(ramp(width, 3), func(output, int) error { return mine })
		start(ramp(width, 4), func(output, int) error { return nil })
		v.open()
		inside.Wait() // all use functions run concurrently
		k.OK(<-first)
		next := k.join(background, b, 1, 50) // this call must not overwrite the output
		if s := b.Stats(); s.Busy != 1 || s.Queued != 1 {
			t.Errorf("did %+v", s)
		}
		close(hold)
		outside.Wait()
		k.all(next)
		if s := b.Stats(); panics.Load() != 1 || s.Calls != 6 || s.Failed != 0 || s.Rebuilt != 0 || s.Batches() != 3 {
			t.Errorf("%d panics, did %+v", panics.Load(), s)
		}
	})
}

func TestNewBatcherRefusesWhatCannotWork(t *testing.T) {
	each(t, func(k *kit) {
		mine := errors.New("mine")
		fails := func(t *callable.Trace[[][]uint32]) (output, error) {
			out, err := k.rows(t)
			return out, errors.Join(err, mine)
		}
		invalid := driver.CUDA_ERROR_INVALID_VALUE
		for _, c := range []struct {
			what string
			c    *driver.Context
			f    batchFn
			want error
			opts []serve.Option
		}{
			{"no context", nil, k.rows, invalid, nil},
			{"no function", k.C, nil, invalid, nil},
			{"no replica", k.C, k.rows, invalid, []serve.Option{serve.WithReplicas(0)}},
			{"a negative number of replicas", k.C, k.rows, invalid, []serve.Option{serve.WithReplicas(-1)}},
			{"a negative queue", k.C, k.rows, invalid, []serve.Option{serve.WithQueue(-1)}},
			{"no calls", k.C, k.rows, invalid, []serve.Option{serve.WithBatch(0, 0)}},
			{"too many calls", k.C, k.rows, invalid, []serve.Option{serve.WithBatch(math.MaxInt, 0)}},
			{"a negative window", k.C, k.rows, invalid, []serve.Option{serve.WithBatch(2, -1)}},
			{"a size of 0", k.C, k.rows, invalid, []serve.Option{serve.WithBatchSizes(0)}},
			{"a size above the largest", k.C, k.rows, invalid, []serve.Option{serve.WithBatch(4, 0), serve.WithBatchSizes(5)}},
			{"too few variants", k.C, k.rows, invalid, []serve.Option{serve.WithCallable(callable.WithVariants(2))}},
			{"too little memory for all sizes", k.C, k.rows, invalid, []serve.Option{serve.WithMemory(1000)}},
			{"a failing function", k.C, fails, mine, []serve.Option{nil, serve.WithReplicas(2)}},
		} {
			if b, err := serve.NewBatcher(c.c, c.f, ramp(width, 0), c.opts...); b != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %v, %v", c.what, b, err)
			}
		}
		if b, err := serve.NewBatcher(k.C, k.rows, nil); b != nil || !errors.Is(err, invalid) || !strings.Contains(err.Error(), "no example") {
			t.Errorf("no example: %v, %v", b, err)
		}
		for text, o := range map[string]serve.Option{
			"cannot have 0 calls": serve.WithBatch(0, 0), "cannot be -1ns": serve.WithBatch(2, -1), "a batch of 17 calls": serve.WithBatchSizes(17),
		} {
			if _, err := serve.NewBatcher(k.C, k.rows, ramp(width, 0), o); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %q", err, text)
			}
		}
		for _, o := range []serve.Option{serve.WithBatch(2, 0), serve.WithBatchSizes(1)} {
			if p, err := serve.New(k.C, k.affine, nil, o); p != nil || !errors.Is(err, invalid) || !strings.Contains(err.Error(), "NewBatcher") {
				t.Errorf("%v, %v", p, err)
			}
		}
		var none *batcher
		k.OK(none.Close())
		k.OK(new(batcher).Close())
		for what, err := range map[string]error{
			"nil": none.Call(background, nil, nil), "zero": new(batcher).Call(background, nil, nil),
		} {
			if !errors.Is(err, invalid) || !strings.Contains(err.Error(), what+" batcher: make one with serve.NewBatcher") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if s := none.Stats(); s.Sizes != nil || s.Batches() != 0 || s.CallsPerBatch() != 0 || new(batcher).Stats().Replicas != 0 {
			t.Error("a nil batcher has something")
		}
	})
}
