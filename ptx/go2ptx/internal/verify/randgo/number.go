package randgo

import "fmt"

// floatAssigns returns the assignment operators that a kernel can apply to floats.
func (g *gen) floatAssigns() []string {
	if g.k.Fuses {
		return []string{"+=", "-="}
	}
	return []string{"+=", "-=", "*="}
}

// exact returns a sum with a product in which both operations are exact, so that fusing them
// changes nothing.
func (g *gen) exact(t typ) string {
	g.use("exact product and sum")
	a, b, c := g.atom(pick(g, []typ{"int8", "uint8"})), g.atom("int16"), g.atom(pick(g, []typ{"int8", "int16"}))
	if t == "float64" {
		a, b, c = g.atom("int16"), g.atom("int32"), g.atom(pick(g, []typ{"int32", "uint16"}))
	}
	product, sum := fmt.Sprintf("%s(%s)*%s(%s)", t, a, t, b), fmt.Sprintf("%s(%s)", t, c)
	switch g.n(4) {
	case 0:
		return fmt.Sprintf("(%s - %s)", product, sum)
	case 1:
		return fmt.Sprintf("(%s - %s)", sum, product)
	case 2:
		return fmt.Sprintf("(%s + %s)", sum, product)
	}
	return fmt.Sprintf("(%s + %s)", product, sum)
}

var modes = []string{"gpu.ToNearestEven", "gpu.ToZero", "gpu.ToNegativeInf", "gpu.ToPositiveInf"}

// rounded returns an operation with an explicit rounding mode.
func (g *gen) rounded(t typ, a string) string {
	m := pick(g, modes)
	switch g.n(9) {
	case 0:
		g.use("gpu.FMARound")
		return fmt.Sprintf("gpu.FMARound(%s, %s, %s, %s)", a, g.atom(t), g.atom(t), m)
	case 1:
		g.use("gpu.SqrtRound")
		return fmt.Sprintf("gpu.SqrtRound(%s, %s)", a, m)
	case 2:
		g.use("gpu.RcpRound")
		return fmt.Sprintf("gpu.RcpRound(%s, %s)", a, m)
	case 3:
		g.use("gpu.RoundInt")
		return fmt.Sprintf("gpu.RoundInt(%s, %s)", a, m)
	case 4:
		g.use("gpu.Saturate")
		return fmt.Sprintf("gpu.Saturate(%s)", a)
	case 5:
		g.use("gpu.Convert to float")
		from := g.anyType()
		return fmt.Sprintf("gpu.Convert[%s](%s, %s)", t, g.atom(from), m)
	}
	f := pick(g, []string{"Add", "Sub", "Mul", "Div"})
	g.use("gpu." + f + "Round")
	return fmt.Sprintf("gpu.%sRound(%s, %s, %s)", f, a, g.atom(t), m)
}

// intrinsic returns a call of an integer function of package gpu.
func (g *gen) intrinsic(t typ, a string) string {
	u := func() string { return g.atom("uint32") }
	w := pick(g, []typ{"int32", "uint32"})
	x := func() string { return g.atom(w) }
	s := ""
	switch g.n(12) {
	case 0, 1:
		v := pick(g, []typ{"int32", "uint32", "int64", "uint64"})
		s = fmt.Sprintf("gpu.MulHi(%s(%s), %s)", v, a, g.atom(v))
	case 2:
		s = fmt.Sprintf("gpu.Mul24(%s, %s)", x(), x())
	case 3:
		s = fmt.Sprintf("gpu.%sSat(int32(%s), %s)", pick(g, []string{"Add", "Sub"}), a, g.atom("int32"))
	case 4:
		s = fmt.Sprintf("gpu.Sad(%s, %s, %s)", x(), x(), u())
	case 5:
		s = fmt.Sprintf("gpu.%s(%s, %s, %s)", pick(g, []string{"Dp4a", "Dp2aLow", "Dp2aHigh"}), x(), x(), x())
	case 6:
		s = fmt.Sprintf("gpu.BytePermute(%s, uint32(%s), %s)", u(), a, u())
	case 7:
		s = fmt.Sprintf("gpu.Lop3(%s, %s, %s, %d)", u(), u(), u(), g.n(256))
	case 8:
		s = fmt.Sprintf("gpu.FunnelShift%s(%s, %s, %s)", pick(g, []string{"Left", "Right", "LeftClamp", "RightClamp"}), u(), u(), u())
	case 9:
		v := pick(g, []typ{"int32", "uint32", "int64", "uint64"})
		s = fmt.Sprintf("gpu.Bfe(%s(%s), %s&63, %s&63)", v, a, u(), u())
	case 10:
		v := pick(g, []typ{"int32", "uint32", "int64", "uint64"})
		s = fmt.Sprintf("gpu.Bfi(%s, %s(%s), %s&63, %s&63)", g.atom(v), v, a, u(), u())
	default:
		g.use("gpu.Convert to an integer")
		return fmt.Sprintf("gpu.Convert[%s](%s, %s)", t, g.atom(g.anyType()), pick(g, modes))
	}
	g.use("integer function of gpu")
	return fmt.Sprintf("%s(%s)", t, s)
}

// half returns an expression of type t that is computed with 16-bit floats.
func (g *gen) half(t typ) string {
	h := pick(g, []string{"num.F16", "num.BF16"})
	g.use(h)
	of := func() string { return fmt.Sprintf("num.To[%s](%s)", h, g.atom(g.anyType())) }
	to := func(s string) string { return g.convert(s+".Float32()", "float32", t) }
	switch g.n(8) {
	case 0:
		return to(fmt.Sprintf("%s.FMA(%s, %s)", of(), of(), of()))
	case 1:
		return to(fmt.Sprintf("%s.%s()", of(), pick(g, []string{"Sqrt", "Neg", "Abs"})))
	case 2:
		return to(fmt.Sprintf("%s.%s(%s)", of(), pick(g, []string{"Min", "Max"}), of()))
	case 3:
		return fmt.Sprintf("func(h, k %s) %s { if h.%s(k) { return 1 }; return 2 }(%s, %s)", h, t, pick(g, []string{"Less", "LessEqual", "Equal"}), of(), of())
	case 4:
		if !t.isFloat() {
			return fmt.Sprintf("func(h %s) %s { if h.Abs().Less(num.To[%s](100)) { return num.To[%s](h) }; return 9 }(%s)", h, t, h, t, of())
		}
		return fmt.Sprintf("num.To[%s](%s)", t, of())
	}
	return to(fmt.Sprintf("%s.%s(%s)", of(), pick(g, []string{"Add", "Mul", "Sub", "Div"}), of()))
}

// complexNumbers generates arithmetic with complex numbers.
func (g *gen) complexNumbers() {
	if g.k.Fuses {
		g.assign()
		return
	}
	g.use("complex numbers")
	t, f := "complex64", typ("float32")
	if g.chance(50) {
		t, f = "complex128", "float64"
	}
	c, d := g.fresh("c"), g.fresh("c")
	g.line("%s := complex(%s, %s)", c, g.expr(f, 2), g.expr(f, 1))
	g.line("%s := %s %s complex(%s, %s)", d, c, pick(g, []string{"+", "-", "*", "/"}), g.expr(f, 1), g.atom(f))
	switch g.n(3) {
	case 0:
		g.line("if %s == %s { %s = -%s }", c, d, d, c)
	case 1:
		g.line("%s %s= %s", d, pick(g, []string{"+", "-", "*", "/"}), c)
	case 2:
		g.line("%s = %s(complex128(%s) * 2i)", c, t, d)
	}
	v, w := g.fresh("v"), g.fresh("v")
	g.line("%s, %s := real(%s), imag(%s)", v, w, d, pick(g, []string{c, d}))
	g.add(v, f)
	g.add(w, f)
}
