// Package bugs has kernels with one mistake each. A comment marks the line that a report names.
// Kernels with the parameter right are correct if it is not 0.
package bugs

import "github.com/purecuda/cuda/ptx/gpu"

// outside writes to an element that the slice does not have.
//
//gpu:kernel
//gpu:nobounds
func outside(t gpu.Thread, p []int32, a, right int) {
	p[t.ThreadX()] = int32(t.ThreadX()) // outside
}

//gpu:kernel
func checkedOutside(t gpu.Thread, p []int32, a, right int) {
	p[t.ThreadX()] = int32(t.ThreadX()) // checked outside
}

//gpu:kernel
func misaligned(t gpu.Thread, p []int32, a, right int) {
	p[1] = p[0] // misaligned
}

var table = gpu.ConstantOf([16]int32{1, 2, 3})

//gpu:kernel
func constant(t gpu.Thread, p []int32, a, right int) {
	to := &p[0]
	if right == 0 {
		to = &table.Ptr()[a&15]
	}
	*to = 1 // constant
}

//gpu:kernel
//gpu:nobounds
func sharedEnd(t gpu.Thread, p []int32, a, right int) {
	tile := gpu.Shared[[128]int32](t)
	i := t.ThreadX() + 128
	if right != 0 {
		i = t.ThreadX()
	}
	tile[i] = 1 // shared end
}

//gpu:kernel
func checkedSharedEnd(t gpu.Thread, p []int32, a, right int) {
	tile := gpu.Shared[[128]int32](t)
	i := t.ThreadX() + 128
	if right != 0 {
		i = t.ThreadX()
	}
	tile[i] = 1 // checked shared end
}

//gpu:kernel
func twoNumbers(t gpu.Thread, p []int32, a, right int) {
	if t.Warp() == 0 && right == 0 {
		t.BarrierSync(1, 64) // two numbers
	}
	t.Sync() // two numbers, the others
}

//gpu:kernel
func noArrival(t gpu.Thread, p []int32, a, right int) {
	bar := gpu.Shared[gpu.Barrier](t)
	if t.ThreadX() == 0 {
		bar.Init(t, t.BlockSize()+1)
	}
	t.Sync()
	phase := bar.Arrive(t)
	if right != 0 && t.ThreadX() == 0 {
		bar.Arrive(t)
	}
	bar.Wait(t, phase) // no arrival
}

//gpu:kernel
func traps(t gpu.Thread, p []int32, a, right int) {
	if t.ThreadX() == a && right == 0 {
		t.Trap() // traps
	}
}

//gpu:kernel
func earlyExit(t gpu.Thread, p []int32, a, right int) {
	if t.ThreadX() < a && right == 0 {
		return
	}
	t.Sync() // early exit
}

//gpu:kernel
func twoBarriers(t gpu.Thread, p []int32, a, right int) {
	if right != 0 {
		t.Sync()
		return
	}
	if t.ThreadX()%2 == 1 {
		t.Sync() // two barriers, odd
		p[t.ThreadX()] = 1
	} else {
		t.Sync() // two barriers, even
		p[t.ThreadX()] = 2
	}
}

//gpu:kernel
func sharedRace(t gpu.Thread, p []int32, a, right int) {
	tile := gpu.Shared[[64]int32](t)
	tile[t.ThreadX()] = int32(t.ThreadX()) // shared race, write
	if right != 0 {
		t.Sync()
	}
	p[t.ThreadX()] = tile[t.ThreadX()^32] // shared race, read
}

//gpu:kernel
func blockRace(t gpu.Thread, p []int32, a, right int) {
	if right != 0 {
		gpu.AtomicAdd(&p[0], 1)
		return
	}
	p[0] += int32(t.BlockX()) // block race
}

//gpu:kernel
func noFence(t gpu.Thread, p []int32, a, right int) {
	p[1+t.BlockX()] = int32(t.BlockX()) // no fence, write
	if right != 0 {
		t.FenceDevice()
	}
	if gpu.AtomicAdd(&p[0], 1) == int32(a) {
		p[8] = p[1] // no fence, read
	}
}

//gpu:kernel
func count(t gpu.Thread, p []int32, a, right int) {
	n := p[t.GlobalX()]    // count, read
	p[t.GlobalX()] = n + 1 // count, write
}

//gpu:kernel
func sharedUnwritten(t gpu.Thread, p []int32, a, right int) {
	tile := gpu.Shared[[128]int32](t)
	if right != 0 {
		tile[a] = 1
	}
	p[0] = tile[a] // shared unwritten
}

// localUnwritten is correct: Go sets variables to zero.
//
//gpu:kernel
func localUnwritten(t gpu.Thread, p []int32, a, right int) {
	var own [8]int32
	own[a&7] = 1
	p[0] = own[(a+1)&7]
}

// load is inlined into middle, and middle twice into inlined.
//
//gpu:nobounds
func load(p []int32, i int) int32 {
	return p[i] // load
}

func middle(p []int32, i int) int32 {
	return load(p, i) +
		load(p, i+1) // middle
}

//gpu:kernel
//gpu:nobounds
func inlined(t gpu.Thread, p []int32, a, right int) {
	x := middle(p, 0)
	if right == 0 {
		x += middle(p, a) // inlined
	}
	p[1] = x
}
