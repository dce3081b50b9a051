package kernels_test

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// A permuted layout is the same memory with its indices in a different order.
func ExampleRowMajor() {
	l := kernels.RowMajor(2, 3)
	fmt.Println(l.Strides, l.Permute(1, 0).Strides)
	// Output: [3 1] [1 3]
}

// With a workspace, all multiprocessors reduce a long row.
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
