package callable_test

import (
	"context"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// Each call stages its input and replays the function's graph. A changed constant updates the
// graph, and another length creates another variant.
func ExampleCallable() {
	_, s, plus, times, _ := graphtest.Open()
	type input struct {
		x     []uint32
		times uint32
	}
	f := func(t *callable.Trace[input]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in input) []uint32 { return in.x })
		factor := callable.Constant(t, func(in input) uint32 { return in.times })
		t.Launch(times, config, x, uint32(x.Len()), factor)
		t.Launch(plus, config, x, uint32(x.Len()), uint32(1))
		return callable.Result(t, x), nil
	}
	call, err := callable.New(s, f, []input{{make([]uint32, 3), 10}})
	must(err)
	defer call.Close()

	for _, in := range []input{{[]uint32{1, 2, 3}, 10}, {[]uint32{4, 5, 6}, 10}, {[]uint32{7, 8, 9}, 2}, {[]uint32{1}, 2}} {
		out, err := call.Call(context.Background(), in)
		must(err)
		fmt.Println(out.Slice())
	}
	did := call.Stats()
	fmt.Println(did.Calls, "calls,", did.Recorded, "recordings,", did.Updated, "update,", did.Variants, "variants")
	// Output:
	// [11 21 31]
	// [41 51 61]
	// [15 17 19]
	// [3]
	// 4 calls, 3 recordings, 1 update, 2 variants
}

// An adaptive Callable records only shapes that repeat. Here each shape runs eagerly twice.
func ExampleWithAdaptive() {
	_, s, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(x []uint32) []uint32 { return x })
		t.Launch(plus, config, x, uint32(x.Len()), uint32(1))
		return callable.Result(t, x), nil
	}
	call, err := callable.New(s, f, nil, callable.WithAdaptive(2))
	must(err)
	defer call.Close()

	for _, n := range []int{3, 5, 3, 3, 4, 3, 3} {
		_, err := call.Call(context.Background(), make([]uint32, n))
		must(err)
	}
	did := call.Stats()
	fmt.Println(did.Eager, "eager calls,", did.Recorded, "recording,", did.Replayed, "replays")
	// Output: 4 eager calls, 1 recording, 3 replays
}

// A call can be started now and waited for later.
func ExampleCallable_Start() {
	_, s, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in uint32) []uint32 { return []uint32{in, in} })
		t.Launch(plus, config, x, uint32(2), uint32(1))
		return callable.Result(t, x), nil
	}
	call, err := callable.New(s, f, []uint32{0})
	must(err)
	defer call.Close()
	pending, err := call.Start(context.Background(), 7)
	must(err)
	out, err := pending.Wait(context.Background()) // the host can do other work before Wait
	must(err)
	fmt.Println(out.Slice())
	// Output: [8 8]
}

// Capture a graph together with the memory it writes, ready to be launched.
func ExampleCaptured() {
	c, s, plus, _, b := graphtest.Open()
	type output = *driver.Buffer[uint32]
	ready, err := callable.CaptureReady(context.Background(), s, graph.ModeThreadLocal, func(sc *graph.Scope) (out output, err error) {
		err = sc.Relaxed(func() (err error) {
			out, err = driver.Alloc[uint32](c, graphtest.Elems)
			return err
		})
		if err != nil {
			return nil, err
		}
		add, err := plus.Prepare(config, b, uint32(graphtest.Elems), uint32(2))
		must(err)
		copied, err := driver.CopyDevice(out, b)
		must(err)
		return out, sc.Do(add, copied)
	})
	must(err)
	out, ok := ready.Output.Take()
	must(ready.Exec.Run(context.Background(), s))
	_, again := ready.Output.Take()
	v := make([]uint32, out.Len())
	must(out.CopyTo(v))
	fmt.Println(v[0], ok, again)
	must(ready.Close())
	must(out.Close())
	// Output: 3 true false
}

// A value that a capture returned has only one owner.
func ExampleOutput() {
	_, s, plus, _, b := graphtest.Open()
	g, output, err := callable.CaptureValue(s, graph.ModeThreadLocal, func(sc *graph.Scope) (string, error) {
		add, err := plus.Prepare(config, b, uint32(graphtest.Elems), uint32(2))
		must(err)
		return "adds 2", sc.Do(add)
	})
	must(err)
	fmt.Println(output.Take())
	fmt.Println(output.Take())
	must(g.Close())
	// Output:
	// adds 2 true
	//  false
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
