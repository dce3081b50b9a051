// Package launches contains a launch of every kernel in package signatures. Tests and the comparison with C use it to measure launches of every
// signature.
package launches

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/checks/launches/signatures"
)

//go:generate go run ./internal/table signatures table.go

// Launch describes how to launch one kernel.
type Launch struct {
	Text   string // name of the PTX file
	Kernel string // name of the kernel in that file
	in     func(c *driver.Context, a *Args) (*driver.Kernel, driver.LaunchConfig, Do, error)
}

// Do launches a kernel through its launcher, with all arguments.
type Do func(on driver.Doer) error

// All returns the launches of all kernels, ordered by file and then as in the source.
func All() []Launch { return table }

// In loads the kernel in a context. It returns the kernel, a configuration, and a function that
// launches the kernel with the arguments in a.
func (l Launch) In(c *driver.Context, a *Args) (*driver.Kernel, driver.LaunchConfig, Do, error) {
	return l.in(c, a)
}

// Args holds the arguments for a launch. All memory arguments refer to the same buffer. All numbers
// are 0, including the numbers of elements and rows.
type Args struct {
	buffer *driver.Buffer[byte]

	u8   driver.View[uint8]
	u16  driver.View[uint16]
	u32  driver.View[uint32]
	u64  driver.View[uint64]
	i8   driver.View[int8]
	i16  driver.View[int16]
	i32  driver.View[int32]
	i64  driver.View[int64]
	f16  driver.View[signatures.F16]
	bf16 driver.View[signatures.BF16]
	f32  driver.View[float32]
	f64  driver.View[float64]
}

// NewArgs allocates the buffer for the memory arguments.
func NewArgs(c *driver.Context) (*Args, error) {
	b, err := driver.Alloc[byte](c, 1024)
	if err != nil {
		return nil, err
	}
	a := &Args{buffer: b}
	return a, errors.Join(
		as(b, &a.u8), as(b, &a.u16), as(b, &a.u32), as(b, &a.u64),
		as(b, &a.i8), as(b, &a.i16), as(b, &a.i32), as(b, &a.i64),
		as(b, &a.f16), as(b, &a.bf16), as(b, &a.f32), as(b, &a.f64))
}

func as[T any](b *driver.Buffer[byte], v *driver.View[T]) (err error) {
	*v, err = driver.ViewAs[T](b)
	return err
}

// Close frees the buffer.
func (a *Args) Close() error { return a.buffer.Close() }
