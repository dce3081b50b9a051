package vm

import (
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/num"

	"github.com/purecuda/cuda/internal/softfloat"
)

// Sums of floating-point products as an H200 computes them. The ISA does not specify the arithmetic
// of the tensor cores. The rules below reproduce the H200's results bit for bit.
//
// A step adds up to 16 products and C at once. Products are exact. Each addend is aligned to the
// one with the highest exponent. For this purpose, the exponent of a product is the sum of its
// factors' exponents, even if the product of the significands is above 2. Subnormal numbers have
// the lowest exponent of their format. Bits more than 25 bits below the highest exponent are cut
// off. The sum of the remaining bits is exact. It is then truncated to f32, where a value beyond
// the largest number becomes infinite, or rounded to f16, to nearest even. Subnormal inputs and
// results are not flushed. A zero result is always positive. A NaN result has all bits set except
// the sign.

// term is the value sig * 2^exp of an element of A or B. For integers and bits, sig alone is the
// value.
type term struct {
	sig, exp int32
	neg      bool // sign; also set for negative zeros
}

// The exponents of infinities and NaNs.
const (
	expInf = 1 << 20
	expNaN = 1 << 21
)

// keptBits is the number of bits below the highest exponent that a step keeps.
const keptBits = 25

// stepProducts is the maximum number of products that are added at once.
const stepProducts = 16

// tf32Products is the maximum number of products added at once for wmma in tf32.
const tf32Products = 4

type sumRule struct {
	sum      func(r *sumRule, a, b []term, c uint32) uint32
	step     int   // number of products added at once
	fraction int32 // total number of fraction bits in both factors
	f16      bool  // D is f16
	c16      bool  // C is f16
}

func ruleFor(o *mmaOp) sumRule {
	r := sumRule{sum: (*sumRule).steps, step: stepProducts, f16: o.d.typ == elemF16, c16: o.c.typ == elemF16}
	r.fraction = int32(elemFormats[o.a.typ].mant + elemFormats[o.b.typ].mant)
	switch {
	case r.f16 != r.c16 && o.copies == 1:
		r.sum = (*sumRule).mixed
	case o.a.typ == elemTF32 && o.n == 16:
		r.step = tf32Products
	case o.copies > 1:
		r.sum = (*sumRule).withoutTensorCores
	case o.a.typ.fp8():
		r.sum = (*sumRule).throughHalves
	}
	return r
}

var elemFormats = map[elemType]format{
	elemF16: formatF16, elemBF16: formatBF16, elemTF32: {10, 8}, elemE4M3: formatE4M3, elemE5M2: formatE5M2,
}

func (t elemType) decoder() func(x uint32) term {
	switch t {
	case elemS8:
		return func(x uint32) term { return term{sig: int32(int8(x))} }
	case elemS4:
		return func(x uint32) term { return term{sig: int32(x<<28) >> 28} }
	case elemU8, elemU4, elemB1:
		return func(x uint32) term { return term{sig: int32(x)} }
	case elemTF32:
		return func(x uint32) term { return elemFormats[elemTF32].term(x >> 13) }
	case elemE4M3:
		return termE4M3
	}
	return elemFormats[t].term
}

func (f format) term(x uint32) term {
	t := term{sig: int32(x & (1<<f.mant - 1)), neg: x>>(f.mant+f.exp)&1 != 0}
	exp := int32(x >> f.mant & (1<<f.exp - 1))
	bias := int32(1)<<(f.exp-1) - 1
	switch {
	case exp == 1<<f.exp-1 && t.sig != 0:
		t.exp = expNaN
	case exp == 1<<f.exp-1:
		t.sig, t.exp = 1, expInf
	case exp == 0:
		t.exp = 1 - bias - int32(f.mant)
	default:
		t.sig |= 1 << f.mant
		t.exp = exp - bias - int32(f.mant)
	}
	if t.neg {
		t.sig = -t.sig
	}
	return t
}

// termE4M3 is the counterpart of term for e4m3, which has no infinities. Its subnormal numbers are
// normal numbers in f16, and are multiplied as such.
func termE4M3(x uint32) term {
	t := term{int32(8 | x&7), int32(x>>3&15) - 10, x&0x80 != 0}
	switch {
	case x&0x7f == 0x7f:
		return term{sig: 1, exp: expNaN}
	case x&0x78 == 0:
		t.sig, t.exp = int32(x&7), -9
		for t.sig != 0 && t.sig < 8 {
			t.sig, t.exp = 2*t.sig, t.exp-1
		}
	}
	if t.neg {
		t.sig = -t.sig
	}
	return t
}

// termC returns the value of C with the fraction width of f32.
func termC(x uint32, f16 bool) term {
	if !f16 {
		return formatF32.term(x)
	}
	t := formatF16.term(x)
	if t.exp < expInf {
		t.sig, t.exp = t.sig<<13, t.exp-13
	}
	return t
}

// float32 returns the term's value, which must be representable in float32.
func (t term) float32() float32 {
	switch {
	case t.exp == expNaN:
		return float32(math.NaN())
	case t.exp == expInf:
		return float32(math.Inf(int(t.sig)))
	case t.sig == 0 && t.neg:
		return float32(math.Copysign(0, -1))
	}
	return float32(math.Ldexp(float64(t.sig), int(t.exp)))
}

func (o *mmaOp) floats(w *mmaWork) {
	for i := range o.copies * o.m {
		from := i / o.m * o.n // first column of B that belongs to the same product
		for j := range o.n {
			a, b := o.factors(w, i, from+j)
			w.d[i*o.n+j] = o.sum.sum(&o.sum, a, b, w.c[i*o.n+j])
		}
	}
}

// steps computes the sum in steps, each rounded to the type of D.
func (r *sumRule) steps(a, b []term, c uint32) uint32 {
	t := termC(c, r.c16)
	for {
		n := min(r.step, len(a))
		x := r.add(a[:n], b[:n], t)
		if a, b = a[n:], b[n:]; len(a) == 0 {
			return x
		}
		t = termC(x, r.f16)
	}
}

// mixed computes the sum in f32 if exactly one of C and D has type f16.
func (r *sumRule) mixed(a, b []term, c uint32) uint32 {
	q := sumRule{step: r.step, fraction: r.fraction}
	if r.c16 {
		return q.steps(a, b, math.Float32bits(halfToF32(c, false)))
	}
	sum := q.steps(a, b, c)
	return halfFromFloat64(float64(math.Float32frombits(sum)))
}

// throughHalves computes the sum of products of 8-bit numbers, for which an H200 has no
// instruction. It converts the numbers to f16 and adds their products in two steps. One step covers
// the first and third pair in each register, and the other step covers the remaining pairs. C is
// added separately afterwards.
func (r *sumRule) throughHalves(a, b []term, c uint32) uint32 {
	var x, y [2 * stepProducts]term
	for k := range a {
		at := k/4*2 + k&1 + k>>1&1*len(a)/2
		x[at], y[at] = a[k], b[k]
	}
	q := *r
	q.c16, q.step = r.f16, len(a)/2
	sum := q.steps(x[:len(a)], y[:len(a)], 0)
	if r.f16 {
		return uint32(num.F16FromBits(uint16(sum)).Add(num.F16FromBits(uint16(c))).Bits())
	}
	return f32Pattern(math.Float32frombits(sum) + math.Float32frombits(c))
}

// withoutTensorCores computes the sum for mma.m8n8k4 in f16. Since sm_80, this mma consists of
// ordinary instructions.
func (r *sumRule) withoutTensorCores(a, b []term, c uint32) uint32 {
	var x, y [4]float32
	for k := range x {
		x[k], y[k] = a[k].float32(), b[k].float32()
	}
	sum := math.Float32frombits(c)
	if r.c16 {
		sum = halfToF32(c, false)
	}
	if !r.f16 {
		f := float32(0)
		for k := range x {
			f = softfloat.FMAF32(x[k], y[k], f)
		}
		return f32Pattern(sum + f)
	}
	sum += softfloat.FMAF32(x[1], y[1], float32(x[0]*y[0]))
	sum += softfloat.FMAF32(x[3], y[3], float32(x[2]*y[2]))
	return halfFromFloat64(float64(sum))
}

func f32Pattern(f float32) uint32 {
	if f != f {
		return canonicalNaN
	}
	return math.Float32bits(f)
}

// add performs one step of a matrix product. It returns the sum of c and the products of a and b as
// a bit pattern of D's type.
func (r *sumRule) add(a, b []term, c term) uint32 {
	var sigs [stepProducts]int64
	var exps [stepProducts]int32
	top, wild := int32(math.MinInt32), c.exp
	for k := range a {
		s, e := int64(a[k].sig)*int64(b[k].sig), a[k].exp+b[k].exp
		sigs[k], exps[k] = s, e
		wild = max(wild, e)
		if s != 0 {
			top = max(top, e+r.fraction)
		}
	}
	if wild >= expInf/2 {
		return r.wildSum(a, b, c)
	}
	if c.sig != 0 {
		top = max(top, c.exp+23)
	}
	low := top - keptBits
	sum := shifted(int64(c.sig), int(c.exp-low))
	for k := range a {
		sum += shifted(sigs[k], int(exps[k]-low))
	}
	return r.pattern(sum, int(low))
}

// pattern returns sum * 2^low as a bit pattern of D's type.
func (r *sumRule) pattern(sum int64, low int) uint32 {
	x := uint32(0)
	if r.f16 {
		x = formatF16.encodeInt(sum, low, roundRN)
	} else {
		x = truncateToF32(sum, low)
	}
	if x&(r.sign()-1) == 0 {
		return 0
	}
	return x
}

func (r *sumRule) sign() uint32 {
	if r.f16 {
		return 1 << 15
	}
	return 1 << 31
}

// shifted returns x * 2^n, truncated towards zero.
func shifted(x int64, n int) int64 {
	switch {
	case x == 0:
		return 0
	case n >= 0:
		return x << n
	case n < -62:
		return 0
	case x < 0:
		return -(-x >> -n)
	}
	return x >> -n
}

// wildSum performs a step whose operands include infinities or NaNs.
func (r *sumRule) wildSum(a, b []term, c term) uint32 {
	f := formatF32
	if r.f16 {
		f = formatF16
	}
	inf, nan := softfloat.Overflow(f.mant, f.exp, false, roundRN), f.nan()
	var pos, neg bool
	note := func(negative bool) { pos, neg = pos || !negative, neg || negative }
	for k := range a {
		x, y := a[k], b[k]
		if max(x.exp, y.exp) < expInf {
			continue
		}
		if max(x.exp, y.exp) >= expNaN || x.sig == 0 || y.sig == 0 {
			return nan
		}
		note(x.neg != y.neg)
	}
	if c.exp == expInf {
		note(c.neg)
	}
	switch {
	case c.exp == expNaN || pos && neg:
		return nan
	case neg:
		return inf | 1<<(f.mant+f.exp)
	}
	return inf
}

// truncateToF32 returns sig * 2^exp truncated to f32. A value beyond the largest number becomes
// infinite.
func truncateToF32(sig int64, exp int) uint32 {
	if sig != 0 && bits.Len64(uint64(max(sig, -sig)))+exp > 128 {
		return 0x7f800000 | b2u(sig < 0)<<31
	}
	return formatF32.encodeInt(sig, exp, roundRZ)
}

func (f format) encodeInt(sig int64, exp int, r rounding) uint32 {
	if sig == 0 {
		return 0
	}
	neg := sig < 0
	m := uint64(max(sig, -sig))
	sign := b2u(neg) << (f.mant + f.exp)
	top := bits.Len64(m) - 1
	biased := exp + top + 1<<(f.exp-1) - 1
	shift := top - int(f.mant)
	if biased < 1 {
		shift += 1 - biased
		biased = 1
	}
	var q uint64
	if shift <= 0 {
		q = m << -shift
	} else {
		q = softfloat.RoundShift(m, uint(shift), neg, r)
	}
	out := uint64(biased-1)<<f.mant + q // a carry increments the exponent
	if out >= (1<<f.exp-1)<<f.mant {
		return sign | softfloat.Overflow(f.mant, f.exp, neg, r)
	}
	return sign | uint32(out)
}

// The same sums, computed with the host's float64 arithmetic. In float64, a product of two elements
// is exact, and so is its scaling by a power of two. The conversion to an integer truncates towards
// zero, just as a step cuts off the bits below its lowest bit. Products with infinities or NaNs use
// the general method.

// quickFactors holds the elements of a matrix. The index along k varies fastest.
type quickFactors struct {
	value [1024]float64
	exp   [1024]int32 // exponent of the significand's highest bit, also for subnormal numbers
}

// expZero is the exponent of zeros. It is so low that a zero product never has the highest
// exponent.
const expZero = -expInf

// power returns 2^n. n must be a valid float64 exponent.
func power(n int32) float64 { return math.Float64frombits(uint64(1023+n) << 52) }

// gather collects the elements of a fragment. If any element is infinite or a NaN, it returns
// false.
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

// gather32 collects the elements of a fragment with one element per register.
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

// put stores the value of a bit pattern and reports whether it is finite.
func (q *quickFactors) put(at uint16, x uint32, f format) bool {
	at &= 1023
	top := uint32(1)<<(f.exp&31) - 1
	e := x >> (f.mant & 31) & top
	if e-1 < top-1 { // x is neither subnormal nor infinite
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

func (o *mmaOp) quick() bool {
	return o.copies == 1 && o.sparsity == nil && !o.a.typ.integer() && o.a.typ != elemB1 && !o.a.typ.fp8() && !o.b.typ.fp8()
}

// quickFloats computes the matrix product from the gathered elements. It returns false if an
// infinity or a NaN occurs.
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
				x = halfFromFloat64(float64(math.Float32frombits(x)))
			}
			w.d[at] = x
		}
	}
	return true
}

// quickSteps adds k products that begin with elements i of A and j of B, in steps rounded to D's
// type.
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

// quickAdd performs one step with n products. n must be a multiple of 4, and all operands except c
// must be finite.
func (r *sumRule) quickAdd(a, b *quickFactors, i, j, n int, c term) (x uint32, ok bool) {
	if c.exp >= expInf {
		return 0, false
	}
	top := highest(a.exp[i:i+n], b.exp[j:j+n])
	if c.sig != 0 {
		top = max(top, c.exp+23)
	}
	if top < expZero/2 {
		return 0, true // all products are zero
	}
	low := top - keptBits
	sum := int64(float64(c.sig) * power(c.exp-low))
	sum += scaled(a.value[i:i+n], b.value[j:j+n], power(-low))
	return r.pattern(sum, int(low)), true
}

// highest returns the largest sum of corresponding exponents. The length of a and b must be a
// multiple of 4.
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

// scaled multiplies each product by scale, truncates it to an integer, and returns the sum. The
// number of products must be a multiple of 4.
func scaled(a, b []float64, scale float64) (sum int64) {
	for len(a) >= 4 && len(b) >= 4 {
		p, q := (*[4]float64)(a), (*[4]float64)(b)
		sum += int64(p[0]*q[0]*scale) + int64(p[1]*q[1]*scale)
		sum += int64(p[2]*q[2]*scale) + int64(p[3]*q[3]*scale)
		a, b = a[4:], b[4:]
	}
	return sum
}
