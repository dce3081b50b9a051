package kernels_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/ptx/kernels"
)

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

// A permuted layout describes the same memory with its indices in a different order.
func ExampleRowMajor() {
	l := kernels.RowMajor(2, 3)
	fmt.Println(l.Strides, l.Permute(1, 0).Strides)
	// Output: [3 1] [1 3]
}

// With a workspace, all multiprocessors reduce one long row.
func ExampleWorkspace() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) (err error) {
		x, err := driver.Alloc[float32](c, 100_000)
		if err != nil {
			return err
		}
		defer x.Close()
		sum, err := driver.Alloc[float64](c, 1)
		if err != nil {
			return err
		}
		defer sum.Close()
		work, err := kernels.NewWorkspace(c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, work.Close()) }()
		op, err := kernels.Sum(sum, x, work)
		if err != nil {
			return err
		}
		if err := errors.Join(x.Fill(0.5), s.Do(op)); err != nil {
			return err
		}
		return show(s, sum)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [50000]
}

func ExampleSum() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []int32{1, 2, 3, -10})
		if err != nil {
			return err
		}
		defer x.Close()
		sum, err := driver.Alloc[int64](c, 1)
		if err != nil {
			return err
		}
		defer sum.Close()
		op, err := kernels.Sum(sum, x, nil)
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, sum)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [-4]
}

func ExampleGemv() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		mem, err := driver.AllocFrom(c, []float32{
			1, 2, 3, // a row
			4, 5, 6,
			1, 1, 1, // the vector
			0, 0, // the result
		})
		if err != nil {
			return err
		}
		defer mem.Close()
		a, x, y := kernels.MatrixOf(mem.View(0, 6), 2, 3), mem.View(6, 9), mem.View(9, 11)
		op, err := kernels.Gemv(y, a, x)
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, y)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [6 15]
}

func ExampleCast() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []float32{0.5, -1.9, 300})
		if err != nil {
			return err
		}
		defer x.Close()
		bytes, err := driver.Alloc[int8](c, 3)
		if err != nil {
			return err
		}
		defer bytes.Close()
		op, err := kernels.Cast(bytes, x)
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, bytes)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [0 -1 127]
}

// A loop whose operands change in every iteration creates only one operation.
func Example_again() {
	if err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.Alloc[float32](c, 6)
		if err != nil {
			return err
		}
		defer x.Close()
		var op *driver.Launch
		for i := range 3 {
			if op, err = kernels.Fill(x.View(2*i, 6), float32(i), op); err != nil {
				return err
			}
			if err := s.Do(op); err != nil {
				return err
			}
		}
		return show(s, x)
	}); err != nil {
		fmt.Println(err)
	}
	// Output: [0 0 1 1 2 2]
}
