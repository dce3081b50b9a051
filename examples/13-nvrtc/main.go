// Command 13-nvrtc compiles CUDA C++ at run time. It compiles a template for two types, with a
// generated header that contains constants known only at run time. The program needs NVRTC,
// NVIDIA's run-time compiler, and reports if it is not installed.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

//go:embed polynomial.cu
var source string

var coefficients = []float64{1, -0.5, 0.25, 3, -2}

func main() { demo.Main("13-nvrtc", run) }

func run(d *demo.Demo) error {
	// A driver rejects PTX from a newer compiler, so select an NVRTC that this driver
	// supports.
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
	single, double, err := load(d, result)
	if err != nil {
		return err
	}
	if err := errors.Join(check[float32](d, single, 1e-5), check[float64](d, double, 1e-14)); err != nil {
		return err
	}
	d.Printf("both kernels compute the polynomial that the header names")
	return mistaken(d, compiler, program)
}

// describe returns a description of the program to compile, with options for the device's
// architecture.
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
		Options:         []string{"--std=c++14"}, // for constexpr, which NVRTC 11 does not accept by default
		Arch:            arch,
		NameExpressions: []string{"polynomial<float>", "polynomial<double>"},
	}, nil
}

// header returns the part of the source that is known only at run time.
func header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#define DEGREE %d\nconstexpr double coefficients[] = {", len(coefficients)-1)
	for _, c := range coefficients {
		fmt.Fprintf(&b, "%v, ", c)
	}
	return b.String() + "};\n"
}

// compile compiles the program twice. The second result must come from the cache.
func compile(d *demo.Demo, c *nvrtc.Compiler, p nvrtc.Program) (result *nvrtc.Result, err error) {
	for range 2 {
		begin := time.Now()
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

// load loads the compiled code. It looks the kernels up by the mangled names that the
// compiler reported.
func load(d *demo.Demo, r *nvrtc.Result) (single, double *driver.Kernel, err error) {
	kernels := make(map[string]**driver.Kernel)
	for expression, k := range map[string]**driver.Kernel{"polynomial<float>": &single, "polynomial<double>": &double} {
		name, err := r.LoweredName(expression)
		if err != nil {
			return nil, nil, err
		}
		kernels[name] = k
	}
	err = d.Kernels(r.Image(), kernels)
	return single, double, err
}
