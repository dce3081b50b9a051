// Command affine computes 2·x + 1 on the device with its own kernel.
package main

import (
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/anywhere"
)

func main() {
	drv, err := anywhere.Open() // a GPU, or the emulator if there is none; logs its choice
	if err != nil {
		log.Fatal(err)
	}
	if err := run(drv); err != nil {
		log.Fatalf("%+v", err) // %+v prints the whole log of the driver's compiler
	}
}

func run(drv *driver.Driver) error {
	device, err := drv.Device(0)
	if err != nil {
		return err
	}
	ctx, err := device.PrimaryContext()
	if err != nil {
		return err
	}
	defer ctx.Close()
	x := []float32{1, 2, 3}
	if err := Affine(ctx, x, 2, 1); err != nil {
		return err
	}
	fmt.Println(x)
	return nil
}
