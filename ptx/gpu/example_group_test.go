package gpu_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// The threads of a block reverse a tile. After Sync, each thread sees what the other threads have
// written.
func ExampleShared() {
	x := []int{1, 2, 3, 4}
	err := gpu.Run(gpu.D1(1), gpu.D1(4), func(t gpu.Thread) {
		tile := gpu.Shared[[4]int](t)
		tile[t.Rank()] = x[t.Rank()]
		t.Sync()
		x[t.Rank()] = tile[len(tile)-1-t.Rank()]
	})
	fmt.Println(x, err)

	// Output: [4 3 2 1] <nil>
}

func ExampleDynamicShared() {
	var size int
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) {
		tile := gpu.DynamicShared[float64](t)
		tile[t.Rank()] = 1
		if t.Rank() == 0 {
			size = len(tile)
		}
	}, gpu.SharedSize(32*8))
	fmt.Println(size, err)

	// Output: 32 <nil>
}

// The lanes of a warp add their numbers in five steps, without shared memory. Lane 0 gets the sum.
func ExampleShuffleDown() {
	var sum int
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) {
		v := t.Lane()
		for d := gpu.WarpSize / 2; d > 0; d /= 2 {
			v += gpu.ShuffleDown(t, v, d)
		}
		if t.Lane() == 0 {
			sum = v
		}
	})
	fmt.Println(sum, err)

	// Output: 496 <nil>
}

// Each lane with an even number gets a position in the output, in the order of the lanes.
func ExampleBallot() {
	x, even := []uint32{3, 4, 6, 7, 8}, make([]uint32, 3)
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) {
		ok := t.Lane() < len(x) && x[t.Lane()]%2 == 0
		mask := gpu.Ballot(t, ok)
		if ok {
			place := bits.OnesCount32(mask & (1<<t.Lane() - 1)) // number of selected lanes before this one
			even[place] = x[t.Lane()]
		}
	})
	fmt.Println(even, err)

	// Output: [4 6 8] <nil>
}

func ExampleReduceMax() {
	var largest int32
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) {
		v := int32(t.Lane()*7) % 31
		if m := gpu.ReduceMax(t, v); t.Lane() == 0 {
			largest = m
		}
	})
	fmt.Println(largest, err)

	// Output: 30 <nil>
}

// All blocks add to the same number. AtomicAdd returns the previous value, so each thread also gets
// a unique position.
func ExampleAtomicAdd() {
	var count uint32
	places := make([]bool, 128)
	err := gpu.Run(gpu.D1(4), gpu.D1(32), func(t gpu.Thread) {
		places[gpu.AtomicAdd(&count, 1)] = true
	})
	for _, used := range places {
		if !used {
			fmt.Println("a place is free")
		}
	}
	fmt.Println(count, err)

	// Output: 128 <nil>
}

// An atomic operation that the hardware does not provide can be written as a loop around
// AtomicCompareAndSwap. This one computes the maximum of float32 values.
func ExampleAtomicCompareAndSwap() {
	largest := float32(math.Inf(-1))
	err := gpu.Run(gpu.D1(2), gpu.D1(32), func(t gpu.Thread) {
		v := float32((t.GlobalX() * 37) % 64)
		for old := gpu.AtomicLoad(&largest); v > old; {
			previous, swapped := gpu.AtomicCompareAndSwap(&largest, old, v)
			if swapped {
				break
			}
			old = previous
		}
	})
	fmt.Println(largest, err)

	// Output: 63 <nil>
}

func ExamplePrintf() {
	var out bytes.Buffer
	err := gpu.Run(gpu.D1(1), gpu.D1(32), func(t gpu.Thread) {
		if t.Lane() == 7 {
			gpu.Printf(t, "lane %d of %d\n", t.Lane(), gpu.WarpSize)
		}
	}, gpu.Output(&out))
	fmt.Print(out.String(), err)

	// Output:
	// lane 7 of 32
	// <nil>
}

func ExampleAssert() {
	err := gpu.Run(gpu.D1(1), gpu.D1(1), func(t gpu.Thread) {
		gpu.Assert(t, t.BlockSize()%gpu.WarpSize == 0, "the block is not whole warps")
	})
	var failed gpu.AssertionError
	fmt.Println(errors.As(err, &failed), string(failed))

	// Output: true the block is not whole warps
}

// Go's conversions truncate. Convert rounds in the given mode and limits the result to the range of
// the type.
func ExampleConvert() {
	x := 2.5
	fmt.Println(int32(x), gpu.Convert[int32](x, gpu.ToNearestEven), gpu.Convert[int32](x, gpu.ToPositiveInf), gpu.Convert[uint8](float32(300), gpu.ToZero))

	// Output: 2 2 3 255
}

// FMA rounds only once. A separate multiplication would round the small part away.
func ExampleFMA() {
	a := float32(1 + 1.0/4096)
	fmt.Println(gpu.FMA(a, a, -a*a), a*a == gpu.MulRound(a, a, gpu.ToNearestEven))

	// Output: 5.9604645e-08 true
}

// In a cooperative launch, all blocks can wait for each other.
func ExampleCooperative() {
	parts, total := make([]int, 4), 0
	err := gpu.Run(gpu.D1(4), gpu.D1(1), func(t gpu.Thread) {
		parts[t.BlockX()] = t.BlockX() + 1
		t.GridSync()
		if t.BlockX() == 0 {
			for _, p := range parts {
				total += p
			}
		}
	}, gpu.Cooperative())
	fmt.Println(total, err)

	// Output: 10 <nil>
}
