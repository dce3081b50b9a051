package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// machine is the device that the pipeline runs on: a GPU or the emulator.
type machine struct {
	driver   *driver.Driver
	context  *driver.Context
	emulated bool
}

// openMachine opens the first GPU. With "auto", it opens the emulator if there is no GPU,
// and prints the reason.
func openMachine(which string, say io.Writer) (*machine, error) {
	switch which {
	case "gpu":
		return openGPU()
	case "emulator":
		fmt.Fprintln(say, "Running on the emulator, as asked.")
		return openEmulator()
	case "auto":
		m, err := openGPU()
		if err == nil {
			return m, nil
		}
		fmt.Fprintf(say, "No GPU can be used (%s); running on the emulator.\n", reason(err))
		return openEmulator()
	}
	return nil, fmt.Errorf("-device %s: choose auto, gpu or emulator", which)
}

func openGPU() (*machine, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	return newMachine(d, false)
}

func openEmulator() (*machine, error) { return openEmulated(emulator.New(emulator.Config{})) }

// openEmulated opens lib, an emulator or a library that wraps one.
func openEmulated(lib loader.Library) (*machine, error) {
	d, err := driver.New(lib)
	if err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return newMachine(d, true)
}

func newMachine(d *driver.Driver, emulated bool) (*machine, error) {
	device, err := d.Device(0)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	c, err := device.PrimaryContext()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &machine{driver: d, context: c, emulated: emulated}, nil
}

// describe returns the device's name and properties in one line.
func (m *machine) describe() (string, error) {
	device := m.context.Device()
	name, err := device.Name()
	if err != nil {
		return "", err
	}
	major, minor, err := device.ComputeCapability()
	if err != nil {
		return "", err
	}
	version := m.driver.Version()
	return fmt.Sprintf("%s, compute capability %d.%d, driver for CUDA %d.%d",
		name, major, minor, version/1000, version%1000/10), nil
}

// Close closes the context, then the driver.
func (m *machine) Close() error {
	return errors.Join(m.context.Close(), m.driver.Close())
}

// reason returns one line that explains why there is no GPU. With -device gpu, the program
// prints the whole error, which lists every library name tried.
func reason(err error) string {
	var open *loader.OpenError
	if errors.As(err, &open) && len(open.Tried) > 1 {
		return fmt.Sprintf("%v, nor %d other names", open.Tried[0].Err, len(open.Tried)-1)
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
