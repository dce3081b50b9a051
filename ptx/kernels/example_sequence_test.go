package kernels_test

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// Sums of numbers, in place. An algorithm with several launches returns a slice of operations.
func ExampleInclusiveSum() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []int32{3, 1, 4, 1, 5})
		if err != nil {
			return err
		}
		defer x.Close()
		work, err := kernels.NewWorkspace(c, kernels.ScanWorkspace[int32](x.Len()))
		if err != nil {
			return err
		}
		defer work.Close()
		ops, err := kernels.InclusiveSum(x, x, work)
		if err != nil {
			return err
		}
		if err := s.Do(ops...); err != nil {
			return err
		}
		return show(s, x)
	})
	fmt.Println(err)
	// Output:
	// [3 4 8 9 14]
	// <nil>
}

// Values move with their keys. Values of equal keys stay in order.
func ExampleSortPairs() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		keys, err := driver.AllocFrom(c, []float32{2, -1, 2, 0.5})
		if err != nil {
			return err
		}
		defer keys.Close()
		index, err := driver.Alloc[uint32](c, keys.Len())
		if err != nil {
			return err
		}
		defer index.Close()
		iota, err := kernels.Iota(index, 0, 1)
		if err != nil {
			return err
		}
		work, err := kernels.NewWorkspace(c, kernels.SortPairsWorkspace[float32, uint32](keys.Len()))
		if err != nil {
			return err
		}
		defer work.Close()
		descending := true
		sort, err := kernels.SortPairs(keys, keys, index, index, descending, work)
		if err != nil {
			return err
		}
		if err := s.Do(append([]driver.Op{iota}, sort...)...); err != nil {
			return err
		}
		if err := show(s, keys); err != nil {
			return err
		}
		return show(s, index)
	})
	fmt.Println(err)
	// Output:
	// [2 2 0.5 -1]
	// [0 2 3 1]
	// <nil>
}

// Histogram adds to the counters, so that it can count data that arrives in parts.
func ExampleHistogram() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		text, err := driver.AllocFrom(c, []uint8("abracadabra"))
		if err != nil {
			return err
		}
		defer text.Close()
		counts, err := driver.Alloc[uint32](c, 256)
		if err != nil {
			return err
		}
		defer counts.Close()
		clear, err := kernels.Fill(counts, 0)
		if err != nil {
			return err
		}
		count, err := kernels.Histogram(counts, text)
		if err != nil {
			return err
		}
		if err := s.Do(clear, count); err != nil {
			return err
		}
		return show(s, counts.View('a', 'e'))
	})
	fmt.Println(err)
	// Output:
	// [5 2 1 1]
	// <nil>
}

// The stream of a seed continues with the number after those that were used.
func ExampleRandomUniform() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.Alloc[float32](c, 6)
		if err != nil {
			return err
		}
		defer x.Close()
		const seed = 1
		for _, part := range [][2]int{{0, 2}, {2, 6}} {
			op, err := kernels.RandomUniform(x.View(part[0], part[1]), seed, uint64(part[0]))
			if err != nil {
				return err
			}
			if err := s.Do(op); err != nil {
				return err
			}
		}
		return show(s, x)
	})
	fmt.Println(err)
	// Output:
	// [0.89025915 0.8946847 0.5857259 0.71126807 0.67199826 0.8741119]
	// <nil>
}

// The two largest elements of each row, and their columns.
func ExampleTopK() {
	err := onEmulator(func(c *driver.Context, s *driver.Stream) error {
		x, err := driver.AllocFrom(c, []float32{3, 1, 4, 1, 5, 9, 2, 6})
		if err != nil {
			return err
		}
		defer x.Close()
		values, err := driver.Alloc[float32](c, 4)
		if err != nil {
			return err
		}
		defer values.Close()
		index, err := driver.Alloc[int64](c, 4)
		if err != nil {
			return err
		}
		defer index.Close()
		ops, err := kernels.TopK(kernels.MatrixOf(values, 2, 2), kernels.MatrixOf(index, 2, 2), kernels.MatrixOf(x, 2, 4), true, nil)
		if err != nil {
			return err
		}
		if err := s.Do(ops...); err != nil {
			return err
		}
		if err := show(s, values); err != nil {
			return err
		}
		return show(s, index)
	})
	fmt.Println(err)
	// Output:
	// [4 3 9 6]
	// [2 0 1 3]
	// <nil>
}
