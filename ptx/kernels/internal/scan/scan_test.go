package scan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
)

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }

func TestSum(t *testing.T) {
	c := cudatest.Device(t)
	test[uint32](t, c, "u32")
	test[uint64](t, c, "u64")
	test[float32](t, c, "f32")
	test[float64](t, c, "f64")
}

func test[T Number](t *testing.T, c *driver.Context, name string) {
	for _, n := range []int{1, 2, 31, 33, 127, 129, Tile - 1, Tile, Tile + 1, 3*Tile + 5, 40 * Tile} {
		for _, skip := range []int{0, 1} {
			for exclusive := range uint32(2) {
				t.Run(fmt.Sprintf("%s/%d/skip=%d/exclusive=%d", name, n, skip, exclusive), func(t *testing.T) {
					x := make([]T, n)
					r := rand.New(rand.NewPCG(uint64(n), 1))
					for i := range x {
						x[i] = T(r.IntN(64)) // small integers, so that sums of floats are exact
						if r.IntN(8) == 0 {
							x[i] -= 32 // wraps around if unsigned
						}
					}
					if isFloat[T]() {
						for i := range x {
							x[i] = T(r.IntN(64) - 30)
						}
					}
					compare(t, run(t, c, "scan_"+name, x, skip, exclusive), want(x, exclusive))
				})
			}
		}
	}
}

func want[T Number](x []T, exclusive uint32) []T {
	sums := make([]T, len(x))
	var s T
	for i, v := range x {
		if sums[i] = s; exclusive == 0 {
			sums[i] = s + v
		}
		s += v
	}
	return sums
}

func compare[T Number](t *testing.T, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("sum %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// run computes the sums in place, skip elements after the start of a buffer. With prepared states, it
// computes only the tile that the first of them names.
func run[T Number](t testing.TB, c *driver.Context, kernel string, x []T, skip int, exclusive uint32, prepared ...uint64) []T {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := driver.Alloc[T](c, skip+len(x))
	must(err)
	defer b.Close()
	v := b.View(skip, skip+len(x))
	must(v.CopyFrom(x))
	words := make([]uint64, Words(uint64(len(x)), size[T]()))
	blocks := (len(x) + Tile - 1) / Tile
	if prepared != nil {
		copy(words, prepared)
		blocks = 1
	}
	states, err := driver.AllocFrom(c, words)
	must(err)
	defer states.Close()
	m, err := Module(c)
	must(err)
	k, err := m.Kernel(kernel)
	must(err)
	wide := uint32(0)
	if skip == 0 {
		wide = 1
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(Threads)}
	op, err := k.Prepare(cfg, driver.Out(v), driver.In(v), uint64(len(x)), states, exclusive, wide)
	must(err)
	s, err := c.NewStream()
	must(err)
	defer s.Close()
	must(s.Do(op))
	must(s.Wait(t.Context()))
	got := make([]T, len(x))
	must(v.CopyTo(got))
	return got
}

// The sums of floats that round must be the same in every run.
func TestSumsOfFloatsAreRepeatable(t *testing.T) {
	c := cudatest.Device(t)
	x := make([]float32, 70*Tile+3)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	first := run(t, c, "scan_f32", x, 0, 0)
	for range 2 {
		compare(t, run(t, c, "scan_f32", x, 0, 0), first)
	}
	s := 0.0
	for i, v := range x {
		s += float64(v)
		if math.Abs(float64(first[i])-s) > 1e-3 {
			t.Fatalf("sum %d is %v, want %v", i, first[i], s)
		}
	}
}

func TestNaNsAndInfinitiesStay(t *testing.T) {
	c := cudatest.Device(t)
	x := make([]float64, 3*Tile)
	x[Tile+7] = math.Inf(1)
	x[2*Tile+9] = math.NaN()
	got := run(t, c, "scan_f64", x, 0, 1)
	for i, v := range got {
		switch {
		case i <= Tile+7 && v != 0, i > Tile+7 && i <= 2*Tile+9 && !math.IsInf(v, 1), i > 2*Tile+9 && !math.IsNaN(v):
			t.Fatalf("sum %d is %v", i, v)
		}
	}
}

// A block that looks back over many tiles finds some that know only their own sum.
func TestLookBackOverSeveralWarps(t *testing.T) {
	c := cudatest.Device(t)
	const tile = 99
	x := make([]float32, (tile+1)*Tile)
	for i := range x {
		x[i] = float32(i % 5)
	}
	sums := want(x, 0)
	for _, known := range [][]int{{0}, {0, 40}, {0, 98}, {0, 3, 66, 67}, {0, 35}} {
		states := []uint64{tile}
		for i := range tile {
			before, state := float32(0), uint64(own)
			if i > 0 {
				before = sums[i*Tile-1]
			}
			v := sums[(i+1)*Tile-1] - before
			for _, k := range known {
				if k == i {
					v, state = sums[(i+1)*Tile-1], all
				}
			}
			states = append(states, uint64(math.Float32bits(v))<<32|state)
		}
		got := run(t, c, "scan_f32", x, 0, 0, states...)
		compare(t, got[tile*Tile:], sums[tile*Tile:])
	}
}
