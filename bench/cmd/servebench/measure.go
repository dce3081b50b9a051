package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/purecuda/cuda/bench/internal/processor"
)

const (
	warmUp = 100 * time.Millisecond
	// countBefore is the time between counting allocations and the start of the measurement. The
	// count comes earlier because counting stops the world.
	countBefore = 20 * time.Millisecond
)

// latencies is the memory for the latencies of a measurement. Each caller gets an equal part. This
// memory and that of the inputs and outputs are reused, so that a measurement causes no garbage
// collection. A collection would also empty the runtime's caches of objects that waiting goroutines
// need.
var (
	latencies, all  [4 << 20]uint32
	inputs, outputs [most][words]uint32
)

// caller is one goroutine that makes calls.
type caller struct {
	s         *service
	call      entry
	in, out   []uint32
	latencies []uint32 // latencies in ns; overwritten from the beginning if there are more calls than elements
	calls     int
	wrong     int
	err       error
}

// window is the measured time. Calls count if they end in it.
type window struct{ begin, end time.Time }

// measure runs n callers concurrently for the given number of milliseconds.
func (s *service) measure(call entry, n, ms int) (result, error) {
	callers := make([]caller, n)
	var w window
	var ready, ended sync.WaitGroup
	begin := make(chan struct{})
	// A service's calls have contexts that can be cancelled.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range callers {
		c := &callers[i]
		part := len(latencies) / n
		*c = caller{s: s, call: call, in: inputs[i][:], out: outputs[i][:], latencies: latencies[i*part : (i+1)*part]}
		for k := range c.in {
			c.in[k] = uint32(i*words + k)
		}
		ready.Add(1)
		ended.Go(func() {
			use := func(out output) error { copy(c.out, out.Slice()); return nil }
			c.first(ctx, use)
			ready.Done()
			<-begin
			c.loop(ctx, use, &w)
			c.wrong += s.wrong(c)
		})
	}
	ready.Wait()
	w.begin = time.Now().Add(warmUp)
	w.end = w.begin.Add(time.Duration(ms) * time.Millisecond)
	close(begin)
	time.Sleep(time.Until(w.begin.Add(-countBefore)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	time.Sleep(time.Until(w.begin))
	from, used := time.Now(), processor.Time()
	time.Sleep(time.Until(w.end))
	used = processor.Time() - used
	r := result{seconds: w.end.Sub(w.begin).Seconds()}
	r.processor = used.Seconds() / time.Since(from).Seconds() * r.seconds // this goroutine may have woken up late, so the value is scaled to the window
	ended.Wait()
	runtime.ReadMemStats(&after)
	r.mallocs = after.Mallocs - before.Mallocs
	r.threads = threads()
	return r, r.collect(callers)
}

func (c *caller) first(ctx context.Context, use func(output) error) {
	c.err = c.call(ctx, c.in, use)
	c.wrong = c.s.wrong(c)
}

// loop makes calls until the window has ended.
func (c *caller) loop(ctx context.Context, use func(output) error, w *window) {
	for c.err == nil {
		c.in[0]++ // makes the input of each call different
		start := time.Now()
		if c.err = c.call(ctx, c.in, use); c.err != nil {
			return
		}
		end := time.Now()
		for time.Since(end) < c.s.between {
		}
		if c.out[0] != c.in[0]+c.s.added {
			c.wrong++
		}
		if end.After(w.end) {
			return
		}
		if end.Before(w.begin) {
			continue
		}
		c.latencies[c.calls%len(c.latencies)] = uint32(min(end.Sub(start), math.MaxUint32))
		c.calls++
	}
}

// wrong returns 1 if the caller's output is wrong.
func (s *service) wrong(c *caller) int {
	for i, out := range c.out {
		if out != c.in[i]+s.added {
			return 1
		}
	}
	return 0
}

type result struct {
	calls, wrong   int
	seconds        float64
	processor      float64 // processor time in seconds
	mallocs        uint64
	threads        int
	p50, p99, p999 uint32 // quantiles of the latency in ns
}

func (r *result) collect(callers []caller) error {
	var errs []error
	kept := all[:0]
	for i := range callers {
		c := &callers[i]
		errs = append(errs, c.err)
		r.calls += c.calls
		r.wrong += c.wrong
		kept = append(kept, c.latencies[:min(c.calls, len(c.latencies))]...)
	}
	slices.Sort(kept)
	quantile := func(q float64) uint32 {
		if len(kept) == 0 {
			return 0
		}
		return kept[int(q*float64(len(kept)-1))]
	}
	r.p50, r.p99, r.p999 = quantile(0.5), quantile(0.99), quantile(0.999)
	return errors.Join(errs...)
}

// print prints calls, seconds, the quantiles of the latency in ns, processor seconds,
// allocations in total, threads and wrong results, as bench/c/serve.c does.
func (r *result) print() {
	fmt.Println(r.calls, r.seconds, r.p50, r.p99, r.p999, r.processor, r.mallocs, r.threads, r.wrong)
}

func threads() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	return len(tasks)
}
