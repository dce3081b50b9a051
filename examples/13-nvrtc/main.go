// Command 13-nvrtc compiles CUDA C++ while it runs: a template for two types,
// with a header that is made on the spot, so that numbers which are known only
// now become constants in the code. NVRTC, NVIDIA's run-time compiler, is opened
// where it is installed; where it is not, the program says what to install.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

//go:embed polynomial.cu
var source string

const elements = 1000

var coefficients = []float64{1, -0.5, 0.25, 3, -2}

func main() { demo.Main("13-nvrtc", run) }

func run(d *demo.Demo) error {
	// A driver refuses PTX of a compiler that is newer than itself.
	compiler, err := nvrtc.Open(nvrtc.UpTo(d.Context.Driver().Version()))
	if errors.Is(err, nvrtc.ErrNotInstalled) {
		d.Printf("There is nothing to compile with. %v.", err)
		return nil
	}
	if err != nil {
		return err
	}
	d.Close(compiler)
	d.Printf("compiling with %v", compiler)

	program, err := describe(d, compiler)
	if err != nil {
		return err
	}
	result, err := compile(d, compiler, program)
	if err != nil {
		return err
	}
	single, double := new(driver.Kernel), new(driver.Kernel)
	if err := load(d, result, map[string]**driver.Kernel{"polynomial<float>": &single, "polynomial<double>": &double}); err != nil {
		return err
	}
	if err := check[float32](d, single, 1e-5); err != nil {
		return err
	}
	if err := check[float64](d, double, 1e-14); err != nil {
		return err
	}
	d.Printf("both kernels compute the polynomial that the header names")
	return mistaken(d, compiler, program)
}

// describe says what to compile, and for which architecture.
func describe(d *demo.Demo, c *nvrtc.Compiler) (nvrtc.Program, error) {
	major, minor, err := d.Context.Device().ComputeCapability()
	if err != nil {
		return nvrtc.Program{}, err
	}
	arch, err := c.ArchFor(major, minor)
	if err != nil {
		return nvrtc.Program{}, err
	}
	return nvrtc.Program{
		Name:            "polynomial.cu",
		Source:          source,
		Headers:         map[string]string{"coefficients.h": header()},
		Options:         []string{"--std=c++14"}, // for constexpr: NVRTC 11 takes an older C++ if it is not told
		Arch:            arch,
		NameExpressions: []string{"polynomial<float>", "polynomial<double>"},
	}, nil
}

// header is the part of the program that depends on what is known only now.
func header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#define DEGREE %d\nconstexpr double coefficients[] = {", len(coefficients)-1)
	for _, c := range coefficients {
		fmt.Fprintf(&b, "%v, ", c)
	}
	return b.String() + "};\n"
}

// compile compiles twice: the second result is in the cache.
func compile(d *demo.Demo, c *nvrtc.Compiler, p nvrtc.Program) (*nvrtc.Result, error) {
	var result *nvrtc.Result
	for range 2 {
		begin := time.Now()
		var err error
		if result, err = c.Compile(context.Background(), p); err != nil {
			return nil, err
		}
		how := "compiled"
		if result.Cached {
			how = "found in the cache"
		}
		d.Printf("%d bytes of PTX for %s, %s in %v", len(result.PTX), p.Arch, how, time.Since(begin).Round(time.Microsecond))
	}
	return result, nil
}

// load finds the kernels by the names that the compiler gave them.
func load(d *demo.Demo, r *nvrtc.Result, kernels map[string]**driver.Kernel) error {
	byName := make(map[string]**driver.Kernel)
	for expression, k := range kernels {
		name, err := r.LoweredName(expression)
		if err != nil {
			return err
		}
		byName[name] = k
	}
	return d.Kernels(r.Image(), byName)
}

// check runs a kernel and compares each element with the same sum in Go.
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
		if want := polynomial(float64(in[i])); !(math.Abs(float64(got)-want) <= tolerance*7) { // so that no number fails
			return fmt.Errorf("wrong result: element %d is %v, it should be %v", i, got, want)
		}
	}
	return nil
}

// polynomial is what the kernels compute. For arguments of at most 1 it is at
// most 6.75, the sum of the coefficients' sizes.
func polynomial(x float64) float64 {
	v := 0.0
	for i := len(coefficients) - 1; i >= 0; i-- {
		v = v*x + coefficients[i]
	}
	return v
}

// mistaken shows what an error looks like.
func mistaken(d *demo.Demo, c *nvrtc.Compiler, p nvrtc.Program) error {
	p.Source = strings.Replace(p.Source, "y[i] = v", "y[j] = v", 1)
	_, err := c.Compile(context.Background(), p)
	if !errors.Is(err, nvrtc.NVRTC_ERROR_COMPILATION) {
		return fmt.Errorf("a program with a mistake gave %v", err)
	}
	d.Printf("a mistake in the source: %v", err)
	return nil
}
