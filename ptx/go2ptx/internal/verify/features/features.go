// Package features contains kernels that share more with the host than their arguments: text to
// print, the conditions of graph nodes, device variables, and views in structs. The tests run the
// kernels on the emulator and on a GPU.
package features

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

type level uint8

// report prints numbers in many formats, and then the negative elements of x.
//
//gpu:kernel block=1
func report(t gpu.Thread, x []int64, f []float64) {
	gpu.Printf(t, "no arguments, 100%%\n")
	gpu.Printf(t, "%d %5d|%-6d|%06d|%+d|% d|%.4d\n", x[0], x[1], x[2], x[3], x[4], x[5], x[6])
	gpu.Printf(t, "%v %v %v %v %+v %+v\n", int8(x[0]), int16(x[1]), int32(x[2]), int(x[3]), x[4], uint8(x[4]))
	gpu.Printf(t, "%v %d %v %v %+d % d\n", uint8(x[0]), uint16(x[1]), uint32(x[2]), uint64(x[3]), uint32(x[0]), level(x[0]))
	gpu.Printf(t, "%x %X %#x %#X %08x %o\n", uint32(x[0]), uint64(x[0]), uint8(x[1]), uint16(x[0]), uint32(x[2]), uint64(x[3]))
	gpu.Printf(t, "%f %.2f|%10.3f|%-10.1f|%+f|%010.2f\n", f[0], f[1], f[2], float32(f[3]), f[4], f[1])
	gpu.Printf(t, "%e %.3E %.6g %.3G %.10v %+.3v\n", f[0], float32(f[1]), f[2], f[3], f[4], f[5])
	gpu.Printf(t, "%t %v|%6t|%-6v|%-7t|\n", x[0] > 0, x[0] <= 0, x[1] < 0, x[1] > 0, x[2] > 0)
	gpu.Printf(t, "%s %q %v %5s %x %% %d\n", "100%", "a\tb", "é", "r", "hex", 'x')
	for i, v := range x {
		if v < 0 {
			show(t, "negative", i, v)
		}
	}
}

func show(t gpu.Thread, what string, values ...any) {
	gpu.Printf(t, "%s: x[%d] = %d\n", what, values[0], values[1])
}

// crowd prints one line from each thread.
//
//gpu:kernel block=64
func crowd(t gpu.Thread, scale int32) {
	gpu.Printf(t, "thread %d of block %d: %d\n", t.ThreadX(), t.BlockX(), int32(t.GlobalX())*scale)
}

// countdown decrements x[0] and sets the condition to the remaining count.
//
//gpu:kernel block=1
func countdown(t gpu.Thread, x []uint32, c gpu.Conditional) {
	x[0]--
	c.Set(t, x[0])
}

// above sets the condition depending on whether x[0] exceeds limit.
//
//gpu:kernel block=1
func above(t gpu.Thread, x []uint32, limit uint32, c gpu.Conditional) {
	if x[0] > limit {
		c.Set(t, 1)
	} else {
		c.Set(t, 0)
	}
}

// double doubles x[0].
//
//gpu:kernel block=1
func double(t gpu.Thread, x []uint32) { x[0] *= 2 }

// curve describes a function that the host chooses.
type curve struct {
	scale float64
	steps [3]uint16
	on    bool
}

var (
	hits   gpu.Global[uint32]
	last   = gpu.GlobalOf([2]int64{-1, 5})
	curves = gpu.ConstantOf(curve{scale: 1.5, steps: [3]uint16{1, 2, 3}, on: true})
	größe  gpu.Constant[float32]
)

// count counts the elements of x that exceed a limit and applies the curve to these elements.
//
//gpu:kernel block=64
func count(t gpu.Thread, x []float64) {
	i := t.GlobalX()
	if i >= len(x) || x[i] <= float64(größe.Load()) {
		return
	}
	gpu.AtomicAdd(hits.Ptr(), 1)
	gpu.AtomicMax(&last.Ptr()[1], int64(i))
	if c := curves.Ptr(); c.on {
		x[i] = x[i]*c.scale + float64(c.steps[i%3])
	}
}

// picture contains views as struct fields, in an array, and between other fields.
type picture struct {
	shift  int8
	pixels gpu.View2D[float32]
	tables [2]gpu.View[int32]
	scale  float32
}

// transpose writes the scaled transpose of a picture to out.
//
//gpu:kernel block=16x8
func transpose(t gpu.Thread, out gpu.View2D[float32], in picture, counts gpu.View[int32]) {
	col, row := t.GlobalX(), t.GlobalY()
	if row >= in.pixels.Rows() || col >= in.pixels.Cols() {
		return
	}
	v := in.pixels.At(row, col)*in.scale + float32(in.shift)
	for i, table := range in.tables {
		if n := row + i; n < table.Len() {
			v += float32(table.At(n))
		}
	}
	if col == 0 {
		in.pixels.Row(row)[0] = -1
		counts.Set(row, int32(out.Stride()))
	}
	out.Set(col, row, v)
}

// small16 adds one to counts[1] in each thread, and exchanges the thread's number with halves[1].
//
//gpu:kernel block=64
func small16(t gpu.Thread, counts []int16, halves []uint16, sums []int32) {
	gpu.AtomicAdd(&sums[0], int32(gpu.AtomicExchange(&halves[1], uint16(t.GlobalX()))))
	for old, ok := gpu.AtomicLoad(&counts[1]), false; !ok; {
		old, ok = gpu.AtomicCompareAndSwap(&counts[1], old, old+1)
	}
}
