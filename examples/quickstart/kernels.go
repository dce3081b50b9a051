package main

import (
	_ "embed"
	"errors"

	"github.com/purecuda/cuda/driver"
)

// The binary embeds the kernels as PTX, which the driver compiles for the installed GPU.
//
//go:embed kernels.ptx
var kernelsPTX []byte

// kernels holds the loaded kernels of one context.
type kernels struct {
	module                             *driver.Module
	rmsnorm, gemv, silu, mul, residual *driver.Kernel
}

func loadKernels(c *driver.Context) (*kernels, error) {
	module, err := c.LoadModule(kernelsPTX)
	if err != nil {
		return nil, err
	}
	k := &kernels{module: module}
	for name, kernel := range map[string]**driver.Kernel{
		"rmsnorm": &k.rmsnorm, "gemv": &k.gemv, "silu": &k.silu, "mul": &k.mul, "residual": &k.residual,
	} {
		if *kernel, err = module.Kernel(name); err != nil {
			return nil, errors.Join(err, module.Close())
		}
	}
	return k, nil
}

func (k *kernels) Close() error { return k.module.Close() }

const (
	warp         = 32
	rmsnormWarps = 32 // maximum; rmsnorm launches a single block
	rowsPerBlock = 8  // gemv uses one warp per row
	perElement   = 128
)

// rmsnormConfig returns a configuration of one block, with one thread per element up to the
// largest block.
func rmsnormConfig(n int) driver.LaunchConfig {
	warps := min((n+warp-1)/warp, rmsnormWarps)
	return driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(warps * warp)}
}

// gemvConfig returns a configuration with one warp per row.
func gemvConfig(rows int) driver.LaunchConfig {
	return driver.LaunchConfig{
		Grid:  driver.Blocks(rows, rowsPerBlock),
		Block: driver.D2(warp, rowsPerBlock),
	}
}

// elementConfig returns a configuration with one thread per element.
func elementConfig(n int) driver.LaunchConfig {
	return driver.LaunchConfig{Grid: driver.Blocks(n, perElement), Block: driver.D1(perElement)}
}
