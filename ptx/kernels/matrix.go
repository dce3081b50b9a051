package kernels

import (
	"fmt"
	"math"

	"github.com/purecuda/cuda/driver"
)

// Matrix describes memory as rows. Row r begins at element r*Pitch and has Cols elements.
// Elements between rows are neither read nor written. Operations are fastest if the
// address, Pitch and Cols are multiples of 16 bytes.
type Matrix[T Element] struct {
	Mem        driver.MemoryOf[T]
	Rows, Cols int
	Pitch      int // elements from one row to the next; 0 means Cols
}

// MatrixOf returns a matrix whose rows are contiguous.
func MatrixOf[T Element](mem driver.MemoryOf[T], rows, cols int) Matrix[T] {
	return Matrix[T]{Mem: mem, Rows: rows, Cols: cols}
}

func (m Matrix[T]) operand(name string) box {
	pitch := m.Pitch
	if pitch == 0 {
		pitch = m.Cols
	}
	return boxOf(name, m.Mem, shape{layers: 1, rows: m.Rows, cols: m.Cols, pitch: pitch})
}

// shape describes layers that consist of rows. pitch is the distance from one row to the next, and
// layer is the distance from one layer to the next, both in elements.
type shape struct {
	layers, rows, cols int
	layer, pitch       int
}

func (s shape) String() string {
	if s.layers == 1 {
		return fmt.Sprintf("%d × %d elements with pitch %d", s.rows, s.cols, s.pitch)
	}
	return fmt.Sprintf("%d × %d × %d elements with pitches %d and %d", s.layers, s.rows, s.cols, s.layer, s.pitch)
}

// check returns an error if an extent is negative, or if rows or layers share elements.
func (s shape) check() error {
	switch {
	case s.layers < 0 || s.rows < 0 || s.cols < 0:
		return invalid("a negative extent:  %v", s)
	case s.layers == 0 || s.rows == 0:
		return nil
	case s.rows > 1 && s.pitch < s.cols:
		return invalid("rows of %d elements overlap: they are %d apart", s.cols, s.pitch)
	case s.layers > 1 && s.layer < s.cols:
		return invalid("rows of %d elements overlap: they are %d apart", s.cols, s.layer)
	}
	return nil
}

// extent returns the number of elements from the first to the last element of the shape, both
// included. It returns false if the number is too large.
func (s shape) extent() (n int, ok bool) {
	if s.layers == 0 || s.rows == 0 || s.cols == 0 {
		return 0, true
	}
	a, okA := times(s.layers-1, s.layer)
	b, okB := times(s.rows-1, s.pitch)
	const most = math.MaxInt/2 + 1 // half of the largest int, plus one: the sum of two numbers below this limit does not overflow
	return a + b + s.cols, okA && okB && a < most/2 && b < most/2 && s.cols < most
}

func times(a, b int) (int, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	return a * b, a > 0 && b > 0 && a <= (math.MaxInt/2+1)/b
}

type box struct {
	operand
	shape
}

// boxOf checks that a shape fits in memory, and returns the part of the memory that it
// covers.
func boxOf[T any](name string, mem driver.MemoryOf[T], s shape) box {
	b := box{operandOf(name, mem), s}
	if b.err != nil {
		return b
	}
	if err := s.check(); err != nil {
		b.err = fmt.Errorf("%s: %w", name, err)
		return b
	}
	need, ok := s.extent()
	if !ok || uint64(need) > b.n {
		b.err = invalid("%s is %v, more than the %d elements of its memory", name, s, b.n)
		return b
	}
	b.set(b.mem.View(0, need*int(b.size)))
	return b
}

// sameShape checks that all boxes have the same layers, rows and columns.
func sameShape(first box, others ...box) error {
	for _, o := range others {
		if o.layers != first.layers || o.rows != first.rows || o.cols != first.cols {
			return invalid("%s is %v, but %s is %v", first.name, first.shape, o.name, o.shape)
		}
	}
	return nil
}

// access returns the memory of the box as a write access.
func (b box) access() driver.Access {
	a := driver.Access{Addr: b.addr, Mode: driver.Writes}
	size := b.size
	a.SetRows(uintptr(b.cols)*size, uintptr(b.pitch)*size, uintptr(b.rows), uintptr(b.layer)*size, uintptr(b.layers))
	return a
}

// boxInPlace checks that the source either equals the destination or shares no element with it.
func boxInPlace(dst, src box) error {
	if src.addr == dst.addr && src.size == dst.size && src.shape == dst.shape {
		return nil
	}
	if dst.access().Overlaps(src.access()) {
		return invalid("%s and %s overlap partially", dst.name, src.name)
	}
	return nil
}
