package serve_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
)

// A pool of two replicas serves any number of goroutines.
func ExampleNew() {
	c, _, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in []uint32) []uint32 { return in })
		t.Launch(plus, config, x, uint32(x.Len()), uint32(1))
		return callable.Result(t, x), nil
	}
	pool, err := serve.New(c, f, [][]uint32{{0, 0}}, serve.WithReplicas(2))
	must(err)
	defer pool.Close()

	var callers sync.WaitGroup
	sums := make([]uint32, 8)
	for i := range sums {
		callers.Go(func() {
			must(pool.Call(context.Background(), []uint32{uint32(i), 10}, func(out *driver.HostBuffer[uint32]) error {
				sums[i] = out.Slice()[0] + out.Slice()[1]
				return nil
			}))
		})
	}
	callers.Wait()
	fmt.Println(sums)
	// Output: [12 13 14 15 16 17 18 19]
}

// A call that finds the queue full is refused at once.
func ExampleBusyError() {
	c, _, plus, _, _ := graphtest.Open()
	f := func(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageScalar(t, func(in uint32) uint32 { return in })
		t.Launch(plus, config, x, uint32(1), uint32(1))
		return callable.Result(t, x), nil
	}
	pool, err := serve.New(c, f, []uint32{0}, serve.WithQueue(0))
	must(err)
	defer pool.Close()
	must(pool.Call(context.Background(), 41, func(out *driver.HostBuffer[uint32]) error { // the only replica is in use here
		fmt.Println(out.Slice()[0])
		var busy *serve.BusyError
		if err := pool.Call(context.Background(), 1, nil); errors.As(err, &busy) {
			fmt.Println(busy.Waiting, "calls wait for", busy.Replicas, "replica")
		}
		return nil
	}))
	did := pool.Stats()
	fmt.Println(did.Calls, "call,", did.Refused.Busy, "refused")
	// Output:
	// 42
	// 0 calls wait for 1 replica
	// 1 call, 1 refused
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
