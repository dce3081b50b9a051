// [program]

package main

import (
	"context"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/anywhere"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	drv := must(anywhere.Open()) // a GPU, or the emulator if there is none; logs its choice
	ctx := must(must(drv.Device(0)).PrimaryContext())
	stream := must(ctx.NewStream())
	x := must(driver.AllocFrom(ctx, []float32{1, 2, 3}))
	double := must(kernels.MulScalar(x, x, float32(2)))
	addOne := must(kernels.AddScalar(x, x, float32(1)))
	g := must(graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error {
		return s.Do(double, addOne) // recorded, not run
	}))
	exec := must(g.Instantiate())
	for range 10 {
		must(0, exec.Launch(stream)) // one call launches both kernels
	}
	must(0, exec.Wait(context.Background()))
	result := make([]float32, x.Len())
	must(0, x.CopyTo(result))
	log.Print("this was ", must(ctx.Device().Name()))
	fmt.Println(result)
}

// [end]
