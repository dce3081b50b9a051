package histogram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/ptx/kernels/internal/kit"
)

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }

// data returns n elements: random ones or, with one kind, equal ones.
func data[T uint8 | int32 | Index](n, kinds int) []T {
	r := rand.New(rand.NewPCG(uint64(n), uint64(kinds)))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.IntN(kinds))
		if kinds == 1 {
			x[i] = 77
		}
	}
	return x
}

// want adds the histogram of x to counts.
func want[T uint8 | int32 | Index](counts []uint32, x []T) []uint32 {
	counts = slices.Clone(counts)
	for _, v := range x {
		if v >= 0 && uint64(v) < uint64(len(counts)) {
			counts[v]++
		}
	}
	return counts
}

func compare(k *kit.Kit, got, want []uint32) {
	k.Helper()
	for i := range want {
		if got[i] != want[i] {
			k.Fatalf("bin %d has %d, want %d", i, got[i], want[i])
		}
	}
}

func TestBytes(t *testing.T) {
	k := kit.New(t, Module)
	// A thread of a launch with one block flushes its counters after 240 bytes.
	for _, n := range []int{0, 1, 15, 16, 17, 31, 33, 1000, 4096, 3*Rounds*Pack*ByteThreads + 77} {
		for _, kinds := range []int{256, 1} {
			for _, bins := range []int{256, 100} {
				t.Run(fmt.Sprintf("%d/%d/%d", n, kinds, bins), func(t *testing.T) {
					k := k.With(t)
					x := data[uint8](n, kinds)
					counts := make([]uint32, bins)
					counts[5] = 3
					skip := min(n, 7)
					d := kit.Device(k, Pack-skip, x)
					c := kit.Device(k, 0, counts)
					cfg := driver.LaunchConfig{Grid: driver.D1(1 + n%3), Block: driver.D1(ByteThreads)}
					k.Run("histogram_u8", cfg, c, uint64(bins), driver.In(d), uint64(n), uint64(skip))
					compare(k, kit.Host(k, c), want(counts, x))
				})
			}
		}
	}
}

func TestValues(t *testing.T) {
	k := kit.New(t, Module)
	testValues[int32](t, k, "b32")
	testValues[uint32](t, k, "b32")
	testValues[int64](t, k, "i64")
}

func testValues[T int32 | Index](t *testing.T, k *kit.Kit, name string) {
	for _, n := range []int{0, 1, 255, 4096, 10007} {
		for _, kinds := range []int{1000, 1} {
			for _, bins := range []int{1, 10, 1000} {
				for _, copies := range []uint32{1, 8} {
					t.Run(fmt.Sprintf("%T/%d/%d/%d/%d", T(0), n, kinds, bins, copies), func(t *testing.T) {
						k := k.With(t)
						x := data[T](n, kinds)
						if n > 2 {
							x[1]-- // may be negative or large
							x[2] = ^T(0)
						}
						counts := make([]uint32, bins)
						counts[0] = 3
						c, d := kit.Device(k, 0, counts), kit.Device(k, 1, x)
						cfg := driver.LaunchConfig{Grid: driver.D1(3), Block: driver.D1(Threads), SharedMem: uint32(bins) * copies * 4}
						k.Run("histogram_"+name, cfg, c, uint64(bins), driver.In(d), uint64(n), copies)
						compare(k, kit.Host(k, c), want(counts, x))
						c = kit.Device(k, 0, counts)
						cfg.SharedMem = 0
						k.Run("histogram_many_"+name, cfg, c, uint64(bins), driver.In(d), uint64(n), copies)
						compare(k, kit.Host(k, c), want(counts, x))
					})
				}
			}
		}
	}
}
