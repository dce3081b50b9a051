// Package guides contains the code that the guides in docs show: how to handle errors, how
// to write fast programs, and how to translate programs from other languages. Its tests run
// all of this code.
package guides

import (
	_ "embed"

	"github.com/purecuda/cuda/driver"
)

//go:embed saxpy.ptx
var saxpyPTX []byte

// threads is the block size.
const threads = 128

// vectors holds the memory and the kernel that most guides use: y += a * x.
type vectors struct {
	ctx    *driver.Context
	stream *driver.Stream
	module *driver.Module
	saxpy  *driver.Kernel
	x, y   *driver.Buffer[float32]
}

func (v *vectors) config() driver.LaunchConfig {
	return driver.LaunchConfig{Grid: driver.Blocks(v.x.Len(), threads), Block: driver.D1(threads)}
}

// add returns y += a * x as an operation.
func (v *vectors) add(a float32) (*driver.Launch, error) {
	return v.saxpy.Prepare(v.config(), v.x, v.y, a, uint32(v.x.Len()))
}
