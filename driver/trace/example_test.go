package trace_test

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
)

func ExampleWrap() {
	show := func(c *trace.Call) {
		fmt.Println(c.Function, c.Args[len(c.Args)-1].Name, c.Result == cu.CUDA_SUCCESS)
	}
	drv, err := driver.New(trace.Wrap(emulator.New(emulator.Config{}), show))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := drv.Device(3); err != nil {
		fmt.Println("the caller sees:", err != nil)
	}
	if err := drv.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// cuDriverGetVersion driverVersion true
	// cuInit Flags true
	// cuDeviceGet ordinal false
	// the caller sees: true
}
