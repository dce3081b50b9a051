package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

const elements = 1000

// check runs a kernel and compares each element with the value of polynomial.
func check[T float32 | float64](d *demo.Demo, k *driver.Kernel, tolerance float64) error {
	in := make([]T, elements)
	for i := range in {
		in[i] = T(i)/elements*2 - 1
	}
	x, err := demo.MemoryFrom(d, in)
	if err != nil {
		return err
	}
	y, err := demo.Memory[T](d, elements, 0)
	if err != nil {
		return err
	}
	launch, err := k.Prepare(demo.PerElement(elements), y, x, uint32(elements))
	if err != nil {
		return err
	}
	if err := d.Stream.Do(launch); err != nil {
		return err
	}
	if err := d.Stream.Wait(context.Background()); err != nil {
		return err
	}
	out := make([]T, elements)
	if err := y.CopyTo(out); err != nil {
		return err
	}
	for i, got := range out {
		if want := polynomial(float64(in[i])); !(math.Abs(float64(got)-want) <= tolerance*7) { // written so that a NaN fails
			return fmt.Errorf("wrong result: element %d is %v, it should be %v", i, got, want)
		}
	}
	return nil
}

// polynomial computes the same function as the kernels. For arguments between -1 and 1, the
// magnitude of the result is at most 6.75, the sum of the coefficients' absolute values.
func polynomial(x float64) float64 {
	v := 0.0
	for i := len(coefficients) - 1; i >= 0; i-- {
		v = v*x + coefficients[i]
	}
	return v
}

// mistaken compiles a source with an error and prints the compiler's message.
func mistaken(d *demo.Demo, c *nvrtc.Compiler, p nvrtc.Program) error {
	p.Source = strings.Replace(p.Source, "y[i] = v", "y[j] = v", 1)
	_, err := c.Compile(context.Background(), p)
	if !errors.Is(err, nvrtc.NVRTC_ERROR_COMPILATION) {
		return fmt.Errorf("a program with a mistake gave %v", err)
	}
	d.Printf("a mistake in the source: %v", err)
	return nil
}
