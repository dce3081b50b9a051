package gpu_test

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// saxpy adds a*x to y.
//
//gpu:kernel block=256
func saxpy(t gpu.Thread, a float32, x, y []float32) {
	if i := t.GlobalX(); i < len(y) {
		y[i] += a * x[i]
	}
}

func ExampleRun() {
	x, y := []float32{1, 2, 3, 4, 5}, []float32{10, 20, 30, 40, 50}
	err := gpu.Run(gpu.D1(1), gpu.D1(256), func(t gpu.Thread) { saxpy(t, 2, x, y) })
	fmt.Println(y, err)

	// Output: [12 24 36 48 60] <nil>
}

// sum adds the elements of x to *total. It works for every grid size, with blocks of 256 threads.
//
//gpu:kernel block=256
func sum(t gpu.Thread, x []int32, total *int32) {
	part := int32(0)
	for i := t.GlobalX(); i < len(x); i += t.GridStrideX() {
		part += x[i]
	}
	for d := gpu.WarpSize / 2; d > 0; d /= 2 {
		part += gpu.ShuffleDown(t, part, d)
	}
	warps := gpu.Shared[[8]int32](t)
	if t.Lane() == 0 {
		warps[t.Warp()] = part
	}
	t.Sync()
	if t.Rank() == 0 {
		for _, p := range warps[1:] {
			part += p
		}
		gpu.AtomicAdd(total, part)
	}
}

func ExampleThread() {
	x := make([]int32, 1000)
	for i := range x {
		x[i] = int32(i)
	}
	var total int32
	err := gpu.Run(gpu.D1(2), gpu.D1(256), func(t gpu.Thread) { sum(t, x, &total) })
	fmt.Println(total, err)

	// Output: 499500 <nil>
}

// transpose accesses both matrices in row order, so that memory accesses are coalesced. The tile
// has an extra column, so that the elements of each tile column are in different banks.
//
//gpu:kernel block=16x16
func transpose(t gpu.Thread, out, in gpu.View2D[float32]) {
	tile := gpu.Shared[[16][17]float32](t)
	row, col := t.GlobalY(), t.GlobalX()
	if row < in.Rows() && col < in.Cols() {
		tile[t.ThreadY()][t.ThreadX()] = in.At(row, col)
	}
	t.Sync()
	row, col = t.BlockX()*16+t.ThreadY(), t.BlockY()*16+t.ThreadX()
	if row < out.Rows() && col < out.Cols() {
		out.Set(row, col, tile[t.ThreadX()][t.ThreadY()])
	}
}

func ExampleView2D() {
	in := gpu.View2DOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3, 3)
	out := gpu.View2DOf(make([]float32, 6), 3, 2, 2)
	err := gpu.Run(gpu.D2(1, 1), gpu.D2(16, 16), func(t gpu.Thread) { transpose(t, out, in) })
	fmt.Println(out.Row(0), out.Row(1), out.Row(2), err)

	// Output: [1 4] [2 5] [3 6] <nil>
}

// signal is passed to a kernel by value.
type signal struct {
	samples gpu.View[num.F16]
	gain    float32
}

func ExampleView() {
	s := signal{gpu.ViewOf(num.ToF16s([]float32{1, 2, 3})), 0.5}
	kernel := func(t gpu.Thread, s signal) {
		if i := t.GlobalX(); i < s.samples.Len() {
			s.samples.Set(i, num.ToF16(s.samples.At(i).Float32()*s.gain))
		}
	}
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) { kernel(t, s) })
	fmt.Println(s.samples.Slice(), err)

	// Output: [0.5 1 1.5] <nil>
}

// evens counts even numbers. The host sets limit.
var (
	evens gpu.Global[uint32]
	limit = gpu.ConstantOf(10)
)

func ExampleGlobal() {
	err := gpu.Run(gpu.D1(2), gpu.D1(32), func(t gpu.Thread) {
		if i := t.GlobalX(); i < limit.Load() && i%2 == 0 {
			gpu.AtomicAdd(evens.Ptr(), 1)
		}
	})
	fmt.Println(evens.Load(), err)

	// Output: 5 <nil>
}

func ExampleConstant() {
	taps := gpu.ConstantOf([3]float32{0.25, 0.5, 0.25}) // in a real kernel, this is a package-level variable
	x, y := []float32{0, 4, 8, 4, 0}, make([]float32, 3)
	err := gpu.Run(gpu.D1(1), gpu.D1(3), func(t gpu.Thread) {
		i := t.GlobalX()
		for j, tap := range taps.Load() {
			y[i] += tap * x[i+j]
		}
	})
	fmt.Println(y, err)

	// Output: [4 6 4] <nil>
}

func ExampleDim() {
	image := gpu.D2(1920, 1080)
	block := gpu.D2(16, 16)
	grid := gpu.D2((image.X+15)/16, (image.Y+15)/16)
	fmt.Println(grid.Count(), "blocks of", block.Count())

	// Output: 8160 blocks of 256
}

// The report of a panic contains the thread's indices and the line in the kernel.
func ExamplePanic() {
	x := make([]int, 40)
	err := gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { x[t.GlobalX()]++ })
	var p *gpu.Panic
	fmt.Println(errors.As(err, &p), p.Thread.X, p.Value, filepath.Base(p.Frame.File))

	// Output: true 40 runtime error: index out of range [40] with length 40 example_test.go
}

// Only half of the warp's threads reach the shuffle. The other half waits for them at Sync.
func ExampleDeadlock() {
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) {
		if t.Lane() < 16 {
			gpu.ShuffleXor(t, 1, 1)
		}
		t.Sync()
	})
	var d *gpu.Deadlock
	fmt.Println(errors.As(err, &d), len(d.Waits))
	fmt.Println(d.Waits[0].For)
	fmt.Println(d.Waits[16].For)

	// Output:
	// true 32
	// ShuffleXor (mask 0xffffffff)
	// Sync
}

// The threads wait at a Barrier until bulk copies have arrived in shared memory.
func ExampleBarrier() {
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	err := gpu.Run(gpu.D1(1), gpu.D1(4), func(t gpu.Thread) {
		tile := gpu.Shared[[4]float32](t)
		arrived := gpu.Shared[gpu.Barrier](t)
		if t.Rank() == 0 {
			arrived.Init(t, 1)
			t.FenceAsync()
		}
		t.Sync()
		if t.Rank() == 0 {
			arrived.ArriveExpect(t, 16)
			gpu.CopyBulk(t, tile[:], x, arrived)
		}
		arrived.WaitParity(t, 0)
		y[t.Rank()] = tile[3-t.Rank()]
	})
	fmt.Println(y, err)

	// Output: [4 3 2 1] <nil>
}

// The next tile is copied while the threads process the previous one.
func ExampleCopyAsync() {
	x, total := []int32{1, 2, 3, 4, 5, 6, 7, 8}, make([]int32, 2)
	err := gpu.Run(gpu.D1(1), gpu.D1(2), func(t gpu.Thread) {
		tiles := gpu.Shared[[2][2]int32](t)
		i := t.Rank()
		gpu.CopyAsync(t, &tiles[0][i], &x[i])
		t.CommitGroup()
		for tile := range 4 {
			if next := 2*(tile+1) + i; next < len(x) {
				gpu.CopyAsync(t, &tiles[(tile+1)%2][i], &x[next])
			}
			t.CommitGroup()
			t.WaitGroup(1)
			t.Sync()
			total[i] += tiles[tile%2][1-i]
			t.Sync()
		}
	})
	fmt.Println(total, err)

	// Output: [20 16] <nil>
}

// Run executes the Go code. The compiled kernel executes the PTX instruction.
func ExamplePTX() {
	average := func(a, b uint32) (r uint32) {
		if !gpu.Device() {
			return a&b + (a^b)>>1
		}
		gpu.PurePTX("{ .reg .u32 t; and.b32 t, %1, %2; xor.b32 %0, %1, %2; shr.u32 %0, %0, 1; add.u32 %0, %0, t; }",
			gpu.Out(&r), gpu.In(a), gpu.In(b))
		return r
	}
	fmt.Println(average(1<<32-1, 1<<32-3))

	// Output: 4294967294
}

// The function mix32 is defined in mix.ptx. Run uses the Go function instead.
var mix = gpu.Extern("mix.ptx", "mix32", func(a, b uint32) uint32 { return a*31 ^ b })

func ExampleExtern() {
	fmt.Println(mix(2, 3))

	// Output: 61
}
