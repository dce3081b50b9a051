package snippets

import (
	"context"
	_ "embed"
	"fmt"
	"math/bits"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/counter"
)

//go:embed philox.ptx
var philoxPTX []byte

// philoxOf computes on the host what the generator of philox.ptx computes.
func philoxOf(c uint64, key uint32) uint32 {
	c0, c1 := uint32(c), uint32(c>>32)
	for range 10 {
		hi, lo := bits.Mul32(c0, 0xD256D193)
		c0, c1 = hi^key^c1, lo
		key += 0x9E3779B9
	}
	return c0
}

// The expected value is from the known-answer tests of Random123, the library by Philox's authors.
func TestPhiloxHasTheKnownAnswer(t *testing.T) {
	if got := philoxOf(0, 0); got != 0xff1dae59 {
		t.Errorf("got %#x", got)
	}
}

func Example_callableRandom() {
	_, ctx, stream := open()
	philox := must(must(ctx.LoadModule(philoxPTX)).Kernel("philox"))
	const key = 42
	// [random]
	draws := must(counter.New(ctx, 0)) // the first number to take
	f := func(t *callable.Trace[int]) (*driver.HostBuffer[uint32], error) {
		x := callable.Scratch[uint32](t, callable.Shape(t, func(n int) int { return n }))
		at := callable.Take(t, draws, uint64(x.Len())) // at[0] differs in each call
		t.Launch(philox, config, x, uint32(x.Len()), uint32(key), at)
		return callable.Result(t, x), nil
	}
	call := must(callable.New(stream, f, nil, callable.WithAdaptive(1)))
	defer draws.Close()
	defer call.Close()
	// [end]
	next := uint64(0)
	for _, n := range []int{2, 2, 3, 2} {
		for _, v := range must(call.Call(context.Background(), n)).Slice() {
			fmt.Printf("%#08x is right: %v\n", v, v == philoxOf(next, key))
			next++
		}
	}
	// Output:
	// 0x2531bef0 is right: true
	// 0x4e102387 is right: true
	// 0x10f9ebf3 is right: true
	// 0x2f640599 is right: true
	// 0x34d0640f is right: true
	// 0xe369423c is right: true
	// 0x51c88be8 is right: true
	// 0x7a14446f is right: true
	// 0x8f4305e4 is right: true
}

func Example_callableAdaptive() {
	_, ctx, stream := open()
	kernel := affine(ctx)
	// [adaptive]
	f := func(t *callable.Trace[[]float32]) (*driver.HostBuffer[float32], error) {
		x := callable.StageSlice(t, func(x []float32) []float32 { return x }) // the length is the shape
		t.Launch(kernel, config, x, uint32(x.Len()), float32(2), float32(1))  // x = 2·x + 1
		return callable.Result(t, x), nil
	}
	call := must(callable.New(stream, f, nil, callable.WithAdaptive(2)))
	defer call.Close()

	for _, n := range []int{4, 1, 4, 2, 4, 3, 4} {
		out := must(call.Call(context.Background(), make([]float32, n)))
		fmt.Println(out.Len(), out.Slice()[0])
	}
	did := call.Stats()
	fmt.Printf("%d eager calls, %d recording, %d replays\n", did.Eager, did.Recorded, did.Replayed)
	// [end]

	// Output:
	// 4 1
	// 1 1
	// 4 1
	// 2 1
	// 4 1
	// 3 1
	// 4 1
	// 5 eager calls, 1 recording, 2 replays
}
