// Package demo opens the device of a numbered example, prints its name, and closes everything at
// the end.
package demo

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// Demo is the device of an example. It also closes the objects that the example creates.
type Demo struct {
	Context  *driver.Context
	Stream   *driver.Stream
	Out      io.Writer
	Emulated bool // set on an emulator, where measured times say nothing about a GPU

	devices  int // number of devices of the emulator
	closers  []io.Closer
	contexts []*driver.Context // all contexts that have been opened
}

// Main is the main function of an example. It exits with status 1 if example fails.
func Main(name string, example func(*Demo) error) { MainOn(1, name, example) }

// MainOn is like Main, but for an example that uses several devices. An emulator then has the given
// number of devices.
func MainOn(devices int, name string, example func(*Demo) error) {
	device := flag.String("device", "auto", "auto, gpu or emulator")
	flag.Parse()
	if err := RunOn(devices, *device, os.Stdout, example); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Run runs an example and then closes everything. The device is auto, gpu or emulator.
func Run(device string, out io.Writer, example func(*Demo) error) error {
	return RunOn(1, device, out, example)
}

// RunOn is like Run, but with an emulator that has several devices.
func RunOn(devices int, device string, out io.Writer, example func(*Demo) error) error {
	return run(devices, out, func(d *Demo) error { return d.open(device) }, example)
}

// RunWith runs an example on lib, an emulator or a library that wraps one, and closes lib.
// It is for tests.
func RunWith(lib loader.Library, out io.Writer, example func(*Demo) error) error {
	return run(1, out, func(d *Demo) error { return d.openEmulated(lib) }, example)
}

func run(devices int, out io.Writer, open, example func(*Demo) error) (err error) {
	d := &Demo{Out: out, devices: devices}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := open(d); err != nil {
		return err
	}
	if d.Stream, err = d.Context.NewStream(); err != nil {
		return err
	}
	d.Close(d.Stream)
	return example(d)
}

// Close registers objects to be closed, in reverse order, when the example ends.
func (d *Demo) Close(things ...io.Closer) { d.closers = append(d.closers, things...) }

func (d *Demo) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i].Close())
	}
	// Report errors from cleanup that the library did in the background. Ignore ErrClosed: objects
	// that are still in use are released with the driver.
	for _, c := range d.contexts {
		for _, err := range c.CleanupErrors() {
			if !errors.Is(err, driver.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Opened returns the contexts that the example has opened so far, one for each device.
func (d *Demo) Opened() []*driver.Context { return d.contexts }

func (d *Demo) Printf(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

// Kernels loads PTX and stores its kernels. For each kernel name, the map contains the address of
// the variable in which to store the kernel.
func (d *Demo) Kernels(ptx []byte, kernels map[string]**driver.Kernel) error {
	return d.KernelsOn(d.Context, ptx, kernels)
}

// NewStream creates another stream.
func (d *Demo) NewStream() (*driver.Stream, error) {
	s, err := d.Context.NewStream()
	if err != nil {
		return nil, err
	}
	d.Close(s)
	return s, nil
}

// Memory allocates device memory for n elements and sets each to v.
func Memory[T any](d *Demo, n int, v T) (*driver.Buffer[T], error) {
	return MemoryOn(d, d.Context, n, v)
}

// MemoryFrom allocates device memory and copies src to it.
func MemoryFrom[T any](d *Demo, src []T) (*driver.Buffer[T], error) {
	b, err := driver.AllocFrom(d.Context, src)
	if err != nil {
		return nil, err
	}
	d.Close(b)
	return b, nil
}

// PerElement returns a launch configuration with one thread for each of n elements.
func PerElement(n int) driver.LaunchConfig {
	const block = 128
	return driver.LaunchConfig{Grid: driver.Blocks(n, block), Block: driver.D1(block)}
}

// All returns an error unless every element of b is want. All work that writes b must have
// finished.
func All[T comparable](b *driver.Buffer[T], want T) error {
	got := make([]T, b.Len())
	if err := b.CopyTo(got); err != nil {
		return err
	}
	for i, v := range got {
		if v != want {
			return fmt.Errorf("wrong result: element %d is %v, it should be %v", i, v, want)
		}
	}
	return nil
}
