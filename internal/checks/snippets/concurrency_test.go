package snippets

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

func Example_concurrencyWorkers() {
	_, ctx, _ := open()
	results := make([]float32, 4)
	// [workers]
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() { // no LockOSThread, no context to make current
			stream := must(ctx.NewStream())
			defer stream.Close()
			x := must(driver.AllocFrom(ctx, []float32{float32(i)}))
			defer x.Close()
			check(stream.Do(must(kernels.MulScalar(x, x, float32(10)))))
			check(stream.Wait(context.Background()))
			check(x.CopyTo(results[i : i+1]))
		})
	}
	workers.Wait()
	// [end]
	fmt.Println(results)
	// Output: [0 10 20 30]
}

func Example_concurrencyExecs() {
	_, ctx, stream := open()
	// [execs]
	// Each worker has its own stream, and a graph with the memory that it writes to.
	type worker struct {
		stream *driver.Stream
		x      *driver.Buffer[float32]
		exec   *graph.Exec
	}
	pool := make(chan *worker, 2)
	for range cap(pool) {
		w := &worker{stream: must(ctx.NewStream()), x: must(driver.Alloc[float32](ctx, 1))}
		op := must(kernels.MulScalar(w.x, w.x, float32(2)))
		g := must(graph.Capture(w.stream, graph.ModeThreadLocal, func(s *graph.Scope) error { return s.Do(op) }))
		w.exec = must(g.Instantiate())
		pool <- w
	}
	serve := func(in float32) float32 {
		w := <-pool // any goroutine can use any worker
		defer func() { pool <- w }()
		out := []float32{in}
		check(w.x.CopyFrom(out), w.exec.Run(context.Background(), w.stream), w.x.CopyTo(out))
		return out[0]
	}
	// [end]
	var requests sync.WaitGroup
	sums := make([]float32, 100)
	for i := range sums {
		requests.Go(func() { sums[i] = serve(float32(i)) })
	}
	requests.Wait()
	fmt.Println(sums[1], sums[99], stream.Wait(context.Background()))
	// Output: 2 198 <nil>
}

func Example_concurrencyEvent() {
	_, ctx, first := open()
	second := must(ctx.NewStream())
	x, y := ones(ctx), ones(ctx)
	// [order]
	check(first.Do(must(kernels.MulScalar(x, x, float32(2)))))
	check(second.After(first)) // the device waits, the host does not
	check(second.Do(must(kernels.Add(y, y, x))))
	check(second.Wait(context.Background()))
	// [end]
	fmt.Println(contents(y))
	// Output: [3 3 3 3]
}

func Example_concurrencyCapture() {
	_, ctx, stream := open()
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	// [beside]
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		done := make(chan error)
		go func() { // another goroutine continues without restrictions
			b, err := driver.Alloc[float32](ctx, 1000)
			done <- errors.Join(err, b.Close())
		}()
		late := func() (err error) { // this goroutine may allocate only inside Relaxed
			b, err := driver.Alloc[float32](ctx, 10)
			return errors.Join(err, b.Close())
		}
		return errors.Join(s.Do(double), <-done, s.Relaxed(late))
	}))
	// [end]
	fmt.Println(g.Len())
	// Output: 1 <nil>
}

func Example_concurrencyTimeout() {
	_, _, stream := open()
	finish := make(chan bool)
	check(stream.HostFunc(func() { <-finish }))
	// [timeout]
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err := stream.Wait(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded)) // the work continues: wait again, or give up
	// [end]
	close(finish)
	check(stream.Wait(context.Background()))
	// Output: true
}

func Example_concurrencyHostFunc() {
	_, ctx, stream := open()
	x := ones(ctx)
	host := must(driver.AllocHost[float32](ctx, elements))
	// [host]
	ready := make(chan []float32, 1)
	check(stream.Do(must(kernels.MulScalar(x, x, float32(2)))))
	check(stream.Do(must(driver.Download(host, x))))
	check(stream.HostFunc(func() { // runs on a driver thread: CUDA must not be called here
		ready <- host.Slice()
	}))
	fmt.Println(<-ready)
	// [end]

	// Output: [2 2 2 2]
}
