package difftest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
	"github.com/purecuda/cuda/ptx/gpu"
)

// slice has the memory layout of a slice in kernel parameters.
type slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

func sliceOf[T any](b *driver.Buffer[T]) slice {
	return slice{b.Ptr(), int64(b.Len()), int64(b.Len())}
}

// memory is the device memory that the kernels of a context read and write.
type memory struct {
	s     *driver.Stream
	oi    *driver.Buffer[int64]
	of    *driver.Buffer[float64]
	og    *driver.Buffer[float32]
	cells *driver.Buffer[int32]
	wide  *driver.Buffer[uint64]
	ii    *driver.Buffer[int32]
	il    *driver.Buffer[int64]
	ib    *driver.Buffer[uint8]
	is    *driver.Buffer[int16]
	fs    *driver.Buffer[float32]
	fd    *driver.Buffer[float64]
}

func alloc[T any](t testing.TB, c *driver.Context, like []T) *driver.Buffer[T] {
	t.Helper()
	b, err := driver.AllocFrom(c, like)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func newMemory(t testing.TB, c *driver.Context) *memory {
	t.Helper()
	// Recursive functions need more stack than the default of 1 KiB per thread.
	if err := c.SetLimit(cu.CU_LIMIT_STACK_SIZE, 16<<10); err != nil {
		t.Fatal(err)
	}
	d := randgo.NewData(0)
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &memory{s, alloc(t, c, d.OI), alloc(t, c, d.OF), alloc(t, c, d.OG), alloc(t, c, d.Cells), alloc(t, c, d.Wide),
		alloc(t, c, d.II), alloc(t, c, d.IL), alloc(t, c, d.IB), alloc(t, c, d.IS), alloc(t, c, d.FS), alloc(t, c, d.FD)}
}

// run runs a kernel on the data for a seed.
func (m *memory) run(k *driver.Kernel, seed uint64) (randgo.Result, error) {
	d := randgo.NewData(seed)
	err := errors.Join(m.oi.CopyFrom(d.OI), m.of.CopyFrom(d.OF), m.og.CopyFrom(d.OG), m.cells.CopyFrom(d.Cells), m.wide.CopyFrom(d.Wide), m.ii.CopyFrom(d.II),
		m.il.CopyFrom(d.IL), m.ib.CopyFrom(d.IB), m.is.CopyFrom(d.IS), m.fs.CopyFrom(d.FS), m.fd.CopyFrom(d.FD))
	if err != nil {
		return randgo.Result{}, err
	}
	cfg := driver.LaunchConfig{Grid: driver.Dim3{X: randgo.Blocks, Y: 1, Z: 1}, Block: driver.Dim3{X: randgo.Block, Y: 1, Z: 1}, SharedMem: randgo.Dynamic}
	w := randgo.W{A: int8(d.N), V: gpu.ViewAt[int32](m.ii.Ptr(), m.ii.Len()), M: gpu.View2DAt[float64](m.fd.Ptr(), randgo.Rows, randgo.Cols, randgo.Stride), B: int16(d.M)}
	err = k.Launch(m.s, cfg, sliceOf(m.oi), sliceOf(m.of), sliceOf(m.og), sliceOf(m.cells), sliceOf(m.wide), sliceOf(m.ii), sliceOf(m.il), sliceOf(m.ib),
		sliceOf(m.is), sliceOf(m.fs), sliceOf(m.fd), d.P, int64(d.N), d.M, d.X, d.Y, w)
	if err != nil {
		return randgo.Result{}, err
	}
	var fault *driver.KernelFault
	if err := m.s.Wait(context.Background()); errors.As(err, &fault) {
		return randgo.Result{Fault: faultText(fault)}, nil
	} else if err != nil {
		return randgo.Result{}, err
	}
	err = errors.Join(m.oi.CopyTo(d.OI), m.of.CopyTo(d.OF), m.og.CopyTo(d.OG), m.cells.CopyTo(d.Cells), m.wide.CopyTo(d.Wide))
	return randgo.Result{Outputs: d.Outputs()}, err
}

// faultText formats a fault like the panics in randgo.Result, with the values that Go prints.
func faultText(f *driver.KernelFault) string {
	return fmt.Sprintf("%s:%d: %s %v %s", filepath.Base(f.File), f.Line, f.Kind, f.Values, f.Message)
}
