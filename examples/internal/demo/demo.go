// Package demo is what the numbered examples share: how a device is chosen and
// named, and who closes what.
package demo

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/purecuda/cuda/driver"
)

// Demo is what an example runs with.
type Demo struct {
	Context  *driver.Context
	Stream   *driver.Stream
	Out      io.Writer
	Emulated bool // times say nothing about a GPU

	closers []io.Closer
}

// Main is the main function of an example: it ends with 1 if example fails.
func Main(name string, example func(*Demo) error) {
	device := flag.String("device", "auto", "auto, gpu or emulator")
	flag.Parse()
	if err := Run(*device, os.Stdout, example); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Run runs an example on the device called auto, gpu or emulator, and closes
// everything afterwards.
func Run(device string, out io.Writer, example func(*Demo) error) (err error) {
	d := &Demo{Out: out}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.open(device); err != nil {
		return err
	}
	if d.Stream, err = d.Context.NewStream(); err != nil {
		return err
	}
	d.Close(d.Stream)
	return example(d)
}

// Close has things closed when the example ends, the last one first.
func (d *Demo) Close(things ...io.Closer) { d.closers = append(d.closers, things...) }

func (d *Demo) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i].Close())
	}
	return errors.Join(errs...)
}

// Printf prints a line.
func (d *Demo) Printf(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

// Kernels loads PTX and finds kernels in it.
func (d *Demo) Kernels(ptx []byte, kernels map[string]**driver.Kernel) error {
	m, err := d.Context.LoadModule(ptx)
	if err != nil {
		return err
	}
	d.Close(m)
	for name, k := range kernels {
		if *k, err = m.Kernel(name); err != nil {
			return err
		}
	}
	return nil
}

// NewStream returns one more stream.
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
	b, err := driver.Alloc[T](d.Context, n)
	if err != nil {
		return nil, err
	}
	d.Close(b)
	return b, b.Fill(v)
}

// MemoryFrom returns device memory that holds what src does.
func MemoryFrom[T any](d *Demo, src []T) (*driver.Buffer[T], error) {
	b, err := driver.AllocFrom(d.Context, src)
	if err != nil {
		return nil, err
	}
	d.Close(b)
	return b, nil
}

// PerElement is the configuration of a kernel with a thread for each of n
// elements.
func PerElement(n int) driver.LaunchConfig {
	const block = 128
	return driver.LaunchConfig{Grid: driver.Blocks(n, block), Block: driver.D1(block)}
}

// All reports whether every element of b is want. The work that writes b has
// been waited for.
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
