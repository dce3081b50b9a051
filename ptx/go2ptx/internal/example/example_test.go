package example

import (
	"context"
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/gpu"
)

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// device provides a stream, and device memory that is freed at the end of the test.
type device struct {
	t *testing.T
	c *driver.Context
	s *driver.Stream
}

func each(t *testing.T, test func(d *device)) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		t.Cleanup(func() { noError(t, s.Close()) })
		test(&device{t, c, s})
	})
}

func upload[T any](d *device, x []T) *driver.Buffer[T] {
	b := must(driver.Alloc[T](d.c, len(x)))(d.t)
	d.t.Cleanup(func() { noError(d.t, b.Close()) })
	noError(d.t, b.CopyFrom(x))
	return b
}

func download[T any](d *device, b *driver.Buffer[T]) []T {
	d.t.Helper()
	noError(d.t, d.s.Wait(context.Background()))
	x := make([]T, b.Len())
	noError(d.t, b.CopyTo(x))
	return x
}

// near fails the test unless the relative error of each result is at most the limit by.
func near(t *testing.T, what string, got, want []float32, by float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= by*math.Max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// wave returns positive and negative numbers without special values.
func wave(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%37)/8 - 2
	}
	return x
}

func dims(c driver.LaunchConfig) (grid, block gpu.Dim) {
	return gpu.D3(int(c.Grid.X), int(c.Grid.Y), int(c.Grid.Z)), gpu.D3(int(c.Block.X), int(c.Block.Y), int(c.Block.Z))
}

func TestSaxpy(t *testing.T) {
	each(t, func(d *device) {
		k := must(SaxpyIn(d.c))(d.t)
		x, want := wave(1000), wave(1000)[:999]
		y := upload(d, want)
		cfg := k.Grid(len(want))
		noError(d.t, k.Do(d.s, cfg, 0.5, upload(d, x).All(), y.All()))
		grid, block := dims(cfg)
		noError(d.t, gpu.Run(grid, block, func(t gpu.Thread) { saxpy(t, 0.5, x, want) }))
		near(d.t, "saxpy", download(d, y), want, 1e-6)
	})
}

func TestSum(t *testing.T) {
	each(t, func(d *device) {
		k := must(SumIn(d.c))(d.t)
		x, want := wave(5000), make([]float32, 1)
		total := upload(d, want)
		cfg := k.Grid(1024)
		noError(d.t, k.Do(d.s, cfg, upload(d, x).All(), total.All()))
		grid, block := dims(cfg)
		noError(d.t, gpu.Run(grid, block, func(t gpu.Thread) { sum(t, x, want) }))
		near(d.t, "sum", download(d, total), want, 1e-5)
	})
}

func TestSoftmax(t *testing.T) {
	each(t, func(d *device) {
		const rows, cols = 5, 300
		k := must(SoftmaxIn(d.c))(d.t)
		want := wave(rows * cols)
		m := upload(d, want)
		cfg := k.Grid(rows * 128)
		noError(d.t, k.Do(d.s, cfg, m.All(), cols))
		grid, block := dims(cfg)
		noError(d.t, gpu.Run(grid, block, func(t gpu.Thread) { softmax(t, want, cols) }))
		near(d.t, "softmax", download(d, m), want, 1e-6)
	})
}

func TestMultiply(t *testing.T) {
	each(t, func(d *device) {
		const rows, inner, cols = 20, 37, 50
		k := must(MultiplyIn(d.c))(d.t)
		a, b, want := wave(rows*inner), wave(inner*cols), make([]float32, rows*cols)
		on := func(b *driver.Buffer[float32], rows, cols int) matrix {
			return matrix{gpu.ViewAt[float32](b.Ptr(), b.Len()), rows, cols}
		}
		c, da, db := upload(d, want), upload(d, a), upload(d, b)
		cfg := k.Grid(cols, rows)
		noError(d.t, k.Do(d.s, cfg, on(c, rows, cols), on(da, rows, inner), on(db, inner, cols)))
		grid, block := dims(cfg)
		noError(d.t, gpu.Run(grid, block, func(t gpu.Thread) {
			multiply(t, matrix{gpu.ViewOf(want), rows, cols}, matrix{gpu.ViewOf(a), rows, inner}, matrix{gpu.ViewOf(b), inner, cols})
		}))
		near(d.t, "multiply", download(d, c), want, 1e-5)
	})
}

func TestMandelbrot(t *testing.T) {
	each(t, func(d *device) {
		const width, height, most = 40, 30, 50
		k := must(MandelbrotFloat64In(d.c))(d.t)
		want := make([]uint16, width*height)
		counts := upload(d, want)
		cfg := k.Grid(width, height)
		noError(d.t, k.Do(d.s, cfg, counts.All(), width, -2.5, -1.25, 1.0/12, most))
		grid, block := dims(cfg)
		noError(d.t, gpu.Run(grid, block, func(t gpu.Thread) { mandelbrot(t, want, width, -2.5, -1.25, 1.0/12, most) }))
		different := 0
		for i, n := range download(d, counts) {
			if n == want[i] {
				continue
			}
			if different++; different == 1 {
				d.t.Logf("point %d has %d iterations, want %d", i, n, want[i])
			}
		}
		allowed := 0
		if irtest.HostFuses() { // then the host's counts differ near the boundary
			allowed = len(want) / 100
		}
		if different > allowed {
			d.t.Errorf("%d of %d points differ, %d may", different, len(want), allowed)
		}
	})
}

// Prepared launches and graphs must pass slices in the same way as Do, and must reject restrict
// parameters whose memory overlaps.
func TestOtherWaysToLaunch(t *testing.T) {
	each(t, func(d *device) {
		k := must(SaxpyIn(d.c))(d.t)
		x, y := upload(d, []float32{1, 2, 3, 4}), upload(d, make([]float32, 4))
		args := must(k.Prepare(k.Grid(4), 1, x, y))(d.t)
		noError(d.t, d.s.Do(args.Launch))
		noError(d.t, args.A.Set(10))
		noError(d.t, args.Y.Set(y.View(0, 2)))
		noError(d.t, d.s.Do(args.Launch))
		near(d.t, "prepared", download(d, y), []float32{11, 22, 3, 4}, 0)
		noError(d.t, args.Y.Set(x.View(1, 3)))
		if err := d.s.Do(args.Launch); err == nil {
			d.t.Error("a launch with memory that overlaps")
		}
		noError(d.t, args.X.Set(y.View(2, 4)))
		noError(d.t, d.s.Do(args.Launch))
		near(d.t, "exchanged", download(d, x), []float32{1, 32, 43, 4}, 0)

		g := must(graph.Capture(d.s, graph.ModeThreadLocal, func(s *graph.Scope) error {
			return k.Do(s, k.Grid(4), 2, x.All(), y.All())
		}))(d.t)
		defer g.Close()
		exec := must(g.Instantiate())(d.t)
		defer exec.Close()
		noError(d.t, exec.Launch(d.s))
		near(d.t, "graph", download(d, y), []float32{13, 86, 89, 12}, 0)
	})
}
