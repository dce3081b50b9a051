package kernels_test

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

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

// A loop whose operands change every round creates one operation.
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
