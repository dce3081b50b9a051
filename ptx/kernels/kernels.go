package kernels

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

// source finds the code of one embedded file of PTX in a context: kernels that
// are loaded together.
type source func(*driver.Context) (*driver.Module, error)

// prepare makes the operation that launches a kernel of the file.
func (s source) prepare(c *driver.Context, kernel string, cfg driver.LaunchConfig, args ...any) (*driver.Launch, error) {
	m, err := s(c)
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

// cover is a grid with all threads that have something to do. Where each has
// little, that is faster than a grid as large as the device whose threads go on:
// on an H200 by up to a tenth. One of 2^31-1 blocks does go on.
func cover(busy uint64) driver.LaunchConfig {
	blocks := min(max(1, (busy+threads-1)/threads), math.MaxInt32)
	return driver.LaunchConfig{Grid: driver.D1(int(blocks)), Block: driver.D1(threads)}
}

// elementwise prepares a kernel for n elements of which each thread takes so
// many at a time.
func (s source) elementwise(c *driver.Context, kernel string, n, each uint64, args ...any) (*driver.Launch, error) {
	return s.prepare(c, kernel, cover((n+each-1)/each), args...)
}

// pack is how many elements of a size are moved in one access.
func pack(size uintptr) uint64 { return uint64(16 / size) }
