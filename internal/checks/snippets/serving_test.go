package snippets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/ptx/kernels"
)

type (
	output = *driver.HostBuffer[float32]
	scorer = serve.Pool[[]float32, output]
)

// newScorer returns a pool that computes 2x + 1.
func newScorer(ctx *driver.Context, opts ...serve.Option) *scorer {
	weights := ones(ctx)
	return must(serve.New(ctx, func(t *callable.Trace[[]float32]) (output, error) {
		x := callable.StageSlice(t, func(in []float32) []float32 { return in })
		t.Try(kernels.MulScalar(x, x, float32(2)))
		t.Try(kernels.Add(x, x, weights))
		return callable.Result(t, x), nil
	}, [][]float32{make([]float32, elements)}, opts...))
}

func Example_servingPool() {
	_, ctx, _ := open()
	weights := ones(ctx)
	type output = *driver.HostBuffer[float32]
	// [pool]
	f := func(t *callable.Trace[[]float32]) (output, error) {
		x := callable.StageSlice(t, func(in []float32) []float32 { return in }) // memory of one replica
		t.Try(kernels.MulScalar(x, x, float32(2)))
		t.Try(kernels.Add(x, x, weights)) // weights are shared
		return callable.Result(t, x), nil
	}
	example := make([]float32, elements)
	pool := must(serve.New(ctx, f, [][]float32{example}, serve.WithReplicas(4)))
	defer pool.Close()
	check(pool.Call(context.Background(), []float32{1, 2, 3, 4}, func(out output) error {
		fmt.Println(out.Slice()) // read it here: the next call overwrites it
		return nil
	}))
	// [end]

	// Output: [3 5 7 9]
}

func Example_servingArenas() {
	_, ctx, _ := open()
	type output = *driver.HostBuffer[float32]
	model := func(factor float32) callable.Func[[]float32, output] {
		return func(t *callable.Trace[[]float32]) (output, error) {
			x := callable.StageSlice(t, func(in []float32) []float32 { return in })
			y := callable.Scratch[float32](t, x.Len())
			t.Try(kernels.MulScalar(y, x, factor))
			return callable.Result(t, y), nil
		}
	}
	example := [][]float32{make([]float32, elements)}
	// [arenas]
	var arenas []*arena.Arena // one for each replica
	for range 2 {
		a := must(arena.New(ctx))
		defer a.Close()
		arenas = append(arenas, a)
	}
	share := serve.WithArenas(arenas...)
	doubles := must(serve.New(ctx, model(2), example, serve.WithReplicas(2), share))
	triples := must(serve.New(ctx, model(3), example, serve.WithReplicas(2), share))
	// [end]
	defer doubles.Close()
	defer triples.Close()
	show := func(out output) error {
		fmt.Println(out.Slice())
		return nil
	}
	check(doubles.Call(context.Background(), []float32{1, 2, 3, 4}, show))
	check(triples.Call(context.Background(), []float32{1, 2, 3, 4}, show))
	fmt.Println(len(arenas[1].Report().Plans), "plans")
	// Output:
	// [2 4 6 8]
	// [3 6 9 12]
	// 2 plans
}

func Example_servingAdmission() {
	_, ctx, _ := open()
	// [admission]
	pool := newScorer(ctx,
		serve.WithReplicas(2),
		serve.WithQueue(64),        // the 65th waiting call is refused with ErrBusy
		serve.WithDeadlines(),      // a call that cannot end in time is refused with ErrTooLate
		serve.WithGrowth(8, 2<<30), // up to 8 replicas while 2 GiB of device memory are free
	)
	defer pool.Close()
	// [end]
	// [priority]
	err := pool.Call(context.Background(), []float32{1, 2, 3, 4}, func(out output) error {
		fmt.Println(out.Slice())
		return nil
	}, serve.WithPriority(1)) // goes before calls of priority 0
	// [end]
	check(err)
	// Output: [3 5 7 9]
}

func Example_servingRestart() {
	_, first, _ := open()
	dev := first.Device()
	check(first.Close())
	type function = callable.Func[[]float32, output]
	// [restart]
	var ctx *driver.Context
	var weights *driver.Buffer[float32]
	load := func() (*driver.Context, function, error) {
		_, _ = weights.Close(), ctx.Close() // a lost context cannot release everything
		var err error
		if ctx, err = dev.PrimaryContext(); err != nil {
			return nil, nil, err
		}
		if weights, err = driver.AllocFrom(ctx, []float32{1, 1, 1, 1}); err != nil {
			return nil, nil, err
		}
		now := weights
		return ctx, func(t *callable.Trace[[]float32]) (output, error) {
			x := callable.StageSlice(t, func(in []float32) []float32 { return in })
			t.Try(kernels.Add(x, x, now))
			return callable.Result(t, x), nil
		}, nil
	}
	c, f, err := load()
	check(err)
	pool := must(serve.New(c, f, [][]float32{make([]float32, 4)}, serve.WithRestart(time.Minute, load)))
	// [end]
	check(pool.Call(context.Background(), []float32{1, 2, 3, 4}, func(out output) error {
		fmt.Println(out.Slice(), pool.Stats().Restarts, "restarts")
		return nil
	}))
	check(pool.Close())
	check(weights.Close())
	check(ctx.Close())
	// Output: [2 3 4 5] 0 restarts
}

func Example_servingMemory() {
	_, ctx, _ := open()
	// [memory]
	pool := newScorer(ctx, serve.WithReplicas(2), serve.WithMemory(2<<30)) // 1 GiB for each replica
	defer pool.Close()
	s := pool.Stats()
	fmt.Println(s.Variants, "shapes with", s.MemoryBytes, "bytes,", s.Evicted, "evicted")
	// [end]

	// Output: 2 shapes with 96 bytes, 0 evicted
}

func Example_servingStats() {
	_, ctx, _ := open()
	pool := newScorer(ctx, serve.WithReplicas(2), serve.WithQueue(0))
	var inside, outside sync.WaitGroup
	inside.Add(2)
	hold := make(chan struct{})
	for range 2 {
		outside.Go(func() {
			check(pool.Call(context.Background(), make([]float32, elements), func(output) error {
				inside.Done()
				<-hold
				return nil
			}))
		})
	}
	inside.Wait()
	_ = pool.Call(context.Background(), make([]float32, elements), nil)
	// [stats]
	s := pool.Stats()
	fmt.Println(s.Busy, "of", s.Replicas, "replicas busy,", s.Queued, "calls queued,", s.Refused.Busy, "refused")
	// [end]
	close(hold)
	outside.Wait()
	check(pool.Close())
	// Output: 2 of 2 replicas busy, 0 calls queued, 1 refused
}

func Example_servingMetrics() {
	_, ctx, _ := open()
	pool := newScorer(ctx)
	defer pool.Close()
	mux := http.NewServeMux()
	// [metrics]
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = pool.Stats().WritePrometheus(w, "pool") // fails if the client is gone
	})
	// [end]
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	fmt.Println(strings.Split(w.Body.String(), "\n")[2])
	// Output: pool_replicas 1
}

func Example_servingLost() {
	_, ctx, _ := open()
	pool := newScorer(ctx)
	defer pool.Close()
	err := pool.Call(context.Background(), make([]float32, elements), nil)
	stop := func(error) {}
	// [lost]
	var lost *serve.LostError
	if errors.As(err, &lost) {
		stop(lost) // stop listening, close the pool, and end with an exit code that makes the supervisor restart
	}
	// [end]
	fmt.Println(lost == nil)
	// Output: true
}
