// Command replay launches 20 kernels one by one and then as a graph. It prints how long each
// method kept the host busy.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/anywhere"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

const steps = 20

func main() {
	drv := must(anywhere.Open()) // a GPU, or the emulator if there is none; logs its choice
	ctx := must(must(drv.Device(0)).PrimaryContext())
	stream := must(ctx.NewStream())
	x := must(driver.AllocFrom(ctx, []float32{0, 100}))
	addOne := must(kernels.AddScalar(x, x, float32(1))) // x = x + 1; not run yet
	check(stream.Do(addOne))                            // the first launch also loads the kernel
	check(stream.Wait(context.Background()))

	begin := time.Now()
	for range steps {
		check(stream.Do(addOne)) // 20 calls into the driver
	}
	launches := time.Since(begin)
	check(stream.Wait(context.Background()))

	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		for range steps {
			if err := s.Do(addOne); err != nil { // recorded, not run
				return err
			}
		}
		return nil
	}))
	exec := must(g.Instantiate(graph.WithUpload(stream)))
	check(stream.Wait(context.Background()))

	begin = time.Now()
	check(exec.Launch(stream)) // one call into the driver
	replay := time.Since(begin)
	check(exec.Wait(context.Background()))

	result := make([]float32, x.Len())
	check(x.CopyTo(result))
	log.Printf("on %s: %d launches took the host %v, one graph %v", must(ctx.Device().Name()), steps, launches, replay)
	fmt.Println(result)
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
