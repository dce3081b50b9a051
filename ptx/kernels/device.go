package kernels

import (
	"slices"
	"sync/atomic"
	"weak"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/ptx/kernels/internal/extremesm80"
	"github.com/purecuda/cuda/ptx/kernels/internal/normsm90"
	"github.com/purecuda/cuda/ptx/kernels/internal/softmaxsm90"
)

type device struct {
	driver          weak.Pointer[driver.Driver]
	ordinal         int
	multiprocessors uint64
	sharedMemory    uint64 // the most that a block can have, in bytes
	major, minor    int
}

// devices caches the properties last queried, by device ordinal.
var devices [16]atomic.Pointer[device]

// deviceOf returns the properties of the context's device. It uses the cache unless the
// ordinal now belongs to another device.
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
	shared, err := dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
	if err != nil {
		return nil, err
	}
	major, minor, err := dev.ComputeCapability()
	if err != nil {
		return nil, err
	}
	d := &device{weak.Make(dev.Driver()), dev.Ordinal(), uint64(n), uint64(shared), major, minor}
	latest.Store(d)
	return d, nil
}

func (d *device) is(dev driver.Device) bool {
	return d.ordinal == dev.Ordinal() && dev.Driver() != nil && d.driver.Value() == dev.Driver()
}

// newer describes a file with kernels for devices of a minimum compute capability. These kernels use
// instructions that older devices lack. They have the same arguments and results as the kernels for
// older devices, and a suffix in their names.
type newer struct {
	source       source
	major, minor int
	suffix       string
	kernels      []string // names of the kernels, without the suffix
}

// softmaxSm90 and normSm90 use clusters of blocks for rows that are too long for a single
// block. extremeSm80 compares floats with fewer instructions.
//
// Only code that creates operations of their kernels may refer to them. The linker keeps the
// file in every program that contains such a reference.
var (
	softmaxSm90 = &newer{&softmaxsm90.Code, 9, 0, "_sm90", []string{"softmax"}}
	normSm90    = &newer{&normsm90.Code, 9, 0, "_sm90", []string{"norm"}}
	extremeSm80 = &newer{&extremesm80.Code, 8, 0, "_sm80", []string{"extreme_b32"}}
)

// orOlder returns the source and the name of the kernel for the device. If n has the kernel and
// suits the device, both come from n. Otherwise orOlder returns s and kernel. n may be nil.
func (n *newer) orOlder(s source, c *driver.Context, kernel kernelName) (source, kernelName, error) {
	if n == nil || !slices.ContainsFunc(n.kernels, kernel.is) {
		return s, kernel, nil
	}
	d, err := deviceOf(c)
	if err != nil {
		return nil, kernel, err
	}
	if d.major > n.major || d.major == n.major && d.minor >= n.minor {
		kernel[len(kernel)-1] = n.suffix
		return n.source, kernel, nil
	}
	return s, kernel, nil
}
