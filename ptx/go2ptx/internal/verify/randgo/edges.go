package randgo

import "fmt"

// raw returns an expression of type t: an element of the inputs that differs between threads. A
// quarter of the inputs are limits of types, so some threads get such a limit.
func (g *gen) raw(t typ) string {
	at := fmt.Sprintf("[uint(g*%d+%d)%%%d]", 1+g.n(9), g.n(Inputs), Inputs)
	switch {
	case t.isFloat():
		if t == "float32" {
			return "fs" + at
		}
		return "fd" + at
	case t == "int32":
		return "ii" + at
	case t == "int64":
		return "il" + at
	case t == "uint8":
		return "ib" + at
	case t == "int16":
		return "is" + at
	case t.bits() == 64:
		return fmt.Sprintf("%s(il%s)", t, at)
	}
	return fmt.Sprintf("%s(%s%s)", t, pick(g, []string{"ii", "il"}), at)
}

// few returns an expression of type t whose value is from 0 to mask. For a small mask, two such
// values are often equal.
func (g *gen) few(t typ, mask int) string { return fmt.Sprintf("(%s & %d)", g.raw(t), mask) }

// either returns a condition that differs between threads.
func (g *gen) either() string {
	switch g.n(3) {
	case 0:
		return fmt.Sprintf("%s < %s", g.raw("int32"), g.raw("int32"))
	case 1:
		return fmt.Sprintf("%s > 100", g.raw("uint8"))
	}
	return fmt.Sprintf("%s != 0", g.few("int64", 1))
}

// tell adds the variables to the thread's checksum and to the scope.
func (g *gen) tell(t typ, names ...string) {
	for _, v := range names {
		switch t {
		case "float32":
			g.line("sum = sum*5 + int64(bits32(%s))", v)
		case "float64":
			g.line("sum = sum*5 + int64(bits64(%s))", v)
		default:
			g.line("sum = sum*5 + int64(%s)", v)
		}
		g.vars = append(g.vars, variable{name: v, t: t})
	}
}

// edge generates a computation whose result is wrong if the compiler makes a mistake at the limits of a
// type or a range. The computation uses the thread's inputs directly, so that some threads are at the
// limit and others are not.
func (g *gen) edge() {
	pick(g, []func(){g.rangeLimits, g.rangeLimits, g.rangeLimits, g.folded, g.overflow, g.chosenRange, g.chosenRange, g.extended, g.quotients, g.compareTwice, g.compareTwice, g.compareTwice,
		g.lowerBound, g.unsignedFirst, g.counter, g.farShifts, g.constantFirst, g.unordered, g.twoModes, g.bothWays, g.divisions, g.exactly,
		g.wideCount, g.saturating, g.complexProduct, g.ties})()
}

func (g *gen) overflow() {
	g.use("sum or product that overflows 32 bits")
	v := g.fresh("v")
	e := pick(g, []string{
		fmt.Sprintf("int32(%s>>1) + int32(%s)", g.raw("uint32"), g.raw("uint8")),
		fmt.Sprintf("-int32(%s>>1) - int32(%s)", g.raw("uint32"), g.raw("uint8")),
		fmt.Sprintf("int32(%s) * int32(%s)", g.raw("uint16"), g.raw("uint16")),
		fmt.Sprintf("int32(%s) << %d", g.raw("uint16"), 15+g.n(3)),
	})
	g.line("%s := %s", v, e)
	g.line("if %s %s 0 { %s ^= 0x155 }", v, pick(g, []string{"<", ">=", ">", "<="}), v)
	g.tell("int32", v)
}

func (g *gen) chosenRange() {
	g.use("range of a choice")
	v, w := g.fresh("v"), g.fresh("v")
	t := pick(g, []typ{"int", "int32", "int64", "int16"})
	low := fmt.Sprintf("%s(%s)", t, g.few("uint8", 7))
	wide := pick(g, []string{fmt.Sprintf("%s(%s)", t, g.raw("uint8")), fmt.Sprintf("-%s(%s)", t, g.few("uint8", 31))})
	if g.chance(50) {
		low, wide = wide, low
	}
	g.line("%s := %s", v, low)
	if g.chance(50) {
		g.line("if %s { %s = %s }", g.either(), v, wide)
	} else { // the condition is computed only once
		g.line("if %s { %s = %s } else { %s += %s }", g.either(), v, wide, v, g.few(t, 1))
	}
	g.line("%s := %s * 3", w, v)
	for range 2 {
		g.line("if %s %s { %s += %d } else { %s ^= %d }", v, pick(g, []string{"< 8", "<= 7", "> 7", "> 8", ">= 0", "< 0", "<= 0", "> 15"}), w, 1+g.n(20), w, 1+g.n(20))
	}
	g.tell(t, v, w)
}

func (g *gen) extended() {
	g.use("unsigned number extended")
	v := g.fresh("v")
	g.line("%s := int64(%s) + int64(%s)", v, g.raw("uint32"), g.few("uint8", 7))
	g.line("if %s { %s ^= 0x155 }", fmt.Sprintf(pick(g, []string{"%s > 1<<31+6", "%s <= 1<<31+6", "%s >= 1<<31+7", "%s < 1<<31+20", "%s > 1<<32"}), v), v)
	g.tell("int64", v)
}

func (g *gen) quotients() {
	g.use("quotient of ranges")
	v := g.fresh("v")
	t := pick(g, []typ{"int", "int32", "uint32", "int64"})
	a, b := fmt.Sprintf("%s(%s)", t, g.raw("uint8")), fmt.Sprintf("(%s(%s) + %d)", t, g.few("uint8", 7), 1+g.n(2))
	if t.signed() && g.chance(50) {
		if g.chance(50) {
			a = "-" + a
		} else {
			b = "-" + b
		}
	}
	g.line("%s := %s %s %s", v, a, pick(g, []string{"/", "/", "%"}), b)
	limits := []int{0, 1, 28, 31, 32, 63, 100, 127, 254}
	if t.signed() {
		limits = append(limits, -1, -28, -31, -32, -64, -127)
	}
	for range 3 {
		g.line("if %s %s %d { %s += 3 } else { %s ^= 5 }", v, pick(g, []string{"<", ">", "<=", ">="}), pick(g, limits), v, v)
	}
	g.tell(t, v)
}

var comparisons = []string{"<", "<=", ">", ">=", "==", "!="}

// compareTwice compares two numbers that are often equal. It compares them again in each branch, and
// uses the result of a comparison as a value.
func (g *gen) compareTwice() {
	g.use("comparison of small numbers in the branch of another")
	t := pick(g, ints)
	x, y, v, ok := g.fresh("v"), g.fresh("v"), g.fresh("v"), g.fresh("ok")
	g.line("%s, %s := %s, %s", x, y, g.few(t, 3), g.few(t, 3))
	if t.signed() && g.chance(50) {
		g.line("%s -= 2", pick(g, []string{x, y}))
	}
	g.line("%s := %s", v, g.few("int", 255))
	cmp := func() string { return fmt.Sprintf("%s %s %s", x, pick(g, comparisons), y) }
	g.line("if %s {", cmp())
	g.line("\tif %s { %s += 3 } else { %s ^= 5 }", cmp(), v, v)
	g.line("} else if %s { %s -= 7 } else if %s { %s *= 3 }", cmp(), v, cmp(), v)
	g.line("%s := !(%s)", ok, cmp())
	g.line("if %s != (%s) { %s += 9 }", ok, g.either(), v)
	g.tell("int", v)
}

func (g *gen) lowerBound() {
	g.use("lower bound from a comparison")
	t := pick(g, []typ{"int", "int8", "int16", "int32", "int64", "uint16"})
	x, y, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, %s", x, y, g.few(t, 3), g.few(t, 7))
	g.line("%s := %s", v, g.few("int", 255))
	k := g.n(5)
	g.line("if %s > %d { if %s %s %d { %s += 3 } else { %s ^= 5 } }", y, k, y, pick(g, comparisons), k+1+g.n(2), v, v)
	g.line("if %s %s %s { if %s %s %d { %s += 7 } else { %s *= 3 } }", x, pick(g, []string{"<", "<="}), y, y, pick(g, comparisons), g.n(3), v, v)
	g.tell("int", v)
}

func (g *gen) unsignedFirst() {
	g.use("unsigned comparison of numbers with a sign")
	t, u := typ("int"), "uint"
	if g.chance(40) {
		t, u = "int32", "uint32"
	}
	i, n, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, %s", i, n, g.raw(t), g.raw(t))
	g.line("%s := %s", v, g.few("int", 255))
	g.line("if %s(%s) %s %s(%s) {", u, i, pick(g, []string{"<", "<=", ">"}), u, n)
	g.line("\tif %s %s 0 { %s += 3 } else { %s ^= 5 }", i, pick(g, []string{"<", ">=", ">"}), v, v)
	g.line("\tif %s %s %s { %s += 7 }", i, pick(g, comparisons), n, v)
	g.line("} else if %s >= 0 { %s -= 9 }", i, v)
	g.tell("int", v)
}

func (g *gen) counter() {
	g.use("counter that begins below zero")
	t := pick(g, []typ{"int", "int32", "int64", "int"})
	i, v := g.fresh("i"), g.fresh("v")
	g.line("%s := %s", v, g.few(t, 255))
	g.line("for %s := %s - %d; %s < %d; %s++ {", i, g.few(t, 7), 1+g.n(6), i, 1+g.n(5), i)
	g.line("\tif %s %s { %s += 3 } else { %s = %s*3 ^ %s }", i, pick(g, []string{"< 0", ">= 0", "> 0", "> -2", "== -1"}), v, v, v, i)
	g.line("}")
	g.tell(t, v)
}

func (g *gen) farShifts() {
	g.use("shift by the width or more")
	t := pick(g, ints)
	v, w := g.fresh("v"), g.fresh("v")
	n := t.bits() + pick(g, []int{0, 1, 8, 24, 33, 56})
	g.line("%s := %s >> %d", v, g.raw(t), n)
	g.line("%s := %s %s %d", w, g.raw(t), pick(g, []string{"<<", ">>"}), n-g.n(3))
	g.tell(t, v, w)
}

func (g *gen) constantFirst() {
	g.use("constant before a comparison")
	t := pick(g, ints)
	v, ok := g.fresh("v"), g.fresh("ok")
	g.line("%s := %s", v, g.few(t, 7))
	g.line("%s := %d %s %s", ok, g.n(8), pick(g, comparisons), v)
	g.line("if %d %s %s { %s += 9 } else if %s { %s *= 3 }", g.n(8), pick(g, comparisons), v, v, ok, v)
	g.tell(t, v)
}

// unordered negates comparisons of floats, some of which are NaN.
func (g *gen) unordered() {
	g.use("negated comparison of floats")
	t := pick(g, floats)
	x, y, ok, v := g.fresh("v"), g.fresh("v"), g.fresh("ok"), g.fresh("v")
	g.line("%s, %s := %s, %s", x, y, g.raw(t), g.raw(t))
	if g.chance(50) { // make NaN more frequent
		g.line("if %s { %s *= %s - %s }", g.either(), x, y, y)
		g.line("%s /= %s - %s", pick(g, []string{x, y}), x, x)
	}
	g.line("%s := %s", v, g.few("int32", 255))
	if g.chance(50) {
		g.line("%s := !(%s %s %s)", ok, x, pick(g, comparisons), y)
		g.line("if %s != (%s) { %s += 3 }", ok, g.either(), v)
	} else { // a negated comparison selects the value
		g.line("%s := true", ok)
		g.line("if %s %s %s { %s = false }", x, pick(g, comparisons), y, ok)
	}
	g.line("if %s { %s ^= 5 } else { %s -= 7 }", ok, v, v)
	g.tell("int32", v)
}

// twoModes performs one operation with two rounding modes.
func (g *gen) twoModes() {
	g.use("one operation with two rounding modes")
	t := pick(g, floats)
	x, y, v, w := g.fresh("v"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, 1 / %s(%s|1)", x, y, g.raw(t), t, g.few("int16", 4095))
	op := pick(g, []string{"gpu.AddRound(%s, %s, %s)", "gpu.SubRound(%s, %s, %s)", "gpu.MulRound(%s, %s, %s)", "gpu.DivRound(%s, %s, %s)", "gpu.FMARound(%[1]s, %[2]s, %[2]s, %[3]s)"})
	m := g.r.Perm(len(modes))
	g.line("%s, %s := %s, %s", v, w, fmt.Sprintf(op, x, y, modes[m[0]]), fmt.Sprintf(op, x, y, modes[m[1]]))
	g.tell(t, v, w)
}

// bothWays computes x op y and y op x.
func (g *gen) bothWays() {
	g.use("operation with its operands both ways")
	t := g.anyType()
	x, y, v, w := g.fresh("v"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	ops := []string{"-"}
	if t.isFloat() {
		ops = []string{"-", "/"}
	}
	op := pick(g, ops)
	g.line("%s, %s := %s, %s", x, y, g.raw(t), g.raw(t))
	g.line("%s, %s := %s%s%s, %s%s%s", v, w, x, op, y, y, op, x)
	g.line("if (%s < %s) != (%s < %s) { sum++ }", x, y, y, x)
	g.tell(t, v, w)
}

// divisions divides multiples of a constant, and their neighbors, by the constant.
func (g *gen) divisions() {
	g.use("division of a multiple of a constant")
	t := pick(g, []typ{"uint32", "uint16", "uint8", "int32", "int"})
	c := 3 + g.n(118)
	v, w := g.fresh("v"), g.fresh("v")
	g.line("%s := (%s*%d - %s) / %d", v, g.few(t, 1), c, g.few(t, 1), c)
	g.line("%s := %s(%s*%d+%d) %s %d", w, t, g.few("uint32", 1<<20-1), c, g.n(2), pick(g, []string{"/", "%"}), c)
	g.tell(t, v, w)
}

// exactly adds to and subtracts from a product that a conversion rounds, so it must not be fused
// into an FMA.
func (g *gen) exactly() {
	g.use("rounded product and sum")
	t := pick(g, floats)
	x, y, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, 0.3 + %s(%s)/7", x, y, g.raw(t), t, g.raw("uint8"))
	g.line("%s := %s", v, fmt.Sprintf(pick(g, []string{"%[1]s(%[2]s*%[3]s) + %[2]s", "%[1]s(%[2]s*%[3]s) - %[2]s", "%[2]s + %[1]s(%[2]s*%[3]s)", "%[3]s - %[1]s(%[2]s*%[3]s)"}), t, x, y))
	g.tell(t, v)
}

// wideCount shifts by 64-bit counts whose lower half is small.
func (g *gen) wideCount() {
	g.use("shift by a count beyond 32 bits")
	t := pick(g, ints)
	v, n := g.fresh("v"), g.fresh("v")
	u := pick(g, []string{"uint64", "int64", "uint", "int"})
	g.line("%s := %s(%s)<<32 | %s(%s)", n, u, g.few("uint8", 1), u, g.few("uint8", 15))
	g.line("%s := %s %s %s", v, g.raw(t), pick(g, []string{"<<", ">>"}), n)
	g.tell(t, v)
}

// saturating converts floats that may be outside the range of the integer type.
func (g *gen) saturating() {
	g.use("conversion that saturates")
	t, f := pick(g, []typ{"int8", "int16", "int16", "uint8", "uint16", "int32", "uint32", "int64", "uint64"}), pick(g, floats)
	v, w := g.fresh("v"), g.fresh("v")
	g.line("%s := gpu.Convert[%s](%s, %s)", v, t, g.raw(f), pick(g, modes))
	g.line("%s := gpu.Convert[%s](%s(%s)*%d.25, %s)", w, t, f, g.raw("int16"), 1+g.n(7), pick(g, modes))
	g.tell(t, v, w)
}

func (g *gen) complexProduct() {
	if g.k.Fuses { // results must not depend on fusing, but the parts of a complex product could be fused
		g.exactly()
		return
	}
	g.use("product of complex numbers")
	t := pick(g, floats)
	c, d, v, w := g.fresh("c"), g.fresh("c"), g.fresh("v"), g.fresh("v")
	part := func() string { return fmt.Sprintf("%s(%s)", t, g.raw(pick(g, []typ{"int16", "uint8"}))) }
	g.line("%s, %s := complex(%s, %s), complex(%s, %s)", c, d, part(), part(), part(), part())
	g.line("%s *= %s", c, d)
	g.line("%s, %s := real(%s), imag(%s)", v, w, c, c)
	g.tell(t, v, w)
}

// ties rounds to 16 bits numbers that are halfway between two 16-bit floats.
func (g *gen) ties() {
	g.use("tie between two 16-bit floats")
	v, w := g.fresh("v"), g.fresh("v")
	h, from := "num.BF16", 256
	if g.chance(30) {
		h, from = "num.F16", 2048
	}
	g.line("%s := num.To[%s](float32(%d + int(%s))).Float32()", v, h, from, g.raw("uint8"))
	g.line("%s := num.To[%s](math.Float32frombits(%s&^0xffff | 0x8000)).Float32()", w, h, g.raw("uint32"))
	g.tell("float32", v, w)
}

// rangeLimits compares numbers of a known range with the limits of that range.
func (g *gen) rangeLimits() {
	g.use("number at the limit of its range")
	t := pick(g, []typ{"int", "int32", "int64"})
	n, v, w := 2+g.n(30), g.fresh("v"), g.fresh("v")
	e, limit := "", n-1
	switch g.n(9) {
	case 7, 8: // ranges that overlap, on either side
		a, b := fmt.Sprintf("%s(%s)", t, g.few("uint8", 7)), fmt.Sprintf("%s(%s)", t, g.raw(pick(g, []typ{"uint8", "int8"})))
		if g.chance(40) {
			a, b = b, a
		}
		e, limit = fmt.Sprintf("%s(%s, %s)", pick(g, []string{"max", "max", "min"}), a, b), pick(g, []int{0, 7, 7})
	case 0:
		e = fmt.Sprintf("%s(uint32(%s) %% %d)", t, g.raw("uint32"), n)
	case 1:
		e = fmt.Sprintf("%s(%s) %% %d", t, g.raw("uint8"), n)
	case 2:
		e, limit = fmt.Sprintf("%s & %d", g.raw(t), n), n
	case 3:
		e, limit = fmt.Sprintf("%s(%s(%s), %d)", pick(g, []string{"max", "min"}), t, g.raw("int8"), n), n
	case 4:
		from := pick(g, []typ{"int8", "uint8", "int16", "uint16"})
		e = fmt.Sprintf("%s(%s)", t, g.raw(from))
		limit = map[typ]int{"int8": 127, "uint8": 255, "int16": 1<<15 - 1, "uint16": 1<<16 - 1}[from]
		if from.signed() && g.chance(50) {
			limit = -limit - 1
		}
	case 5:
		k := 24 + g.n(7)
		e, limit = fmt.Sprintf("%s(%s >> %d)", t, g.raw("uint32"), k), 1<<(32-k)-1
	default:
		e, limit = fmt.Sprintf("%s(%s) - %s(%s)", t, g.raw("uint8"), t, g.few("uint8", 7)), pick(g, []int{255, -7, 0})
	}
	g.line("%s := %s", v, e)
	g.line("%s := %s & 255", w, v)
	for range 3 {
		g.line("if %s %s %d { %s += 3 } else { %s *= 5 }", v, pick(g, comparisons), limit-1+g.n(3), w, w)
	}
	g.tell(t, v, w)
}

// folded computes with narrow variables whose values the compiler knows.
func (g *gen) folded() {
	g.use("narrow numbers computed by the compiler")
	t := pick(g, []typ{"int8", "int8", "int16", "uint8", "uint16"})
	a, b, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s(%d), %s(%d)", a, b, t, 3+g.n(125), t, 90+g.n(38))
	g.line("if %s { %s ^= 1 }", g.either(), a)
	g.line("%s := int64(%s*%s+%s) - int64(%s)*int64(%s+%s)", v, b, b, b, a, b, b)
	g.line("%s ^= int64(uint32(%s-%s*2)) + int64(uint8(%s<<1)) + int64(int8(%s+100))", v, a, b, b, b)
	g.tell("int64", v)
}
