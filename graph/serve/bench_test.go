package serve_test

import (
	"testing"

	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

// The benchmarks compare the cost of a call to a Pool with that of a call to a Callable, on a
// driver that does nothing.

func BenchmarkCallable(b *testing.B) {
	k := newKit(b, gputest.Context(b, gputest.Driver(b, new(graphtest.NullCapture))))
	c, err := callable.New(k.S, k.affine, [][]uint32{ramp(8, 0)})
	k.OK(err)
	k.CloseLater(c)
	in := ramp(8, 0)
	use := func(output) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		k.OK(c.CallWith(background, in, use))
	}
}

func BenchmarkPool(b *testing.B) {
	k, p := benchPool(b)
	in := ramp(8, 0)
	use := func(output) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		k.OK(p.Call(background, in, use))
	}
}

// Sixteen goroutines per processor share four replicas, so most calls queue.
func BenchmarkPoolQueued(b *testing.B) {
	_, p := benchPool(b)
	in := ramp(8, 0)
	use := func(output) error { return nil }
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := p.Call(background, in, use); err != nil {
				b.Error(err)
			}
		}
	})
}

func benchPool(b *testing.B) (*kit, *pool) {
	k := newKit(b, gputest.Context(b, gputest.Driver(b, new(graphtest.NullCapture))))
	return k, k.pool(k.affine, serve.WithReplicas(4))
}
