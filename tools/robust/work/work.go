// Package work contains the device work that the programs share: a captured graph adds to memory,
// which may belong to another part of the program.
package work

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
)

//go:embed add.ptx
var ptx []byte

// Device is a device's primary context with a loaded kernel.
type Device struct {
	driver  *driver.Driver
	Context *driver.Context
	module  *driver.Module
	add     *driver.Kernel
}

// Open opens the system's driver or an emulated driver.
func Open(emulated bool) (d *Device, err error) {
	d = new(Device)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.driver, err = open(emulated); err != nil {
		return d, err
	}
	dev, err := d.driver.Device(0)
	if err != nil {
		return d, err
	}
	if d.Context, err = dev.PrimaryContext(); err != nil {
		return d, err
	}
	if d.module, err = d.Context.LoadModule(ptx); err != nil {
		return d, err
	}
	d.add, err = d.module.Kernel("add")
	return d, err
}

func open(emulated bool) (*driver.Driver, error) {
	if !emulated {
		return driver.Open()
	}
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Close closes the module, the context and the driver.
func (d *Device) Close() error {
	return errors.Join(d.module.Close(), d.Context.Close(), d.driver.Close())
}

// Add replays a graph that adds the number by to each of n words at a device address. replays is the
// number of replays. Add returns when all work has finished.
func (d *Device) Add(address uint64, n int, by uint32, replays int) (err error) {
	s, err := d.Context.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	cfg := driver.LaunchConfig{Grid: driver.Blocks(n, 128), Block: driver.D1(128)}
	launch, err := d.add.Prepare(cfg, address, uint32(n), by)
	if err != nil {
		return err
	}
	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(launch) })
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	defer func() { err = errors.Join(err, x.Close(), g.Close()) }()
	for range replays {
		if err := x.Launch(s); err != nil {
			return err
		}
	}
	return s.Wait(context.Background())
}

// Selftest adds to newly allocated memory and checks the result.
func (d *Device) Selftest() (err error) {
	const n = 1000
	b, err := driver.AllocFrom(d.Context, make([]uint32, n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := d.Add(uint64(b.Ptr()), n, 7, 6); err != nil {
		return err
	}
	got := make([]uint32, n)
	if err := b.CopyTo(got); err != nil {
		return err
	}
	return Check(got, 42)
}

// Check checks that all values are want.
func Check(got []uint32, want uint32) error {
	for i, v := range got {
		if v != want {
			return fmt.Errorf("word %d is %d, want %d", i, v, want)
		}
	}
	return nil
}

// Once opens a device, tests it and closes it.
func Once(emulated bool) error {
	d, err := Open(emulated)
	if err != nil {
		return err
	}
	return errors.Join(d.Selftest(), d.Close())
}
