package snippets

import (
	_ "embed"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

//go:embed affine.ptx
var affinePTX []byte

// elements is the number of elements in the snippets' memory.
const elements = 4

// config launches at least one thread for each element.
var config = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}

// [must]
// must returns a value, or ends the program with the error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// check ends the program if any of the errors is not nil.
func check(errs ...error) {
	for _, err := range errs {
		if err != nil {
			log.Fatal(err)
		}
	}
}

// [end]

// open returns an emulated device, with a context and a stream.
func open() (*driver.Driver, *driver.Context, *driver.Stream) {
	drv := must(driver.New(emulator.New(emulator.Config{})))
	ctx := must(must(drv.Device(0)).PrimaryContext())
	return drv, ctx, must(ctx.NewStream())
}

// affine returns the kernel x[i] = a·x[i] + b with the parameters x, n, a, b.
func affine(ctx *driver.Context) *driver.Kernel {
	return must(must(ctx.LoadModule(affinePTX)).Kernel("affine"))
}

func ones(ctx *driver.Context) *driver.Buffer[float32] {
	return must(driver.AllocFrom(ctx, []float32{1, 1, 1, 1}))
}

func contents[T any](m driver.MemoryOf[T]) []T {
	v := make([]T, m.All().Len())
	check(m.All().CopyTo(v))
	return v
}
