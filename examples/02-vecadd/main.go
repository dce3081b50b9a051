// Command 02-vecadd adds two vectors on the device. It allocates device memory, copies data
// in both directions and launches a kernel from embedded PTX. It also shows the error for an
// argument of the wrong type.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

//go:embed kernels.ptx
var ptx []byte

// elements is not a multiple of the block size. Some threads of the last block have no element, so
// the kernel must check its index.
const elements = 100_000

func main() { demo.Main("02-vecadd", run) }

func run(d *demo.Demo) error {
	a, b := make([]float32, elements), make([]float32, elements)
	for i := range a {
		a[i], b[i] = float32(i), float32(2*i)
	}
	c, err := add(d, a, b)
	if err != nil {
		return err
	}
	for i := range c {
		if want := float32(3 * i); c[i] != want {
			return fmt.Errorf("wrong result: element %d is %v, it should be %v", i, c[i], want)
		}
	}
	d.Printf("added two vectors of %d elements; the last sum is %v", elements, c[elements-1])
	return nil
}

// add computes a + b on the device.
func add(d *demo.Demo, a, b []float32) (c []float32, err error) {
	// A module is device code loaded into a context. The driver compiles this PTX for the
	// GPU.
	module, err := d.Context.LoadModule(ptx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	kernel, err := module.Kernel("add")
	if err != nil {
		return nil, err
	}
	params, _ := kernel.Params()
	d.Printf("%v takes %v", kernel, params)

	onDevice := [3]*driver.Buffer[float32]{}
	for i, from := range [][]float32{make([]float32, len(a)), a, b} {
		if onDevice[i], err = driver.AllocFrom(d.Context, from); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, onDevice[i].Close()) }()
	}
	sum, x, y := onDevice[0], onDevice[1], onDevice[2]

	// Prepare checks the arguments against the kernel's parameters, so a mistake never
	// reaches the driver.
	const threads = 256
	shape := driver.LaunchConfig{Grid: driver.Blocks(len(a), threads), Block: driver.D1(threads)}
	launch, err := kernel.Prepare(shape, sum, x, y, uint32(len(a)))
	if err != nil {
		return nil, err
	}
	_, err = kernel.Prepare(shape, sum, x, y, float64(len(a)))
	if err == nil {
		return nil, errors.New("an argument of the wrong type was taken")
	}
	d.Printf("an argument of the wrong type: %v", err)

	// Do enqueues the launch and returns at once. Wait returns when the kernel has finished.
	if err := d.Stream.Do(launch); err != nil {
		return nil, err
	}
	if err := d.Stream.Wait(context.Background()); err != nil {
		return nil, err
	}
	c = make([]float32, len(a))
	return c, sum.CopyTo(c)
}
