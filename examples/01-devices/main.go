// Command 01-devices lists the devices: their names, free memory and features, and which
// other devices each one can access. It also prints what the installed driver supports.
package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/examples/internal/demo"
)

func main() { demo.Main("01-devices", run) }

func run(d *demo.Demo) error {
	drv := d.Context.Driver()
	describe(d, drv)
	n, err := drv.DeviceCount()
	if err != nil {
		return err
	}
	found := 0
	for dev, err := range drv.Devices() {
		if err != nil {
			return err
		}
		if err := show(d, dev); err != nil {
			return err
		}
		found++
	}
	if found != n {
		return fmt.Errorf("%d devices were listed, there should be %d", found, n)
	}
	return nil
}

// describe prints the driver's version and which newer functions it has. Calling a missing function
// returns an error that matches driver.ErrNotSupported and names the CUDA version that introduced
// the function.
func describe(d *demo.Demo, drv *driver.Driver) {
	d.Printf("%s, a driver for CUDA %s", drv.Library().Name(), version(drv.Version()))
	for _, f := range []struct {
		what string
		cu.Function
	}{
		{"stream-ordered allocation", cu.FnCuMemAllocAsync},
		{"memory nodes in graphs", cu.FnCuGraphAddMemAllocNode},
		{"conditional nodes", cu.FnCuGraphConditionalHandleCreate},
		{"capture into an existing graph", cu.FnCuStreamBeginCaptureToGraph},
	} {
		d.Printf("  %-32s %-5v (%v, since CUDA %s)", f.what, drv.Has(f.Function), f.Function, version(f.Since()))
	}
}

func show(d *demo.Demo, dev driver.Device) error {
	p, err := dev.Properties()
	if err != nil {
		return err
	}
	d.Printf("%v: %v", dev, p)
	d.Printf("  %v at %s, %v", p.UUID, p.PCIBusID, clock(p))
	d.Printf("  a block: up to %d threads and %d KiB of shared memory; a multiprocessor: %d threads and %d KiB",
		p.MaxThreadsPerBlock, p.SharedMemPerBlockOptin>>10, p.MaxThreadsPerMultiprocessor, p.SharedMemPerMultiprocessor>>10)
	d.Printf("  supports %s", strings.Join(supported(p), ", "))

	// Properties covers most programs. Attribute accepts any device attribute from cuda.h.
	engines, err := dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)
	if err != nil {
		return err
	}
	d.Printf("  copies at a time while kernels run: %d", engines)
	return errors.Join(same(dev, p), memory(d, dev), peers(d, dev))
}

// memory prints how much memory is free. The query needs a context, because CUDA reports the
// free memory of the current context's device.
func memory(d *demo.Demo, dev driver.Device) (err error) {
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	free, total, err := c.MemInfo()
	if err != nil {
		return err
	}
	d.Printf("  memory: %.1f of %.1f GiB are free", gib(free), gib(total))
	if free == 0 || free > total {
		return fmt.Errorf("%v: %d of %d bytes cannot be free", dev, free, total)
	}
	return nil
}

// peers prints which other devices this device can access directly, without copies through
// the host.
func peers(d *demo.Demo, dev driver.Device) error {
	for peer, err := range dev.Driver().Devices() {
		if err != nil {
			return err
		}
		if peer == dev {
			continue
		}
		direct, err := dev.CanAccessPeer(peer)
		if err != nil {
			return err
		}
		d.Printf("  reads and writes the memory of %v directly: %v", peer, direct)
	}
	return nil
}
