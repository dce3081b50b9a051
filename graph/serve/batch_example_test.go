package serve_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
)

// Four calls that arrive within the window run as one batch.
func ExampleNewBatcher() {
	c, _, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(batch []uint32) []uint32 { return batch }) // one number for each call
		t.Launch(plus, config, x, uint32(x.Len()), uint32(100))
		return callable.Result(t, x), nil
	}
	batcher, err := serve.NewBatcher(c, f, 0, serve.WithBatch(4, 24*time.Hour))
	must(err)
	defer batcher.Close()

	var callers sync.WaitGroup
	sums := make([]uint32, 4)
	for n := range sums {
		callers.Go(func() {
			must(batcher.Call(context.Background(), uint32(n), func(out *driver.HostBuffer[uint32], i int) error {
				sums[n] = out.Slice()[i]
				return nil
			}))
		})
	}
	callers.Wait()
	fmt.Println(sums)
	fmt.Println(batcher.Stats().Batches(), "batch")
	// Output:
	// [100 101 102 103]
	// 1 batch
}
