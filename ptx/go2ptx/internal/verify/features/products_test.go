package features

import (
	"math"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/gpu"
)

// Subtracting a number whose lower word is 0 from the upper half of a product must give the right
// result. If the compiler emitted mul.hi.u32, ptxas would lose a carry.
func TestUpperHalfMinusMultipleOf2To32(t *testing.T) {
	each(t, func(d *device) {
		x, y := make([]uint32, 300), make([]int64, 300)
		for i := range x {
			x[i] = uint32(i) * 0x9e3779b9
			y[i] = int64(i%5-2) << 32
			if i%3 == 0 {
				y[i] += int64(i % 7)
			}
		}
		want := make([]int64, 6*len(x))
		for _, factor := range []uint32{0, 1, 0x80000000, 0xfffffffe, 0xffffffff} {
			out := upload(d, make([]int64, len(want))...)
			k := must(DifferencesIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(len(x)), upload(d, x...).All(), upload(d, y...).All(), out.All(), factor))
			noError(d, gpu.Run(gpu.D1(5), gpu.D1(64), func(t gpu.Thread) { differences(t, x, y, want, factor) }))
			if got := download(d, out); !slices.Equal(got, want) {
				d.Errorf("factor %#x: the differences are %#x, want %#x", factor, got, want)
			}
		}
	})
}

// Ptxas would compute some of these wrongly if the compiler emitted lop3 with equal operands.
func TestTablesOfEqualOperands(t *testing.T) {
	each(t, func(d *device) {
		x, y := make([]uint32, 64), make([]uint32, 64)
		for i := range x {
			x[i], y[i] = uint32(i)*0x9e3779b9, uint32(i+1)*0x85ebca6b
		}
		want := make([]uint32, 4*len(x))
		out := upload(d, want...)
		k := must(TablesIn(d.c))(d)
		noError(d, k.Do(d.s, k.Grid(len(x)), upload(d, x...).All(), upload(d, y...).All(), out.All()))
		noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { tables(t, x, y, want) }))
		if got := download(d, out); !slices.Equal(got, want) {
			d.Errorf("the results are %#x, want %#x", got, want)
		}
	})
}

// Ptxas would compute some of these without saturation if the compiler emitted add.sat and sub.sat.
func TestSaturationOfSums(t *testing.T) {
	each(t, func(d *device) {
		x, y := make([]int32, 64), make([]int32, 64)
		for i := range x {
			x[i], y[i] = int32(uint32(i)*0x9e3779b9), int32(uint32(i+1)*0x85ebca6b)
		}
		want := make([]int32, 4*len(x))
		out := upload(d, want...)
		k := must(SaturatedIn(d.c))(d)
		noError(d, k.Do(d.s, k.Grid(len(x)), upload(d, x...).All(), upload(d, y...).All(), out.All()))
		noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { saturated(t, x, y, want) }))
		if got := download(d, out); !slices.Equal(got, want) {
			d.Errorf("the results are %#x, want %#x", got, want)
		}
	})
}

// arithmetic compares what a kernel computes from 64-bit numbers with what plain Go computes.
func arithmetic(d *device, name string, results int, kernel func(x, out []int64), launch func(n int, x, out driver.View[int64])) {
	d.Helper()
	x := []int64{0, 1, -1, 5, 96, 97, -97, 98, 1 << 31, 1 << 32, -1 << 33, 1<<32 - 1, 1<<62 + 1, -1<<62 - 2, math.MaxInt64, math.MinInt64}
	for i := len(x); i < 64; i++ {
		x = append(x, int64(uint64(i)*0x9e3779b97f4a7c15>>(i%5*12)))
	}
	want := make([]int64, results*len(x))
	out := upload(d, want...)
	launch(len(x), upload(d, x...).All(), out.All())
	kernel(x, want)
	for i, got := range download(d, out) {
		if got != want[i] {
			d.Errorf("%s: result %d of %d is %d, want %d", name, i%results, x[i/results], got, want[i])
		}
	}
}

// Ptxas would drop a multiplication here if the compiler emitted the steps one by one.
func TestMultiplesInSteps(t *testing.T) {
	each(t, func(d *device) {
		arithmetic(d, "multiples", 6, func(x, out []int64) {
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { multiples(t, x, out) }))
		}, func(n int, x, out driver.View[int64]) {
			k := must(MultiplesIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(n), x, out))
		})
	})
}

func TestQuotientsByConstants(t *testing.T) {
	each(t, func(d *device) {
		arithmetic(d, "quotients", 12, func(x, out []int64) {
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { quotients(t, x, out) }))
		}, func(n int, x, out driver.View[int64]) {
			k := must(QuotientsIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(n), x, out))
		})
	})
}
