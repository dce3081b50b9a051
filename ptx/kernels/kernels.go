package kernels

import (
	"github.com/purecuda/cuda/driver"
)

// source is one embedded file of PTX: kernels that are loaded together.
type source struct {
	name string
	ptx  []byte
}

// prepare makes the operation that launches a kernel of the file.
func (s *source) prepare(c *driver.Context, kernel string, cfg driver.LaunchConfig, args ...any) (*driver.Launch, error) {
	m, err := c.Embedded("kernels of "+s.name, s.ptx)
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel(kernel)
	if err != nil {
		return nil, err
	}
	return k.Prepare(cfg, args...)
}

// threads is how many threads each block has: the sources say the same.
const threads = 256

// perMultiprocessor is how many blocks are started for each multiprocessor at
// most: as many as it can hold threads. The kernels go on to the elements that
// are left.
const perMultiprocessor = 8

// spread is a grid for some number of threads that have something to do, no
// larger than what fills the device. Where nothing is to be done one block finds
// that out.
func spread(c *driver.Context, busy uint64) (driver.LaunchConfig, error) {
	processors, err := c.Device().Attribute(driver.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
	if err != nil {
		return driver.LaunchConfig{}, err
	}
	blocks := max(1, (busy+threads-1)/threads)
	blocks = min(blocks, uint64(processors)*perMultiprocessor)
	return driver.LaunchConfig{Grid: driver.D1(int(blocks)), Block: driver.D1(threads)}, nil
}

// elementwise prepares a kernel for n elements of which each thread takes about
// so many at a time.
func (s *source) elementwise(c *driver.Context, kernel string, n, each uint64, args ...any) (*driver.Launch, error) {
	cfg, err := spread(c, (n+each-1)/each)
	if err != nil {
		return nil, err
	}
	return s.prepare(c, kernel, cfg, args...)
}

// pack is how many elements of a size are moved in one access.
func pack(size uintptr) uint64 { return uint64(16 / size) }
