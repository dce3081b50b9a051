package mathkernels

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/mathtest"
)

var emulatorConfig = emulator.Config{}

// draw returns special and random arguments for a function.
func draw(f function, random int) *arguments {
	// The tests of ptx/gpu/math use the same seeds and so the same arguments.
	a, r := &arguments{}, rand.New(rand.NewPCG(1, 2))
	other := rand.New(rand.NewPCG(3, 4))
	special := mathtest.Special64()
	if !f.wide {
		special = special[:0]
		for _, x := range mathtest.Special32() {
			special = append(special, float64(x))
		}
	}
	pick := func() float64 { return special[other.IntN(len(special))] }
	for _, x := range special {
		if f.t.NumIn() < 2 {
			a.add(x, x, 0)
			continue
		}
		for _, y := range special {
			if !testing.Short() || other.IntN(16) == 0 {
				a.add(x, y, pick())
			}
		}
	}
	for range random {
		var x, y float64
		switch {
		case f.wide && f.floats < 2:
			x = mathtest.Draw64(r)
			y = x
		case f.wide:
			x, y = mathtest.DrawPair64(r)
		default:
			p, q := mathtest.DrawPair32(r)
			x, y = float64(p), float64(q)
		}
		z := -x * y
		if other.IntN(2) == 0 {
			z = pick()
		}
		if !f.wide {
			z = float64(float32(z))
		}
		a.add(x, y, z)
	}
	return a
}

// where is a device on which a test runs.
type where struct {
	gpu    bool
	random int // number of random arguments for each function
	step   int // slow error measurements are applied to every step-th result
}

func each(t *testing.T, test func(t *testing.T, c *driver.Context, on where)) {
	t.Run("emulator", func(t *testing.T) {
		random := 20_000
		if testing.Short() {
			random = 1_000
		}
		gputest.OnEmulator(t, emulatorConfig, func(t *testing.T, c *driver.Context) { test(t, c, where{false, random, 10}) })
	})
	t.Run("gpu", func(t *testing.T) {
		gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
			on := where{true, 1_000_000, 20}
			if long {
				on.step = 1
			}
			test(t, c, on)
		})
	})
}

// hostResults calls the Go function with all arguments, on all cores, and returns the bits of the
// results.
func hostResults(f function, a *arguments) [][2]uint64 {
	results := make([][2]uint64, len(a.x))
	parallel(len(a.x), func(from, to int) {
		for i := from; i < to; i++ {
			results[i] = f.host(a, i)
		}
	})
	return results
}

// parallel splits the range from 0 to n into parts and calls the function do for each part, on all
// cores.
func parallel(n int, do func(from, to int)) {
	var wg sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for p := range parts {
		wg.Go(func() { do(n*p/parts, n*(p+1)/parts) })
	}
	wg.Wait()
}

// approximate reports whether a kernel contains instructions whose results on a GPU are not fully
// specified.
func approximate(ptx []byte, f function) bool {
	return strings.Contains(entry(ptx, f.kernel()), ".approx.")
}

// Without fused operations, a device must compute the same bits as the Go function compiled for the
// host. Approximate instructions on a GPU are the exception.
func TestBits(t *testing.T) {
	list := all()
	ptx := compile(t, text(list), true)
	each(t, func(t *testing.T, c *driver.Context, on where) {
		d := load(t, c, ptx)
		exact, results := 0, 0
		for _, f := range list {
			if on.gpu && approximate(ptx, f) {
				continue
			}
			a := draw(f, on.random)
			got, want := d.call(f, a), hostResults(f, a)
			exact++
			results += len(got)
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%v(%x, %x, %x or %d): %#x, want %#x", f, a.x[i], a.y[i], a.z[i], a.n[i], got[i], want[i])
					break
				}
			}
		}
		t.Logf("%d of %d functions, %d results with equal bits", exact, len(list), results)
	})
}

// TestHostCalls ensures that the host functions really run, so that TestBits compares the kernels
// with something.
func TestHostCalls(t *testing.T) {
	a := &arguments{}
	a.add(-2.75, 3, 1)
	for name, want := range map[string][2]uint64{
		"math32.Modf": {uint64(math.Float32bits(-2)), uint64(math.Float32bits(-0.75))}, "math.Frexp": {math.Float64bits(-0.6875), 2},
		"math.Ldexp": {math.Float64bits(-22)}, "math.IsInf": {0}, "math32.Signbit": {1}, "math.FMA": {math.Float64bits(-7.25)},
		"math32.NaN": {0x7fc00000}, "math.NaN": {0x7ff8000000000000}, "math32.Float32frombits": {3}, "math.Ilogb": {1},
	} {
		if got := find(t, name).host(a, 0); got != want {
			t.Errorf("%s: %#x, want %#x", name, got, want)
		}
	}
}
