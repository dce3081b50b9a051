package randgo

import "fmt"

// form generates a language construct that other generators do not produce.
func (g *gen) form() {
	pick(g, []func(){g.typedRange, g.rangeLabels, g.made, g.wideTies, g.wideTies, g.texts, g.complexQuotient, g.complexQuotient, g.zeroRounded, g.overflowingCounter, g.twoLatches,
		g.equalFloats, g.nilOrShared, g.switchOnVariables, g.stepped, g.stepped, g.strided})()
}

// typedRange ranges over a number of any integer type. Some of these numbers are large or negative.
func (g *gen) typedRange() {
	g.use("range over a number of a type")
	t := pick(g, ints)
	i, v := g.fresh("i"), g.fresh("v")
	g.line("%s := %s", v, g.few("int64", 63))
	g.line("for %s := range %s {", i, g.raw(t))
	g.line("\t%s = %s*3 + int64(%s)", v, v, i)
	g.line("\tif %s >= %d { break }", i, 1+g.n(6))
	g.line("}")
	g.tell("int64", v)
}

// rangeLabels breaks or continues an outer loop, by its label, from a range over a function.
func (g *gen) rangeLabels() {
	g.use("range over a function with a label")
	l, i, j, v := g.fresh("L"), g.fresh("i"), g.fresh("j"), g.fresh("v")
	g.line("%s := %s", v, g.few("int", 63))
	loop := func() string {
		return fmt.Sprintf(pick(g, []string{"range upTo(%s)", "range %s", "range upTo(%s)"}), "2+"+g.few("int", 3))
	}
	g.line("%s:", l)
	g.line("for %s := %s {", i, loop())
	g.line("\tfor %s := %s {", j, loop())
	g.line("\t\t%s = %s*3 + %s - %s", v, v, i, j)
	g.line("\t\tif %s&7 == %d { %s %s }", v, g.n(8), pick(g, []string{"break", "continue"}), l)
	g.line("\t\tif %s&7 == %d { %s }", v, g.n(8), pick(g, []string{"break", "continue"}))
	g.line("\t}")
	g.line("\tif %s&3 == %d { %s %s }", v, g.n(4), pick(g, []string{"break", "continue"}), l)
	g.line("\t%s ^= 5", v)
	g.line("}")
	g.tell("int", v)
}

// made generates variables that are allocated by make and new.
func (g *gen) made() {
	g.use("make and new")
	t := g.anyType()
	s, q, v, w := g.fresh("s"), g.fresh("q"), g.fresh("v"), g.fresh("v")
	n, c := 2+g.n(3), 4+g.n(5)
	g.line("%s := make([]%s, %d, %d)", s, t, n, c)
	g.line("%s[%s&1] = %s", s, g.few("int", 1), g.raw(t))
	g.line("%s := new(%s)", q, t)
	g.line("if %s { *%s = %s } else if %s { %s = &%s[1] }", g.either(), q, g.raw(t), g.either(), q, s)
	g.line("%s = %s[%d:cap(%s)-%d]", s, s, g.n(2), s, g.n(2))
	g.line("%s[len(%s)-1] -= %s", s, s, g.raw(t))
	g.line("%s, %s := *%s - %s[0], %s[uint(%s)%%uint(len(%s))]", v, w, q, s, s, g.few("int", 7), s)
	g.line("sum += int64(len(%s)*10 + cap(%s))", s, s)
	g.tell(t, v, w)
}

// wideTies rounds numbers to 16-bit floats that are so close to a tie that rounding them to a wider
// float first would give the tie itself.
func (g *gen) wideTies() {
	g.use("almost a tie between two 16-bit floats")
	h, odd := "num.BF16", fmt.Sprintf("(%s|1) + 256", g.few("int", 127))
	if g.chance(30) {
		h, odd = "num.F16", fmt.Sprintf("(%s|1) + 2048", g.few("int", 127))
	}
	small := fmt.Sprintf("(float64(%s)-1)*%s", g.few("uint8", 2), pick(g, []string{"1e-3", "1e-9", "1e-11"}))
	v, w, x := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s := num.To[%s](float64(%s) + float64(%s)).Float32()", v, h, odd, small)
	shift := 54
	if h == "num.F16" {
		shift = 4
	}
	whole := fmt.Sprintf("%s(%s)<<%d + %s", pick(g, []string{"int64", "uint64"}), odd, shift, pick(g, []string{"1", "1", "0"}))
	if g.chance(60) {
		g.line("%s := gpu.Convert[%s](%s, %s).Float32()", w, h, whole, pick(g, modes[:2]))
	} else {
		g.line("%s := num.To[%s](%s).Float32()", w, h, whole)
	}
	of := func(n string) string { return fmt.Sprintf("num.To[%s](%s)", h, n) }
	p := pick(g, [][2]int{{7, 37}, {9, 29}, {5, 53}, {5, 53}, {7, 39}})
	if h == "num.F16" {
		p = pick(g, [][2]int{{41, 51}, {43, 49}, {21, 99}, {29, 71}})
	}
	g.line("%s := %s.FMA(%s, %s).Float32()", x, of(fmt.Sprint("float32(", p[0], ")")), of(fmt.Sprint("float32(", p[1], ")")), of(fmt.Sprintf("(float32(%s)-1)*%s", g.few("uint8", 2), pick(g, []string{"1e-4", "1e-30", "1e-30", "1e-30", "1"}))))
	g.tell("float32", v, w, x)
}

func (g *gen) complexQuotient() {
	if g.k.Fuses { // the products in a complex quotient could be fused
		g.wideTies()
		return
	}
	g.use("complex quotient of limits")
	f := pick(g, floats)
	c, v, w := g.fresh("c"), g.fresh("v"), g.fresh("v")
	part := func() string { return pick(g, []string{g.raw(f), fmt.Sprintf("%s(%s)", f, g.raw("int16"))}) }
	x, y, z := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s, %s := %s, %s, %s(0)", x, y, z, part(), part(), f)
	g.line("if %s { %s = 1 / %s } else if %s { %s = -%s; %s = %s }", g.either(), pick(g, []string{x, y}), z, g.either(), x, z, y, pick(g, []string{z, "-" + z}))
	g.line("%s := complex(%s, %s) %s complex(%s, %s)", c, part(), part(), pick(g, []string{"/", "/", "/", "*"}), x, y)
	g.line("%s, %s := real(%s), imag(%s)", v, w, c, c)
	g.tell(f, v, w)
}

// zeroRounded adds or subtracts 0, and multiplies or divides by a small integer, with a rounding mode.
func (g *gen) zeroRounded() {
	g.use("rounding mode beside 0 or 1")
	t := pick(g, floats)
	x, v, w := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s := %s", x, g.raw(t))
	g.line("if %s { %s = 0 }", g.either(), x)
	m := pick(g, []string{"gpu.ToNegativeInf", "gpu.ToNegativeInf", "gpu.ToPositiveInf", "gpu.ToZero"})
	g.line("%s := gpu.%sRound(%s, 0, %s)", v, pick(g, []string{"Sub", "Add"}), x, m)
	g.line("%s := gpu.%sRound(%s, %d, %s)", w, pick(g, []string{"Mul", "Div"}), x, 1+g.n(3), m)
	g.tell(t, v, w)
}

// overflowingCounter generates a loop whose counter exceeds the largest number of its type.
func (g *gen) overflowingCounter() {
	g.use("counter that overflows")
	t, limit := pick(g, []typ{"int32", "int", "int64", "int32"}), "1<<31 - 1"
	if t.bits() == 64 {
		limit = "1<<63 - 1"
	}
	i, n, v, turn := g.fresh("i"), g.fresh("v"), g.fresh("v"), g.fresh("i")
	g.line("%s, %s, %s := %s(%s)-%s, %s, 0", n, v, turn, t, limit, g.few(t, 3), g.few("int", 63))
	step := pick(g, []string{"++", "++", " += 2", " += 3"})
	g.line("for %s := %s - 2; %s %s %s; %s%s {", i, n, i, pick(g, []string{"<", "<=", "<=", "!="}), n, i, step)
	g.line("\tif %s++; %s > 6 { break }", turn, turn)
	g.line("\tif %s %s 0 { %s += 3 } else { %s = %s*5 + int(%s&7) }", i, pick(g, []string{"<", ">=", ">"}), v, v, v, i)
	g.line("}")
	g.tell("int", v)
}

// twoLatches generates a loop with two back edges, each of which changes the counter in its own way.
func (g *gen) twoLatches() {
	g.use("loop with two ways back")
	t := pick(g, []typ{"int", "int32", "int64"})
	i, v, turn := g.fresh("i"), g.fresh("v"), g.fresh("i")
	g.line("%s, %s, %s := %s, %s, 0", i, v, turn, g.few(t, 3), g.few(t, 63))
	l := g.fresh("L")
	g.line("%s:", l)
	g.line("if %s < %d {", i, 2+g.n(4))
	g.line("\tif %s < 0 { %s += 3 } else { %s = %s*3 + %s }", i, v, v, v, i)
	g.line("\tif %s++; %s < 8 {", turn, turn)
	g.line("\t\tif %s&%d == 1 { %s -= %d; goto %s }", turn, pick(g, []int{1, 3}), i, 2+g.n(4), l)
	g.line("\t\t%s++", i)
	g.line("\t\tgoto %s", l)
	g.line("\t}")
	g.line("}")
	g.tell(t, v)
}

// equalFloats compares arrays and complex numbers whose parts may be NaN, +0 or -0.
func (g *gen) equalFloats() {
	g.use("comparison of values with floats")
	t := pick(g, floats)
	x, y, z, v := g.fresh("v"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, %s(0)", x, z, g.raw(t), t)
	g.line("if %s { %s = %s / %s } else if %s { %s = -%s }", g.either(), x, z, z, g.either(), x, z)
	g.line("%s := [2]%s{%s, 1}", y, t, x)
	g.line("if %s { %s[0] = %s }", g.either(), y, pick(g, []string{"0", "1", g.raw(t)}))
	g.line("%s := %s", v, g.few("int", 63))
	g.line("if %s %s [2]%s{%s, 1} { %s += 3 }", y, pick(g, []string{"==", "!="}), t, x, v)
	g.line("if complex(%s, 1) %s complex(%s[0], %s[1]) { %s *= 5 }", x, pick(g, []string{"==", "!="}), y, y, v)
	g.tell("int", v)
}

// nilOrShared compares pointers to shared and local memory with nil. The memory may begin at address 0
// of its state space.
func (g *gen) nilOrShared() {
	g.use("pointer to shared memory or nil")
	t := g.anyType()
	if !g.room(8 * Block) {
		g.made()
		return
	}
	tile, q, x, v := g.fresh("tile"), g.fresh("q"), g.fresh("v"), g.fresh("v")
	g.line("%s := gpu.Shared[[%d]%s](t)", tile, Block, t)
	g.line("%s[r] = %s", tile, g.raw(t))
	g.line("%s, %s := %s, %s", x, v, g.raw(t), g.few("int", 63))
	g.line("var %s *%s", q, t)
	g.line("if %s { %s = &%s[r] }", g.either(), q, tile)
	if g.chance(50) {
		g.line("if %s { %s = &%s }", g.either(), q, x)
	}
	g.line("if %s != nil { %s += 3; *%s -= %s } else { %s *= 5 }", q, v, q, g.raw(t), v)
	g.line("%s -= %s[r]", x, tile)
	g.tell("int", v)
	g.tell(t, x)
}

// texts generates code that indexes and slices constant strings.
func (g *gen) texts() {
	g.use("index and slice of a string")
	s, v := g.fresh("s"), g.fresh("v")
	g.line("%s := %q[%s : 3+%s]", s, pick(g, []string{"purecuda", "0\x00\xff9\x80AZz", "aé∂x~"}), g.few("int", 3), g.few("int", 3))
	g.line("%s := len(%s)", v, s)
	g.line("for i := range len(%s) { %s = %s*3 + int(%s[i]) }", s, v, v, s)
	g.line("if len(%s) > 2 && %s[1] < %s[2] { %s ^= 5 }", s, s, s, v)
	g.line("%s += min(%s, %s, %d)", v, g.few("int", 63), v, 20+g.n(20))
	g.tell("int", v)
}

// switchOnVariables generates a switch whose cases are not constant and may be equal.
func (g *gen) switchOnVariables() {
	g.use("switch with cases that are no constants")
	t := pick(g, ints)
	x, y, z, v := g.fresh("v"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s, %s := %s, %s, %s", x, y, z, g.few(t, 3), g.few(t, 3), g.few(t, 3))
	g.line("%s := %s", v, g.few("int", 63))
	g.line("switch %s {", x)
	def := fmt.Sprintf("default: %s -= 7", v)
	at := g.n(3)
	if at == 0 {
		g.line("%s", def)
	}
	g.line("case %s: %s += 3", y, v)
	if g.chance(40) {
		g.line("\tif %s { break }", g.either())
		g.line("\tfallthrough")
	}
	g.line("case %s, %s + 1: %s *= 5", z, y, v)
	if at == 1 {
		g.line("%s", def)
	}
	g.line("case %s - 1: %s ^= 9", z, v)
	if at == 2 {
		g.line("%s", def)
	}
	g.line("}")
	g.tell("int", v)
}
