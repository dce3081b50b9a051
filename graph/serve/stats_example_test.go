package serve_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
)

// The Stats of a pool are numbers, which can also be written as metrics.
func ExampleStats() {
	c, _, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageScalar(t, func(in uint32) uint32 { return in })
		t.Launch(plus, config, x, uint32(1), uint32(1))
		return callable.Result(t, x), nil
	}
	pool, err := serve.New(c, f, []uint32{0})
	must(err)
	defer pool.Close()
	for i := range uint32(3) {
		must(pool.Call(context.Background(), i, nil))
	}
	s := pool.Stats()
	fmt.Println(s.Recorded, "shape recorded,", s.Replayed, "calls replayed it")

	var text strings.Builder
	must(s.WritePrometheus(&text, "pool"))
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "pool_call_duration_seconds_count") || strings.HasPrefix(line, "pool_queue_length") {
			fmt.Print(line)
		}
	}
	// Output:
	// 1 shape recorded, 3 calls replayed it
	// pool_queue_length 0
	// pool_call_duration_seconds_count 3
}

// A single call is padded to a batch of four, the only size that has a graph.
func ExampleBatchStats() {
	c, _, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(batch []uint32) []uint32 { return batch })
		t.Launch(plus, config, x, uint32(x.Len()), uint32(100))
		return callable.Result(t, x), nil
	}
	batcher, err := serve.NewBatcher(c, f, 0, serve.WithBatch(4, 0), serve.WithBatchSizes(4))
	must(err)
	defer batcher.Close()
	must(batcher.Call(context.Background(), 1, nil))
	s := batcher.Stats()
	fmt.Printf("%d batch of %.0f call, %d rows of padding\n", s.Batches(), s.CallsPerBatch(), s.Padded)
	// Output: 1 batch of 1 call, 3 rows of padding
}
