package difftest

import (
	"fmt"
	"math"
)

// Bound limits how far an approximate result may be from the exact one. The largest of ULP, Rel and
// Abs applies.
type Bound struct {
	// Exact computes the exact result from the operands' values.
	Exact func(a []float64) float64
	// ULP is in units in the last place of the result's type. Rel is relative and Abs is absolute.
	ULP, Rel, Abs float64
	// Upper means that the lower half of the operands' bits is treated as zero.
	Upper bool
	// Ftz means that subnormal operands count as zeros, and that subnormal results may be zeros.
	Ftz bool
	// Domain, if not nil, reports whether the bound applies to the operands.
	Domain func(a []float64) bool
}

// Check returns "" if out is within f's bound for the operands in, and otherwise a description of
// the error.
func (f *Form) Check(in []uint64, out uint64) string {
	t := typeOf(f.Out[0])
	p, packed := pairs[t]
	if !packed {
		return f.checkOne(t, in, out)
	}
	for k := range uint(2) {
		one := make([]uint64, len(in))
		for i, x := range in {
			one[i] = x >> (p.bits * k) & (1<<p.bits - 1)
		}
		if s := f.checkOne(p.elem, one, out>>(p.bits*k)&(1<<p.bits-1)); s != "" {
			return s
		}
	}
	return ""
}

func (f *Form) checkOne(t string, in []uint64, out uint64) string {
	b, format := f.Bound, floats[t]
	a := make([]float64, len(in))
	for i, x := range in {
		if b.Upper {
			x &^= 1<<32 - 1
		}
		a[i] = format.value(x)
		if b.Ftz && math.Abs(a[i]) < format.smallest() {
			a[i] = math.Copysign(0, a[i])
		}
	}
	if b.Domain != nil && !b.Domain(a) {
		return ""
	}
	want, got := b.Exact(a), format.value(out)
	if b.within(format, want, got) {
		return ""
	}
	return fmt.Sprintf("f(%g) is %g (%#x), the exact value is %g", a, got, out, want)
}

func (b *Bound) within(f float, want, got float64) bool {
	if want != want || got != got {
		return want != want && got != got
	}
	if b.Ftz && math.Abs(want) < f.smallest() && got == 0 {
		return true
	}
	if math.IsInf(want, 0) {
		return want == got
	}
	allowed := max(b.ULP*f.ulp(want), b.Rel*math.Abs(want), b.Abs)
	allowed += f.ulp(want) / 2 // allows for rounding the stored result
	if math.IsInf(got, 0) {
		return want > 0 == (got > 0) && math.Abs(want)+allowed >= f.largest()
	}
	return math.Abs(want-got) <= allowed
}

// value returns the number that a bit pattern represents.
func (f float) value(x uint64) float64 {
	e := x >> f.mant & (1<<f.exp - 1)
	m := x & (1<<f.mant - 1)
	bias := 1<<(f.exp-1) - 1
	v := math.Ldexp(float64(m|1<<f.mant), int(e)-bias-int(f.mant))
	switch {
	case e == 1<<f.exp-1 && m != 0:
		return math.NaN()
	case e == 1<<f.exp-1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-bias-int(f.mant))
	}
	if x>>(f.exp+f.mant)&1 != 0 {
		return -v
	}
	return v
}

// smallest and largest return the smallest and the largest positive normal number.
func (f float) smallest() float64 { return f.value(1 << f.mant) }
func (f float) largest() float64  { return f.value((1<<f.exp-1)<<f.mant - 1) }

// ulp returns the distance between neighbouring normal numbers near x.
func (f float) ulp(x float64) float64 {
	x = min(max(math.Abs(x), f.smallest()), f.largest())
	_, e := math.Frexp(x)
	return math.Ldexp(1, e-1-int(f.mant))
}
