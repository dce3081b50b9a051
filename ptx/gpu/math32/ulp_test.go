package math32_test

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/purecuda/cuda/internal/mathtest"
)

// every is set to test every float32, which takes about 10 minutes per function on one core. Use
// -timeout 0.
var every = os.Getenv("PURECUDA_MATH_LONG") != ""

// stride returns the step between the bit patterns of consecutive tested arguments. The step is 1
// or a prime.
func stride() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("PURECUDA_MATH_STRIDE"), 10, 32); err == nil && n > 0 {
		return n
	}
	switch {
	case every:
		return 1
	case testing.Short():
		return 40009
	}
	return 4001
}

// TestUnary measures the largest error of each function. With -short, it tests a sample of the
// float32 values and all values near powers of two. With PURECUDA_MATH_LONG set, it tests every
// float32 value. PURECUDA_MATH_STRIDE=101 tests every 101st value.
func TestUnary(t *testing.T) {
	for _, f := range mathtest.Unary32s {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			worst, at := sweep(f)
			t.Logf("%-8s %.3f ulp at %x (%v)", f.Name, worst, at, at)
			if !(worst <= f.Bound) {
				t.Errorf("%s(%x): %v has an error of %.3f ulp, want at most %v", f.Name, at, f.F(at), worst, f.Bound)
			}
		})
	}
}

// sweep returns the largest error of f and the argument at which it occurs.
func sweep(f mathtest.Unary32) (worst float64, at float32) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	parts := uint64(runtime.GOMAXPROCS(0))
	for part := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var w float64
			var a float32
			try := func(b uint32) {
				x := math.Float32frombits(b)
				if e := mathtest.ULP32(f.F(x), f.Exact(float64(x))); e > w || e != e {
					w, a = e, x
				}
			}
			for b := part * stride(); b < 1<<32; b += stride() * parts {
				try(uint32(b))
			}
			if part == 0 && stride() > 1 {
				for high := uint32(0); high < 512; high++ {
					for low := uint32(0); low < 64; low++ {
						try(high<<23 + low - 32)
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if w > worst || w != w {
				worst, at = w, a
			}
		}()
	}
	wg.Wait()
	return worst, at
}

// TestBinary measures the largest error of each function with two arguments.
func TestBinary(t *testing.T) {
	special := mathtest.Special32()
	samples := 200_000
	if testing.Short() {
		samples = 20_000
	}
	if every {
		samples = 100_000_000
	}
	for _, f := range mathtest.Binary32s {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			var worst float64
			var atX, atY float32
			try := func(x, y float32) {
				if e := mathtest.ULP32(f.F(x, y), f.Exact(float64(x), float64(y))); e > worst || e != e {
					worst, atX, atY = e, x, y
				}
			}
			for _, x := range special {
				for _, y := range special {
					try(x, y)
				}
			}
			for range samples {
				try(mathtest.DrawPair32(r))
			}
			t.Logf("%-10s %.3f ulp at %x, %x", f.Name, worst, atX, atY)
			if !(worst <= f.Bound) {
				t.Errorf("%s(%x, %x): %v has an error of %.3f ulp, want at most %v (%v)", f.Name, atX, atY,
					f.F(atX, atY), worst, f.Bound, f.Exact(float64(atX), float64(atY)))
			}
		})
	}
}
