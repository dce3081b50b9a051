// Package kinds has a kernel for each kind of fault. In each, the thread with the index who in the
// grid fails, or all threads if who is negative. The others store their index. The tests contain
// the lines and columns of this file.
package kinds

import "github.com/purecuda/cuda/ptx/gpu"

func fails(t gpu.Thread, who int) bool { return who < 0 || t.GlobalX() == who }

//gpu:kernel
func index(t gpu.Thread, out []int32, a, b, who int) {
	i := t.GlobalX()
	if fails(t, who) {
		i = a
	}
	out[i] = int32(i)
}

//gpu:kernel
func slice(t gpu.Thread, out []int32, a, b, who int) {
	low, high := t.GlobalX(), len(out)
	if fails(t, who) {
		low, high = a, b
	}
	part := out[low:high]
	part[0] = int32(t.GlobalX())
}

type cell struct {
	next  *cell
	value int32
}

//gpu:kernel
func null(t gpu.Thread, out []int32, a, b, who int) {
	c := &cell{value: int32(t.GlobalX())}
	c.next = c
	if fails(t, who) {
		c.next = nil
	}
	out[t.GlobalX()] = c.next.value
}

//gpu:kernel
func divide(t gpu.Thread, out []int32, a, b, who int) {
	by := 1
	if fails(t, who) {
		by = a - a
	}
	out[t.GlobalX()] = int32(t.GlobalX() / by)
}

//gpu:kernel
func shift(t gpu.Thread, out []int32, a, b, who int) {
	by := 1
	if fails(t, who) {
		by = -a
	}
	out[t.GlobalX()] = int32(t.GlobalX() << by >> 1)
}

//gpu:kernel
func convert(t gpu.Thread, out []int32, a, b, who int) {
	pair := [2]int32{int32(t.GlobalX()), 1}
	n := 2
	if fails(t, who) {
		n = a & 1
	}
	out[t.GlobalX()] = ([2]int32)(pair[:n])[0]
}

//gpu:kernel
func assert(t gpu.Thread, out []int32, a, b, who int) {
	gpu.Assert(t, !fails(t, who), "the cell is too hot")
	out[t.GlobalX()] = int32(t.GlobalX())
}

//gpu:kernel
func panics(t gpu.Thread, out []int32, a, b, who int) {
	if fails(t, who) {
		panic("no such cell")
	}
	out[t.GlobalX()] = int32(t.GlobalX())
}

// grid is indexed in a generic method, which is inlined, from a function literal.
type grid[T any] struct {
	cells [4]T
}

func (g *grid[T]) at(i int) *T { return &g.cells[i] }

//gpu:kernel
func inlined(t gpu.Thread, out []int32, a, b, who int) {
	var g grid[int32]
	get := func(i int) int32 {
		return *g.at(i) + int32(t.GlobalX())
	}
	i := 0
	if fails(t, who) {
		i = a
	}
	out[t.GlobalX()] = get(i)
}

//gpu:noinline
func called(cells []int32, i int) *int32 { return &cells[i] }

//gpu:kernel
func calls(t gpu.Thread, out []int32, a, b, who int) {
	i := t.GlobalX()
	if fails(t, who) {
		i = a
	}
	*called(out, i) = int32(t.GlobalX())
}

//gpu:kernel
func busy(t gpu.Thread, out []int32, n int) {
	for range n {
		out[t.GlobalX()]++
	}
}
