package snippets

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
)

func Example_callableAdaptive() {
	_, ctx, stream := open()
	kernel := affine(ctx)
	// [adaptive]
	f := func(t *callable.Trace[[]float32]) (*driver.HostBuffer[float32], error) {
		x := callable.StageSlice(t, func(x []float32) []float32 { return x }) // the length is the shape
		t.Launch(kernel, config, x, uint32(x.Len()), float32(2), float32(1))  // x = 2·x + 1
		return callable.Result(t, x), nil
	}
	call := must(callable.New(stream, f, nil, callable.WithAdaptive(2)))
	defer call.Close()

	for _, n := range []int{4, 1, 4, 2, 4, 3, 4} {
		out := must(call.Call(context.Background(), make([]float32, n)))
		fmt.Println(out.Len(), out.Slice()[0])
	}
	did := call.Stats()
	fmt.Printf("%d eager calls, %d recording, %d replays\n", did.Eager, did.Recorded, did.Replayed)
	// [end]
	// Output:
	// 4 1
	// 1 1
	// 4 1
	// 2 1
	// 4 1
	// 3 1
	// 4 1
	// 5 eager calls, 1 recording, 2 replays
}
