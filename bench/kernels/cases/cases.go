// Package cases contains the list of 40 kernels. For each kernel, it provides the data, the
// expected outputs, and the launches in Go and in CUDA C++.
package cases

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/num"
)

// Case is a kernel of the list.
type Case struct {
	Name  string // the same name in Go and in CUDA C++
	Bound Bound
	What  string
	// Source is the public code that contains the same algorithm.
	Source string
	// New prepares a launch of size n. The data depend only on n.
	New func(m *Memory, n int) *Work
	// Sizes are the sizes to measure. The last one has a tail: it is odd, or not a multiple of the
	// block size.
	Sizes []int
	// Small lists sizes for the emulator. Some of them have tails.
	Small []int
}

// Bound is the resource that limits a kernel's speed.
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
	// CUDA are the arguments of the counterpart, which takes slices as addresses.
	CUDA []any
	// Want returns the expected outputs, in the order of their Out calls. It is called for small
	// sizes only.
	Want func() []any
	// Tolerance is the largest permitted error of an output, relative to the largest output. If it
	// is zero, all bits must be equal.
	Tolerance float64
	// Bytes is the amount of memory that a launch must read and write. Operations is the number of
	// arithmetic operations that it must perform.
	Bytes, Operations float64
}

// Slice is a slice argument. It has the memory layout of a slice in kernel parameters.
type Slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

// Memory is the device memory of a launch.
type Memory struct {
	c       *driver.Context
	shorten int // number of the slice that loses its last element, or -1
	err     error
	n       int
	outputs []output
	open    []interface{ Close() error }
}

type output struct {
	reset    func() error
	download func() (any, error)
}

// NewMemory returns a Memory without slices. If shorten is not -1, the slice with that number,
// counted from 0, will lack its last element.
func NewMemory(c *driver.Context, shorten int) *Memory { return &Memory{c: c, shorten: shorten} }

// Slices returns the number of slices.
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

// Reset restores the values that the outputs had before the first launch.
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

// In adds a slice that the kernel reads.
func In[T any](m *Memory, values []T) Slice {
	_, s := upload(m, values)
	return s
}

// Out adds a slice that the kernel writes and may also read.
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

// OutOfAnyOrder is like Out, but for a kernel that writes the elements in an order that differs
// between launches. Outputs sorts the elements.
func OutOfAnyOrder[T cmp.Ordered](m *Memory, before []T) Slice {
	s := Out(m, before)
	if m.err != nil {
		return s
	}
	o := &m.outputs[len(m.outputs)-1]
	download := o.download
	o.download = func() (any, error) {
		x, err := download()
		if err != nil {
			return nil, err
		}
		slices.Sort(x.([]T))
		return x, nil
	}
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

// Ptr returns the address of the slice, which is its argument in CUDA C++.
func (s Slice) Ptr() driver.CUdeviceptr { return s.ptr }

// Difference describes where two lists of outputs differ. If they are equal within the tolerance,
// it returns "".
func Difference(got, want []any, tolerance float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d outputs, want %d", len(got), len(want))
	}
	for k := range got {
		if d := differ(got[k], want[k], tolerance); d != "" {
			return fmt.Sprintf("output %d%s", k, d)
		}
	}
	return ""
}

func differ(got, want any, tolerance float64) string {
	switch g := got.(type) {
	case []float32:
		return elements(g, want, tolerance, func(x float32) float64 { return float64(x) })
	case []float64:
		return elements(g, want, tolerance, func(x float64) float64 { return x })
	case []num.F16:
		return elements(g, want, tolerance, num.F16.Float64)
	case []int8:
		return elements(g, want, tolerance, func(x int8) float64 { return float64(x) })
	case []uint8:
		return elements(g, want, tolerance, func(x uint8) float64 { return float64(x) })
	case []int32:
		return elements(g, want, tolerance, func(x int32) float64 { return float64(x) })
	case []uint32:
		return elements(g, want, tolerance, func(x uint32) float64 { return float64(x) })
	case []uint64:
		return elements(g, want, tolerance, func(x uint64) float64 { return float64(x) })
	case []complex64:
		w, _ := want.([]complex64)
		return differ(parts(g), parts(w), tolerance)
	}
	return fmt.Sprintf(" is %T, which cannot be compared", got)
}

// parts returns the real and imaginary parts of complex numbers.
func parts(x []complex64) []float32 {
	p := make([]float32, 0, 2*len(x))
	for _, c := range x {
		p = append(p, real(c), imag(c))
	}
	return p
}

func elements[T comparable](got []T, other any, tolerance float64, number func(T) float64) string {
	want, ok := other.([]T)
	if !ok || len(got) != len(want) {
		return fmt.Sprintf(" is %T with %d elements, want %T with %d", got, len(got), other, reflect.ValueOf(other).Len())
	}
	var most float64
	for _, w := range want {
		most = max(most, math.Abs(number(w)))
	}
	for i, w := range want {
		if tolerance == 0 && got[i] == w {
			continue
		}
		if e := math.Abs(number(got[i]) - number(w)); tolerance == 0 || !(e <= tolerance*most) {
			return fmt.Sprintf("[%d] is %v, want %v, and the largest is %v", i, got[i], w, most)
		}
	}
	return ""
}
