package randgo

import "fmt"

// atom returns a simple, non-constant expression of type t.
func (g *gen) atom(t typ) string {
	if g.chance(35) {
		if s, ok := g.element(t); ok {
			return s
		}
	}
	var of []string
	for _, v := range g.vars {
		if v.t == t {
			of = append(of, v.name)
		}
	}
	if len(of) > 0 && g.chance(75) {
		return pick(g, of)
	}
	v := pick(g, g.vars)
	return g.convert(v.name, v.t, t)
}

// element returns an element of an array in scope, at an index that is in range.
func (g *gen) element(t typ) (string, bool) {
	var of []array
	for _, a := range g.arrays {
		if a.elem == t {
			of = append(of, a)
		}
	}
	if len(of) == 0 {
		return "", false
	}
	a := pick(g, of)
	return fmt.Sprintf("%s[%s]", a.name, g.inside(a)), true
}

// inside returns an index that is in range for an array.
func (g *gen) inside(a array) string {
	i := g.index()
	switch {
	case a.len == 0:
		return fmt.Sprintf("%s%%uint(len(%s))", g.asUint(i), a.name)
	case a.len&(a.len-1) == 0:
		return fmt.Sprintf("(%s)&%d", i, a.len-1)
	default:
		return fmt.Sprintf("%s%%%d", g.asUint(i), a.len)
	}
}

func (g *gen) asUint(s string) string { return "uint(" + s + ")" }

// index returns a cheap integer expression.
func (g *gen) index() string {
	var of []variable
	for _, v := range g.vars {
		if !v.t.isFloat() {
			of = append(of, v)
		}
	}
	v := pick(g, of)
	s := v.name
	if v.t.bits() < 64 {
		s = "int(" + s + ")"
	}
	switch g.n(4) {
	case 0:
		return fmt.Sprintf("(%s+%d)", s, g.n(100))
	case 1:
		return fmt.Sprintf("(%s*%d)", s, 1+g.n(9))
	}
	return s
}

// convert returns a conversion of a non-constant value.
func (g *gen) convert(s string, from, to typ) string {
	switch {
	case from == to:
		return s
	case from.isFloat() && !to.isFloat():
		if to == "uint32" && g.chance(50) {
			return fmt.Sprintf("toUint32(float32(%s))", s)
		}
		return fmt.Sprintf("%s(toInt(float64(%s)))", to, s)
	}
	g.use("convert " + string(from) + " " + string(to))
	return fmt.Sprintf("%s(%s)", to, s)
}

func (g *gen) constant(t typ) string {
	switch {
	case t.isFloat():
		return fmt.Sprintf("%s(%s)", t, pick(g, []string{"0.5", "-1.25", "3", "1e-3", "1e10", "-0.1", "7.0/3", "1e-40", "16777217", "0", "2", "-0.25"}))
	case t.bits() == 64 && g.chance(25):
		return pick(g, []string{"(1 << 31)", "(1<<31 - 1)", "(1<<32 + 5)", "(1 << 40)", "(1<<62 + 3)"})
	case t.bits() >= 32 && g.chance(15):
		return pick(g, []string{"(1<<30 + 1)", "65535", "65536", "(1<<31 - 1)"})
	case t.signed():
		return pick(g, []string{"1", "-1", "2", "3", "-7", "10", "31", "100", "-128", "127", "0"})
	}
	return pick(g, []string{"1", "2", "3", "5", "7", "10", "31", "100", "127", "255", "0"})
}

// expr returns an expression of type t. Its value can be anything, but never depends on
// implementation-defined behavior of Go.
func (g *gen) expr(t typ, depth int) string {
	if depth <= 0 || g.chance(12) {
		return g.atom(t)
	}
	if g.chance(8) {
		from := g.anyType()
		return g.convert("("+g.expr(from, depth-1)+")", from, t)
	}
	if g.chance(6) {
		return g.call(t, depth)
	}
	if t.isFloat() {
		return g.floatExpr(t, depth)
	}
	return g.intExpr(t, depth)
}

func (g *gen) operand(t typ, depth int) string {
	if g.chance(25) {
		return g.constant(t)
	}
	return g.expr(t, depth)
}

func (g *gen) floatExpr(t typ, depth int) string {
	a := g.expr(t, depth-1)
	switch g.n(16) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s + %s)", a, g.operand(t, depth-1))
	case 3, 4:
		return fmt.Sprintf("(%s - %s)", a, g.operand(t, depth-1))
	case 5, 6, 7:
		if g.k.Fuses {
			if g.chance(50) {
				return g.exact(t)
			}
			return fmt.Sprintf("%s(%s * %s)", t, a, g.operand(t, depth-1))
		}
		return fmt.Sprintf("(%s * %s)", a, g.operand(t, depth-1))
	case 8:
		if g.chance(50) {
			q := fmt.Sprintf("(%s / %s)", a, pick(g, []string{"2", "-4", "0.125", "3", "3", "-7"}))
			if g.k.Fuses { // x/0.125 is compiled as x*8, which could overflow, and be fused
				q = string(t) + q
			}
			return q
		}
		return fmt.Sprintf("(%s / %s)", a, g.expr(t, depth-1))
	case 14, 15:
		return g.rounded(t, a)
	case 9:
		return fmt.Sprintf("(-%s)", a)
	case 10:
		g.use("min and max of floats")
		return fmt.Sprintf("%s(%s, %s)", pick(g, []string{"min", "max"}), a, g.expr(t, depth-1))
	case 11:
		f := pick(g, []string{"math.Sqrt", "math.Abs", "math.Floor", "math.Ceil", "math.Trunc", "math.RoundToEven"})
		g.use(f)
		if t == "float32" {
			return fmt.Sprintf("float32(%s(float64(%s)))", f, a)
		}
		return fmt.Sprintf("%s(%s)", f, a)
	case 12:
		if t == "float64" {
			g.use("math.FMA")
			return fmt.Sprintf("math.FMA(%s, %s, %s)", a, g.atom(t), g.atom(t))
		}
		g.use("num.FMA")
		return fmt.Sprintf("num.FMA(%s, %s, %s)", a, g.atom(t), g.atom(t))
	default:
		return fmt.Sprintf("%s(%s*%s)", t, a, g.atom(t))
	}
}

func (g *gen) intExpr(t typ, depth int) string {
	a := g.expr(t, depth-1)
	switch g.n(19) {
	case 16, 17:
		return g.intrinsic(t, a)
	case 0, 1, 2:
		return fmt.Sprintf("(%s + %s)", a, g.operand(t, depth-1))
	case 3, 4:
		b := g.operand(t, depth-1)
		if g.chance(30) {
			g.use("a difference that is subtracted")
			b = fmt.Sprintf("(%s - %s)", b, g.atom(t))
		}
		return fmt.Sprintf("(%s - %s)", a, b)
	case 5, 6:
		return fmt.Sprintf("(%s * %s)", a, g.operand(t, depth-1))
	case 7:
		op := pick(g, []string{"/", "%"})
		if g.chance(40) {
			g.use("division by a constant")
			d := 2 + g.n(120)
			if t.signed() && g.chance(40) {
				d = -d
			}
			return fmt.Sprintf("(%s %s %d)", a, op, d)
		}
		g.use("division")
		return fmt.Sprintf("(%s %s (%s | 1))", a, op, g.atom(t))
	case 8, 9:
		return fmt.Sprintf("(%s %s %s)", a, pick(g, []string{"&", "|", "^", "&^"}), g.operand(t, depth-1))
	case 10, 11:
		return g.shift(a, t, depth)
	case 12:
		return fmt.Sprintf("(%s%s)", pick(g, []string{"-", "^"}), a)
	case 13:
		g.use("min and max of integers")
		return fmt.Sprintf("%s(%s, %s)", pick(g, []string{"min", "max"}), a, g.operand(t, depth-1))
	case 14:
		if g.chance(35) {
			return g.rotated(t, a)
		}
		return g.bits(t, a)
	case 15:
		g.use("clampTo")
		return fmt.Sprintf("clampTo(%s, 3, 100)", a)
	default:
		return fmt.Sprintf("(%s - %s)", a, g.atom(t))
	}
}

func (g *gen) shift(a string, t typ, depth int) string {
	op := pick(g, []string{"<<", ">>"})
	switch g.n(4) {
	case 0:
		g.use("shift by a constant")
		return fmt.Sprintf("(%s %s %d)", a, op, g.n(t.bits()+2))
	case 1:
		g.use("shift by a signed count")
		return fmt.Sprintf("(%s %s (%s & 127))", a, op, g.atom(pick(g, []typ{"int", "int32", "int64", "int16"})))
	default:
		g.use("shift by an unsigned count")
		c := pick(g, []typ{"uint8", "uint16", "uint32", "uint64", "uint"})
		if g.chance(50) {
			return fmt.Sprintf("(%s %s (%s & 31))", a, op, g.expr(c, depth-1))
		}
		return fmt.Sprintf("(%s %s %s)", a, op, g.expr(c, depth-2))
	}
}

// bits returns a call of a function of math/bits.
func (g *gen) bits(t typ, a string) string {
	f := pick(g, []string{"LeadingZeros", "TrailingZeros", "OnesCount", "Len", "Reverse", "ReverseBytes", "ReverseBytes", "RotateLeft"})
	width := pick(g, []string{"8", "16", "32", "64"})
	if f == "ReverseBytes" && (width == "8" || g.chance(30)) {
		width = "32"
	}
	g.use("bits." + f + width)
	if f == "RotateLeft" {
		return fmt.Sprintf("%s(bits.%s%s(uint%s(%s), int(%s)))", t, f, width, width, a, g.atom("int8"))
	}
	return fmt.Sprintf("%s(bits.%s%s(uint%s(%s)))", t, f, width, width, a)
}

// call returns a call of a function of the prelude or of a generated function.
func (g *gen) call(t typ, depth int) string {
	switch g.n(14) {
	case 8, 9, 10:
		if s, ok := g.helperCall(t, depth); ok {
			return s
		}
	case 0:
		g.use("recursion")
		return g.convert(fmt.Sprintf("gcd(%s, %s)", g.atom("uint32"), g.atom("uint32")), "uint32", t)
	case 1:
		g.use("recursion")
		return g.convert(fmt.Sprintf("ack(int(%s&1), int(%s&3))", g.atom("uint8"), g.atom("uint8")), "int", t)
	case 2:
		if g.k.Fuses {
			return g.exact(t)
		}
		g.use("method of a struct")
		return g.convert(fmt.Sprintf("vec{%s, %s, 2}.dot(vec{%s, 1, %s})", g.atom("float32"), g.atom("float32"), g.atom("float32"), g.atom("float32")), "float32", t)
	case 3:
		g.use("function as a parameter")
		e := pick(g, g.arrays)
		if e.fixed && e.len == 0 && !e.elem.isFloat() {
			acc := pick(g, ints)
			return g.convert(fmt.Sprintf("fold(%s[:%d], %s(1), func(a %s, e %s) %s { return a*3 + %s(e)%s })", e.name, 1+g.n(6), acc, acc, e.elem, acc, acc,
				pick(g, []string{"", " ^ a>>1", " | 1"})), acc, t)
		}
	case 4:
		g.use("function literal called")
		a := g.anyType()
		return fmt.Sprintf("func(v %s) %s { return %s }(%s)", a, t, g.convert("v", a, t), g.expr(a, depth-1))
	case 5:
		g.use("table of structs")
		if g.chance(30) {
			return g.convert(fmt.Sprintf("boxes[%d].V", g.n(3)), "int64", t)
		}
		if g.chance(40) {
			return g.convert(fmt.Sprintf("heights[%s]", pick(g, []string{fmt.Sprint(g.n(4)), "(" + g.index() + ")&3"})), "int16", t)
		}
		return g.convert(fmt.Sprintf("boxes[uint(%s)%%3].V", g.index()), "int64", t)
	case 6:
		g.use("math.Float32bits")
		v := g.atom("float32")
		return g.convert(fmt.Sprintf("func(v float32) uint32 { if v != v { return 5 }; return math.Float32bits(v) }(%s)", v), "uint32", t)
	default:
		return g.half(t)
	}
	return g.atom(t)
}

// cond returns a condition.
func (g *gen) cond(depth int) string {
	if depth > 0 {
		switch g.n(6) {
		case 0:
			return fmt.Sprintf("(%s && %s)", g.cond(depth-1), g.cond(depth-1))
		case 1:
			return fmt.Sprintf("(%s || %s)", g.cond(depth-1), g.cond(depth-1))
		case 2:
			return fmt.Sprintf("!(%s)", g.cond(depth-1))
		}
	}
	if g.chance(5) && !g.inHelper {
		return "p.E"
	}
	if g.chance(20) {
		return g.nearLimit()
	}
	t := g.anyType()
	op := pick(g, []string{"<", "<=", ">", ">=", "==", "!="})
	g.use("compare " + string(t))
	return fmt.Sprintf("(%s %s %s)", g.expr(t, depth), op, g.operand(t, depth-1))
}

// nearLimit returns a comparison of a number that has a known range with a number near a limit of
// that range.
func (g *gen) nearLimit() string {
	g.use("comparison near the limit of a range")
	op := pick(g, []string{"<", "<=", ">", ">=", "==", "!="})
	t := pick(g, ints)
	n := 2 + g.n(30)
	limit := n - 2 + g.n(3)
	switch g.n(25) {
	case 19, 20:
		return fmt.Sprintf("(int64(%s)+int64(%s) %s %d)", g.atom("uint32"), g.narrow("uint8"), op, pick(g, []int{1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 32, 1<<31 + 300}))
	case 21:
		return fmt.Sprintf("(int(%s)/max(int(%s), %d) %s %d)", g.narrow("uint8"), g.narrow("uint8"), 1+g.n(3), op, g.n(60))
	case 22:
		return fmt.Sprintf("(func(c bool) int { if c { return %d }; return %d }(%s %s %s) %s %d)", n, 7*n, g.atom(t), op, g.constant(t), pick(g, []string{"<", ">"}), 3*n)
	case 23:
		return fmt.Sprintf("(int32(%s)*int32(%s) %s 0)", g.narrow("uint16"), g.narrow("uint16"), pick(g, []string{"<", ">="}))
	case 14:
		f := pick(g, floats)
		return fmt.Sprintf("!(%s(math.Sqrt(float64(%s))) %s %s)", f, g.atom(f), pick(g, []string{"<", "<=", ">", ">="}), g.atom(f))
	case 15:
		w := pick(g, []typ{"int32", "int64"})
		return fmt.Sprintf("(%s + %d %s %d)", g.atom(w), 1<<(w.bits()-2), op, g.n(100))
	case 16:
		return fmt.Sprintf("(int64(%s) %s int64(%s))", g.atom("uint32"), op, g.atom("uint32"))
	case 17:
		return fmt.Sprintf("(%s %s %s)", g.constant(t), op, g.atom(t))
	case 18:
		f := pick(g, floats)
		return fmt.Sprintf("(%s %s %s)", g.constant(f), op, g.atom(f))
	case 9:
		k := 1 + g.n(8)
		return fmt.Sprintf("(int32(%s>>%d) %s %d)", g.atom("uint32"), k, op, 1<<(31-k)-g.n(2))
	case 10:
		k := 20 + g.n(12)
		return fmt.Sprintf("(int32(%s>>%d) %s %d)", g.atom("uint64"), k, op, pick(g, []int{0, -1, 1 << 20}))
	case 11:
		return fmt.Sprintf("(int64(%s) %s %d)", g.atom("uint32"), op, pick(g, []int{1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32}))
	case 12:
		return fmt.Sprintf("(int(%s)*int(%s) %s %d)", g.narrow("int8"), g.narrow("int16"), op, pick(g, []int{0, -1, 1 << 20, -1 << 21}))
	case 13:
		return fmt.Sprintf("(uint32(%s)&%d %s %d)", g.narrow("int16"), 1<<15+1, op, pick(g, []int{0, 1, 1 << 15, 1<<15 + 1}))
	case 0:
		return fmt.Sprintf("(%s%%%d %s %d)", "uint("+g.index()+")", n, op, limit)
	case 1:
		return fmt.Sprintf("((%s)&%d %s %d)", g.atom(t), n, op, n-g.n(2))
	case 2:
		return fmt.Sprintf("(%s>>%d %s %d)", g.narrow("uint8"), g.n(5), op, pick(g, []int{255, 127, 63, 31, 15, 7})-g.n(2))
	case 3: // overflows 32 bits
		return fmt.Sprintf("(int32(%s)*int32(%s) %s %d)", g.narrow("uint16"), g.narrow("uint16"), op, g.n(3)-1)
	case 4:
		return fmt.Sprintf("(uint32(%s)<<%d %s %d)", g.narrow("uint16"), 10+g.n(10), op, pick(g, []int{0, 1 << 20, 1 << 31}))
	case 5:
		return fmt.Sprintf("(min(int(%s), %d) %s %d)", g.narrow("int8"), n, op, limit)
	case 6:
		return fmt.Sprintf("(max(int(%s), %d) %s %d)", g.narrow("int8"), n, op, n+g.n(2))
	case 7:
		return fmt.Sprintf("(int(%s)-int(%s) %s %d)", g.narrow("uint8"), g.narrow("uint8"), op, pick(g, []int{-255, -254, 0, 254, 255, -1, 1}))
	case 8:
		return fmt.Sprintf("(int(%s)+int(%s) %s %d)", g.narrow("int8"), g.narrow("uint8"), op, pick(g, []int{-128, -127, 382, 381, 0}))
	}
	return fmt.Sprintf("(uint(%s)/%d %s %d)", g.narrow("uint8"), n, op, 255/n-g.n(2))
}

// narrow returns a number whose type is narrower than its register. Often the number was just
// converted to that type.
func (g *gen) narrow(t typ) string {
	if g.chance(60) {
		return fmt.Sprintf("%s(%s)", t, g.atom(pick(g, []typ{"int32", "uint32", "int64", "uint64"})))
	}
	return g.atom(t)
}
