package main

import (
	"context"
	_ "embed"
	"errors"

	"github.com/purecuda/cuda/driver"
)

//go:embed affine.ptx
var affinePTX []byte

// Affine computes a·x + b for each element of x on the device, in place.
func Affine(ctx *driver.Context, x []float32, a, b float32) (err error) {
	module, err := ctx.LoadModule(affinePTX) // the driver compiles it; to see the compiler's log, print the error with %+v
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	kernel, err := module.Kernel("affine")
	if err != nil {
		return err
	}
	memory, err := driver.AllocFrom(ctx, x)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	stream, err := ctx.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()

	grid := driver.LaunchConfig{Grid: driver.Blocks(len(x), 128), Block: driver.D1(128)}
	if err := kernel.Launch(stream, grid, memory, uint32(len(x)), a, b); err != nil {
		return err
	}
	if err := stream.Wait(context.Background()); err != nil {
		return err
	}
	return memory.CopyTo(x)
}
