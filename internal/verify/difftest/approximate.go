package difftest

import "math"

// This file covers the approximate functions, with the bounds that the PTX ISA specifies for each
// instruction.

func approximateForms() []Form {
	t := &table{}
	each("_ _.ftz", func(ftz string) {
		t.quotients(ftz)
		t.functions(ftz)
	})
	t.gross()
	t.halfFunctions()
	return t.forms
}

func (t *table) bound(op, out, in string, b Bound) {
	t.op(op, out, in).Bound = &b
}

func (t *table) quotients(ftz string) {
	f := ftz != ""
	div := func(a []float64) float64 { return a[0] / a[1] }
	t.bound("div.full"+ftz+".f32", "f32", "f32 f32", Bound{Exact: div, ULP: 2, Ftz: f})
	t.bound("div.approx"+ftz+".f32", "f32", "f32 f32", Bound{Exact: divApprox, ULP: 2, Ftz: f})
	t.bound("rcp.approx"+ftz+".f32", "f32", "f32", Bound{Exact: func(a []float64) float64 { return 1 / a[0] }, ULP: 1, Ftz: f})
	t.bound("sqrt.approx"+ftz+".f32", "f32", "f32", Bound{Exact: of(math.Sqrt), Rel: 0x1p-23, Ftz: f})
	t.bound("rsqrt.approx"+ftz+".f32", "f32", "f32", Bound{Exact: of(rsqrt), Rel: math.Exp2(-22.9), Ftz: f})
}

func of(f func(float64) float64) func([]float64) float64 {
	return func(a []float64) float64 { return f(a[0]) }
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// divApprox divides as the approximate division does: for a divisor between 2^126 and infinity it
// returns 0, or NaN if the dividend is infinite.
func divApprox(a []float64) float64 {
	if y := math.Abs(a[1]); y > 0x1p126 && !math.IsInf(y, 0) {
		if math.IsInf(a[0], 0) {
			return math.NaN()
		}
		return a[0] / math.Copysign(math.Inf(1), a[1])
	}
	return a[0] / a[1]
}

func (t *table) functions(ftz string) {
	f := ftz != ""
	each("sin cos", func(op string) {
		fn := of(map[string]func(float64) float64{"sin": math.Sin, "cos": math.Cos}[op])
		near := func(a []float64) bool { return math.Abs(a[0]) <= 2*math.Pi || a[0] != a[0] || math.IsInf(a[0], 0) }
		t.bound(op+".approx"+ftz+".f32", "f32", "f32:angle", Bound{Exact: fn, Abs: math.Exp2(-20.5), Ftz: f, Domain: near})
	})
	t.bound("lg2.approx"+ftz+".f32", "f32", "f32", Bound{Exact: of(math.Log2), Abs: 0x1p-22, Rel: 0x1p-22, Ftz: f})
	t.bound("ex2.approx"+ftz+".f32", "f32", "f32", Bound{Exact: of(math.Exp2), ULP: 2, Ftz: f})
	if !f {
		t.bound("tanh.approx.f32", "f32", "f32", Bound{Exact: of(math.Tanh), Rel: 0x1p-11})
	}
}

// gross adds the f64 functions with about 20 accurate bits, and rsqrt.approx.f64.
func (t *table) gross() {
	rcp := func(x float64) float64 { return 1 / x }
	t.bound("rcp.approx.ftz.f64", "f64", "f64", Bound{Exact: of(rcp), Rel: 0x1p-19, Ftz: true, Upper: true})
	t.bound("rsqrt.approx.ftz.f64", "f64", "f64", Bound{Exact: of(rsqrt), Rel: 0x1p-19, Ftz: true, Upper: true})
	t.bound("rsqrt.approx.f64", "f64", "f64", Bound{Exact: of(rsqrt), ULP: 2})
}

func (t *table) halfFunctions() {
	each("f16 f16x2", func(ty string) {
		t.bound("ex2.approx."+ty, ty, ty, Bound{Exact: of(math.Exp2), Rel: math.Exp2(-9.9), Abs: 0x1p-24})
		t.bound("tanh.approx."+ty, ty, ty, Bound{Exact: of(math.Tanh), Abs: math.Exp2(-10.987)})
	})
	each("bf16 bf16x2", func(ty string) {
		t.bound("ex2.approx.ftz."+ty, ty, ty, Bound{Exact: of(math.Exp2), Rel: 0x1p-7, Ftz: true})
		t.bound("tanh.approx."+ty, ty, ty, Bound{Exact: of(math.Tanh), Abs: 0x1p-8})
	})
}
