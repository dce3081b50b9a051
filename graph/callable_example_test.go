package graph_test

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// A function becomes a graph that calls replay: what is staged is copied in each
// call, a constant that changes updates the graph, another length is another
// variant.
func ExampleCallable() {
	_, s, plus, times, _ := open()
	type input struct {
		x     []uint32
		times uint32
	}
	f := func(t *graph.Trace[input]) (*driver.HostBuffer[uint32], error) {
		x := graph.StageSlice(t, func(in input) []uint32 { return in.x })
		factor := graph.Constant(t, func(in input) uint32 { return in.times })
		t.Launch(times, config, x, uint32(x.Len()), factor)
		t.Launch(plus, config, x, uint32(x.Len()), uint32(1))
		return graph.Result(t, x), nil
	}
	call, err := graph.NewCallable(s, f, []input{{make([]uint32, 3), 10}})
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
