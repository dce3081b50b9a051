package main

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// same checks that DeviceByUUID returns dev for its UUID. A device's ordinal can change between
// runs, but its UUID cannot.
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
