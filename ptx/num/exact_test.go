package num_test

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/ptx/num"
)

// A layout describes a format. The tests use it to decode and to round numbers.
type layout struct {
	mant, exp int
	finite    bool // no infinities; conversions saturate
	saturates bool
}

var (
	f16Layout  = layout{mant: 10, exp: 5}
	bf16Layout = layout{mant: 7, exp: 8}
	e4m3Layout = layout{mant: 3, exp: 4, finite: true, saturates: true}
	e5m2Layout = layout{mant: 2, exp: 5, saturates: true}
)

func (l layout) bias() int    { return 1<<(l.exp-1) - 1 }
func (l layout) sign() uint16 { return 1 << (l.mant + l.exp) }
func (l layout) top() uint16  { return l.sign() - 1<<l.mant } // bits of infinity
func (l layout) count() int   { return 2 << (l.mant + l.exp) }
func (l layout) nan() uint16  { return l.sign() - 1 }
func (l layout) isNaN(x uint16) bool {
	x &= l.sign() - 1
	return l.finite && x == l.nan() || !l.finite && x > l.top()
}

// largest returns the bits of the largest number.
func (l layout) largest() uint16 {
	if l.finite {
		return l.nan() - 1
	}
	return l.top() - 1
}

// magnitude returns the value of the bits without the sign. Above the largest number, the values
// continue as if the exponent were not limited.
func (l layout) magnitude(x uint16) float64 {
	e, m := int(x>>l.mant), int(x)&(1<<l.mant-1)
	if e == 0 {
		return math.Ldexp(float64(m), 1-l.bias()-l.mant)
	}
	return math.Ldexp(float64(m+1<<l.mant), e-l.bias()-l.mant)
}

func (l layout) value(x uint16) float64 {
	v := math.NaN()
	switch m := x & (l.sign() - 1); {
	case l.isNaN(x):
	case m > l.largest():
		v = math.Inf(1)
	default:
		v = l.magnitude(m)
	}
	if x&l.sign() != 0 {
		return -v
	}
	return v
}

// nearest reports whether x is the magnitude nearest to an exact positive number. cmp compares the
// exact number with a float64.
func (l layout) nearest(x uint16, cmp func(float64) int) bool {
	last := l.largest()
	if !l.finite && !l.saturates {
		last = l.top()
	}
	if x > last {
		return false
	}
	if x > 0 {
		if c := cmp((l.magnitude(x-1) + l.magnitude(x)) / 2); c < 0 || c == 0 && x&1 != 0 {
			return false
		}
	}
	if x < last {
		if c := cmp((l.magnitude(x) + l.magnitude(x+1)) / 2); c > 0 || c == 0 && x&1 != 0 {
			return false
		}
	}
	return true
}

// A kind is a type under test.
type kind struct {
	layout
	name string
	from func(float64) uint16 // the function that rounds a float64
	f32  func(float32) uint16
	to   func(uint16) float64
}

func kinds() []kind {
	return []kind{
		{f16Layout, "F16", func(f float64) uint16 { return num.F16FromFloat64(f).Bits() },
			func(f float32) uint16 { return num.ToF16(f).Bits() }, func(b uint16) float64 { return num.F16FromBits(b).Float64() }},
		{bf16Layout, "BF16", func(f float64) uint16 { return num.BF16FromFloat64(f).Bits() },
			func(f float32) uint16 { return num.ToBF16(f).Bits() }, func(b uint16) float64 { return num.BF16FromBits(b).Float64() }},
		{e4m3Layout, "E4M3", func(f float64) uint16 { return uint16(num.E4M3FromFloat64(f).Bits()) },
			func(f float32) uint16 { return uint16(num.ToE4M3(f).Bits()) },
			func(b uint16) float64 { return num.E4M3FromBits(uint8(b)).Float64() }},
		{e5m2Layout, "E5M2", func(f float64) uint16 { return uint16(num.E5M2FromFloat64(f).Bits()) },
			func(f float32) uint16 { return uint16(num.ToE5M2(f).Bits()) },
			func(b uint16) float64 { return num.E5M2FromBits(uint8(b)).Float64() }},
	}
}

func each(t *testing.T, f func(*testing.T, kind)) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { f(t, k) })
	}
}

func TestEveryValueIsDecodedAndEncoded(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		for i := range k.count() {
			x := uint16(i)
			want, got := k.value(x), k.to(x)
			if got != want && (got == got || want == want) || math.Signbit(got) != math.Signbit(want) {
				t.Fatalf("%#x is %v, want %v", x, got, want)
			}
			back := x
			switch {
			case k.isNaN(x):
				back = k.nan()
			case math.IsInf(want, 0) && k.saturates:
				back = x - 1
			}
			if y := k.from(want); y != back {
				t.Fatalf("%#x became %#x through float64", x, y)
			}
			if y := k.f32(float32(want)); y != back {
				t.Fatalf("%#x became %#x through float32", x, y)
			}
		}
	})
}

// Between each pair of adjacent numbers, the test rounds the midpoint, the closest float64 and
// float32 numbers to the midpoint and to the two numbers, and random numbers.
func TestNumbersBetweenNeighborsAreRounded(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		r := rand.New(rand.NewPCG(1, 2))
		last := k.largest() + 1
		if k.finite {
			last = k.largest() // the following bits are NaNs, but the loop also tries numbers above the largest one
		}
		for x := range last + 1 {
			lo, hi := k.magnitude(x), k.magnitude(x+1)
			middle := (lo + hi) / 2
			list := []float64{lo, middle, hi, math.Nextafter(middle, 0), math.Nextafter(middle, 1e300), math.Nextafter(hi, 0),
				math.Nextafter(lo, 1e300), lo + (hi-lo)*r.Float64(), lo + (hi-lo)*r.Float64()}
			if m := float32(middle); !math.IsInf(float64(m), 0) {
				list = append(list, float64(math.Nextafter32(m, 0)), float64(math.Nextafter32(m, math.MaxFloat32)))
			}
			for _, f := range list {
				for _, f := range []float64{f, -f} {
					rounded(t, k, f)
				}
			}
		}
		for _, f := range []float64{math.MaxFloat32, math.MaxFloat64, math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, 1e-42} {
			rounded(t, k, f)
			rounded(t, k, -f)
		}
	})
}

func rounded(t *testing.T, k kind, f float64) {
	t.Helper()
	sign := uint16(0)
	if math.Signbit(f) {
		sign = k.sign()
	}
	cmp := func(x float64) int { return compare(math.Abs(f), x) }
	if got := k.from(f); got&k.sign() != sign || !k.nearest(got&^k.sign(), cmp) {
		t.Fatalf("%v (%x) became %#x", f, f, got)
	}
	if s := float32(f); float64(s) == f {
		if got := k.f32(s); got != k.from(f) {
			t.Fatalf("%v became %#x from float32, %#x from float64", f, got, k.from(f))
		}
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// half lists the methods that F16 and BF16 have in common.
type half[T any] interface {
	comparable
	num.F16 | num.BF16
	Add(T) T
	Sub(T) T
	Mul(T) T
	Div(T) T
	FMA(x, y T) T
	Sqrt() T
	Neg() T
	Abs() T
	Min(T) T
	Max(T) T
	Less(T) bool
	LessEqual(T) bool
	Equal(T) bool
	Bits() uint16
	Float64() float64
	IsNaN() bool
	IsInf(int) bool
	Signbit() bool
}

// A checker checks results of a type against exact arithmetic.
type checker[T half[T]] struct {
	*testing.T
	layout
	of func(uint16) T
}

func exactly(x float64) *big.Float { return new(big.Float).SetPrec(700).SetFloat64(x) }

func isFinite(xs ...float64) bool {
	for _, x := range xs {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// is checks a result. special is the result computed in float64. It is correct if it is a NaN or
// zero, or if it is an infinity and the operands are infinite. Otherwise, cmp compares the exact
// result with a float64.
func (c checker[T]) is(what string, got T, exact bool, special float64, cmp func(float64) int, operands ...T) {
	c.Helper()
	bits, ok := got.Bits(), false
	switch {
	case special != special:
		ok = bits == c.nan()
	case exact:
		want := uint16(0)
		if math.IsInf(special, 0) {
			want = c.top()
		}
		if math.Signbit(special) {
			want |= c.sign()
		}
		ok = bits == want
	default:
		neg := cmp(0) < 0
		at := cmp
		if neg {
			at = func(x float64) int { return -cmp(-x) }
		}
		ok = (bits&c.sign() != 0) == neg && c.nearest(bits&^c.sign(), at)
	}
	if !ok {
		list := []uint16{}
		for _, x := range operands {
			list = append(list, x.Bits())
		}
		c.Fatalf("%T %s of %v (%#x) is %v (%#x)", got, what, operands, list, got, bits)
	}
}

func (c checker[T]) pair(a, b T) {
	x, y := a.Float64(), b.Float64()
	ends := !isFinite(x, y)
	sum := func(y float64) func(float64) int {
		return func(m float64) int {
			s := exactly(x)
			return s.Add(s, exactly(y)).Cmp(exactly(m))
		}
	}
	c.is("sum", a.Add(b), ends || x+y == 0, x+y, sum(y), a, b)
	c.is("difference", a.Sub(b), ends || x-y == 0, x-y, sum(-y), a, b)
	c.is("product", a.Mul(b), ends || x == 0 || y == 0, x*y, func(m float64) int {
		return compare(x*y, m) // the product is exact
	}, a, b)
	c.is("quotient", a.Div(b), ends || x == 0 || y == 0, x/y, func(m float64) int {
		p := exactly(m)
		n := exactly(x).Cmp(p.Mul(p, exactly(y)))
		if y < 0 {
			return -n
		}
		return n
	}, a, b)
	c.order(a, b, x, y)
}

func (c checker[T]) order(a, b T, x, y float64) {
	c.Helper()
	if a.Less(b) != (x < y) || a.LessEqual(b) != (x <= y) || a.Equal(b) != (x == y) {
		c.Fatalf("%T: comparing %v and %v: %v %v %v", a, a, b, a.Less(b), a.LessEqual(b), a.Equal(b))
	}
	low, high := a, b
	switch {
	case x != x && y != y:
		low, high = c.of(c.nan()), c.of(c.nan())
	case x != x:
		low = b
	case y != y:
		high = a
	case y < x || x == y && math.Signbit(y):
		low, high = b, a
	}
	if a.Min(b) != low || a.Max(b) != high {
		c.Fatalf("%T: min and max of %v and %v are %v and %v", a, a, b, a.Min(b), a.Max(b))
	}
}

func (c checker[T]) triple(a, b, d T) {
	x, y, z := a.Float64(), b.Float64(), d.Float64()
	p := x * y // exact
	c.is("fma", a.FMA(b, d), !isFinite(p, z) || p+z == 0, p+z, func(m float64) int {
		s := exactly(p)
		return s.Add(s, exactly(z)).Cmp(exactly(m))
	}, a, b, d)
}

func (c checker[T]) one(a T) {
	x := a.Float64()
	c.is("root", a.Sqrt(), !isFinite(x) || x <= 0, math.Sqrt(x), func(m float64) int {
		if m < 0 {
			return 1
		}
		return compare(x, m*m) // the square of a midpoint is exact in float64
	}, a)
	neg, abs := c.of(a.Bits()^c.sign()), c.of(a.Bits()&^c.sign())
	if x != x {
		neg, abs = c.of(c.nan()), c.of(c.nan())
	}
	if a.Neg() != neg || a.Abs() != abs {
		c.Fatalf("%T %v: negated %v, magnitude %v", a, a, a.Neg(), a.Abs())
	}
	if a.IsNaN() != (x != x) || a.Signbit() != math.Signbit(x) {
		c.Fatalf("%T %#x: NaN %v, sign %v", a, a.Bits(), a.IsNaN(), a.Signbit())
	}
	for sign := -1; sign <= 1; sign++ {
		if a.IsInf(sign) != math.IsInf(x, sign) || num.IsInf(a, sign) != math.IsInf(x, sign) {
			c.Fatalf("%T %#x: infinite with sign %d: %v", a, a.Bits(), sign, a.IsInf(sign))
		}
	}
}

// specials returns numbers at which the behavior of the format changes, with both signs.
func (c checker[T]) specials() (list []T) {
	one := uint16(c.bias()) << c.mant
	for _, b := range []uint16{0, 1, 2, 3, 1<<c.mant - 1, 1 << c.mant, 1<<c.mant + 1, one - 1, one, one + 1, one + 1<<c.mant,
		one + 3<<(c.mant-1), c.top() - 1<<c.mant, c.top() - 2, c.top() - 1, c.top(), c.top() + 1, c.nan()} {
		list = append(list, c.of(b), c.of(b|c.sign()))
	}
	return list
}

func arithmetic[T half[T]](t *testing.T, l layout, of func(uint16) T) {
	c := checker[T]{t, l, of}
	for i := range 1 << 16 {
		c.one(of(uint16(i)))
	}
	list := c.specials()
	for _, a := range list {
		for _, b := range list {
			c.pair(a, b)
			for _, d := range list {
				c.triple(a, b, d)
			}
		}
	}
	n := 1 << 20
	if testing.Short() {
		n = 1 << 16
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		a, b, d := of(uint16(r.Uint32())), of(uint16(r.Uint32())), of(uint16(r.Uint32()))
		if i&1 != 0 {
			// Operands of similar size have sums, products and quotients in every range.
			b = of(a.Bits() ^ uint16(r.Uint32N(8<<l.mant)))
		}
		c.pair(a, b)
		c.triple(a, b, d)
		c.triple(a, b, a.Mul(b).Neg())
		// The product is close to the midpoint between two numbers, and d determines the direction
		// of rounding.
		middle := of(l.sign()&a.Bits() | uint16(l.bias())<<l.mant | 1<<uint(r.Uint32N(uint32(l.mant))))
		c.triple(middle, middle.Neg(), d)
	}
}

var every = flag.Bool("every", false, "check sums, products and quotients of every pair of numbers, in several minutes")

// The test covers all pairs of finite numbers, up to the signs and the order of the operands. The
// comparisons with the midpoints between neighbors are exact in float64.
func everyPair[T half[T]](t *testing.T, l layout, of func(uint16) T) {
	check := func(ok bool, a, b, got T) {
		if !ok {
			t.Fatalf("%v and %v: %v", a, b, got)
		}
	}
	for i := range l.top() {
		a := of(i)
		x := a.Float64()
		for j := range l.top() {
			b := of(j)
			y := b.Float64()
			if j <= i {
				p := a.Mul(b)
				check(l.nearest(p.Bits(), func(m float64) int { return compare(x*y, m) }), a, b, p)
				for _, z := range [2]float64{y, -y} {
					s := a.Sub(b)
					if z == y {
						s = a.Add(b)
					}
					sum := x + z
					t := sum - x // the error of the sum, by Knuth's two-sum
					e := float64(x-float64(sum-t)) + float64(z-t)
					check(l.nearest(s.Bits(), func(m float64) int {
						if sum == m {
							return compare(e, 0)
						}
						return compare(sum, m)
					}), a, b, s)
				}
			}
			if j > 0 {
				q := a.Div(b)
				check(l.nearest(q.Bits(), func(m float64) int { return compare(x, m*y) }), a, b, q)
			}
		}
	}
}

func TestEveryPair(t *testing.T) {
	if !*every {
		t.Skip("runs with -every")
	}
	t.Run("F16", func(t *testing.T) { t.Parallel(); everyPair(t, f16Layout, num.F16FromBits) })
	t.Run("BF16", func(t *testing.T) { t.Parallel(); everyPair(t, bf16Layout, num.BF16FromBits) })
}

func TestArithmeticIsRoundedOnce(t *testing.T) {
	t.Run("F16", func(t *testing.T) { arithmetic(t, f16Layout, num.F16FromBits) })
	t.Run("BF16", func(t *testing.T) { arithmetic(t, bf16Layout, num.BF16FromBits) })
}
