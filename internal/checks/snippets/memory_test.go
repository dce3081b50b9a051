package snippets

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/ptx/kernels"
)

func Example_memoryBuffer() {
	_, ctx, _ := open()
	// [buffer]
	x := must(driver.Alloc[float32](ctx, 4)) // four elements with undefined contents
	defer x.Close()
	check(x.Fill(1))
	check(x.View(2, 4).CopyFrom([]float32{5, 6})) // elements 2 and 3
	got := make([]float32, x.Len())
	check(x.CopyTo(got)) // waits for the copy
	// [end]
	fmt.Println(got)
	// Output: [1 1 5 6]
}

func Example_memoryHost() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [host]
	host := must(driver.AllocHost[float32](ctx, 4)) // page-locked
	defer host.Close()
	copy(host.Slice(), []float32{1, 2, 3, 4})
	up := must(driver.Upload(x, host))
	double := must(kernels.MulScalar(x, x, float32(2)))
	down := must(driver.Download(host, x))
	check(stream.Do(up), stream.Do(double), stream.Do(down)) // none of these calls waits
	check(stream.Wait(context.Background()))                 // now the program may use the slice again
	fmt.Println(host.Slice())
	// [end]

	// Output: [2 4 6 8]
}

func Example_memoryPool() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [pool]
	pool := must(ctx.NewMemPool())
	defer pool.Close()
	check(pool.SetReleaseThreshold(1 << 20)) // bytes to retain for the next step
	for range 3 {
		tmp := must(driver.AllocFromPool[float32](stream, pool, x.Len()))
		check(stream.Do(must(kernels.Add(tmp, x, x))))
		check(stream.Do(must(driver.CopyDevice(x, tmp))))
		check(tmp.FreeAsync(stream)) // frees in stream order, after the copy, without waiting
	}
	check(stream.Wait(context.Background()))
	// [end]
	fmt.Println(contents(x))
	// Output: [8 8 8 8]
}

func Example_memoryCache() {
	_, ctx, stream := open()
	// [cache]
	blocks := must(cache.New(ctx))
	defer blocks.Close()
	for range 3 {
		tmp := must(cache.Alloc[float32](blocks, stream, 1000))
		check(stream.Do(must(driver.Fill(tmp, float32(0)))))
		check(blocks.Free(stream, tmp)) // the next iteration gets the same block
	}
	// [end]
	check(stream.Wait(context.Background()))
	fmt.Println(blocks.Stats().Free > 0)
	// Output: true
}

func Example_memoryInto() {
	_, ctx, stream := open()
	blocks := must(cache.New(ctx))
	defer blocks.Close()
	// [into]
	var tmp driver.Buffer[float32] // reused whenever the code repeats the same step
	for range 3 {
		check(cache.AllocInto(blocks, stream, &tmp, 1000))
		check(stream.Do(must(driver.Fill(&tmp, float32(0)))))
		check(tmp.Close())
	}
	// [end]
	check(stream.Wait(context.Background()))
	fmt.Println(blocks.Stats().Reused)
	// Output: 2
}

func Example_memoryArena() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [arena]
	memory := must(arena.New(ctx))
	defer memory.Close()
	record := func(name string, factor float32) *graph.Exec {
		plan := must(memory.Plan(name)) // the memory of one graph
		tmp := must(arena.Alloc[float32](plan, x.Len()))
		step := must(kernels.MulScalar(tmp, x, factor))
		back := must(driver.CopyDevice(x, tmp))
		g := must(graph.Capture(stream, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(step, back) }))
		check(plan.Seal()) // closes tmp, so the next plan may use its address
		return must(g.Instantiate())
	}
	double, triple := record("double", 2), record("triple", 3)
	other := must(ctx.NewStream())
	check(double.Launch(stream), triple.Launch(other)) // the second launch waits for the first
	check(triple.Wait(context.Background()))
	fmt.Println(memory.Report())
	// [end]
	fmt.Println(contents(x))
	// Output:
	// arena of 2097152 bytes in 1 chunks
	//   plan "double": 16 bytes, 1 graphs
	//   plan "triple": 16 bytes, 1 graphs
	//
	// [6 6 6 6]
}

func Example_memoryShapes() {
	_, ctx, stream := open()
	// [shapes]
	memory := must(arena.New(ctx))
	defer memory.Close()
	double := func(t *callable.Trace[[]float32]) (*driver.HostBuffer[float32], error) {
		x := callable.StageSlice(t, func(in []float32) []float32 { return in })
		tmp := callable.Scratch[float32](t, 1000*x.Len()) // shared with the other shapes
		y := tmp.View(0, x.Len())
		t.Try(kernels.Add(y, x, x))
		return callable.Result(t, y), nil
	}
	call := must(callable.New(stream, double, nil, callable.WithArena(memory)))
	defer call.Close()
	for _, in := range [][]float32{{1}, {2, 3, 4, 5}, {3, 4}} {
		out := must(call.Call(context.Background(), in))
		fmt.Println(out.Len(), out.Slice()[0])
	}
	fmt.Print(memory.Report())
	// [end]

	// Output:
	// 1 2
	// 4 4
	// 2 6
	// arena of 2097152 bytes in 1 chunks
	//   plan "snippets.Example_memoryShapes.func1, shape 1": 4004 bytes, 1 graphs
	//   plan "snippets.Example_memoryShapes.func1, shape 2": 16016 bytes, 1 graphs
	//   plan "snippets.Example_memoryShapes.func1, shape 3": 8008 bytes, 1 graphs
}

func Example_memoryOrder() {
	_, ctx, stream := open()
	// [order]
	x := must(driver.Alloc[float32](ctx, 4))
	check(ctx.Close())               // from here on no new objects can be created
	check(x.Fill(1))                 // existing objects still work
	check(stream.Close(), x.Close()) // closing the last object releases the context
	fmt.Println(errors.Is(x.Fill(1), driver.ErrClosed), x.Close())
	// [end]

	// Output: true <nil>
}

func Example_memoryKept() {
	_, ctx, stream := open()
	x, y := ones(ctx), ones(ctx)
	// [kept]
	step := must(kernels.MulScalar(x, x, float32(2)))
	g := must(graph.New(ctx))
	must(g.Add(step))
	must(g.Add(must(driver.CopyDevice(y, x)), must(firstNode(g))))
	exec := must(g.Instantiate())
	check(x.Close(), g.Close()) // the Exec retains what it needs
	check(exec.Run(context.Background(), stream))
	check(exec.Close()) // this frees the memory of x
	// [end]
	fmt.Println(contents(y))
	// Output: [2 2 2 2]
}

func firstNode(g *graph.Graph) (graph.Node, error) {
	for n, err := range g.Nodes() {
		return n, err
	}
	return graph.Node{}, errors.New("no node")
}

func Example_memoryLeaks() {
	_, ctx, _ := open()
	leaks := make(chan string)
	report := func(l driver.Leak) {
		if l.Kind == "buffer of float64" { // other tests leak other objects
			leaks <- l.Kind
		}
	}
	// [leaks]
	driver.SetLeakHook(func(l driver.Leak) { report(l) }) // l.Stack: where the object was created
	must(driver.Alloc[float64](ctx, 1000))                // dropped without Close
	runtime.GC()                                          // destroys and reports the buffer
	// [end]
	fmt.Println(<-leaks)
	driver.SetLeakHook(nil)
	// Output: buffer of float64
}
