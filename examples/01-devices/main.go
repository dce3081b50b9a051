// Command 01-devices lists the devices: what each is, how much of its memory is
// free, what it supports, which other devices it reaches, and what the installed
// driver can do.
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

// describe says which driver this is and what came with its version. A function
// that it lacks answers driver.ErrNotSupported and says which version has it.
func describe(d *demo.Demo, drv *driver.Driver) {
	d.Printf("%s, a driver for CUDA %s", drv.LibraryName(), version(drv.Version()))
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

func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

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

	// Properties has what programs commonly ask for; the rest has C's names.
	engines, err := dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)
	if err != nil {
		return err
	}
	d.Printf("  copies at a time while kernels run: %d", engines)
	return errors.Join(same(dev, p), memory(d, dev), peers(d, dev))
}

func clock(p driver.Properties) string {
	return fmt.Sprintf("%d MHz, L2 cache of %.1f MiB", p.ClockKHz/1000, float64(p.L2Cache)/(1<<20))
}

func supported(p driver.Properties) (list []string) {
	for _, f := range []struct {
		what string
		has  bool
	}{
		{"cooperative launches", p.CooperativeLaunch},
		{"clusters", p.ClusterLaunch},
		{"memory pools", p.MemoryPools},
		{"managed memory", p.ManagedMemory},
		{"stream priorities", p.StreamPriorities},
		{"mapped host memory", p.CanMapHostMemory},
	} {
		if f.has {
			list = append(list, f.what)
		}
	}
	return list
}

// same finds the device again by what stays the same when ordinals change.
func same(dev driver.Device, p driver.Properties) error {
	again, err := dev.Driver().DeviceByUUID(p.UUID)
	if err != nil {
		return err
	}
	if again != dev {
		return fmt.Errorf("%v has the UUID of %v", dev, again)
	}
	return nil
}

// memory asks for what is free, which takes a context.
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

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// peers says which other devices the device reaches without the host.
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
