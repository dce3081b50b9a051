// Package demo is shared by the numbered examples. It opens a device, prints which
// one it is, and closes everything at the end.
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

// Demo is the device of an example, and what the example has to close.
type Demo struct {
	Context  *driver.Context
	Stream   *driver.Stream
	Out      io.Writer
	Emulated bool // times say nothing about a GPU

	devices  int // that an emulator has
	closers  []io.Closer
	contexts []*driver.Context // all that were opened
}

// Main is the main function of an example: it ends with 1 if example fails.
func Main(name string, example func(*Demo) error) { MainOn(1, name, example) }

// MainOn is Main for an example with several devices. The emulator gets that many.
func MainOn(devices int, name string, example func(*Demo) error) {
	device := flag.String("device", "auto", "auto, gpu or emulator")
	flag.Parse()
	if err := RunOn(devices, *device, os.Stdout, example); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Run runs an example on the device called auto, gpu or emulator, and closes
// everything afterwards.
func Run(device string, out io.Writer, example func(*Demo) error) error {
	return RunOn(1, device, out, example)
}

// RunOn is Run with an emulator that has several devices.
func RunOn(devices int, device string, out io.Writer, example func(*Demo) error) error {
	return run(devices, out, func(d *Demo) error { return d.open(device) }, example)
}

// RunWith runs an example on an emulator, or on a library that wraps one, and
// closes that too: for tests.
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

// Close closes things when the example ends, the last one first.
func (d *Demo) Close(things ...io.Closer) { d.closers = append(d.closers, things...) }

func (d *Demo) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i].Close())
	}
	// Errors of cleanup that the library did on its own have not been returned yet.
	// What was still in use here is released with the driver.
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

// Printf prints a line.
func (d *Demo) Printf(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

// Kernels loads PTX and finds kernels in it.
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

// Memory returns device memory that holds n times v.
func Memory[T any](d *Demo, n int, v T) (*driver.Buffer[T], error) {
	return MemoryOn(d, d.Context, n, v)
}

// MemoryFrom returns device memory with a copy of src.
func MemoryFrom[T any](d *Demo, src []T) (*driver.Buffer[T], error) {
	b, err := driver.AllocFrom(d.Context, src)
	if err != nil {
		return nil, err
	}
	d.Close(b)
	return b, nil
}

// PerElement is the configuration of a launch with one thread for each of n elements.
func PerElement(n int) driver.LaunchConfig {
	const block = 128
	return driver.LaunchConfig{Grid: driver.Blocks(n, block), Block: driver.D1(block)}
}

// All returns an error unless every element of b is want. Wait for the work that
// writes b first.
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
