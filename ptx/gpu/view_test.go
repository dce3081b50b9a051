package gpu_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/ptx/gpu"
)

// panics returns the text of the panic of f, or "" if f does not panic.
func panics(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestView(t *testing.T) {
	s := []int32{1, 2, 3}
	v := gpu.ViewOf(s)
	v.Set(1, 20)
	*v.Ptr(2) += 5
	if v.Len() != 3 || v.At(0) != 1 || s[1] != 20 || s[2] != 8 || cap(v.Slice()) != 3 {
		t.Errorf("%v", s)
	}
	for _, i := range []int{-1, 3, math.MaxInt} {
		want := panics(func() { _ = s[i] })
		for _, got := range []string{panics(func() { v.At(i) }), panics(func() { v.Set(i, 0) }), panics(func() { v.Ptr(i) })} {
			if got != want {
				t.Errorf("index %d: %q, want %q", i, got, want)
			}
		}
	}
	if z := (gpu.View[int]{}); z.Len() != 0 || z.Slice() != nil || panics(func() { z.At(0) }) == "" {
		t.Error("the zero View is not empty")
	}
	if unsafe.Sizeof(v) != 16 {
		t.Errorf("a View has %d bytes", unsafe.Sizeof(v))
	}
}

func TestView2D(t *testing.T) {
	const rows, cols, stride = 3, 4, 6
	s := make([]int, (rows-1)*stride+cols)
	for i := range s {
		s[i] = i
	}
	v := gpu.View2DOf(s, rows, cols, stride)
	if v.Rows() != rows || v.Cols() != cols || v.Stride() != stride || unsafe.Sizeof(v) != 32 {
		t.Errorf("%d × %d, stride %d", v.Rows(), v.Cols(), v.Stride())
	}
	if v.At(2, 3) != 15 || v.Row(1)[2] != 8 || len(v.Row(0)) != cols || cap(v.Row(0)) != cols {
		t.Errorf("elements %d and %d", v.At(2, 3), v.Row(1)[2])
	}
	v.Set(1, 1, -7)
	*v.Ptr(0, 2) = -2
	if s[7] != -7 || s[2] != -2 {
		t.Errorf("%v", s)
	}
	for _, at := range [][2]int{{-1, 0}, {3, 0}, {0, -1}, {0, 4}, {math.MaxInt / 2, 0}, {-1, 12}} {
		if panics(func() { v.At(at[0], at[1]) }) == "" || panics(func() { v.Set(at[0], at[1], 1) }) == "" {
			t.Errorf("%v is an element", at)
		}
	}
	if got := panics(func() { v.Row(3) }); got != "runtime error: index out of range [3] with length 3" {
		t.Errorf("row 3: %q", got)
	}
	for _, bad := range [][3]int{{4, 4, 6}, {3, 5, 6}, {3, 4, 3}, {-1, 4, 6}, {1, -1, 6}} {
		if panics(func() { gpu.View2DOf(s, bad[0], bad[1], bad[2]) }) == "" {
			t.Errorf("a view of %v is possible", bad)
		}
	}
	if e := gpu.View2DOf(s, 0, 9, 9); e.Rows() != 0 || panics(func() { e.Row(0) }) == "" {
		t.Error("a view without rows has a row")
	}
}

// Threads may create views of memory that others write. With the race detector, reading an element would be an error.
func TestCreatingAView2DReadsNoElement(t *testing.T) {
	s := make([]float32, 6)
	err := gpu.Run(gpu.D1(1), gpu.D1(8), func(t gpu.Thread) {
		v := gpu.View2DOf(s, 2, 3, 3)
		if t.ThreadX() == 0 {
			v.Set(1, 2, 5)
		}
	})
	if err != nil || s[5] != 5 {
		t.Errorf("%v, %v", s, err)
	}
}

// A view of device memory keeps its address and lengths.
func TestViewsOfDeviceMemory(t *testing.T) {
	v := gpu.ViewAt[float32](uint64(0x7f00_0000_0100), 5)
	w := gpu.View2DAt[float32](uintptr(0x7f00_0200), 2, 3, 4)
	if words := (*[2]uint64)(unsafe.Pointer(&v)); *words != [2]uint64{0x7f00_0000_0100, 5} {
		t.Errorf("%#x", *words)
	}
	if words := (*[4]uint64)(unsafe.Pointer(&w)); *words != [4]uint64{0x7f00_0200, 2, 3, 4} {
		t.Errorf("%#x", *words)
	}
}

func TestGlobalAndConstant(t *testing.T) {
	g, c := gpu.GlobalOf([2]int32{3, 4}), gpu.ConstantOf(uint8(7))
	gpu.AtomicAdd(&g.Ptr()[1], 5)
	if g.Load() != [2]int32{3, 9} {
		t.Errorf("%v", g.Load())
	}
	g.Store([2]int32{1, 2})
	if c.Load() != 7 || g.Load() != [2]int32{1, 2} {
		t.Errorf("%v and %v", c.Load(), g.Load())
	}
	c.Simulate(9)
	if *c.Ptr() != 9 {
		t.Errorf("%v", *c.Ptr())
	}
}
