package driver

import (
	"fmt"
	"sync"
)

// Available reports whether the system's CUDA driver can be used: nil, or an
// error that says why not (no library, no GPU, a driver too old, …). It never
// panics. The answer is found once and remembered; the library stays open,
// because closing a driver that was initialised is not safe.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	d, err := Open()
	if err != nil {
		return err
	}
	n, err := d.DeviceCount()
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%s shows no device to this process, see CUDA_VISIBLE_DEVICES: %w",
			d.LibraryName(), CUDA_ERROR_NO_DEVICE)
	}
	return nil
})
