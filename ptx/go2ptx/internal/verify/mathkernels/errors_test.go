package mathkernels

import (
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/mathtest"
)

// long enables tests that take minutes on a GPU.
var long = os.Getenv("PURECUDA_MATH_LONG") != ""

// measure tells how to compute the error of a function's results.
type measure struct {
	name   string // name of the row in a table
	f      function
	result int
	bound  float64
	// error returns the error of a result in ulps, for the arguments x and y.
	error func(got, x, y float64) float64
	slow  bool
}

// split splits a name such as "Modf, fraction" into the function and the index of the result.
func split(name string) (function string, result int) {
	function, which, _ := strings.Cut(name, ", ")
	switch which {
	case "fraction":
		if function == "Modf" {
			result = 1
		}
	case "exponent", "cosine":
		result = 1
	}
	return function, result
}

// measures returns the measures for the functions of math32 and math.
func measures(t testing.TB) (narrow, wide []measure) {
	add := func(list *[]measure, pkg, name string, bound float64, slow bool, e func(got, x, y float64) float64) {
		fn, result := split(name)
		*list = append(*list, measure{name, find(t, pkg+"."+fn), result, bound, e, slow})
	}
	for _, f := range mathtest.Unary32s {
		add(&narrow, "math32", f.Name, f.Bound, false, func(got, x, _ float64) float64 { return mathtest.ULP32(float32(got), f.Exact(x)) })
	}
	for _, f := range mathtest.Binary32s {
		add(&narrow, "math32", f.Name, f.Bound, false, func(got, x, y float64) float64 { return mathtest.ULP32(float32(got), f.Exact(x, y)) })
	}
	for _, f := range mathtest.Unary64s {
		add(&wide, "math", f.Name, f.Bound, f.Exact != nil, func(got, x, _ float64) float64 {
			f := f // errors are measured on several goroutines
			f.F = func(float64) float64 { return got }
			return f.Error(x)
		})
	}
	for _, f := range mathtest.Binary64s {
		add(&wide, "math", f.Name, f.Bound, f.Exact != nil, func(got, x, y float64) float64 {
			f := f
			f.F = func(_, _ float64) float64 { return got }
			return f.Error(x, y)
		})
	}
	return narrow, wide
}

// worst is the largest error and the arguments at which it occurs.
type worst struct {
	error, got, x, y float64
}

// of returns the largest error among results. If the measure is slow, it is applied only to results
// that differ from Go's and to every step-th result.
func (m measure) of(a *arguments, got, host [][2]uint64, step int) worst {
	var mu sync.Mutex
	var all worst
	parallel(len(got), func(from, to int) {
		var w worst
		for i := from; i < to; i++ {
			if m.slow && i%step != 0 && got[i] == host[i] {
				continue
			}
			v, _ := m.f.float(m.result, got[i][m.result])
			if k := m.f.t.Out(m.result).Kind().String(); k == "int" && !m.f.wide {
				v = float64(float32(v))
			}
			if e := m.error(v, a.x[i], a.y[i]); e > w.error || e != e {
				w = worst{e, v, a.x[i], a.y[i]}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if w.error > all.error || w.error != w.error {
			all = w
		}
	})
	return all
}

// table formats the largest error of each function in the style of docs/results/math.md.
func table(title string, wide, narrow map[string]float64, order []measure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| function | float64 | float32 |\n|---|---|---|\n", title)
	seen := map[string]bool{}
	cell := func(m map[string]float64, name string) string {
		if e, ok := m[name]; ok {
			return fmt.Sprintf("%.2f", e)
		}
		return ""
	}
	for _, m := range order {
		if !seen[m.name] {
			seen[m.name] = true
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.name, cell(wide, m.name), cell(narrow, m.name))
		}
	}
	return b.String()
}

// With fused operations, the errors of a device's results must stay within the documented bounds.
func TestErrors(t *testing.T) {
	narrow, wide := measures(t)
	ptx := compile(t, text(all()), false)
	each(t, func(t *testing.T, c *driver.Context, on where) {
		d := load(t, c, ptx)
		run := func(list []measure) map[string]float64 {
			errs := map[string]float64{}
			for _, m := range list {
				a := draw(m.f, on.random)
				got := d.call(m.f, a)
				w := m.of(a, got, hostResults(m.f, a), on.step)
				errs[m.name] = w.error
				if !(w.error <= m.bound) {
					t.Errorf("%v(%x, %x) = %v (result %d) has an error of %.3f ulp, want at most %v", m.f, w.x, w.y, w.got, m.result, w.error, m.bound)
				}
			}
			return errs
		}
		t.Log(table(fmt.Sprintf("Largest errors in ulps, %d random arguments and special ones", on.random), run(wide), run(narrow), append(wide, narrow...)))
	})
}

// approximation is a function that uses approximate instructions, with its documented error bound.
type approximation struct {
	name  string
	exact func(x, y float64) float64
	// bound returns the largest permitted difference from the exact result, or NaN if there is no
	// bound for the arguments.
	bound func(x, y, want float64) float64
}

func relative(e float64) func(x, y, want float64) float64 {
	return func(_, _, want float64) float64 { return math.Abs(want) * math.Exp2(e) }
}

// around1 returns a bound that is absolute for x between 0.5 and 2, and relative elsewhere.
func around1(absolute, rel float64) func(x, y, want float64) float64 {
	return func(x, _, want float64) float64 {
		if x > 0.5 && x < 2 {
			return math.Exp2(absolute)
		}
		return math.Abs(want) * math.Exp2(rel)
	}
}

func withinPi(e float64) func(x, y, want float64) float64 {
	return func(x, _, _ float64) float64 {
		if !(math.Abs(x) <= math.Pi) {
			return math.NaN()
		}
		return math.Exp2(e)
	}
}

// flushed restricts a bound to cases in which neither the arguments nor the result are subnormal.
func flushed(bound func(x, y, want float64) float64) func(x, y, want float64) float64 {
	return func(x, y, want float64) float64 {
		if math.Abs(x) < 0x1p-126 && x != 0 || math.Abs(want) < 0x1.000002p-126 && want != 0 {
			return math.NaN()
		}
		return bound(x, y, want)
	}
}

func one(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

func quotient(x, y float64) float64 { return x / y }

func divBound(_, y, want float64) float64 {
	if a := math.Abs(y); !(a >= 0x1p-126 && a <= 0x1p126) {
		return math.NaN()
	}
	return math.Abs(want) * 0x1p-22
}

func expBound(x, _, want float64) float64 {
	return math.Abs(want) * (0x1p-22 + math.Abs(x)*0x1.8p-24)
}

func powBound(x, y, want float64) float64 {
	if !(x > 0) {
		return math.NaN()
	}
	log := math.Log2(x)
	if x > 0.5 && x < 2 {
		log = 1 // the error of the logarithm is absolute there
	}
	return math.Abs(want) * (math.Exp2(math.Abs(y*log)*0x1p-21) - 1 + 0x1p-21)
}

var approximations = []approximation{
	{"math32.FastExp", one(math.Exp), expBound}, {"gpu.ApproxExp", one(math.Exp), expBound},
	{"math32.FastExp2", one(math.Exp2), relative(-22)}, {"gpu.ApproxExp2", one(math.Exp2), relative(-22)},
	{"math32.FastLog", one(math.Log), around1(-21.4, -21.4)}, {"gpu.ApproxLog", one(math.Log), around1(-21.4, -21.4)},
	{"math32.FastLog2", one(math.Log2), around1(-22, -22)}, {"gpu.ApproxLog2", one(math.Log2), around1(-22, -22)},
	{"math32.FastLog10", one(math.Log10), around1(-21.4, -21.4)},
	{"math32.FastPow", math.Pow, powBound},
	{"math32.FastSin", one(math.Sin), withinPi(-20.5)}, {"gpu.ApproxSin", one(math.Sin), withinPi(-20.5)},
	{"math32.FastCos", one(math.Cos), withinPi(-20.5)}, {"gpu.ApproxCos", one(math.Cos), withinPi(-20.5)},
	{"math32.FastTanh", one(math.Tanh), relative(-10.9)}, {"gpu.ApproxTanh", one(math.Tanh), relative(-10.9)},
	{"math32.FastSqrt", one(math.Sqrt), relative(-23)}, {"gpu.ApproxSqrt", one(math.Sqrt), relative(-23)},
	{"math32.FastRsqrt", one(func(x float64) float64 { return 1 / math.Sqrt(x) }), relative(-22.9)},
	{"gpu.ApproxRsqrt", one(func(x float64) float64 { return 1 / math.Sqrt(x) }), relative(-22.9)},
	{"gpu.ApproxRcp", one(func(x float64) float64 { return 1 / x }), relative(-23)},
	{"math32.FastDiv", quotient, divBound}, {"gpu.ApproxDiv", quotient, divBound},
	{"gpu.ApproxExp2FTZ", one(math.Exp2), flushed(relative(-22))}, {"gpu.ApproxLog2FTZ", one(math.Log2), flushed(around1(-22, -22))},
	{"gpu.ApproxRcpFTZ", one(func(x float64) float64 { return 1 / x }), flushed(relative(-23))},
	{"gpu.ApproxRsqrtFTZ", one(func(x float64) float64 { return 1 / math.Sqrt(x) }), flushed(relative(-22.9))},
}

// The errors of approximate instructions must be within the documented bounds.
func TestApproximations(t *testing.T) {
	ptx := compile(t, text(all()), false)
	each(t, func(t *testing.T, c *driver.Context, on where) {
		d := load(t, c, ptx)
		for _, ap := range approximations {
			f := find(t, ap.name)
			a := draw(f, on.random)
			var most, at, atY float64 // the largest error as a fraction of the bound, and its arguments
			for i, bits := range d.call(f, a) {
				got, _ := f.float(0, bits[0])
				want := ap.exact(a.x[i], a.y[i])
				bound := ap.bound(a.x[i], a.y[i], want)
				rounded := float64(float32(want))
				switch {
				case bound != bound, got == rounded, got != got && want != want:
					continue
				case got-got != 0 && math.Abs(want)+bound > math.MaxFloat32*(1-0x1p-10):
					continue
				}
				// Half of the smallest subnormal number is an unavoidable rounding error.
				if e := math.Abs(got-want) / (bound + 0x1p-149); e > most || e != e {
					most, at, atY = e, a.x[i], a.y[i]
				}
			}
			t.Logf("%-18v %.2f of the bound, at %x, %x", f, most, at, atY)
			if !(most <= 1) {
				t.Errorf("%v(%x, %x) has %.3f times the stated error", f, at, atY, most)
			}
		}
	})
}
