package vm_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// f32s returns random operands, and operands that are likely to reveal errors in f32 instructions.
func f32s(seed uint64) []float32 {
	v := []float32{0, negZero, 1, -1, 1.5, 2, 3, 0.1, -0.1, 1e-38, -1e-38, 1e-45, -3e-45, 0x1p-126, 0x1.fffffcp-127,
		math.MaxFloat32, -math.MaxFloat32, 0x1p-149, 0x1.000002p0, 0x1.fffffep-1, 0x1p24, 0x1.000002p24, 16777215, 1e10, -1e-10,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	r := rand.New(rand.NewPCG(seed, 3))
	for range 24 {
		v = append(v, math.Float32frombits(r.Uint32()), float32(r.NormFloat64()))
	}
	return v
}

func f64s(seed uint64) []float64 {
	v := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, -3, 0x1p-1022, 0x1p-1074, -0x1p-1074, math.MaxFloat64, -math.MaxFloat64, 0x1.0000000000001p0, 0x1.fffffffffffffp-1,
		0x1p53, 1e300, -1e-300, 1e-160, math.Inf(1), math.Inf(-1), math.NaN()}
	r := rand.New(rand.NewPCG(seed, 4))
	for range 16 {
		v = append(v, math.Float64frombits(r.Uint64()), r.NormFloat64())
	}
	return v
}

func isFinite(xs ...float64) bool {
	for _, x := range xs {
		if x != x || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(x) }

// rounded rounds an exact value in mode "rn", "rz", "rm" or "rp". near must round to nearest. step
// must return the next number in a given direction.
func rounded[T float32 | float64](x *big.Float, mode string, near func(*big.Float) T, step func(T, float64) T) T {
	y := near(x)
	if mode == "rn" {
		return y
	}
	cmp := 0
	if math.IsInf(float64(y), 1) {
		cmp = -1
	} else if math.IsInf(float64(y), -1) {
		cmp = 1
	} else {
		cmp = x.Cmp(bigOf(float64(y)))
	}
	down := mode == "rm" || mode == "rz" && x.Sign() > 0
	up := mode == "rp" || mode == "rz" && x.Sign() < 0
	switch {
	case down && cmp < 0:
		return step(y, math.Inf(-1))
	case up && cmp > 0:
		return step(y, math.Inf(1))
	}
	return y
}

func near32(x *big.Float) float32 { v, _ := x.Float32(); return v }
func near64(x *big.Float) float64 { v, _ := x.Float64(); return v }

func step32(x float32, to float64) float32 { return math.Nextafter32(x, float32(to)) }

// exactZero returns the zero with the correct sign for a sum whose terms cancel exactly.
func exactZero(a, b float64, mode string) float64 {
	if mode == "rm" && (math.Signbit(a) || math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return a + b
}

func reference[T float32 | float64](op, mode string, a, b float64, near func(*big.Float) T, step func(T, float64) T) T {
	if !isFinite(a, b) || op == "div" && b == 0 {
		switch op {
		case "add":
			return T(a + b)
		case "sub":
			return T(a - b)
		case "mul":
			return T(a * b)
		}
		return T(a / b)
	}
	x := bigOf(a)
	switch op {
	case "sub":
		b = -b
		fallthrough
	case "add":
		x.Add(x, bigOf(b))
		if x.Sign() == 0 {
			return T(exactZero(a, b, mode))
		}
	case "mul":
		if a == 0 || b == 0 {
			return T(a * b)
		}
		x.Mul(x, bigOf(b))
	case "div":
		if a == 0 {
			return T(a / b)
		}
		x.Quo(x, bigOf(b))
	}
	return rounded(x, mode, near, step)
}

func TestFloat32InAllRoundingModes(t *testing.T) {
	a, b := pairs(f32s(1), f32s(2))
	for _, op := range []string{"add", "sub", "mul", "div"} {
		for _, mode := range []string{"rn", "rz", "rm", "rp"} {
			got := eval2[float32](t, "f32", "f32", "f32", op+"."+mode+".f32 %d, %a, %b;", a, b)
			for i := range a {
				want := reference(op, mode, float64(a[i]), float64(b[i]), near32, step32)
				if !sameF32(got[i], want) {
					t.Errorf("%s.%s of %x and %x is %x, want %x", op, mode, a[i], b[i], got[i], want)
				}
			}
		}
	}
}

func TestFloat64InAllRoundingModes(t *testing.T) {
	a, b := pairs(f64s(1), f64s(2))
	for _, op := range []string{"add", "sub", "mul", "div"} {
		for _, mode := range []string{"rn", "rz", "rm", "rp"} {
			got := eval2[float64](t, "f64", "f64", "f64", op+"."+mode+".f64 %d, %a, %b;", a, b)
			for i := range a {
				want := reference(op, mode, a[i], b[i], near64, math.Nextafter)
				if !sameF64(got[i], want) {
					t.Errorf("%s.%s of %x and %x is %x, want %x", op, mode, a[i], b[i], got[i], want)
				}
			}
		}
	}
}

// fusedReference returns a*b+c, rounded once.
func fusedReference[T float32 | float64](mode string, a, b, c float64, near func(*big.Float) T, step func(T, float64) T) T {
	if !isFinite(a, b, c) {
		return T(math.FMA(a, b, c))
	}
	x := bigOf(a)
	x.Mul(x, bigOf(b)).Add(x, bigOf(c))
	if x.Sign() == 0 {
		p := math.Copysign(1, a) * math.Copysign(1, b)
		if a == 0 || b == 0 {
			return T(exactZero(0*p, c, mode))
		}
		return T(exactZero(p, -p, mode))
	}
	return rounded(x, mode, near, step)
}

func TestFusedMultiplyAdd(t *testing.T) {
	a, b, c := triples(f32s(5), 3000)
	// Add operands whose sum is close to a tie. For these, rounding twice would give a wrong
	// result.
	r := rand.New(rand.NewPCG(8, 8))
	for range 3000 {
		x, y := float32(1+float32(r.IntN(1<<12))*0x1p-12), float32(1+float32(r.IntN(1<<12))*0x1p-12)
		z := float32(math.Ldexp(float64(r.IntN(1<<24)), r.IntN(60)-40))
		a, b, c = append(a, x, x*0x1p-60), append(b, y, y*0x1p-70), append(c, z, z*0x1p-130)
	}
	for _, mode := range []string{"rn", "rz", "rm", "rp"} {
		got := eval3[float32](t, "f32", "f32", "f32", "f32", "fma."+mode+".f32 %d, %a, %b, %c;", a, b, c)
		for i := range a {
			want := fusedReference(mode, float64(a[i]), float64(b[i]), float64(c[i]), near32, step32)
			if !sameF32(got[i], want) {
				t.Errorf("fma.%s.f32 of %x, %x, %x is %x, want %x", mode, a[i], b[i], c[i], got[i], want)
			}
		}
	}
	d, e, f := triples(f64s(6), 2000)
	for _, mode := range []string{"rn", "rz", "rm", "rp"} {
		got := eval3[float64](t, "f64", "f64", "f64", "f64", "fma."+mode+".f64 %d, %a, %b, %c;", d, e, f)
		for i := range d {
			want := fusedReference(mode, d[i], e[i], f[i], near64, math.Nextafter)
			if !sameF64(got[i], want) {
				t.Errorf("fma.%s.f64 of %x, %x, %x is %x, want %x", mode, d[i], e[i], f[i], got[i], want)
			}
		}
	}
}

func TestRootsAndReciprocals(t *testing.T) {
	a := f32s(9)
	b := f64s(9)
	for _, mode := range []string{"rn", "rz", "rm", "rp"} {
		root := eval1[float32](t, "f32", "f32", "sqrt."+mode+".f32 %d, %a;", a)
		inv := eval1[float32](t, "f32", "f32", "rcp."+mode+".f32 %d, %a;", a)
		for i, x := range a {
			if want := rootReference(mode, float64(x), near32, step32); !sameF32(root[i], want) {
				t.Errorf("sqrt.%s.f32 of %x is %x, want %x", mode, x, root[i], want)
			}
			if want := reference("div", mode, 1, float64(x), near32, step32); !sameF32(inv[i], want) {
				t.Errorf("rcp.%s.f32 of %x is %x, want %x", mode, x, inv[i], want)
			}
		}
		root64 := eval1[float64](t, "f64", "f64", "sqrt."+mode+".f64 %d, %a;", b)
		inv64 := eval1[float64](t, "f64", "f64", "rcp."+mode+".f64 %d, %a;", b)
		for i, x := range b {
			if want := rootReference(mode, x, near64, math.Nextafter); !sameF64(root64[i], want) {
				t.Errorf("sqrt.%s.f64 of %x is %x, want %x", mode, x, root64[i], want)
			}
			if want := reference("div", mode, 1, x, near64, math.Nextafter); !sameF64(inv64[i], want) {
				t.Errorf("rcp.%s.f64 of %x is %x, want %x", mode, x, inv64[i], want)
			}
		}
	}
}

func rootReference[T float32 | float64](mode string, x float64, near func(*big.Float) T, step func(T, float64) T) T {
	if !isFinite(x) || x <= 0 {
		return T(math.Sqrt(x))
	}
	return rounded(new(big.Float).SetPrec(5000).Sqrt(bigOf(x)), mode, near, step)
}

func flush(x float32) float32 {
	if x != 0 && math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

func TestFlushAndSaturate(t *testing.T) {
	a, b := pairs(f32s(11), f32s(12))
	ftz := eval2[float32](t, "f32", "f32", "f32", "add.ftz.f32 %d, %a, %b;", a, b)
	sat := eval2[float32](t, "f32", "f32", "f32", "mul.sat.f32 %d, %a, %b;", a, b)
	both := eval2[float32](t, "f32", "f32", "f32", "fma.rn.ftz.sat.f32 %d, %a, %b, 0f3E800000;", a, b)
	for i := range a {
		if want := flush(flush(a[i]) + flush(b[i])); !sameF32(ftz[i], want) {
			t.Errorf("add.ftz of %x and %x is %x, want %x", a[i], b[i], ftz[i], want)
		}
		if want := clamp(float32(a[i] * b[i])); !sameF32(sat[i], want) {
			t.Errorf("mul.sat of %x and %x is %x, want %x", a[i], b[i], sat[i], want)
		}
		if want := clamp(flush(fusedReference("rn", float64(flush(a[i])), float64(flush(b[i])), 0.25, near32, step32))); !sameF32(both[i], want) {
			t.Errorf("fma.ftz.sat of %x and %x is %x, want %x", a[i], b[i], both[i], want)
		}
	}
}

func clamp(x float32) float32 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

func TestFloatMinMaxAbsNeg(t *testing.T) {
	a, b := pairs(f32s(13), f32s(14))
	lo := eval2[float32](t, "f32", "f32", "f32", "min.f32 %d, %a, %b;", a, b)
	hi := eval2[float32](t, "f32", "f32", "f32", "max.f32 %d, %a, %b;", a, b)
	nan := eval2[float32](t, "f32", "f32", "f32", "max.NaN.f32 %d, %a, %b;", a, b)
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		wantLo, wantHi, wantNaN := math.Min(x, y), math.Max(x, y), math.Max(x, y)
		switch {
		case x != x && y != y:
		case x != x:
			wantLo, wantHi, wantNaN = y, y, math.NaN()
		case y != y:
			wantLo, wantHi, wantNaN = x, x, math.NaN()
		}
		if !sameF32(lo[i], float32(wantLo)) || !sameF32(hi[i], float32(wantHi)) || !sameF32(nan[i], float32(wantNaN)) {
			t.Errorf("min, max, max.NaN of %x and %x are %x, %x, %x", a[i], b[i], lo[i], hi[i], nan[i])
		}
	}
	v := f32s(15)
	abs := eval1[float32](t, "f32", "f32", "abs.f32 %d, %a;", v)
	neg := eval1[float32](t, "f32", "f32", "neg.f32 %d, %a;", v)
	for i, x := range v {
		wantAbs, wantNeg := math.Float32bits(x)&0x7fffffff, math.Float32bits(x)^0x80000000
		if x != x {
			wantAbs, wantNeg = 0x7fffffff, 0x7fffffff
		}
		if math.Float32bits(abs[i]) != wantAbs || math.Float32bits(neg[i]) != wantNeg {
			t.Errorf("abs, neg of %x are %x, %x", x, abs[i], neg[i])
		}
	}
}

func TestFloatComparisons(t *testing.T) {
	a, b := pairs(f32s(16)[:30], f32s(16)[:30])
	for op, want := range map[string]func(a, b float32) bool{
		"eq": func(a, b float32) bool { return a == b }, "ne": func(a, b float32) bool { return a < b || a > b },
		"lt": func(a, b float32) bool { return a < b }, "le": func(a, b float32) bool { return a <= b },
		"gt": func(a, b float32) bool { return a > b }, "ge": func(a, b float32) bool { return a >= b },
		"equ": func(a, b float32) bool { return !(a < b || a > b) }, "neu": func(a, b float32) bool { return a != b },
		"ltu": func(a, b float32) bool { return !(a >= b) }, "leu": func(a, b float32) bool { return !(a > b) },
		"gtu": func(a, b float32) bool { return !(a <= b) }, "geu": func(a, b float32) bool { return !(a < b) },
		"num": func(a, b float32) bool { return a == a && b == b }, "nan": func(a, b float32) bool { return a != a || b != b },
	} {
		got := eval2[uint32](t, "u32", "f32", "f32", "setp."+op+".f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", a, b)
		set := eval2[float32](t, "f32", "f32", "f32", "set."+op+".f32.f32 %d, %a, %b;", a, b)
		for i := range a {
			if w := want(a[i], b[i]); (got[i] == 1) != w || set[i] != map[bool]float32{true: 1}[w] {
				t.Errorf("%s of %x and %x is %v and %v, want %v", op, a[i], b[i], got[i], set[i], w)
			}
		}
	}
}

func TestApproximations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 17))
	var all, positive, small []float32
	for range 500 {
		all = append(all, float32(r.NormFloat64()*math.Exp(r.NormFloat64()*8)))
		positive = append(positive, float32(math.Exp(r.NormFloat64()*20)))
		small = append(small, float32((r.Float64()*2-1)*2*math.Pi))
	}
	for _, c := range []struct {
		op       string
		in       []float32
		f        func(float64) float64
		rel, abs float64
	}{
		{"rcp.approx.ftz", all, func(x float64) float64 { return 1 / x }, 0x1p-23, 0},
		{"sqrt.approx", positive, math.Sqrt, 0x1p-23, 0},
		{"rsqrt.approx", positive, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.277e-7, 0},
		{"ex2.approx", small, math.Exp2, 1.685e-7, 0},
		{"lg2.approx", positive, math.Log2, 0x1p-22, 0x1p-22},
		{"sin.approx", small, math.Sin, 0, 6.743e-7},
		{"cos.approx", small, math.Cos, 0, 6.743e-7},
		{"tanh.approx", small, math.Tanh, 0x1p-11, 0},
	} {
		got := eval1[float32](t, "f32", "f32", c.op+".f32 %d, %a;", c.in)
		for i, x := range c.in {
			want := c.f(float64(x))
			if d := math.Abs(float64(got[i]) - want); d > c.rel*math.Abs(want)+c.abs {
				t.Errorf("%s of %v is %v, want %v", c.op, x, got[i], want)
			}
		}
	}
	special := []float32{0, negZero, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), -1}
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	for op, want := range map[string][]float32{
		"rcp.approx":   {inf, -inf, 0, negZero, nan, -1},
		"rsqrt.approx": {inf, -inf, 0, nan, nan, nan},
		"sqrt.approx":  {0, negZero, inf, nan, nan, nan},
		"lg2.approx":   {-inf, -inf, inf, nan, nan, nan},
		"ex2.approx":   {1, 1, inf, 0, nan, 0.5},
		"sin.approx":   {0, negZero, nan, nan, nan, float32(math.Sin(-1))},
	} {
		got := eval1[float32](t, "f32", "f32", op+".f32 %d, %a;", special)
		for i := range special {
			if !sameF32(got[i], want[i]) {
				t.Errorf("%s of %v is %v, want %v", op, special[i], got[i], want[i])
			}
		}
	}
}

func TestClassification(t *testing.T) {
	a := append(f32s(18), 0x1p-130)
	for name, want := range map[string]func(x float64) bool{
		"finite": func(x float64) bool { return isFinite(x) }, "infinite": func(x float64) bool { return math.IsInf(x, 0) },
		"number": func(x float64) bool { return x == x }, "notanumber": func(x float64) bool { return x != x },
		"normal":    func(x float64) bool { return isFinite(x) && (x == 0 || math.Abs(x) >= 0x1p-126) },
		"subnormal": func(x float64) bool { return x != 0 && math.Abs(x) < 0x1p-126 },
	} {
		got := eval1[uint32](t, "u32", "f32", "testp."+name+".f32 %p, %a; selp.b32 %d, 1, 0, %p;", a)
		for i, x := range a {
			if (got[i] == 1) != want(float64(x)) {
				t.Errorf("testp.%s of %x is %v", name, x, got[i])
			}
		}
	}
	got := eval2[float32](t, "f32", "f32", "f32", "copysign.f32 %d, %a, %b;", a, f32sShifted(a))
	for i, x := range a {
		b := f32sShifted(a)[i]
		want := math.Float32bits(b)&0x7fffffff | math.Float32bits(x)&0x80000000
		if math.Float32bits(got[i]) != want {
			t.Errorf("copysign of %x to %x is %x", x, b, got[i])
		}
	}
}

func f32sShifted(a []float32) []float32 { return append(append([]float32(nil), a[1:]...), a[0]) }

var negZero = float32(math.Copysign(0, -1))

// nans32, nansF16 and nansBF16 contain quiet and signalling NaNs of either sign.
var (
	nans32   = []uint32{0xffc00000, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0xff812345}
	nansF16  = []uint16{0xfe00, 0x7e00, 0x7fff, 0xffff, 0x7c01, 0xfd23}
	nansBF16 = []uint16{0xffc0, 0x7fc0, 0x7fff, 0xffff, 0x7f81, 0xffa5}
)

// pairsOf returns operand pairs in which at least one operand is a NaN. The pairs fill several
// whole warps and part of another.
func pairsOf[T any](one T, nans []T) (a, b []T) {
	for len(a) < 70 {
		for i, n := range nans {
			a = append(a, n, one, n)
			b = append(b, one, n, nans[(i+1)%len(nans)])
		}
	}
	return a, b
}

// triplesOf adds a third operand to the pairs from pairsOf. In some triples, it is an additional
// NaN or the only NaN.
func triplesOf[T any](one T, nans []T) (a, b, c []T) {
	a, b = pairsOf(one, nans)
	for i := range a {
		c = append(c, one)
		if i%4 == 1 {
			c[i] = nans[i%len(nans)]
		} else if i%4 == 2 {
			a[i], b[i], c[i] = one, one, nans[i%len(nans)]
		}
	}
	return a, b, c
}

// An H200 replaces every NaN with 0x7fffffff, whatever its sign and payload. The emulator must do
// the same whether all lanes of a warp are active or only some.
func TestArithmeticInF32MakesOneNaN(t *testing.T) {
	a, b := pairsOf(math.Float32bits(1), nans32)
	for _, op := range strings.Fields("add.f32 sub.f32 mul.f32 add.rz.f32 sub.ftz.f32 mul.ftz.f32 add.rp.ftz.f32 div.rn.f32 div.rn.ftz.f32 div.rz.f32 " +
		"div.full.f32 div.approx.f32 div.approx.ftz.f32 min.NaN.f32 max.NaN.f32 max.ftz.NaN.f32") {
		allNaN(t, op, 0x7fffffff, eval2[uint32](t, "f32", "f32", "f32", "mov.f32 %d, 0f3F800000; "+op+" %d, %a, %b;", a, b), a, b)
		some := eval2[uint32](t, "f32", "f32", "f32", "mov.f32 %d, 0f7FFFFFFF; and.b32 %t1, %id, 1; setp.eq.u32 %p, %t1, 0; @%p "+op+" %d, %a, %b;", a, b)
		allNaN(t, op+" in some lanes", 0x7fffffff, some, a, b)
	}
	a, b, c := triplesOf(math.Float32bits(1), nans32)
	for _, op := range strings.Fields("fma.rn.f32 fma.rn.ftz.f32 fma.rm.f32 mad.rn.f32") {
		allNaN(t, op, 0x7fffffff, eval3[uint32](t, "f32", "f32", "f32", "f32", op+" %d, %a, %b, %c;", a, b, c), a, b, c)
		some := eval3[uint32](t, "f32", "f32", "f32", "f32", "mov.f32 %d, 0f7FFFFFFF; and.b32 %t1, %id, 1; setp.eq.u32 %p, %t1, 0; @%p "+op+" %d, %a, %b, %c;", a, b, c)
		allNaN(t, op+" in some lanes", 0x7fffffff, some, a, b, c)
	}
	for _, op := range strings.Fields("abs.f32 neg.f32 abs.ftz.f32 neg.ftz.f32 rcp.rn.f32 rcp.rn.ftz.f32 rcp.rz.f32 rcp.approx.f32 sqrt.rn.f32 sqrt.rn.ftz.f32 " +
		"sqrt.approx.f32 rsqrt.approx.f32 sin.approx.f32 cos.approx.f32 lg2.approx.f32 ex2.approx.ftz.f32 tanh.approx.f32") {
		allNaN(t, op, 0x7fffffff, eval1[uint32](t, "f32", "f32", op+" %d, %a;", nans32), nans32)
	}
}

func TestInvalidOperationsInF32MakeThatNaN(t *testing.T) {
	inf := float32(math.Inf(1))
	for op, operands := range map[string][2]float32{
		"add.f32": {inf, -inf}, "sub.f32": {inf, inf}, "mul.f32": {inf, 0}, "mul.ftz.f32": {0x1p-140, -inf},
		"div.rn.f32": {0, 0}, "div.full.f32": {-inf, inf}, "div.approx.f32": {inf, 0x1p127},
	} {
		a, b := make([]float32, 33), make([]float32, 33)
		for i := range a {
			a[i], b[i] = operands[0], operands[1]
		}
		allNaN(t, op, 0x7fffffff, eval2[uint32](t, "f32", "f32", "f32", op+" %d, %a, %b;", a, b), a, b)
	}
	inf33, zero := make([]float32, 33), make([]float32, 33)
	for i := range inf33 {
		inf33[i] = inf
	}
	allNaN(t, "fma.rn.f32", 0x7fffffff, eval3[uint32](t, "f32", "f32", "f32", "f32", "fma.rn.f32 %d, %a, %b, %c;", inf33, zero, zero), inf33, zero, zero)
	negative := []float32{-1, -inf, -0x1p-140}
	allNaN(t, "sqrt.rn.f32", 0x7fffffff, eval1[uint32](t, "f32", "f32", "sqrt.rn.f32 %d, %a;", negative), negative)
}

func TestExtremesOfANaNAreTheNumber(t *testing.T) {
	one := math.Float32bits(1)
	a, b := pairsOf(one, nans32)
	for _, op := range []string{"min.f32", "max.f32", "min.ftz.f32", "max.ftz.f32"} {
		got := eval2[uint32](t, "f32", "f32", "f32", op+" %d, %a, %b;", a, b)
		for i := range a {
			want := one
			if a[i] != one && b[i] != one {
				want = 0x7fffffff
			}
			if got[i] != want {
				t.Errorf("%s of %#x and %#x is %#x, want %#x", op, a[i], b[i], got[i], want)
			}
		}
	}
}

func TestArithmeticInHalvesMakesOneNaN(t *testing.T) {
	for _, ty := range []struct {
		name string
		one  uint16
		nans []uint16
	}{{"f16", 0x3c00, nansF16}, {"bf16", 0x3f80, nansBF16}} {
		a, b := pairsOf(ty.one, ty.nans)
		pair := func(v []uint16) (two []uint32) { // pair each element with a number in the upper and in the lower half
			for _, x := range v {
				two = append(two, uint32(x)|uint32(ty.one)<<16, uint32(ty.one)|uint32(x)<<16)
			}
			return two
		}
		a2, b2 := pair(a), pair(b)
		for _, name := range strings.Fields("add sub mul min.NaN max.NaN") {
			op := name + "." + ty.name
			allNaN(t, op, 0x7fff, eval2[uint16](t, ty.name, ty.name, ty.name, op+" %d, %a, %b;", a, b), a, b)
			got := eval2[uint32](t, ty.name+"x2", ty.name+"x2", ty.name+"x2", op+"x2 %d, %a, %b;", a2, b2)
			allNaN(t, op+"x2", 0x7fff, nanHalves(got), a2, b2)
		}
		a, b, c := triplesOf(ty.one, ty.nans)
		a2, b2, c2 := pair(a), pair(b), pair(c)
		op := "fma.rn." + ty.name
		allNaN(t, op, 0x7fff, eval3[uint16](t, ty.name, ty.name, ty.name, ty.name, op+" %d, %a, %b, %c;", a, b, c), a, b, c)
		got := eval3[uint32](t, ty.name+"x2", ty.name+"x2", ty.name+"x2", ty.name+"x2", op+"x2 %d, %a, %b, %c;", a2, b2, c2)
		allNaN(t, op+"x2", 0x7fff, nanHalves(got), a2, b2, c2)
	}
}

// nanHalves returns one half of each element of v: the lower half at even indices, and the upper
// half at odd indices.
func nanHalves(v []uint32) (halves []uint16) {
	for i, x := range v {
		halves = append(halves, uint16(x>>(i%2*16)))
	}
	return halves
}

func TestConversionsOfNaNs(t *testing.T) {
	nans64 := []uint64{0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff}
	allNaN(t, "cvt.f32.f16", 0x7fffffff, eval1[uint32](t, "f32", "f16", "cvt.f32.f16 %d, %a;", nansF16), nansF16)
	allNaN(t, "cvt.rn.f16.f32", 0x7fff, eval1[uint16](t, "f16", "f32", "cvt.rn.f16.f32 %d, %a;", nans32), nans32)
	allNaN(t, "cvt.rn.bf16.f32", 0x7fff, eval1[uint16](t, "bf16", "f32", "cvt.rn.bf16.f32 %d, %a;", nans32), nans32)
	allNaN(t, "cvt.rn.tf32.f32", 0x7fffe000, eval1[uint32](t, "b32", "f32", "cvt.rn.tf32.f32 %d, %a;", nans32), nans32)
	allNaN(t, "cvt.rni.ftz.f32.f32", 0x7fffffff, eval1[uint32](t, "f32", "f32", "cvt.rni.ftz.f32.f32 %d, %a;", nans32), nans32)
	same := func(op string, got []uint64, want func(i int) uint64) {
		t.Helper()
		for i := range got {
			if got[i] != want(i) {
				t.Errorf("%s: result %d is %#x, want %#x", op, i, got[i], want(i))
			}
		}
	}
	// These conversions preserve NaNs: cvt.f32.bf16 keeps all bits, and conversions between f32 and
	// f64 keep the sign and the payload.
	wide := func(v []uint32) (w []uint64) {
		for _, x := range v {
			w = append(w, uint64(x))
		}
		return w
	}
	same("cvt.f32.bf16", wide(eval1[uint32](t, "f32", "bf16", "cvt.f32.bf16 %d, %a;", nansBF16)), func(i int) uint64 { return uint64(nansBF16[i]) << 16 })
	same("cvt.f64.f32", eval1[uint64](t, "f64", "f32", "cvt.f64.f32 %d, %a;", nans32), func(i int) uint64 {
		x := uint64(nans32[i])
		return x>>31<<63 | 0x7ff8<<48 | x&0x7fffff<<29
	})
	same("cvt.rn.f32.f64", wide(eval1[uint32](t, "f32", "f64", "cvt.rn.f32.f64 %d, %a;", nans64)), func(i int) uint64 {
		x := nans64[i]
		return x>>63<<31 | 0x7fc<<20 | x>>29&0x7fffff
	})
}

func TestArithmeticInF64KeepsANaN(t *testing.T) {
	nans := []uint64{0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff, 0xfff0123456789abc}
	a, b := pairsOf(math.Float64bits(1), nans)
	for _, op := range []string{"add.f64", "sub.f64", "mul.f64"} {
		got := eval2[uint64](t, "f64", "f64", "f64", op+" %d, %a, %b;", a, b)
		for i := range a {
			want := a[i]
			if y := math.Float64frombits(b[i]); y != y {
				want = b[i]
			}
			want |= 1 << 51 // the result is always a quiet NaN
			if got[i] != want {
				t.Errorf("%s of %#x and %#x is %#x, want %#x", op, a[i], b[i], got[i], want)
			}
		}
	}
}

func allNaN[D, A number](t *testing.T, op string, want D, got []D, operands ...[]A) {
	t.Helper()
	for i := range got {
		var of []A
		for _, o := range operands {
			of = append(of, o[i])
		}
		if got[i] != want {
			t.Errorf("%s of %#x is %#x, want %#x", op, of, got[i], want)
		}
	}
}
