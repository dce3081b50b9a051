package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

// benchmark is a case. The names are those of algorithms.py.
type benchmark struct {
	name string
	make func(m *memory) []driver.Op
}

// memory allocates the memory of a case. After the first error, it does nothing.
type memory struct {
	c       *driver.Context
	made    []interface{ Close() error }
	repeats int // operations that do the same, with other memory; 0 means one
	err     error
}

func (m *memory) close() (err error) {
	for _, x := range slices.Backward(m.made) {
		err = errors.Join(err, x.Close())
	}
	return err
}

func alloc[T any](m *memory, n int) *driver.Buffer[T] {
	if m.err != nil {
		return nil
	}
	b, err := driver.Alloc[T](m.c, n)
	if err != nil {
		m.err = err
		return nil
	}
	m.made = append(m.made, b)
	return b
}

func (m *memory) workspace(bytes int) *kernels.Workspace {
	if m.err != nil {
		return nil
	}
	w, err := kernels.NewWorkspace(m.c, bytes)
	if err != nil {
		m.err = err
		return nil
	}
	m.made = append(m.made, w)
	return w
}

// now runs an operation that prepares inputs.
func (m *memory) now(op *driver.Launch, err error) {
	if m.err != nil {
		return
	}
	if err != nil {
		m.err = err
		return
	}
	s, err := m.c.NewStream()
	if err != nil {
		m.err = err
		return
	}
	m.err = errors.Join(s.Do(op), s.Wait(context.Background()), s.Close())
}

// bits returns n elements with random bits.
func bits[T any](m *memory, n int) driver.MemoryOf[T] {
	b := alloc[T](m, n)
	if m.err != nil {
		return nil
	}
	v, err := driver.ViewAs[uint32](b)
	if err != nil {
		m.err = err
		return nil
	}
	m.now(kernels.RandomBits(v, 1, 0))
	return b
}

func randomBytes(m *memory, n int) driver.MemoryOf[uint8] { return bits[uint8](m, n) }

func normal[T float32 | float64](m *memory, n int) driver.MemoryOf[T] {
	b := alloc[T](m, n)
	if m.err != nil {
		return nil
	}
	m.now(kernels.RandomNormal(b, 1, 0))
	return b
}

// ops returns the operations of a case, if they could be made.
func (m *memory) ops(ops []driver.Op, err error) []driver.Op {
	if m.err == nil {
		m.err = err
	}
	return ops
}

func (m *memory) op(op *driver.Launch, err error) []driver.Op {
	if m.err == nil {
		m.err = err
	}
	return []driver.Op{op}
}

func cases(small bool) []benchmark {
	size := func(n int) int {
		if small {
			return max(n>>14, 8)
		}
		return n
	}
	var all []benchmark
	add := func(make func(m *memory) []driver.Op, format string, args ...any) {
		all = append(all, benchmark{fmt.Sprintf(format, args...), func(m *memory) []driver.Op {
			if ops := make(m); m.err == nil {
				return ops
			}
			return nil
		}})
	}
	for _, log := range []int{20, 24, 28} {
		n := size(1 << log)
		add(func(m *memory) []driver.Op { return sums[float32](m, n) }, "sum f32 2^%d", log)
		add(func(m *memory) []driver.Op { return sums[int32](m, n) }, "sum i32 2^%d", log)
		add(func(m *memory) []driver.Op { return sums[int64](m, n/2) }, "sum i64 2^%d", log-1)
		add(func(m *memory) []driver.Op { return sums[float64](m, n/2) }, "sum f64 2^%d", log-1)
	}
	for _, log := range []int{16, 20, 24, 28} {
		n := size(1 << log)
		add(func(m *memory) []driver.Op { return sorts[int32](m, n) }, "sort i32 2^%d", log)
		add(func(m *memory) []driver.Op { return sorts[float32](m, n) }, "sort f32 2^%d", log)
		add(func(m *memory) []driver.Op { return sorts[int64](m, n/2) }, "sort i64 2^%d", log-1)
		add(func(m *memory) []driver.Op { return pairs(m, n/2) }, "sort pairs f32 i64 2^%d", log-1)
	}
	for _, s := range [][3]int{{4096, 32000, 50}, {128, 131072, 8}, {64, 131072, 1000}, {1, 1 << 24, 100}, {65536, 1024, 8}} {
		rows, cols, k := s[0], s[1], s[2]
		if small {
			rows, cols = max(rows>>12, 1), max(cols>>8, k)
		}
		add(func(m *memory) []driver.Op { return topK(m, rows, cols, k) }, "topk f32 %d x %d k %d", s[0], s[1], s[2])
	}
	n := size(1 << 28)
	add(func(m *memory) []driver.Op { return histogram(m, bits[uint8](m, 4*n), 256) }, "histogram u8 2^30 256")
	add(func(m *memory) []driver.Op { return histogram(m, bits[uint8](m, n), 256) }, "histogram u8 2^28 256")
	add(func(m *memory) []driver.Op { return histogram(m, zeros(m, n), 256) }, "histogram u8 equal 2^28 256")
	for _, bins := range []int{256, 4096, 65536} {
		add(func(m *memory) []driver.Op { return histogram(m, below(m, n, bins), bins) }, "histogram i32 2^28 %d", bins)
	}
	add(func(m *memory) []driver.Op { return uniform(m, n) }, "uniform f32 2^28")
	add(func(m *memory) []driver.Op { return normals(m, n) }, "normal f32 2^28")
	odd := 4095
	if small {
		odd = 63
	}
	for _, n := range []int{1024, 2048, 4096, 8192} {
		d := n
		if small {
			d = n >> 6
		}
		add(func(m *memory) []driver.Op { return gemm(m, d, d, d) }, "gemm f32 %d", n)
	}
	add(func(m *memory) []driver.Op { return gemm(m, odd-1, odd, odd+1) }, "gemm f32 4094 x 4095 x 4096")
	for _, bits := range []int{4, 8} {
		for _, s := range [][2]int{{4096, 4096}, {4096, 14336}, {16384, 16384}, {16384, 53248}} {
			rows, cols := s[0], s[1]
			if small {
				rows, cols = rows>>8, cols>>4
			}
			add(func(m *memory) []driver.Op { return quantized(m, rows, cols, bits) }, "gemv i%d f16 %d x %d", bits, s[0], s[1])
		}
	}
	for _, s := range [][2]int{{4096, 4096}, {14336, 4096}} {
		rows, cols := s[0], s[1]
		if small {
			rows, cols = rows>>8, cols>>4
		}
		add(func(m *memory) []driver.Op { return gemvOfNorm(m, rows, cols) }, "gemv of norm f16 %d x %d", s[0], s[1])
		for _, bits := range []int{4, 8} {
			add(func(m *memory) []driver.Op { return quantizedOfNorm(m, rows, cols, bits) }, "gemv of norm i%d f16 %d x %d", bits, s[0], s[1])
		}
	}
	for _, c := range convolutions {
		add(func(m *memory) []driver.Op { return convolve[float32](m, c.scaled(small)) }, "conv f32 %v", c)
		add(func(m *memory) []driver.Op { return convolve[kernels.F16](m, c.scaled(small)) }, "conv f16 %v", c)
	}
	for log := 10; log <= 20; log++ {
		add(func(m *memory) []driver.Op { return fft(m, 1<<log, max(size(1<<26)>>log, 1)) }, "fft 2^%d of 2^26", log)
	}
	return all
}

func sums[T kernels.Scalar](m *memory, n int) []driver.Op {
	x, y, w := bits[T](m, n), alloc[T](m, n), m.workspace(kernels.ScanWorkspace[T](n))
	if m.err != nil {
		return nil
	}
	return m.ops(kernels.InclusiveSum(y, x, w))
}

func sorts[T kernels.Scalar](m *memory, n int) []driver.Op {
	x, y, w := bits[T](m, n), alloc[T](m, n), m.workspace(kernels.SortWorkspace[T](n))
	if m.err != nil {
		return nil
	}
	return m.ops(kernels.Sort(y, x, false, w))
}

// pairs sorts with indices of 64 bits, as PyTorch does.
func pairs(m *memory, n int) []driver.Op {
	x, y, v, i := normal[float32](m, n), alloc[float32](m, n), alloc[int64](m, n), alloc[int64](m, n)
	w := m.workspace(kernels.SortPairsWorkspace[float32, int64](n))
	if m.err != nil {
		return nil
	}
	iota := m.op(kernels.Iota(v, 0, 1))
	return append(iota, m.ops(kernels.SortPairs(y, x, i, v, false, w))...)
}

func topK(m *memory, rows, cols, k int) []driver.Op {
	x, v, i := normal[float32](m, rows*cols), alloc[float32](m, rows*k), alloc[int64](m, rows*k)
	w := m.workspace(kernels.TopKWorkspace(rows, k))
	if m.err != nil {
		return nil
	}
	return m.ops(kernels.TopK(kernels.MatrixOf(v, rows, k), kernels.MatrixOf(i, rows, k), kernels.MatrixOf(x, rows, cols), true, w))
}

func histogram[T uint8 | int32](m *memory, x driver.MemoryOf[T], bins int) []driver.Op {
	counts := alloc[uint32](m, bins)
	if m.err != nil {
		return nil
	}
	return append(m.op(kernels.Fill(counts, 0)), m.op(kernels.Histogram(counts, x))...)
}

func zeros(m *memory, n int) driver.MemoryOf[uint8] {
	b := alloc[uint8](m, n)
	if m.err != nil {
		return nil
	}
	m.now(kernels.Fill(b, 0))
	return b
}

// below returns random numbers from 0 to less than limit.
func below(m *memory, n, limit int) driver.MemoryOf[int32] {
	u, x := alloc[float32](m, n), alloc[int32](m, n)
	if m.err != nil {
		return nil
	}
	m.now(kernels.RandomUniform(u, 1, 0))
	m.now(kernels.MulScalar(u, u, float32(limit)))
	m.now(kernels.Cast(x, u))
	return x
}

func uniform(m *memory, n int) []driver.Op {
	x := alloc[float32](m, n)
	if m.err != nil {
		return nil
	}
	return m.op(kernels.RandomUniform(x, 1, 0))
}

func normals(m *memory, n int) []driver.Op {
	x := alloc[float32](m, n)
	if m.err != nil {
		return nil
	}
	return m.op(kernels.RandomNormal(x, 1, 0))
}

func gemm(m *memory, rows, cols, depth int) []driver.Op {
	a, b, c := normal[float32](m, rows*depth), normal[float32](m, depth*cols), alloc[float32](m, rows*cols)
	if m.err != nil {
		return nil
	}
	return m.op(kernels.Gemm(kernels.MatrixOf(c, rows, cols), kernels.MatrixOf(a, rows, depth), kernels.MatrixOf(b, depth, cols), 1, 0, 0))
}

func fft(m *memory, n, rows int) []driver.Op {
	r := normal[float32](m, 2*n*rows)
	y := alloc[complex64](m, n*rows)
	w := m.workspace(kernels.FFTWorkspace(n, rows))
	if m.err != nil {
		return nil
	}
	x, err := driver.ViewAs[complex64](r)
	if err != nil {
		m.err = err
		return nil
	}
	return m.ops(kernels.FFT(y, x, n, false, 1, w))
}

// quantized multiplies several matrices in turn, which together do not fit in the cache of the device.
func quantized(m *memory, rows, cols, bits int) []driver.Op {
	return quantizedWith(m, rows, cols, bits, func(y driver.MemoryOf[kernels.F16], a kernels.Quantized[kernels.F16], x driver.MemoryOf[kernels.F16]) (*driver.Launch, error) {
		return kernels.GemvQuantized(y, a, x)
	})
}

func quantizedOfNorm(m *memory, rows, cols, bits int) []driver.Op {
	return quantizedWith(m, rows, cols, bits, func(y driver.MemoryOf[kernels.F16], a kernels.Quantized[kernels.F16], x driver.MemoryOf[kernels.F16]) (*driver.Launch, error) {
		return kernels.GemvQuantizedRMSNorm(y, a, x, x, 1e-6)
	})
}

func quantizedWith(m *memory, rows, cols, bits int, product func(y driver.MemoryOf[kernels.F16], a kernels.Quantized[kernels.F16], x driver.MemoryOf[kernels.F16]) (*driver.Launch, error)) []driver.Op {
	const group = 128
	n := rows * cols * bits / 8
	var all []driver.Op
	for range turnsOf(n) {
		a := kernels.Quantized[kernels.F16]{Rows: rows, Cols: cols, Bits: bits, Group: group}
		data, scales := randomBytes(m, n), alloc[kernels.F16](m, rows*cols/group)
		x, y := alloc[kernels.F16](m, cols), alloc[kernels.F16](m, rows)
		if m.err != nil {
			return nil
		}
		a.Mem, a.Scales = data, scales
		m.now(kernels.Fill(scales, num.ToF16(1)))
		m.now(kernels.Fill(x, num.ToF16(1)))
		all = append(all, m.op(product(y, a, x))...)
		m.repeats++
	}
	return all
}

// turnsOf returns the number of matrices of n bytes that do not fit in the cache of the device together.
func turnsOf(n int) int { return min(max(1<<28/n, 1), 8) }

func gemvOfNorm(m *memory, rows, cols int) []driver.Op {
	var all []driver.Op
	for range turnsOf(2 * rows * cols) {
		a, x, y := alloc[kernels.F16](m, rows*cols), alloc[kernels.F16](m, cols), alloc[kernels.F16](m, rows)
		if m.err != nil {
			return nil
		}
		m.now(kernels.Fill(a, num.ToF16(1)))
		m.now(kernels.Fill(x, num.ToF16(1)))
		all = append(all, m.op(kernels.GemvRMSNorm(y, kernels.MatrixOf(a, rows, cols), x, x, 1e-6))...)
		m.repeats++
	}
	return all
}
