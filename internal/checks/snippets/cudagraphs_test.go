package snippets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/graph/view"
	"github.com/purecuda/cuda/ptx/kernels"
)

// These examples contain the code and the pictures of docs/cuda-graphs.md. Most of them print their
// graph, so the pictures are the output of this code, and run it to check its results.

// holds ends the program with an error if the contents of m differ from want.
func holds[T comparable](m driver.MemoryOf[T], want ...T) {
	if got := contents(m); !slices.Equal(got, want) {
		check(fmt.Errorf("computed %v, want %v", got, want))
	}
}

// once runs a graph once and waits for it.
func once(stream *driver.Stream, g *graph.Graph) {
	check(must(g.Instantiate()).Run(context.Background(), stream))
}

// step is a step that copies its input to the device, computes and copies the result back.
type step struct {
	in, out                           *driver.HostBuffer[float32]
	x                                 *driver.Buffer[float32]
	upload, half, plus, add, download driver.Op
}

func newStep(ctx *driver.Context) *step {
	s := &step{
		in:  must(driver.AllocHost[float32](ctx, elements)),
		out: must(driver.AllocHost[float32](ctx, elements)),
		x:   ones(ctx),
	}
	a, b := ones(ctx), ones(ctx)
	s.upload = must(driver.Upload(s.x, s.in))
	s.half = must(kernels.MulScalar(a, s.x, float32(0.5)))
	s.plus = must(kernels.AddScalar(b, s.x, float32(10)))
	s.add = must(kernels.Add(s.x, a, b))
	s.download = must(driver.Download(s.out, s.x))
	return s
}

func (s *step) capture(stream *driver.Stream) *graph.Graph {
	upload, half, plus, add, download := s.upload, s.half, s.plus, s.add, s.download
	// [step]
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		if err := s.Do(upload); err != nil { // x = in
			return err
		}
		if err := s.Parallel(
			func(s *graph.Scope) error { return s.Do(half) }, // a = x · 0.5
			func(s *graph.Scope) error { return s.Do(plus) }, // b = x + 10
		); err != nil {
			return err
		}
		return s.Do(add, download) // x = a + b, out = x
	}))
	// [end]
	return g
}

func Example_cudaGraphsStep() {
	_, ctx, stream := open()
	g := newStep(ctx).capture(stream)
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()), view.Titled("a step"), view.Detailed()))
	// Output:
	// ---
	// title: "a step"
	// ---
	// flowchart TD
	// 	n0["0: copy<br/>16 bytes host to device"]
	// 	n1["1: mul_scalar_f32<br/>kernel<br/>grid 1 block 256"]
	// 	n2["2: add_scalar_f32<br/>kernel<br/>grid 1 block 256"]
	// 	n3["3: add_f32<br/>kernel<br/>grid 1 block 256"]
	// 	n4["4: copy<br/>16 bytes device to host"]
	// 	n0 --> n1
	// 	n0 --> n2
	// 	n1 --> n3
	// 	n2 --> n3
	// 	n3 --> n4
}

func Example_cudaGraphsReplay() {
	_, ctx, stream := open()
	step := newStep(ctx)
	g, in, out := step.capture(stream), step.in, step.out
	// [replay]
	exec := must(g.Instantiate()) // once
	for i := range 3 {
		for j := range in.Slice() {
			in.Slice()[j] = float32(10 * i) // the input of this replay
		}
		check(exec.Launch(stream))             // runs after all earlier work in the stream
		check(exec.Wait(context.Background())) // now the program may read out and write in
		fmt.Println(out.Slice())
	}
	// [end]

	// Output:
	// [10 10 10 10]
	// [25 25 25 25]
	// [40 40 40 40]
}

func Example_cudaGraphsChain() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [chain]
	double := must(kernels.MulScalar(x, x, float32(2))) // x = x · 2
	addOne := must(kernels.AddScalar(x, x, float32(1))) // x = x + 1
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		return s.Do(double, addOne)
	}))
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()), view.Titled("two kernels")))
	// [end]
	once(stream, g)
	holds(x, 3, 3, 3, 3)
	// Output:
	// ---
	// title: "two kernels"
	// ---
	// flowchart TD
	// 	n0["0: mul_scalar_f32<br/>kernel"]
	// 	n1["1: add_scalar_f32<br/>kernel"]
	// 	n0 --> n1
}

func Example_cudaGraphsRecordedOnce() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [recordedOnce]
	factor := float32(2)
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		return s.Do(must(kernels.MulScalar(x, x, factor))) // the kernel receives the value 2
	}))
	exec := must(g.Instantiate())
	factor = 100 // the recorded kernel still uses 2
	check(exec.Run(context.Background(), stream))
	// [end]
	fmt.Println(contents(x))
	// Output: [2 2 2 2]
}

func Example_cudaGraphsForbidden() {
	_, ctx, stream := open()
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	// [forbidden]
	_, err := graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		if err := s.Do(double); err != nil {
			return err
		}
		return stream.Wait(context.Background()) // returns an error: nothing runs yet
	})
	fmt.Println(errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED))
	// [end]

	// Output:
	// true
}

func Example_cudaGraphsBind() {
	_, ctx, stream := open()
	x := ones(ctx)
	kernel := affine(ctx)
	// [bind]
	launch := must(kernel.Prepare(config, x, uint32(x.Len()), float32(1), float32(0))) // parameters x, n, a, b of x = a·x + b
	g := must(graph.New(ctx))
	node := must(g.Add(launch))
	exec := must(g.Instantiate())

	bound := exec.Bindings()
	b := must(graph.BindName[float32](bound, node, launch, "b")) // once
	for i := range 3 {
		check(b.Set(float32(i)))
		check(bound.Launch(stream)) // sets the new value and launches, in one call
	}
	// [end]
	check(exec.Wait(context.Background()))
	holds(x, 4, 4, 4, 4) // 1 + 0 + 1 + 2
	// Output:
}

func Example_cudaGraphsUpdate() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [update]
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
	exec := must(record(1, 2).Instantiate())
	for _, values := range [][]float32{{3, 4}, {5, 6, 7}} {
		how := must(exec.Update(record(values...), graph.WithReinstantiate()))
		fmt.Println(how)
		check(exec.Run(context.Background(), stream))
	}
	// [end]
	holds(x, 26, 26, 26, 26)
	// Output:
	// updated
	// not updated: the nodes or their dependencies differ; instantiated anew
}

func Example_cudaGraphsOff() {
	_, ctx, stream := open()
	x := ones(ctx)
	double := must(kernels.MulScalar(x, x, float32(2)))
	addOne := must(kernels.AddScalar(x, x, float32(1)))
	// [off]
	g := must(graph.New(ctx))
	first := must(g.Add(double))
	second := must(g.Add(addOne, first))
	must(g.Add(double, second))
	exec := must(g.Instantiate())
	check(exec.Enable(second, false)) // until Enable(second, true)
	check(exec.Run(context.Background(), stream))
	// [end]
	holds(x, 4, 4, 4, 4)
	check(view.WriteMermaid(os.Stdout, must(exec.Snapshot()), view.Titled("one node off")))
	// Output:
	// ---
	// title: "one node off"
	// ---
	// flowchart TD
	// 	n0["0: mul_scalar_f32<br/>kernel"]
	// 	n1["1: add_scalar_f32<br/>kernel<br/>off"]
	// 	n2["2: mul_scalar_f32<br/>kernel"]
	// 	n0 --> n1
	// 	n1 --> n2
}

func Example_cudaGraphsIf() {
	_, ctx, stream := open()
	x := ones(ctx)
	loss := must(driver.AllocFrom(ctx, []float32{0.5}))
	// [if]
	small := must(kernels.AddScalar(x, x, float32(1)))
	large := must(kernels.MulScalar(x, x, float32(0)))
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		good := must(s.NewCond())
		look := must(good.SetWhen(graph.When(loss, graph.Less, 1))) // a kernel: good = loss[0] < 1
		if err := s.Do(look); err != nil {
			return err
		}
		return s.IfElse(good,
			func(then *graph.Scope) error { return then.Do(small) },
			func(otherwise *graph.Scope) error { return otherwise.Do(large) })
	}))
	// [end]
	exec := must(g.Instantiate())
	check(exec.Run(context.Background(), stream))
	holds(x, 2, 2, 2, 2)
	check(loss.Fill(7))
	check(exec.Run(context.Background(), stream))
	holds(x, 0, 0, 0, 0)
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()), view.Titled("IF with ELSE")))
	// Output:
	// ---
	// title: "IF with ELSE"
	// ---
	// flowchart TD
	// 	n0["0: cond_when_f32<br/>kernel"]
	// 	subgraph n1["1: IF-ELSE"]
	// 		subgraph n1_0["then"]
	// 			n1_0_0["1.0.0: add_scalar_f32<br/>kernel"]
	// 		end
	// 		subgraph n1_1["else"]
	// 			n1_1_0["1.1.0: mul_scalar_f32<br/>kernel"]
	// 		end
	// 	end
	// 	n0 --> n1
}

func Example_cudaGraphsWhile() {
	_, ctx, stream := open()
	x := must(driver.AllocFrom(ctx, []float32{1}))
	// [while]
	double := must(kernels.MulScalar(x, x, float32(2)))
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		again := must(s.NewCond(graph.WithDefault(1))) // the default 1 at each launch enters the loop
		look := must(again.SetWhen(graph.When(x, graph.Less, 1000)))
		return s.While(again, func(body *graph.Scope) error {
			return body.Do(double, look) // repeat while x[0] < 1000
		})
	}))
	// [end]
	once(stream, g)
	holds(x, 1024)
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()), view.Titled("WHILE")))
	// Output:
	// ---
	// title: "WHILE"
	// ---
	// flowchart TD
	// 	subgraph n0["0: WHILE"]
	// 		subgraph n0_0["body"]
	// 			n0_0_0["0.0.0: cond_when_f32<br/>kernel"]
	// 			n0_0_1["0.0.1: mul_scalar_f32<br/>kernel"]
	// 			n0_0_1 --> n0_0_0
	// 		end
	// 	end
}

func Example_cudaGraphsSwitch() {
	_, ctx, stream := open()
	x := ones(ctx)
	choice := must(driver.AllocFrom(ctx, []uint32{2}))
	var ops []driver.Op
	for _, v := range []float32{10, 20, 30} {
		ops = append(ops, must(kernels.AddScalar(x, x, v)))
	}
	// [switch]
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		which := must(s.NewCond())
		if err := s.Do(must(which.SetTo(choice))); err != nil { // which = choice[0]
			return err
		}
		return s.Switch(which,
			func(body *graph.Scope) error { return body.Do(ops[0]) }, // choice[0] is 0
			func(body *graph.Scope) error { return body.Do(ops[1]) }, // choice[0] is 1
			func(body *graph.Scope) error { return body.Do(ops[2]) }) // choice[0] is 2; for any other number nothing runs
	}))
	// [end]
	exec := must(g.Instantiate())
	check(exec.Run(context.Background(), stream))
	holds(x, 31, 31, 31, 31)
	check(choice.Fill(3))
	check(exec.Run(context.Background(), stream))
	holds(x, 31, 31, 31, 31)
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()), view.Titled("SWITCH")))
	// Output:
	// ---
	// title: "SWITCH"
	// ---
	// flowchart TD
	// 	n0["0: cond_word<br/>kernel"]
	// 	subgraph n1["1: SWITCH"]
	// 		subgraph n1_0["body 0"]
	// 			n1_0_0["1.0.0: add_scalar_f32<br/>kernel"]
	// 		end
	// 		subgraph n1_1["body 1"]
	// 			n1_1_0["1.1.0: add_scalar_f32<br/>kernel"]
	// 		end
	// 		subgraph n1_2["body 2"]
	// 			n1_2_0["1.2.0: add_scalar_f32<br/>kernel"]
	// 		end
	// 	end
	// 	n0 --> n1
}

func Example_cudaGraphsMemory() {
	_, ctx, stream := open()
	x := ones(ctx)
	// [memory]
	scratch := must(driver.NewAlloc[float32](ctx, nil, x.Len()))
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		tmp, err := graph.Allocate(s, scratch) // a node; the address is fixed from now on
		if err != nil {
			return err
		}
		sum := must(kernels.Add(tmp, x, x))    // tmp = x + x
		back := must(kernels.Mul(x, tmp, tmp)) // x = tmp · tmp
		return errors.Join(s.Do(sum, back), s.Free(must(driver.NewFree(tmp))))
	}))
	// [end]
	once(stream, g)
	holds(x, 4, 4, 4, 4)
	check(view.WriteMermaid(os.Stdout, must(g.Snapshot()), view.Titled("memory for one replay")))
	// Output:
	// ---
	// title: "memory for one replay"
	// ---
	// flowchart TD
	// 	n0["0: allocation"]
	// 	n1["1: add_f32<br/>kernel"]
	// 	n2["2: mul_f32<br/>kernel"]
	// 	n3["3: free"]
	// 	n0 --> n1
	// 	n1 --> n2
	// 	n2 --> n3
}

func Example_cudaGraphsProfile() {
	drv := must(driver.New(emulator.New(emulator.Config{CostModel: &emulator.CostModel{
		Kernel: 5 * time.Microsecond, Graph: 3 * time.Microsecond, GraphKernel: time.Microsecond, Copy: 2 * time.Microsecond,
	}})))

	ctx := must(must(drv.Device(0)).PrimaryContext())
	stream := must(ctx.NewStream())
	step := newStep(ctx)
	flow := dataflow.New(ctx)
	for _, op := range []driver.Op{step.upload, step.half, step.plus, step.add, step.download} {
		must(flow.Add(op))
	}
	g := must(flow.Build())
	// [profile]
	p := must(g.Profile(context.Background(), stream))
	check(view.WriteMermaid(os.Stdout, p, view.Titled("a step, measured")))
	// [end]

	// Output:
	// ---
	// title: "a step, measured"
	// ---
	// flowchart TD
	// 	n0["0: copy<br/>2µs"]
	// 	n1["1: mul_scalar_f32<br/>kernel<br/>1µs"]
	// 	n2["2: add_scalar_f32<br/>kernel<br/>1µs"]
	// 	n3["3: add_f32<br/>kernel<br/>1µs"]
	// 	n4["4: copy<br/>2µs"]
	// 	n0 --> n1
	// 	linkStyle 0 stroke:#c0392b,stroke-width:3px
	// 	n0 --> n2
	// 	n1 --> n3
	// 	linkStyle 2 stroke:#c0392b,stroke-width:3px
	// 	n2 --> n3
	// 	n3 --> n4
	// 	linkStyle 4 stroke:#c0392b,stroke-width:3px
	// 	classDef critical stroke:#c0392b,stroke-width:3px
	// 	class n0,n1,n3,n4 critical
}
