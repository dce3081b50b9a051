package snippets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/graph/view"
	"github.com/purecuda/cuda/ptx/kernels"
)

func Example_graphsCapture() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [capture]
	double := must(kernels.MulScalar(x, x, float32(2))) // x = x · 2
	addOne := must(kernels.AddScalar(x, x, float32(1))) // x = x + 1

	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		return s.Do(double, addOne) // recorded; nothing runs yet
	}))
	defer g.Close()
	exec := must(g.Instantiate())
	defer exec.Close()

	for range 10 {
		check(exec.Launch(stream))
	}
	check(exec.Wait(context.Background()))
	// [end]
	fmt.Println(contents(x))
	// Output: [2047 2047 2047 2047]
}

func Example_graphsChange() {
	_, ctx, stream := open()
	x := ones(ctx)
	kernel := affine(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	// [change]
	step := must(kernel.Prepare(config, x, uint32(x.Len()), float32(1), float32(0))) // parameters x, n, a, b of x = a·x + b
	var node graph.Node
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		node = must(s.Add(step)) // like Do, but returns the node
		return s.Do(double)
	}))
	exec := must(g.Instantiate())

	b := must(graph.BindName[float32](exec.Bindings(), node, step, "b")) // once
	for i := range 3 {
		check(b.Set(float32(i)), exec.Bindings().Launch(stream)) // each time
	}
	// [end]
	check(exec.Wait(context.Background()))
	fmt.Println(contents(x))
	// Output: [16 16 16 16]
}

func Example_graphsChangeInside() {
	_, ctx, stream := open()
	x := ones(ctx)
	kernel := affine(ctx)
	step := must(kernel.Prepare(config, x, uint32(x.Len()), float32(1), float32(0)))
	rounds := must(driver.Alloc[uint32](ctx, 1))
	// [inside]
	var node graph.Node
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		loop := must(must(s.NewCond()).Within(rounds, 3))
		check(s.Do(must(loop.Start())))
		return s.While(loop.Cond(), func(body *graph.Scope) error {
			node = must(body.Add(step))
			return body.Do(must(loop.Next()))
		})
	}))
	exec := must(g.Instantiate())
	b := must(graph.BindName[float32](exec.Bindings(), node, step, "b"))
	check(b.Set(10), exec.Bindings().Launch(stream)) // x = x + 10, three times
	// [end]
	check(exec.Wait(context.Background()))
	fmt.Println(contents(x))
	// Output: [31 31 31 31]
}

func Example_graphsBegin() {
	_, ctx, stream := open()
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	// [begin]
	record := func() (*graph.Graph, error) {
		r, err := graph.Begin(stream, graph.ModeThreadLocal)
		if err != nil {
			return nil, err
		}
		if err := r.Scope().Do(double); err != nil {
			return nil, errors.Join(err, r.Abort()) // every capture must be ended
		}
		return r.End()
	}
	// [end]
	g := must(record())
	check(must(g.Instantiate()).Run(context.Background(), stream))
	fmt.Println(contents(x))
	// Output: [2 2 2 2]
}

func Example_graphsBranches() {
	_, ctx, stream := open()
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	left := must(kernels.AddScalar(x.View(0, 2), x.View(0, 2), float32(1)))
	right := must(kernels.AddScalar(x.View(2, 4), x.View(2, 4), float32(5)))
	// [branches]
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		if err := s.Do(double); err != nil {
			return err
		}
		return s.Parallel( // in parallel, both after double
			func(s *graph.Scope) error { return s.Do(left) },
			func(s *graph.Scope) error { return s.Do(right) })
	}))
	// [end]
	check(must(g.Instantiate()).Run(context.Background(), stream))
	fmt.Println(contents(x))
	// Output: [3 3 7 7]
}

func Example_graphsByHand() {
	_, ctx, stream := open()
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	left := must(kernels.AddScalar(x.View(0, 2), x.View(0, 2), float32(1)))
	right := must(kernels.AddScalar(x.View(2, 4), x.View(2, 4), float32(5)))
	// [hand]
	g := must(graph.New(ctx))
	first := must(g.Add(double))
	l := must(g.Add(left, first)) // after first
	r := must(g.Add(right, first))
	must(g.Add(double, l, r)) // after l and r; the same operation again
	// [end]
	check(must(g.Instantiate()).Run(context.Background(), stream))
	fmt.Println(contents(x))
	// Output: [6 6 14 14]
}

func Example_graphsSet() {
	_, ctx, stream := open()
	x := ones(ctx)
	kernel := affine(ctx)
	// [set]
	step := must(kernel.Prepare(config, x, uint32(x.Len()), float32(2), float32(0))) // parameters x, n, a, b
	g := must(graph.New(ctx))
	node := must(g.Add(step))
	exec := must(g.Instantiate())

	check(driver.SetArg(step, 3, float32(7))) // changes the operation, but not yet the graph
	check(exec.Set(node, step))               // changes the executable graph
	check(exec.Run(context.Background(), stream))
	// [end]
	fmt.Println(contents(x))
	// Output: [9 9 9 9]
}

func Example_graphsBindings() {
	_, ctx, stream := open()
	x := ones(ctx)
	kernel := affine(ctx)
	step := must(kernel.Prepare(config, x, uint32(x.Len()), float32(1), float32(0)))
	g := must(graph.New(ctx))
	node := must(g.Add(step))
	exec := must(g.Instantiate())
	// [bindings]
	bindings := exec.Bindings()
	b := must(graph.BindName[float32](bindings, node, step, "b"))
	size := must(graph.BindConfig(bindings, node, step))
	for i := range 4 {
		threads := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(i + 1)}
		check(b.Set(float32(i)), size.Set(threads))
		check(bindings.Launch(stream)) // sets the changed values and launches, in one call
	}
	check(bindings.Unbind(node)) // now Exec.Set and Update may change the node again
	// [end]
	check(exec.Wait(context.Background()))
	fmt.Println(contents(x))
	// Output: [7 7 6 4]
}

func Example_graphsApply() {
	_, ctx, stream := open()
	x := ones(ctx)
	record := func(values ...float32) *graph.Graph {
		return must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
			for _, v := range values {
				if err := s.Do(must(kernels.AddScalar(x, x, v))); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	// [apply]
	exec := must(record(1, 2).Instantiate())
	for _, values := range [][]float32{{3, 4}, {5, 6, 7}} {
		how := must(exec.Update(record(values...), graph.WithReinstantiate())) // updated, or instantiated anew
		fmt.Println(how)
		check(exec.Run(context.Background(), stream))
	}
	// [end]

	// Output:
	// updated
	// not updated: the nodes or their dependencies differ; instantiated anew
}

func Example_graphsWhile() {
	_, ctx, stream := open()
	x := must(driver.AllocFrom(ctx, []uint32{1}))
	// [while]
	double := must(kernels.MulScalar(x, x, uint32(2)))
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		small := must(s.NewCond(graph.WithDefault(1))) // the default 1 enters the loop
		look := must(small.SetWhen(graph.When(x, graph.Less, 1000)))
		return s.While(small, func(body *graph.Scope) error {
			return body.Do(double, look) // repeat while x[0] < 1000
		})
	}))
	// [end]
	check(must(g.Instantiate()).Run(context.Background(), stream))
	fmt.Println(contents(x))
	// Output: [1024]
}

func Example_graphsScalar() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [scalar]
	factor := must(graph.NewScalar(ctx, float32(1)))
	defer factor.Close()
	square := must(kernels.Mul(factor, factor, factor)) // each operand has one element
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		return s.Do(square, must(driver.CopyDevice(x.View(0, 1), factor.All())))
	}))
	exec := must(g.Instantiate())
	for _, v := range []float32{3, 5} {
		check(factor.Set(stream, v)) // the next replay uses v
		check(exec.Run(context.Background(), stream))
		fmt.Println(contents(x)[0])
	}
	// [end]

	// Output:
	// 9
	// 25
}

func Example_graphsAlloc() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [alloc]
	scratch := must(driver.NewAlloc[float32](ctx, nil, elements))
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		tmp, err := graph.Allocate(s, scratch) // a node that allocates at each replay
		if err != nil {
			return err
		}
		sum := must(kernels.Add(tmp, x, x))
		back := must(driver.CopyDevice(x, tmp))
		return errors.Join(s.Do(sum, back), s.Free(must(driver.NewFree(tmp))))
	}))
	// [end]
	check(must(g.Instantiate()).Run(context.Background(), stream))
	fmt.Println(contents(x))
	// Output: [2 2 2 2]
}

func Example_graphsFlow() {
	_, ctx, stream := open()
	x, y, sum := ones(ctx), ones(ctx), ones(ctx)
	// [flow]
	flow := dataflow.New(ctx)
	for _, op := range []driver.Op{
		must(kernels.MulScalar(x, x, float32(2))),
		must(kernels.MulScalar(y, y, float32(3))), // uses other memory, so it can run in parallel with the first
		must(kernels.Add(sum, x, y)),              // after both, because it reads what they write
	} {
		must(flow.Add(op))
	}
	g := must(flow.Build())
	fmt.Println(view.Summarize(must(g.Snapshot())))
	// [end]
	check(must(g.Instantiate()).Run(context.Background(), stream))
	fmt.Println(contents(sum))
	// Output:
	// 3 nodes, 2 edges, 2 roots, 1 leaf, depth 2, width 2
	// 3 × kernel
	// [5 5 5 5]
}

func Example_graphsCheck() {
	_, ctx, _ := open()
	x := ones(ctx)
	// [check]
	g := must(graph.New(ctx))
	must(g.Add(must(kernels.MulScalar(x, x, float32(2)))))
	must(g.Add(must(kernels.AddScalar(x, x, float32(1))))) // an edge is missing
	found := must(g.Check())
	c := found.Conflicts[0] // printing c also shows the conflicting bytes
	fmt.Println(found.OK(), c.A.Label(), c.B.Label())
	// [end]

	// Output: false mul_scalar_f32 add_scalar_f32
}

func Example_graphsDraw() {
	drv := must(driver.New(emulator.New(emulator.Config{CostModel: &emulator.CostModel{GraphKernel: 4 * time.Microsecond}})))
	ctx := must(must(drv.Device(0)).PrimaryContext())
	stream := must(ctx.NewStream())
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	g := must(graph.Capture(stream, graph.ModeRelaxed, func(s *graph.Scope) error { return s.Do(double) }))
	// [draw]
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()))) // or WriteDOT, WriteTable
	p := must(g.Profile(context.Background(), stream))      // a snapshot with times
	path, total := view.CriticalPath(p)
	// [end]
	fmt.Println(len(path), total)
	// Output:
	// ---
	// title: "graph"
	// ---
	// flowchart TD
	// 	n0["0: mul_scalar_f32<br/>kernel"]
	// 1 4µs
}
