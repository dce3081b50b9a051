package driver

import (
	"errors"
	"fmt"
	"sync"
)

// Available reports whether the system's CUDA driver can be used: nil, or an
// error that says why not (no library, no GPU, a driver too old, no device that
// gives a context because others have it for themselves, …). It never panics. The
// answer is found once and remembered; the library stays open, because closing a
// driver that was initialised is not safe. Where nothing else of the process has
// a primary context yet, making one for the answer takes as long as a first
// context does.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	d, err := Open()
	if err != nil {
		return err
	}
	return usable(d)
})

// usable is nil if a device of d gives a context, else why none does.
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

// givesContext retains the primary context and gives it back.
func (dev Device) givesContext() error {
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	return c.Close()
}
