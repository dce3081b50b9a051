package driver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// exampleContext is what examples run on: driver.Open would take the system's
// driver.
func exampleContext() *driver.Context {
	d, err := driver.New(emulator.New(emulator.Config{}))
	check(err)
	dev, err := d.Device(0)
	check(err)
	c, err := dev.PrimaryContext()
	check(err)
	return c
}

func check(errs ...error) {
	for _, err := range errs {
		if err != nil {
			log.Panic(err)
		}
	}
}

// A kernel is launched once, with its arguments in place.
func ExampleKernel_Launch() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX))
	check(err)
	axpy, err := m.Kernel("axpy")
	check(err)
	s, err := c.NewStream()
	check(err)
	x, err := driver.AllocFrom(c, []float32{1, 2, 3})
	check(err)
	y, err := driver.AllocFrom(c, []float32{10, 20, 30})
	check(err)

	cfg := driver.LaunchConfig{Grid: driver.Blocks(x.Len(), 256), Block: driver.D1(256)}
	check(axpy.Launch(s, cfg, x, y, float32(2), uint32(x.Len())))
	check(s.Wait(context.Background()))

	got := make([]float32, y.Len())
	check(y.CopyTo(got))
	fmt.Println(got)
	check(x.Close(), y.Close(), s.Close(), m.Close(), c.Close())
	// Output: [12 24 36]
}

// A prepared launch is sent many times; only what changes is set in between,
// and nothing is allocated.
func ExampleKernel_Prepare() {
	c := exampleContext()
	m, err := c.LoadModule([]byte(workPTX))
	check(err)
	axpy, err := m.Kernel("axpy")
	check(err)
	s, err := c.NewStream()
	check(err)
	x, err := driver.AllocFrom(c, []float32{1, 2, 3})
	check(err)
	y, err := driver.AllocFrom(c, []float32{0, 0, 0})
	check(err)

	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}
	step, err := axpy.Prepare(cfg, x, y, float32(0), uint32(x.Len()))
	check(err)
	for i := range 3 {
		check(driver.SetArg(step, 2, float32(i)))
		check(s.Do(step))
	}
	check(s.Wait(context.Background()))

	got := make([]float32, y.Len())
	check(y.CopyTo(got))
	fmt.Println(got)
	_, err = axpy.Prepare(cfg, x, y, int32(2), uint32(3))
	fmt.Println(err)
	check(x.Close(), y.Close(), s.Close(), m.Close(), c.Close())
	// Output:
	// [3 6 9]
	// launch of kernel axpy: argument 2 (alpha): it is .f32, but the argument is an int32; pass a float32
}

// Asynchronous copies take page-locked memory, so that it can never be a slice
// that the garbage collector frees under the device.
func ExampleUpload() {
	c := exampleContext()
	s, err := c.NewStream()
	check(err)
	host, err := driver.AllocHostFrom(c, []int32{1, 2, 3, 4})
	check(err)
	b, err := driver.Alloc[int32](c, 4)
	check(err)

	up, err := driver.Upload(b, host)
	check(err)
	down, err := driver.Download(host.View(0, 2), b.View(2, 4))
	check(err)
	check(s.Do(up), s.Do(down))
	check(s.Wait(context.Background()))
	fmt.Println(host.Slice())
	check(b.Close(), host.Close(), s.Close(), c.Close())
	// Output: [3 4 3 4]
}

// A view is part of a buffer; what does not fit is an error when it is used.
func ExampleBuffer_View() {
	c := exampleContext()
	b, err := driver.AllocFrom(c, []float32{1, 2, 3, 4})
	check(err)
	check(b.View(1, 3).Fill(0))
	got := make([]float32, 4)
	check(b.CopyTo(got))
	fmt.Println(got)
	fmt.Println(b.View(2, 3).CopyFrom([]float32{1, 2}) != nil, b.View(3, 5).Err() != nil)
	check(b.Close(), c.Close())
	// Output:
	// [1 0 0 4]
	// true true
}
