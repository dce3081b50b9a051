package anywhere_test

import (
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver/anywhere"
	"github.com/purecuda/cuda/driver/emulator"
)

func Example() {
	drv, err := anywhere.Open() // without a GPU, the log says "running on the emulator"
	if err != nil {
		log.Fatal(err)
	}
	defer drv.Close()
	n, err := drv.DeviceCount()
	fmt.Println(n > 0, err)
	// Output: true <nil>
}

// The configuration can describe the machine on which the program will run.
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
