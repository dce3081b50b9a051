package vm

import "math"

// The sums of op_mma_float.go, computed with the host's doubles. A product of two elements is exact
// in a double, and so is scaling it by a power of two. The conversion to an integer truncates
// towards zero, just as a step does with the bits below its lowest one. Products with infinities or
// NaNs use the general method.

// quickFactors holds a matrix's elements, k running fastest.
type quickFactors struct {
	value [1024]float64
	exp   [1024]int32 // of the highest bit of the significand, subnormal or not
}

// expZero is used as the exponent of zeros, so that their products never have the highest exponent.
const expZero = -expInf

// power returns 2^n, for an n that is valid as a double's exponent.
func power(n int32) float64 { return math.Float64frombits(uint64(1023+n) << 52) }

// gather collects the elements of a fragment. ok is false if one is infinite or a NaN.
//
//go:norace
func (q *quickFactors) gather(w *warp, f *fragment, regs []uint32) (ok bool) {
	if f.typ == elemTF32 {
		return q.gather32(w, f, regs)
	}
	format := elemFormats[f.typ]
	ok = true
	for r := range f.regs {
		for lane, x := range &w.r32[regs[r]] {
			at := (*[2]uint16)(f.at[lane*f.each+2*r:])
			ok = q.put(at[0], x&0xffff, format) && q.put(at[1], x>>16, format) && ok
		}
	}
	return ok
}

// gather32 is gather for one element in each register.
//
//go:norace
func (q *quickFactors) gather32(w *warp, f *fragment, regs []uint32) (ok bool) {
	format := elemFormats[f.typ]
	ok = true
	for r := range f.regs {
		for lane, x := range &w.r32[regs[r]] {
			ok = q.put(f.at[lane*f.each+r], x>>13, format) && ok
		}
	}
	return ok
}

// put stores the value of a pattern and reports whether it is finite.
func (q *quickFactors) put(at uint16, x uint32, f format) bool {
	at &= 1023
	top := uint32(1)<<(f.exp&31) - 1
	e := x >> (f.mant & 31) & top
	if e-1 < top-1 { // neither subnormal nor infinite
		bias := int32(top >> 1)
		m := x & (1<<(f.mant&31) - 1)
		sign := uint64(x>>((f.mant+f.exp)&31)) << 63
		q.value[at] = math.Float64frombits(sign | uint64(int32(e)-bias+1023)<<52 | uint64(m)<<((52-f.mant)&63))
		q.exp[at] = int32(e) - bias
		return true
	}
	t := f.term(x)
	q.value[at], q.exp[at] = 0, expZero
	if t.sig != 0 && t.exp < expInf {
		q.value[at], q.exp[at] = float64(t.sig)*power(t.exp), t.exp+int32(f.mant)
	}
	return t.exp < expInf
}

// quick reports whether the sums of the form can be computed here.
func (o *mmaOp) quick() bool {
	return o.copies == 1 && o.sparsity == nil && !o.a.typ.integer() && o.a.typ != elemB1 && !o.a.typ.fp8() && !o.b.typ.fp8()
}

// quickFloats is floats for a quick form, using the elements that were gathered. ok is false if
// infinities or NaNs occur on the way.
func (o *mmaOp) quickFloats(w *mmaWork) (ok bool) {
	rule, mixed := o.sum, o.sum.f16 != o.sum.c16
	if mixed {
		rule.f16, rule.c16 = false, false
	}
	for i := range o.m {
		for j := range o.n {
			at := i*o.n + j
			c := w.c[at]
			if mixed && o.sum.c16 {
				c = math.Float32bits(halfToF32(c, false))
			}
			x, ok := rule.quickSteps(w, i*o.k, j*o.k, o.k, c)
			if !ok {
				return false
			}
			if mixed && o.sum.f16 {
				x = formatF16.encode(float64(math.Float32frombits(x)), roundRN)
			}
			w.d[at] = x
		}
	}
	return true
}

// quickSteps is steps for k products, beginning with elements i of A and j of B.
func (r *sumRule) quickSteps(w *mmaWork, i, j, k int, c uint32) (x uint32, ok bool) {
	t := termC(c, r.c16)
	for {
		n := min(r.step, k)
		if x, ok = r.quickAdd(&w.quickA, &w.quickB, i, j, n, t); !ok {
			return 0, false
		}
		if i, j, k = i+n, j+n, k-n; k == 0 {
			return x, true
		}
		t = termC(x, r.f16)
	}
}

// quickAdd is add for n products, where n is a multiple of 4. All operands except c are known to be
// finite.
func (r *sumRule) quickAdd(a, b *quickFactors, i, j, n int, c term) (x uint32, ok bool) {
	if c.exp >= expInf {
		return 0, false
	}
	top := highest(a.exp[i:i+n], b.exp[j:j+n])
	if c.sig != 0 {
		top = max(top, c.exp+23)
	}
	if top < expZero/2 {
		return 0, true // zeros alone
	}
	low := top - keptBits
	sum := int64(float64(c.sig) * power(c.exp-low))
	sum += scaled(a.value[i:i+n], b.value[j:j+n], power(-low))
	return r.pattern(sum, int(low)), true
}

// highest returns the highest sum of two exponents. The number of exponents is a multiple of 4.
func highest(a, b []int32) int32 {
	x, y := int32(math.MinInt32), int32(math.MinInt32)
	for len(a) >= 4 && len(b) >= 4 {
		p, q := (*[4]int32)(a), (*[4]int32)(b)
		x, y = max(x, p[0]+q[0]), max(y, p[1]+q[1])
		x, y = max(x, p[2]+q[2]), max(y, p[3]+q[3])
		a, b = a[4:], b[4:]
	}
	return max(x, y)
}

// scaled returns the sum of the products, each times scale and truncated to an integer. The number
// of products is a multiple of 4.
func scaled(a, b []float64, scale float64) (sum int64) {
	for len(a) >= 4 && len(b) >= 4 {
		p, q := (*[4]float64)(a), (*[4]float64)(b)
		sum += int64(p[0]*q[0]*scale) + int64(p[1]*q[1]*scale)
		sum += int64(p[2]*q[2]*scale) + int64(p[3]*q[3]*scale)
		a, b = a[4:], b[4:]
	}
	return sum
}
