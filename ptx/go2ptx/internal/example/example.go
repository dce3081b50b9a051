// Package example contains kernels in Go and the code that go2ptx generates from them. The tests
// run each kernel as plain Go and as compiled code, and compare the results.
package example

import (
	stdmath "math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// saxpy adds a*x to y.
//
//gpu:kernel block=256 restrict=y
func saxpy(t gpu.Thread, a float32, x, y []float32) {
	if i := t.GlobalX(); i < len(y) {
		y[i] += a * x[i]
	}
}

// sum adds the elements of x to total[0].
//
//gpu:kernel block=256
func sum(t gpu.Thread, x, total []float32) {
	parts := gpu.Shared[[256 / gpu.WarpSize]float32](t)
	s := float32(0)
	for i := t.GlobalX(); i < len(x); i += t.GridStrideX() {
		s += x[i]
	}
	s = warpSum(t, s)
	if t.Lane() == 0 {
		parts[t.Warp()] = s
	}
	t.Sync()
	if t.Warp() == 0 {
		s = 0
		if t.Lane() < len(parts) {
			s = parts[t.Lane()]
		}
		if s = warpSum(t, s); t.Lane() == 0 {
			gpu.AtomicAdd(&total[0], s)
		}
	}
}

func warpSum(t gpu.Thread, s float32) float32 {
	for d := gpu.WarpSize / 2; d > 0; d /= 2 {
		s += gpu.ShuffleXor(t, s, d)
	}
	return s
}

// softmax replaces each row of a matrix with its softmax. Each block computes one row.
//
//gpu:kernel block=128
func softmax(t gpu.Thread, m []float32, cols int) {
	row := m[t.BlockX()*cols:][:cols]
	largest := float32(-stdmath.MaxFloat32)
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		largest = max(largest, row[i])
	}
	largest = blockReduce(t, largest, func(a, b float32) float32 { return max(a, b) })
	total := float32(0)
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		row[i] = float32(math.Exp(float64(row[i] - largest)))
		total += row[i]
	}
	total = blockReduce(t, total, func(a, b float32) float32 { return a + b })
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		row[i] /= total
	}
}

// blockReduce combines the values of all threads in a block of 128 threads.
func blockReduce(t gpu.Thread, v float32, combine func(a, b float32) float32) float32 {
	parts := gpu.Shared[[128]float32](t)
	t.Sync()
	parts[t.ThreadX()] = v
	t.Sync()
	for n := len(parts) / 2; n > 0; n /= 2 {
		if t.ThreadX() < n {
			parts[t.ThreadX()] = combine(parts[t.ThreadX()], parts[t.ThreadX()+n])
		}
		t.Sync()
	}
	return parts[0]
}

const tile = 16

type matrix struct {
	data       gpu.View[float32]
	rows, cols int
}

// at returns an element, or 0 if the position is outside of the matrix.
func (m matrix) at(row, col int) float32 {
	if row < m.rows && col < m.cols {
		return m.data.At(row*m.cols + col)
	}
	return 0
}

// multiply computes c = a × b.
//
//gpu:kernel block=16x16
func multiply(t gpu.Thread, c, a, b matrix) {
	as := gpu.Shared[[tile][tile]float32](t)
	bs := gpu.Shared[[tile][tile]float32](t)
	x, y := t.ThreadX(), t.ThreadY()
	row, col := t.GlobalY(), t.GlobalX()
	s := float32(0)
	for k := 0; k < a.cols; k += tile {
		as[y][x], bs[y][x] = a.at(row, k+x), b.at(k+y, col)
		t.Sync()
		for i := range tile {
			s += as[y][i] * bs[i][x]
		}
		t.Sync()
	}
	if row < c.rows && col < c.cols {
		c.data.Set(row*c.cols+col, s)
	}
}

// mandelbrot counts, for each point, the iterations until it leaves the circle. Fused operations
// would change the counts near the boundary of the set.
//
//gpu:kernel block=16x16 fma=off
//gpu:instance float32 float64
func mandelbrot[T float32 | float64](t gpu.Thread, counts []uint16, width int, left, top, step T, most uint16) {
	col, row := t.GlobalX(), t.GlobalY()
	if col >= width || row*width+col >= len(counts) {
		return
	}
	z := point[T]{}
	c := point[T]{left + T(col)*step, top + T(row)*step}
	n := uint16(0)
	for ; n < most && z.square() <= 4; n++ {
		z = z.times(z).plus(c)
	}
	counts[row*width+col] = n
}

type point[T float32 | float64] struct{ x, y T }

func (p point[T]) square() T { return p.x*p.x + p.y*p.y }

func (p point[T]) times(q point[T]) point[T] { return point[T]{p.x*q.x - p.y*q.y, p.x*q.y + p.y*q.x} }

func (p point[T]) plus(q point[T]) point[T] { return point[T]{p.x + q.x, p.y + q.y} }
