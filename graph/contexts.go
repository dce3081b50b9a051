package graph

import "github.com/purecuda/cuda/driver"

// sameDriver refuses what is of another driver than c, an emulated one for
// instance: its handles mean nothing there. Other contexts of the same driver
// are CUDA's to judge, or sameContext's.
func sameDriver(c *driver.Context, what any, of *driver.Context) error {
	if c == of || c.Device().Driver() == of.Device().Driver() {
		return nil
	}
	return invalid("%v belongs to another driver, %s", what, of.Device().Driver().LibraryName())
}

// sameContext refuses what is of another driver's context than c. Several
// Contexts may be one of the driver's.
func sameContext(c *driver.Context, what any, of *driver.Context) error {
	if c == of {
		return nil
	}
	if err := sameDriver(c, what, of); err != nil {
		return err
	}
	if c.Raw() != of.Raw() {
		return invalid("%v belongs to %v, not to %v", what, of, c)
	}
	return nil
}
