package kernels_test

import (
	"context"
	"fmt"
	"math/cmplx"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// A wave with two periods in eight numbers.
func ExampleFFT() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []complex64{1, 1i, -1, -1i, 1, 1i, -1, -1i})
		if err != nil {
			return err
		}
		defer x.Close()
		ops, err := kernels.FFT(x, x, 8, false, 1, nil)
		if err != nil {
			return err
		}
		if err := s.Do(ops...); err != nil {
			return err
		}
		if err := s.Wait(context.Background()); err != nil {
			return err
		}
		v := make([]complex64, 8)
		if err := x.CopyTo(v); err != nil {
			return err
		}
		fmt.Printf("%.0f\n", cmplx.Abs(complex128(v[2])))
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output: 8
}

func ExampleFill() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.Alloc[float32](c, 4)
		if err != nil {
			return err
		}
		defer x.Close()
		op, err := kernels.Fill(x, float32(2.5))
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, x)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [2.5 2.5 2.5 2.5]
}

// A matrix times its transpose.
func ExampleGemm() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []float32{1, 2, 3, 4, 5, 6})
		if err != nil {
			return err
		}
		defer x.Close()
		y, err := driver.Alloc[float32](c, 4)
		if err != nil {
			return err
		}
		defer y.Close()
		a := kernels.MatrixOf(x, 2, 3)
		op, err := kernels.Gemm(kernels.MatrixOf(y, 2, 2), a, a, 1, 0, kernels.TransposedB)
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
	// Output: [14 32 32 77]
}

// Two rows of integers of four bits.
func ExampleGemvQuantized() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		data := make([]uint8, 2*32/2)
		for i := range data {
			data[i] = 0x88 // 0 and 0
		}
		data[0], data[16] = 0x79, 0x8a // 1 and -1, and 2 and 0
		integers, err := driver.AllocFrom(c, data)
		if err != nil {
			return err
		}
		defer integers.Close()
		scales, err := driver.AllocFrom(c, []float32{0.5, 10})
		if err != nil {
			return err
		}
		defer scales.Close()
		x, err := driver.AllocFrom(c, append([]float32{5, 2}, make([]float32, 30)...))
		if err != nil {
			return err
		}
		defer x.Close()
		y, err := driver.Alloc[float32](c, 2)
		if err != nil {
			return err
		}
		defer y.Close()
		a := kernels.Quantized[float32]{Mem: integers, Scales: scales, Rows: 2, Cols: 32, Bits: 4}
		op, err := kernels.GemvQuantized(y, a, x)
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
	// Output: [1.5 100]
}

func ExampleArgmax() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		logits, err := driver.AllocFrom(c, []float32{0.5, 3, -1, 3})
		if err != nil {
			return err
		}
		defer logits.Close()
		token, err := driver.Alloc[int64](c, 1)
		if err != nil {
			return err
		}
		defer token.Close()
		op, err := kernels.Argmax(token, logits, nil)
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, token)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [1]
}

func ExampleSoftmax() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []float32{1, 1, 1, 1, 2, -1e30, 2, -1e30})
		if err != nil {
			return err
		}
		defer x.Close()
		m := kernels.MatrixOf(x, 2, 4)
		op, err := kernels.Softmax(m, m, 1) // runs in place
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, x)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [0.25 0.25 0.25 0.25 0.5 0 0.5 0]
}

// This example copies a transposed matrix without its first column.
func ExampleStridedCopy() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		src, err := driver.AllocFrom(c, []float32{1, 2, 3, 4, 5, 6})
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := driver.Alloc[float32](c, 4)
		if err != nil {
			return err
		}
		defer dst.Close()
		from := kernels.RowMajor(2, 3).Permute(1, 0)
		from.Offset = 1
		op, err := kernels.StridedCopy(dst, kernels.RowMajor(2, 2), src, from, []int{2, 2})
		if err != nil {
			return err
		}
		if err := s.Do(op); err != nil {
			return err
		}
		return show(s, dst)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [2 5 3 6]
}
