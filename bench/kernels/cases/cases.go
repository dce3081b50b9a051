// Package cases has the list of 40 kernels, with data for each, what its outputs must be, and how it is
// launched in Go and in CUDA C++.
package cases

import (
	"fmt"
	"math"
	"reflect"

	"github.com/purecuda/cuda/driver"
)

// Case is a kernel of the list.
type Case struct {
	Name  string // of the kernel in Go and in CUDA C++
	Bound Bound
	What  string
	// Source is the public code with the same algorithm.
	Source string
	// New prepares a launch for a size, with data that depend on the size alone.
	New func(m *Memory, n int) *Work
	// Sizes are measured. The last one has a tail: it is odd, or no multiple of the block.
	Sizes []int
	// Small are sizes for the emulator, some of them with tails.
	Small []int
}

// Bound is what limits a kernel's speed.
type Bound string

const (
	ByMemory     Bound = "memory"
	ByArithmetic Bound = "arithmetic"
	ByLatency    Bound = "latency"
)

// Work is a launch of a kernel of the list.
type Work struct {
	Grid, Block driver.Dim3
	Shared      int // bytes of dynamic shared memory
	// Args are the arguments of the kernel in Go: slices made by Memory, and numbers.
	Args []any
	// CUDA are the arguments of the counterpart. Slices are passed as addresses.
	CUDA []any
	// Want returns what the outputs must be, in the order of their Out calls. It is called for
	// small sizes only.
	Want func() []any
	// Tolerance is the largest error of an output relative to the largest output. Zero demands
	// equal bits.
	Tolerance float64
	// Bytes, and Operations, are what a launch must read and write, and compute.
	Bytes, Operations float64
}

// Slice is a slice argument. In memory it has the layout of a kernel's parameter.
type Slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

// Memory is the device memory of a launch.
type Memory struct {
	c       *driver.Context
	shorten int // the number of the slice that loses its last element, or -1
	err     error
	n       int
	outputs []output
	open    []interface{ Close() error }
}

type output struct {
	reset    func() error
	download func() (any, error)
}

// NewMemory returns an empty memory. Its slices are those of the kernel, except that the one with the
// number shorten, counted from 0, lacks its last element. If shorten is -1, all are complete.
func NewMemory(c *driver.Context, shorten int) *Memory { return &Memory{c: c, shorten: shorten} }

// Slices returns how many slices the memory has.
func (m *Memory) Slices() int { return m.n }

// Err returns the first error of In or Out.
func (m *Memory) Err() error { return m.err }

// Close frees the memory.
func (m *Memory) Close() (err error) {
	for _, x := range m.open {
		if e := x.Close(); err == nil {
			err = e
		}
	}
	m.open = nil
	return err
}

// Reset gives all outputs the values that they had before a launch.
func (m *Memory) Reset() error {
	for _, o := range m.outputs {
		if err := o.reset(); err != nil {
			return err
		}
	}
	return nil
}

// Outputs returns the values of all outputs.
func (m *Memory) Outputs() (all []any, err error) {
	for _, o := range m.outputs {
		x, err := o.download()
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// In returns a slice that a kernel reads.
func In[T any](m *Memory, values []T) Slice {
	_, s := upload(m, values)
	return s
}

// Out returns a slice that a kernel writes, and perhaps reads.
func Out[T any](m *Memory, before []T) Slice {
	b, s := upload(m, before)
	if b == nil {
		return s
	}
	before = before[:b.Len()]
	m.outputs = append(m.outputs, output{
		reset: func() error { return b.CopyFrom(before) },
		download: func() (any, error) {
			x := make([]T, b.Len())
			return x, b.CopyTo(x)
		},
	})
	return s
}

func upload[T any](m *Memory, values []T) (*driver.Buffer[T], Slice) {
	if m.err != nil {
		return nil, Slice{}
	}
	if m.n == m.shorten {
		values = values[:len(values)-1]
	}
	m.n++
	b, err := driver.AllocFrom(m.c, values)
	if err != nil {
		m.err = err
		return nil, Slice{}
	}
	m.open = append(m.open, b)
	return b, Slice{b.Ptr(), int64(b.Len()), int64(b.Len())}
}

// Ptr is the address of a slice, as an argument of CUDA C++.
func (s Slice) Ptr() driver.CUdeviceptr { return s.ptr }

// Difference describes where two lists of outputs differ, or is empty.
func Difference(got, want []any, tolerance float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d outputs, want %d", len(got), len(want))
	}
	for k := range got {
		g, w := reflect.ValueOf(got[k]), reflect.ValueOf(want[k])
		if g.Type() != w.Type() || g.Len() != w.Len() {
			return fmt.Sprintf("output %d is %v with %d elements, want %v with %d", k, g.Type(), g.Len(), w.Type(), w.Len())
		}
		var most float64
		for i := range w.Len() {
			most = max(most, math.Abs(number(w.Index(i))))
		}
		for i := range w.Len() {
			x, y := g.Index(i), w.Index(i)
			if tolerance == 0 && x.Interface() == y.Interface() {
				continue
			}
			if e := math.Abs(number(x) - number(y)); tolerance == 0 || !(e <= tolerance*most) {
				return fmt.Sprintf("output %d[%d] is %v, want %v, and the largest is %v", k, i, x, y, most)
			}
		}
	}
	return ""
}

func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}
