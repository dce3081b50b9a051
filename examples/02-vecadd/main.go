// Command 02-vecadd adds two vectors on the device. It allocates device memory, copies data
// in both directions and launches the kernel in kernels.go, from which go2ptx generated
// main_gpu.go. It also shows the error of a kernel that reads beyond the end of a vector.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

// elements is not a multiple of the block size. Some threads of the last block have no element, so
// the kernel must check its index.
const elements = 100_000

func main() { demo.Main("02-vecadd", run) }

func run(d *demo.Demo) error {
	a, b := make([]float32, elements), make([]float32, elements)
	for i := range a {
		a[i], b[i] = float32(i), float32(2*i)
	}
	c, err := sum(d, a, b)
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

// sum computes a + b on the device.
func sum(d *demo.Demo, a, b []float32) (c []float32, err error) {
	// AddIn loads the kernel into the context. The driver compiles its PTX for the GPU.
	add, err := AddIn(d.Context)
	if err != nil {
		return nil, err
	}
	onDevice := [3]*driver.Buffer[float32]{}
	for i, from := range [][]float32{make([]float32, len(a)), a, b} {
		if onDevice[i], err = driver.AllocFrom(d.Context, from); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, onDevice[i].Close()) }()
	}
	total, x, y := onDevice[0], onDevice[1], onDevice[2]

	// Do enqueues the launch and returns at once. Wait returns when the kernel has finished.
	// Grid has a thread for each element. The Go compiler checks the types of the arguments.
	if err := add.Do(d.Stream, add.Grid(len(a)), total.All(), x.All(), y.All()); err != nil {
		return nil, err
	}
	if err := d.Stream.Wait(context.Background()); err != nil {
		return nil, err
	}
	c = make([]float32, len(a))
	if err := total.CopyTo(c); err != nil {
		return nil, err
	}
	return c, tooShort(d, add, total, x, y)
}

// tooShort passes a vector that is shorter than the sum. The kernel checks its indices, as all Go
// code does. Wait returns the failed check, and the context remains usable.
func tooShort(d *demo.Demo, add Add, total, x, y *driver.Buffer[float32]) error {
	short := y.View(0, y.Len()-1)
	if err := add.Do(d.Stream, add.Grid(total.Len()), total.All(), x.All(), short); err != nil {
		return err
	}
	err := d.Stream.Wait(context.Background())
	var fault *driver.KernelFault
	if !errors.As(err, &fault) || fault.File == "" {
		return errors.Join(errors.New("the wait returned no failed check with its place"), err)
	}
	d.Printf("with a vector that is too short: %s:%d: index %d of %d elements", fault.File, fault.Line, fault.Values[0], fault.Values[1])
	return nil
}
