package vm

import (
	"math"
	"math/bits"
)

// Products of integers and bits, which are exact, and of doubles.

// integers multiplies 8 and 4 bit integers. Sums wrap, or are limited at the
// end.
func (o *mmaOp) integers(w *mmaWork) {
	for i := range o.m {
		for j := range o.n {
			a, b := o.factors(w, i, j)
			sum := int64(int32(w.c[i*o.n+j]))
			b = b[:len(a)]
			for k := range a {
				sum += int64(a[k].sig * b[k].sig)
			}
			if o.satfinite {
				sum = min(max(sum, math.MinInt32), math.MaxInt32)
			}
			w.d[i*o.n+j] = uint32(sum)
		}
	}
}

// factors returns row i of A and column j of B. If A is sparse, both have only the elements at the
// places that A stores.
func (o *mmaOp) factors(w *mmaWork, i, j int) (a, b []term) {
	b = w.b[j*o.k : (j+1)*o.k]
	if o.sparsity == nil {
		return w.a[i*o.k : (i+1)*o.k], b
	}
	n := o.k / 2
	return w.a[i*n : (i+1)*n], compressed(b, w.places[i*n:(i+1)*n], &w.column)
}

// bits counts ones. The bits of A and B are 32 to a term.
func (o *mmaOp) bits(w *mmaWork) {
	n := o.k / 32
	for i := range o.m {
		for j := range o.n {
			sum := w.c[i*o.n+j]
			for k := range n {
				x, y := uint32(w.a[i*n+k].sig), uint32(w.b[j*n+k].sig)
				if o.and {
					x &= y
				} else {
					x ^= y
				}
				sum += uint32(bits.OnesCount32(x))
			}
			w.d[i*o.n+j] = sum
		}
	}
}

// doubles multiplies doubles: a chain of fused operations along k.
func (o *mmaOp) doubles(w *mmaWork) {
	for i := range o.m {
		for j := range o.n {
			sum := w.c64[i*o.n+j]
			for k := range o.k {
				sum = fmaNaN(w.a64[i*o.k+k], w.b64[j*o.k+k], sum, o.round)
			}
			w.d64[i*o.n+j] = sum
		}
	}
}

// fmaNaN is fmaF64 with the NaNs of the hardware. It returns the first NaN of b, c and a, made
// quiet, or else the negative NaN without payload.
func fmaNaN(a, b, c float64, r rounding) float64 {
	y := fmaF64(a, b, c, r)
	if y == y {
		return y
	}
	for _, x := range [...]float64{b, c, a} {
		if x != x {
			return math.Float64frombits(math.Float64bits(x) | 1<<51)
		}
	}
	return math.Float64frombits(0xfff8 << 48)
}
