package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// function describes an operation with one operand: its reference, and its permitted error in units
// in the last place.
type function[T kernels.Float] struct {
	name string
	make func(dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error)
	want func(x float64) float64
	ulps float64
	more func(x float64) float64 // additional permitted error, for float32 and float64
}

func functions[T kernels.Float]() []function[T] {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	return []function[T]{
		{"neg", kernels.Neg[T], func(x float64) float64 { return -x }, 0, nil},
		{"abs", kernels.Abs[T], math.Abs, 0, nil},
		{"relu", kernels.ReLU[T], func(x float64) float64 { return math.Max(x, 0) }, 0, nil},
		{"gelu", kernels.GELU[T], func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, 8, inArgument[T]},
		{"gelu tanh", kernels.GELUTanh[T], geluTanh, 8, func(x float64) float64 { return math.Max(0, -2*geluArgument(x)) }},
		{"silu", kernels.SiLU[T], func(x float64) float64 { return x * sigmoid(x) }, 4, nil},
		{"sigmoid", kernels.Sigmoid[T], sigmoid, 4, nil},
		{"tanh", kernels.Tanh[T], math.Tanh, 2, nil},
		{"exp", kernels.Exp[T], math.Exp, 2, nil},
		{"log", kernels.Log[T], math.Log, 2, nil},
		{"sqrt", kernels.Sqrt[T], math.Sqrt, 0, nil},
		{"rsqrt", kernels.Rsqrt[T], func(x float64) float64 { return 1 / math.Sqrt(x) }, 2, nil},
	}
}

func geluTanh(x float64) float64 { return x / (1 + math.Exp(-geluArgument(x))) }

func geluArgument(x float64) float64 { return 2 * math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }

// inArgument returns the additional permitted error for float64, in units in the last place. The
// float64 reference rounds the square of x before it calls exp, and exp multiplies the relative
// rounding error by about x².
func inArgument[T kernels.Float](x float64) float64 {
	if _, wide := any(*new(T)).(float64); wide && x < 0 {
		return x * x
	}
	return 0
}

// slack returns the permitted error beyond the bound for float32. It covers the error of
// the float64 reference and the rounding to a 16-bit type.
func (f *function[T]) slack(x float64) float64 {
	ulps := f.ulps
	if f.more != nil {
		ulps += f.more(x)
	}
	switch any(*new(T)).(type) {
	case float64:
		return ulps + 2
	case float32:
		return max(ulps, 0.5)
	}
	return 0.51
}

func TestFunctionsOfOneOperand(t *testing.T) {
	each(t, func(k *kit) {
		evaluate[kernels.F16](k)
		evaluate[kernels.BF16](k)
		evaluate[float32](k)
		evaluate[float64](k)
	})
}

func evaluate[T kernels.Float](k *kit) {
	k.Helper()
	in := []float64{0, 1, -1, 0.5, -0.5, 1e-3, -1e-3, 1e-6, 5, -5, 9, -9, 20, -20, 80, -80, 1e4, -1e4,
		math.Inf(1), math.Inf(-1), math.NaN()}
	xs := elements[T](append(in, random(400, 8)...))
	for _, f := range functions[T]() {
		for _, skip := range []int{0, 1} {
			dst := alloc[T](k, len(xs)+1)
			k.run(f.make(dst.View(0, len(xs)), device(k, skip, xs)))
			for i, got := range host(k, dst)[:len(xs)] {
				f.check(k, xs[i], number(got))
			}
		}
		for _, n := range []int{0, 1, 5} {
			x := device(k, 0, xs[2:2+n])
			k.run(f.make(x, x))
			for i, got := range host(k, x) {
				f.check(k, xs[2+i], number(got))
			}
		}
	}
}

func (f *function[T]) check(k *kit, in T, got float64) {
	k.Helper()
	x := number(in)
	want := f.want(x)
	switch {
	case want != want:
		if got == got {
			k.Errorf("%s of %T %v is %v, want NaN", f.name, in, x, got)
		}
		return
	case math.IsInf(number(element[T](want)), 0):
		if got != number(element[T](want)) {
			k.Errorf("%s of %T %v is %v, want %v", f.name, in, x, got, want)
		}
		return
	case f.vanishes(x) && got == 0:
		return
	}
	if off := math.Abs(got-want) / ulp[T](want); !(off <= f.slack(x)) {
		k.Errorf("%s of %T %v is %v, want %v: %.2f units in the last place off", f.name, in, x, got, want, off)
	}
}

// vanishes reports whether a result of 0 is acceptable for x. This is the case if the true result
// is tiny and exp(-x) may overflow.
func (f *function[T]) vanishes(x float64) bool {
	switch f.name {
	case "silu", "sigmoid", "gelu tanh":
		return x < -15
	}
	return false
}

// Operands may begin at any element, alike or not, and have any length. The kernel must write all
// elements of dst, and nothing else.
func TestOperandsBeginAnywhere(t *testing.T) {
	each(t, func(k *kit) {
		anywhere[kernels.F16](k)
		anywhere[kernels.BF16](k)
		anywhere[float32](k)
		anywhere[float64](k)
	})
}

func anywhere[T kernels.Float](k *kit) {
	k.Helper()
	const most, room = 35, 9
	xs := elements[T](random(most+room, 12))
	src, dst := device(k, 0, xs), alloc[T](k, most+2*room)
	mark := element[T](77)
	for from := range room {
		for to := range room {
			for _, n := range []int{1, 2, 7, 8, 9, 16, most} {
				k.ok(dst.Fill(mark))
				k.run(kernels.Neg(dst.View(to, to+n), src.View(from, from+n)))
				for i, got := range host(k, dst) {
					want := number(mark)
					if i >= to && i < to+n {
						want = -number(xs[from+i-to])
					}
					if number(got) != want {
						k.Fatalf("%d elements of %T from %d to %d: element %d is %v, want %v", n, got, from, to, i, number(got), want)
					}
				}
			}
		}
	}
}
