package kernelstest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// half returns half the distance between neighbouring values of T near a number. Rounding to T adds
// at most this error.
func half[T kernels.Element](f float64) float64 {
	var v T
	switch any(v).(type) {
	case float32:
		return max(math.Abs(f)*0x1p-24, 0x1p-150)
	case kernels.F16:
		return max(math.Abs(f)*0x1p-11, 0x1p-25)
	case kernels.BF16:
		return max(math.Abs(f)*0x1p-8, 0x1p-134)
	}
	return 0
}

type layout struct {
	rows, cols int
	skip       int // number of elements before the matrix
	gap        int // number of elements between rows
}

func (l layout) String() string {
	return fmt.Sprintf("%d × %d behind %d with gaps of %d", l.rows, l.cols, l.skip, l.gap)
}

// layouts returns aligned and unaligned matrices of odd and even sizes, and a large one.
func (k *kit) layouts() []layout {
	l := []layout{
		{0, 0, 0, 0}, {0, 7, 0, 0}, {5, 0, 0, 3}, {1, 1, 0, 0}, {3, 2, 1, 0}, {9, 31, 0, 0}, {9, 33, 1, 2},
		{5, 64, 0, 0}, {17, 64, 0, 192}, {3, 1000, 0, 0}, {3, 1000, 1, 0}, {2, 1001, 0, 7}, {2, 4096, 8, 8},
		{1, 17408, 0, 0}, {2, 17411, 3, 1}, {301, 16, 0, 0}, {77, 100, 0, 4}, {130, 20, 1, 3}, {35, 200, 0, 0}, {2, 501, 0, 3},
	}
	if k.emulated() {
		return l
	}
	return append(l, layout{1, large, 1, 0}, layout{700, 1003, 0, 5}, layout{150, 4096, 0, 0}, layout{3, 40, 0, 1 << 18}, layout{600, 17408, 0, 0}, layout{70, 1 << 17, 0, 0}, layout{40, 20001, 1, 0}, layout{9, 300000, 0, 8})
}

// sheet is a matrix on the device, together with the values of its elements.
type sheet[T kernels.Element] struct {
	k *kit
	layout
	mem    *driver.Buffer[T]
	device kernels.Matrix[T]
	at     []float64 // values of all rows in order, without the gaps
}

const gapValue = 77

// sheetOf writes numbers into a matrix. It fills the memory around the matrix with
// gapValue.
func sheetOf[T kernels.Element](k *kit, l layout, values []float64) *sheet[T] {
	k.Helper()
	pitch := l.cols + l.gap
	h := slices.Repeat([]T{element[T](gapValue)}, l.skip+l.rows*pitch+1)
	s := &sheet[T]{k: k, layout: l, at: make([]float64, l.rows*l.cols)}
	for i := range s.at {
		v := element[T](values[i])
		h[l.skip+i/l.cols*pitch+i%l.cols] = v
		s.at[i] = number(v)
	}
	var err error
	s.mem, err = driver.AllocFrom(k.c, h)
	k.ok(err)
	s.device = kernels.Matrix[T]{Mem: s.mem.View(l.skip, len(h)), Rows: l.rows, Cols: l.cols, Pitch: pitch}
	return s
}

func (s *sheet[T]) close() { s.k.ok(s.mem.Close()) }

func (s *sheet[T]) row(r int) []float64 { return s.at[r*s.cols : (r+1)*s.cols] }

// read returns the current elements on the device. It fails the test if the memory around the
// matrix has changed.
func (s *sheet[T]) read() []float64 {
	s.k.Helper()
	h, pitch := host(s.k, s.mem), s.cols+s.gap
	got := make([]float64, 0, s.rows*s.cols)
	for i, v := range h {
		i -= s.skip
		if i >= 0 && i < s.rows*pitch && i%pitch < s.cols {
			got = append(got, number(v))
		} else if v != element[T](gapValue) {
			s.k.Fatalf("%v: element %d is outside and was written", s.layout, i)
		}
	}
	return got
}

// near reports whether an element is close enough to the expected value. off is the
// permitted error before rounding to T.
func near[T kernels.Element](got, want, off float64) bool {
	if got == want || got != got && want != want {
		return true
	}
	return math.Abs(got-want) <= off+half[T](math.Abs(want)+off)
}

// far reports that an element is not near the expected value.
func (k *kit) far(got, want, off float64, where string, args ...any) {
	k.Helper()
	k.Errorf("%s: %v, want %v: off by %g, allowed are %g and rounding", fmt.Sprintf(where, args...), got, want, math.Abs(got-want), off)
}

func TestMatricesThatCannotBeAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 100)
		ok := kernels.MatrixOf(b, 10, 10)
		for _, c := range []struct {
			m     kernels.Matrix[float32]
			words []string
		}{
			{kernels.MatrixOf[float32](nil, 1, 1), []string{"src is nil"}},
			{kernels.MatrixOf(b, 10, 11), []string{"src", "10 × 11", "100"}},
			{kernels.MatrixOf(b, -1, 10), []string{"src", "negative"}},
			{kernels.Matrix[float32]{Mem: b, Rows: 10, Cols: 5, Pitch: 4}, []string{"src", "rows of 5", "4 apart"}},
			{kernels.Matrix[float32]{Mem: b, Rows: 1 << 40, Cols: 5, Pitch: 1 << 40}, []string{"src", "100"}},
			{kernels.MatrixOf(b, 5, 10), []string{"dst", "src", "5 × 10", "10 × 10"}},
			{kernels.MatrixOf(b.View(1, 100), 9, 10), []string{"9 × 10"}},
		} {
			_, err := kernels.Softmax(ok, c.m, 1)
			k.refused(err, append(c.words, "softmax")...)
		}
		part := kernels.Matrix[float32]{Mem: b, Rows: 9, Cols: 5, Pitch: 10}
		beside := kernels.Matrix[float32]{Mem: b.View(5, 100), Rows: 9, Cols: 5, Pitch: 10}
		k.made(kernels.Softmax(part, beside, 1))
		beside.Mem = b.View(4, 100)
		_, err := kernels.Softmax(part, beside, 1)
		k.refused(err, "dst and src overlap")
	})
}
