package main

import (
	"fmt"
	"io"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// resources loads the PTX with a driver and prints the resources that the driver's compiler has
// allocated for each kernel. Each line includes the device, because the numbers depend on it.
func (c *command) resources(out io.Writer, res *go2ptx.Output) (err error) {
	d, err := c.open()
	if err != nil {
		return fmt.Errorf("-resources needs the driver's compiler: %w", err)
	}
	dev, err := d.Device(0)
	if err != nil {
		return err
	}
	ctx, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer closing(&err, ctx)
	m, err := ctx.LoadModule(res.PTX)
	if err != nil {
		return err
	}
	defer closing(&err, m)
	name, err := dev.Name()
	if err != nil {
		return err
	}
	for _, k := range res.Kernels {
		kernel, err := m.Kernel(k.Name)
		if err != nil {
			return err
		}
		i, err := kernel.Info()
		if err != nil {
			return err
		}
		largest := i.MaxThreadsPerBlock
		if k.Block != [3]int{} { // drivers may not include a required size in their limit
			largest = min(largest, k.Block[0]*k.Block[1]*k.Block[2])
		}
		fmt.Fprintf(out, "%s: kernel %s on %s: registers: %d, local memory: %d bytes (variables in the PTX: %d), shared memory: %d bytes, largest block: %d\n",
			c.loader.line(k.Pos), k.Name, name, i.Registers, i.Local, k.Local, i.SharedStatic, largest)
	}
	return nil
}

// closing closes x and keeps the first error.
func closing(err *error, x io.Closer) {
	if e := x.Close(); *err == nil {
		*err = e
	}
}
