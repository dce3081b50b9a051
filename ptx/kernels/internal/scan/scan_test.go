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
					if T(1)/2 != 0 {
						for i := range x {
							x[i] = T(r.IntN(64) - 30)
						}
					}
					compare(t, run(t, c, x, skip, exclusive), want(x, exclusive))
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

// run computes the sums in place, skip elements after the start of a buffer.
func run[T Number](t testing.TB, c *driver.Context, x []T, skip int, exclusive uint32) []T {
	t.Helper()
	j := newJob[T](t, c, len(x), skip, exclusive)
	j.copy(x)
	j.start(j.tiles())
	return j.end(len(x))
}

// job is memory for prefix sums.
type job[T Number] struct {
	t       testing.TB
	c       *driver.Context
	kernel  *driver.Kernel
	x       driver.View[T]
	words   *driver.Buffer[uint64]
	stream  *driver.Stream
	options [3]uint32 // exclusive, wide, floats
}

func newJob[T Number](t testing.TB, c *driver.Context, n, skip int, exclusive uint32) *job[T] {
	t.Helper()
	must := mustOf(t)
	b, err := driver.Alloc[T](c, skip+n)
	must(err)
	t.Cleanup(func() { b.Close() })
	j := &job[T]{t: t, c: c, x: b.View(skip, skip+n), options: [3]uint32{exclusive}}
	if skip == 0 {
		j.options[1] = 1
	}
	if T(1)/2 != 0 {
		j.options[2] = 1
	}
	j.words, err = driver.AllocFrom(c, make([]uint64, Words(uint64(n), size[T]())))
	must(err)
	t.Cleanup(func() { j.words.Close() })
	m, err := Module(c)
	must(err)
	j.kernel, err = m.Kernel(fmt.Sprintf("scan_b%d", 8*size[T]()))
	must(err)
	j.stream, err = c.NewStream()
	must(err)
	t.Cleanup(func() { j.stream.Close() })
	return j
}

func (j *job[T]) tiles() int { return (j.x.Len() + Tile - 1) / Tile }

// start starts the next blocks.
func (j *job[T]) start(blocks int) {
	j.t.Helper()
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(Threads)}
	op, err := j.kernel.Prepare(cfg, driver.Out(j.x), driver.In(j.x), uint64(j.x.Len()), j.words, j.options[0], j.options[1], j.options[2])
	mustOf(j.t)(err)
	mustOf(j.t)(j.stream.Do(op))
}

// copy sets the last elements.
func (j *job[T]) copy(x []T) {
	j.t.Helper()
	mustOf(j.t)(j.x.View(j.x.Len()-len(x), j.x.Len()).CopyFrom(x))
}

// end waits for the blocks and returns the last n sums.
func (j *job[T]) end(n int) []T {
	j.t.Helper()
	mustOf(j.t)(j.stream.Wait(j.t.Context()))
	got := make([]T, n)
	mustOf(j.t)(j.x.View(j.x.Len()-n, j.x.Len()).CopyTo(got))
	return got
}

func mustOf(t testing.TB) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestNaNsAndInfinitiesStay(t *testing.T) {
	c := cudatest.Device(t)
	x := make([]float64, 3*Tile)
	x[Tile+7] = math.Inf(1)
	x[2*Tile+9] = math.NaN()
	got := run(t, c, x, 0, 1)
	for i, v := range got {
		switch {
		case i <= Tile+7 && v != 0, i > Tile+7 && i <= 2*Tile+9 && !math.IsInf(v, 1), i > 2*Tile+9 && !math.IsNaN(v):
			t.Fatalf("sum %d is %v", i, v)
		}
	}
}
