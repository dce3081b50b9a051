package driver

import (
	"errors"
	"fmt"
	"sync"
)

// Available returns nil if the system's CUDA driver can be used, or an error that says why not: no
// library, no GPU, a driver that is too old, no device that gives a context because other processes
// use it exclusively, and so on. It never panics. The result is determined once. The library stays
// loaded, because closing an initialised driver is not safe. If nothing else in the process has a
// primary context yet, the first call takes as long as creating one.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	d, err := Open()
	if err != nil {
		return err
	}
	return usable(d)
})

// usable returns nil if a device of d gives a context, else why none does.
func usable(d *Driver) error {
	var errs []error
	for dev, err := range d.Devices() {
		if err != nil {
			return err
		}
		if err = dev.givesContext(); err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return fmt.Errorf("%s shows no device to this process, see CUDA_VISIBLE_DEVICES: %w",
			d.LibraryName(), CUDA_ERROR_NO_DEVICE)
	}
	return errors.Join(errs...)
}

// givesContext retains the primary context and releases it again.
func (dev Device) givesContext() error {
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	return c.Close()
}
