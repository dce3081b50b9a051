package kernels_test

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// An image of 3 by 4 elements and a filter that adds each element to its lower right neighbour.
func ExampleConv2D() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
		if err != nil {
			return err
		}
		defer x.Close()
		w, err := driver.AllocFrom(c, []float32{1, 0, 0, 1})
		if err != nil {
			return err
		}
		defer w.Close()
		src := kernels.Images[float32]{Mem: x, Batch: 1, Channels: 1, Height: 3, Width: 4}
		filters := kernels.Images[float32]{Mem: w, Batch: 1, Channels: 1, Height: 2, Width: 2}
		var down, right kernels.Axis // stride 1, no padding
		dst := kernels.Images[float32]{Batch: 1, Channels: 1, Height: down.Out(3, 2), Width: right.Out(4, 2)}
		y, err := driver.Alloc[float32](c, dst.Height*dst.Width)
		if err != nil {
			return err
		}
		defer y.Close()
		dst.Mem = y
		op, err := kernels.Conv2D(dst, src, filters, nil, down, right)
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, y)
	})
	if err != nil {
		panic(err)
	}
	// Output: [7 9 11 15 17 19]
}

// The sum of three neighbours in a signal, with zeros around it.
func ExampleConv1D() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []float32{1, 2, 3, 4, 5})
		if err != nil {
			return err
		}
		defer x.Close()
		w, err := driver.AllocFrom(c, []float32{1, 1, 1})
		if err != nil {
			return err
		}
		defer w.Close()
		y, err := driver.Alloc[float32](c, 5)
		if err != nil {
			return err
		}
		defer y.Close()
		signal := func(m driver.MemoryOf[float32], length int) kernels.Images[float32] {
			return kernels.Images[float32]{Mem: m, Batch: 1, Channels: 1, Width: length}
		}
		op, err := kernels.Conv1D(signal(y, 5), signal(x, 5), signal(w, 3), nil, kernels.Axis{Padding: 1})
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, y)
	})
	if err != nil {
		panic(err)
	}
	// Output: [3 6 9 12 9]
}

// The first product of a layer of a language model.
func ExampleGemvRMSNorm() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		a, err := driver.AllocFrom(c, []float32{1, 0, 0, 1, 1, 1})
		if err != nil {
			return err
		}
		defer a.Close()
		x, err := driver.AllocFrom(c, []float32{1, 7}) // the mean of the squares is 25
		if err != nil {
			return err
		}
		defer x.Close()
		weight, err := driver.AllocFrom(c, []float32{10, 5})
		if err != nil {
			return err
		}
		defer weight.Close()
		y, err := driver.Alloc[float32](c, 3)
		if err != nil {
			return err
		}
		defer y.Close()
		op, err := kernels.GemvRMSNorm(y, kernels.MatrixOf(a, 3, 2), x, weight, 0)
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, y)
	})
	if err != nil {
		panic(err)
	}
	// Output: [2 7 9]
}
