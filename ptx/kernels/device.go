package kernels

import (
	"sync/atomic"
	"weak"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// device holds what operations need to know about a device.
type device struct {
	driver          weak.Pointer[driver.Driver]
	ordinal         int
	multiprocessors uint64
	major, minor    int
}

// devices caches what was last queried, by device ordinal.
var devices [16]atomic.Pointer[device]

// deviceOf returns the properties of the context's device, from the cache unless
// another device took the place of this one.
func deviceOf(c *driver.Context) (*device, error) {
	dev := c.Device()
	latest := &devices[uint(dev.Ordinal())%uint(len(devices))]
	if d := latest.Load(); d != nil && d.is(dev) {
		return d, nil
	}
	n, err := dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
	if err != nil {
		return nil, err
	}
	major, minor, err := dev.ComputeCapability()
	if err != nil {
		return nil, err
	}
	d := &device{weak.Make(dev.Driver()), dev.Ordinal(), uint64(n), major, minor}
	latest.Store(d)
	return d, nil
}

func (d *device) is(dev driver.Device) bool {
	return d.ordinal == dev.Ordinal() && dev.Driver() != nil && d.driver.Value() == dev.Driver()
}
