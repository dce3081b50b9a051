package example_test

import (
	"context"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/ptx2go/internal/example"
)

// A set loads all kernels together. Each kernel can be launched directly, as an
// operation, or repeatedly with changing arguments.
func ExampleLoadKernels() {
	d, err := driver.New(emulator.New(emulator.Config{}))
	check(err)
	device, err := d.Device(0)
	check(err)
	c, err := device.PrimaryContext()
	check(err)
	stream, err := c.NewStream()
	check(err)
	x, err := driver.AllocFrom(c, []float32{1, 2, 3})
	check(err)
	y, err := driver.AllocFrom(c, []float32{10, 10, 10})
	check(err)

	kernels, err := example.LoadKernels(c)
	check(err)
	defer func() { check(kernels.Close()) }()
	axpy, n := kernels.Axpy, uint32(x.Len())
	check(axpy.Do(stream, axpy.Grid(3), x.All(), y.All(), 2, n))

	step, err := axpy.Prepare(axpy.Grid(3), x, y, 0, n)
	check(err)
	for i := range 3 {
		check(step.Alpha.Set(float32(i) * 100))
		check(stream.Do(step.Launch))
	}
	check(stream.Wait(context.Background()))
	sum := make([]float32, 3)
	check(y.CopyTo(sum))
	fmt.Println(sum)
	// Output: [312 614 916]
}

func check(err error) {
	if err != nil {
		log.Panicf("%+v", err)
	}
}
