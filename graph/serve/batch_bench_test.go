package serve_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// BenchmarkBatch measures the cost of a Batcher on a driver that does nothing. BenchmarkPool does
// the same for a Pool.
func BenchmarkBatch(b *testing.B) {
	k, p := benchBatcher(b)
	in := ramp(width, 0)
	use := func(output, int) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		k.OK(p.Call(background, in, use))
	}
}

// Sixteen goroutines per processor make calls.
func BenchmarkBatchQueued(b *testing.B) {
	_, p := benchBatcher(b)
	in := ramp(width, 0)
	use := func(output, int) error { return nil }
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := p.Call(background, in, use); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(p.Stats().CallsPerBatch(), "calls/batch")
}

func benchBatcher(b *testing.B) (*kit, *batcher) {
	k := newKit(b, gputest.Context(b, gputest.Driver(b, new(graphtest.NullCapture))))
	return k, k.batcher(k.rows, serve.WithReplicas(4))
}

// BenchmarkBatching measures 64 callers on a GPU. Each caller passes a row of 256 numbers to a step
// of 20 small kernels, whose launches dominate its cost. The benchmark compares a Pool with
// Batchers that have different windows. Each iteration is one call.
func BenchmarkBatching(b *testing.B) {
	const (
		callers  = 64
		elements = 256
		launches = 20
	)
	k := newKit(b, gputest.Context(b, gputest.GPU(b)))
	type host = *driver.HostBuffer[float32]
	step := func(x *driver.Buffer[float32]) (ops []driver.Op) {
		for range launches {
			op, err := kernels.MulScalar(x, x, float32(1.0001))
			k.OK(err)
			ops = append(ops, op)
		}
		return ops
	}
	for _, replicas := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("pool/replicas=%d", replicas), func(b *testing.B) {
			p, err := serve.New(k.C, func(t *callable.Trace[[]float32]) (host, error) {
				x := callable.StageSlice(t, func(in []float32) []float32 { return in })
				t.Do(step(x)...)
				return callable.Result(t, x), nil
			}, [][]float32{make([]float32, elements)}, serve.WithReplicas(replicas))
			k.OK(err)
			defer func() { k.OK(p.Close()) }()
			load(b, callers, func() func() error {
				in, to := make([]float32, elements), make([]float32, elements)
				use := func(out host) error { copy(to, out.Slice()); return nil }
				return func() error { return p.Call(background, in, use) }
			})
		})
	}
	for _, replicas := range []int{1, 2} {
		for _, window := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond} {
			b.Run(fmt.Sprintf("batcher/replicas=%d/window=%v", replicas, window), func(b *testing.B) {
				p, err := serve.NewBatcher(k.C, func(t *callable.Trace[[][]float32]) (host, error) {
					x := callable.StageRows(t, func(in []float32) []float32 { return in })
					t.Do(step(x)...)
					return callable.Result(t, x), nil
				}, make([]float32, elements), serve.WithBatch(callers, window), serve.WithReplicas(replicas))
				k.OK(err)
				defer func() { k.OK(p.Close()) }()
				load(b, callers, func() func() error {
					in, to := make([]float32, elements), make([]float32, elements)
					use := func(out host, i int) error { copy(to, out.Slice()[i*elements:]); return nil }
					return func() error { return p.Call(background, in, use) }
				})
				s := p.Stats()
				b.ReportMetric(s.CallsPerBatch(), "calls/batch")
				b.ReportMetric(float64(s.Padded)/float64(s.Batches()), "padded/batch")
			})
		}
	}
}

// load makes calls from many goroutines, and reports the calls per second and the latencies.
func load(b *testing.B, callers int, newCaller func() func() error) {
	times := make([][]time.Duration, callers)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range callers {
		call, n := newCaller(), b.N/callers
		if i < b.N%callers {
			n++
		}
		times[i] = make([]time.Duration, 0, n)
		wg.Go(func() {
			<-begin
			for range n {
				at := time.Now()
				if err := call(); err != nil {
					b.Error(err)
					return
				}
				times[i] = append(times[i], time.Since(at))
			}
		})
	}
	b.ResetTimer()
	close(begin)
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		return
	}
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "p99-µs")
}
