package cu_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// Raw functions have the names and arguments of the C functions, but they return an error instead
// of a code. To use a GPU, pass the library that SystemLibrary returns.
func ExampleDriver() {
	d, err := cu.New(emulator.New(emulator.Config{}))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	if err := d.Init(); err != nil {
		log.Fatal(err)
	}
	var lanes int32
	if err := d.CuDeviceGetAttribute(&lanes, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0); err != nil {
		log.Fatal(err)
	}
	err = d.CuDeviceGetAttribute(&lanes, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7)
	fmt.Println(lanes, errors.Is(err, cu.CUDA_ERROR_INVALID_DEVICE))
	// Output: 32 true
}
