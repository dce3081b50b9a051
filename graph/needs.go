package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// tooOld is a capability that came with a later CUDA than the driver's, where
// there is no function whose absence says so.
type tooOld struct{ msg string }

func (e *tooOld) Error() string { return e.msg }

// Unwrap has errors.Is match ErrNotSupported and the driver's code for it.
func (e *tooOld) Unwrap() []error {
	return []error{driver.ErrNotSupported, driver.CUDA_ERROR_NOT_SUPPORTED}
}

// needs refuses what the driver is too old for; since is as 12080 for 12.8.
func needs(d *driver.Driver, what string, since int) error {
	v := d.Version()
	if v >= since {
		return nil
	}
	return &tooOld{fmt.Sprintf("%s: it came with CUDA %d.%d, and the installed driver supports CUDA %d.%d",
		what, since/1000, since%1000/10, v/1000, v%1000/10)}
}
