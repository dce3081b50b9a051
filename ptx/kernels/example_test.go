package kernels_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/kernels"
)

// onEmulator runs an example with a context and a stream.
func onEmulator(example func(c *driver.Context, s *driver.Stream) error) (err error) {
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	dev, err := d.Device(0)
	if err != nil {
		return err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return example(c, s)
}

// show waits and prints what memory holds.
func show[T kernels.Element](s *driver.Stream, m driver.MemoryOf[T]) error {
	if err := s.Wait(context.Background()); err != nil {
		return err
	}
	v := make([]T, m.All().Len())
	if err := m.All().CopyTo(v); err != nil {
		return err
	}
	fmt.Println(v)
	return nil
}
