package nvrtc_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

// This example compiles a template, loads it and finds the kernel. It requires an
// installed NVRTC.
func Example() {
	drv, err := driver.New(emulator.New(emulator.Config{})) // for a GPU, use driver.Open
	if err != nil {
		log.Fatal(err)
	}
	defer drv.Close()
	dev, err := drv.Device(0)
	if err != nil {
		log.Fatal(err)
	}
	ctx, err := dev.PrimaryContext()
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	compiler, err := nvrtc.Open(nvrtc.UpTo(drv.Version()))
	if errors.Is(err, nvrtc.ErrNotInstalled) {
		fmt.Println(err) // the error suggests how to install NVRTC
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer compiler.Close()
	major, minor, err := dev.ComputeCapability()
	if err != nil {
		log.Fatal(err)
	}
	arch, err := compiler.ArchFor(major, minor)
	if err != nil {
		log.Fatal(err)
	}
	result, err := compiler.Compile(context.Background(), nvrtc.Program{
		Name: "scale.cu",
		Source: `template <typename T> __global__ void scale(T *x, unsigned n, T f) {
			unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n) x[i] *= f;
		}`,
		Arch:            arch,
		NameExpressions: []string{"scale<float>"},
	})
	if err != nil {
		log.Fatalf("%+v", err) // the whole log
	}
	module, err := ctx.LoadModule(result.Image())
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()
	name, err := result.LoweredName("scale<float>")
	if err != nil {
		log.Fatal(err)
	}
	kernel, err := module.Kernel(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(kernel.Name(), result.Cached)
}

// This example stores results in a separate folder with a limit of 64 MiB.
func ExampleNewCache() {
	cache, err := nvrtc.NewCache("build/kernels", 64<<20)
	if err != nil {
		log.Fatal(err)
	}
	compiler, err := nvrtc.Open(nvrtc.WithCache(cache))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer compiler.Close()
	fmt.Printf("%v keeps results in %s", compiler, compiler.Cache().Dir())
}
