package anywhere_test

import (
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver/anywhere"
	"github.com/purecuda/cuda/driver/emulator"
)

func Example() {
	drv, err := anywhere.Open() // on a machine without a GPU the log says "running on the emulator"
	if err != nil {
		log.Fatal(err)
	}
	defer drv.Close()
	n, err := drv.DeviceCount()
	fmt.Println(n > 0, err)
	// Output: true <nil>
}

// The emulated machine can resemble the one the program is meant for.
func ExampleOpenWith() {
	drv, err := anywhere.OpenWith(emulator.Config{Devices: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer drv.Close()
	n, err := drv.DeviceCount()
	fmt.Println(n > 0, err)
	// Output: true <nil>
}
