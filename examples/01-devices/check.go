package main

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// same checks that DeviceByUUID finds the device again. Ordinals can change between runs,
// but the UUID stays the same.
func same(dev driver.Device, p driver.Properties) error {
	again, err := dev.Driver().DeviceByUUID(p.UUID)
	if err != nil {
		return err
	}
	if again != dev {
		return fmt.Errorf("%v has the UUID of %v", dev, again)
	}
	return nil
}
