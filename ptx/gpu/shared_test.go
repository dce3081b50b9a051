package gpu_test

import (
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/ptx/gpu"
)

// collect returns a function that records pointers, and a function that returns the number of
// distinct pointers.
func collect() (add func(p any), count func() int) {
	var mu sync.Mutex
	all := make(map[any]bool)
	return func(p any) {
		mu.Lock()
		defer mu.Unlock()
		all[p] = true
	}, func() int { return len(all) }
}

func counter(k gpu.Thread) *int { return gpu.Shared[int](k) }

func scratch[T any](k gpu.Thread) *[4]T { return gpu.Shared[[4]T](k) }

func TestSharedIsOnePerCallAndBlock(t *testing.T) {
	const blocks = 3
	for name, c := range map[string]struct {
		kernel func(k gpu.Thread, add func(any))
		want   int // number of variables per block
	}{
		"one call": {func(k gpu.Thread, add func(any)) { add(gpu.Shared[int](k)) }, 1},
		"a loop": {func(k gpu.Thread, add func(any)) {
			for range 5 {
				add(gpu.Shared[int](k))
			}
		}, 1},
		"two calls": {func(k gpu.Thread, add func(any)) {
			add(gpu.Shared[int](k))
			add(gpu.Shared[int](k))
		}, 2},
		"two types on one line": {func(k gpu.Thread, add func(any)) {
			x, y := gpu.Shared[int](k), gpu.Shared[uint](k)
			add(x)
			add(y)
		}, 2},
		"a function called from two lines": {func(k gpu.Thread, add func(any)) {
			add(counter(k))
			add(counter(k))
		}, 1},
		"instances of a function": {func(k gpu.Thread, add func(any)) {
			add(scratch[int32](k))
			add(scratch[uint32](k))
			add(scratch[int32](k))
		}, 2},
	} {
		add, count := collect()
		mustRun(t, gpu.D1(blocks), gpu.D1(40), func(k gpu.Thread) { c.kernel(k, add) })
		if n := count(); n != blocks*c.want {
			t.Errorf("%s: %d variables in %d blocks, want %d for each", name, n, blocks, c.want)
		}
	}
}

func TestTwoCallsOfSharedOnALine(t *testing.T) {
	wantPanic(t, "two calls of gpu.Shared for type int16 are on one line", gpu.D1(1), gpu.D1(1), func(k gpu.Thread) {
		_, _ = gpu.Shared[int16](k), gpu.Shared[int16](k)
	})
}

func TestSharedMemoryIsPoisoned(t *testing.T) {
	type pair struct {
		X [3]float64
		N uint16
	}
	mustRun(t, gpu.D1(2), gpu.D1(1), func(k gpu.Thread) {
		f := gpu.Shared[[5]float32](k)
		p := gpu.Shared[pair](k)
		d := gpu.DynamicShared[float32](k)
		for _, x := range append(append(f[:], d...), float32(p.X[0]), float32(p.X[2])) {
			if !math.IsNaN(float64(x)) {
				t.Errorf("uninitialized memory holds %v", x)
			}
		}
		if p.N == 0 {
			t.Error("uninitialized memory holds 0")
		}
		if q := gpu.Shared[*int](k); *q != nil {
			t.Error("an uninitialized pointer is not nil")
		}
		if b := gpu.Shared[[4]bool](k); *b != [4]bool{} {
			t.Error("uninitialized bools are not false")
		}
		f[0], p.X[0], d[0] = 1, 1, 1 // the next block must not see these values
	}, gpu.SharedSize(20))
}

func TestDynamicShared(t *testing.T) {
	mustRun(t, gpu.D1(2), gpu.D1(10), func(k gpu.Thread) {
		words, pairs := gpu.DynamicShared[uint32](k), gpu.DynamicShared[[2]uint32](k)
		if len(words) != 10 || len(pairs) != 5 {
			t.Errorf("lengths %d and %d", len(words), len(pairs))
		}
		words[k.Rank()] = uint32(k.Rank())
		k.Sync()
		if p := pairs[k.Rank()/2]; p != [2]uint32{uint32(k.Rank()) &^ 1, uint32(k.Rank()) | 1} {
			t.Errorf("pair %v", p)
		}
		if uintptr(unsafe.Pointer(&words[0]))%8 != 0 {
			t.Error("the memory is not aligned")
		}
	}, gpu.SharedSize(43))
	mustRun(t, gpu.D1(1), gpu.D1(1), func(k gpu.Thread) {
		if n := len(gpu.DynamicShared[int8](k)); n != 0 {
			t.Errorf("%d bytes without SharedSize", n)
		}
	})
}

func TestMapSharedRefusesOtherMemory(t *testing.T) {
	wantPanic(t, "not the address of a variable in shared memory", gpu.D1(2), gpu.D1(1), func(k gpu.Thread) {
		gpu.MapShared(k, new(int), 1-k.ClusterRank())
	}, gpu.Cluster(gpu.D1(2)))
}
