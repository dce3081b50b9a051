// Package devicecode contains the kernels of package graph and of the packages below it. Each PTX
// file is a separate module, because a driver rejects a whole module if it lacks a function that
// one kernel calls.
package devicecode

import (
	_ "embed"

	"github.com/purecuda/cuda/driver"
)

var (
	//go:embed cond.ptx
	cond []byte
	//go:embed counter.ptx
	counter []byte
)

// OneThread is the configuration of all kernels.
var OneThread = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

// Cond returns one of the kernels that set conditions (CUDA 12.3).
func Cond(c *driver.Context, name string) (*driver.Kernel, error) {
	return kernel(c, "kernels for conditions", cond, name)
}

// Counter returns one of the kernels that change counters.
func Counter(c *driver.Context, name string) (*driver.Kernel, error) {
	return kernel(c, "kernels for counters", counter, name)
}

// kernel loads the module at its first use, even during a capture. The context unloads it.
func kernel(c *driver.Context, kind string, ptx []byte, name string) (*driver.Kernel, error) {
	m, err := c.Embedded(kind, ptx)
	if err != nil {
		return nil, err
	}
	return m.Kernel(name)
}
