package driver

import (
	"fmt"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"iter"
)

// Device is one GPU of a Driver. It is a small comparable value and does not need to be closed.
type Device struct {
	driver  *Driver
	ordinal int
	raw     CUdevice
}

// DeviceCount returns the number of devices that this process can see, which CUDA_VISIBLE_DEVICES
// limits.
func (d *Driver) DeviceCount() (int, error) {
	if !d.exists() {
		return 0, absentError(d == nil, "driver")
	}
	var n int32
	err := d.CuDeviceGetCount(&n)
	return int(n), err
}

// Device returns the device with the given ordinal, 0 for the first. If there is no such device,
// the error is CUDA_ERROR_INVALID_DEVICE.
func (d *Driver) Device(ordinal int) (Device, error) {
	if !d.exists() {
		return Device{}, absentError(d == nil, "driver")
	}
	if int(int32(ordinal)) != ordinal {
		return Device{}, fmt.Errorf("device %d: %w", ordinal, CUDA_ERROR_INVALID_DEVICE)
	}
	dev := Device{driver: d, ordinal: ordinal}
	if err := d.CuDeviceGet(&dev.raw, int32(ordinal)); err != nil {
		return Device{}, fmt.Errorf("device %d: %w", ordinal, err)
	}
	return dev, nil
}

// Devices yields every device in ordinal order. An error ends the sequence and comes with the zero
// Device.
func (d *Driver) Devices() iter.Seq2[Device, error] {
	return func(yield func(Device, error) bool) {
		n, err := d.DeviceCount()
		if err != nil {
			yield(Device{}, err)
			return
		}
		for i := range n {
			dev, err := d.Device(i)
			if !yield(dev, err) || err != nil {
				return
			}
		}
	}
}

// Driver returns the driver that the device belongs to.
func (dev Device) Driver() *Driver { return dev.driver }

// Ordinal returns the device's number in this process.
func (dev Device) Ordinal() int { return dev.ordinal }

// Raw returns the driver's handle.
func (dev Device) Raw() CUdevice { return dev.raw }

// String returns the device's ordinal as text. For the product name, use Name.
func (dev Device) String() string {
	if dev.driver == nil {
		return "no device"
	}
	return fmt.Sprintf("device %d", dev.ordinal)
}

func (dev Device) check() error {
	if dev.driver == nil {
		k := absent.Kind{Name: "device", Make: "Driver.Device or Driver.Devices", Code: CUDA_ERROR_INVALID_DEVICE}
		return k.Error(false)
	}
	return nil
}

// sameDriver refuses a device of another driver, whose handles mean nothing to this one.
func (dev Device) sameDriver(o Device) error {
	if dev.driver.core == o.driver.core {
		return nil
	}
	return invalidf("%v belongs to another driver (%s)", o, o.driver.LibraryName())
}

// named puts the device's name in front of an error.
func (dev Device) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", dev, err)
}

// Name returns the product name.
func (dev Device) Name() (string, error) {
	if err := dev.check(); err != nil {
		return "", err
	}
	var name [256]byte
	if err := dev.driver.CuDeviceGetName(&name[0], int32(len(name)), dev.raw); err != nil {
		return "", dev.named(err)
	}
	return cString(name[:]), nil
}

// UUID returns an identifier that stays the same across processes and reorderings. On a MIG
// partition it is the partition's.
func (dev Device) UUID() (UUID, error) {
	if err := dev.check(); err != nil {
		return UUID{}, err
	}
	var raw cu.CUuuid
	if err := dev.driver.CuDeviceGetUuid(&raw, dev.raw); err != nil {
		return UUID{}, dev.named(err)
	}
	return uuidOf(raw), nil
}

// TotalMem returns the device's memory in bytes. For the free memory, use Context.MemInfo.
func (dev Device) TotalMem() (uint64, error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	var n uintptr
	err := dev.driver.CuDeviceTotalMem(&n, dev.raw)
	return uint64(n), dev.named(err)
}

// Attribute returns one attribute of the device.
func (dev Device) Attribute(a cu.CUdevice_attribute) (int, error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	var v int32
	if err := dev.driver.CuDeviceGetAttribute(&v, a, dev.raw); err != nil {
		return 0, fmt.Errorf("%v: attribute %v: %w", dev, a, err)
	}
	return int(v), nil
}

// ComputeCapability returns the compute capability, 9 and 0 for sm_90.
func (dev Device) ComputeCapability() (major, minor int, err error) {
	major, err = dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
	if err != nil {
		return 0, 0, err
	}
	minor, err = dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
	return major, minor, err
}

// PCIBusID returns the device's PCI address, such as "0000:4e:00.0".
func (dev Device) PCIBusID() (string, error) {
	if err := dev.check(); err != nil {
		return "", err
	}
	var id [32]byte
	if err := dev.driver.CuDeviceGetPCIBusId(&id[0], int32(len(id)), dev.raw); err != nil {
		return "", dev.named(err)
	}
	return cString(id[:]), nil
}

// cString returns the text before the first NUL.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
