package randgo

import "fmt"

// stepped generates a loop with up to 40 iterations, whose number is not constant. The counter goes up or
// down by any step. It can begin or end near a limit of its type, and can overflow.
func (g *gen) stepped() {
	g.use("loop with a step")
	t := pick(g, []typ{"int", "int32", "uint32", "uint", "int64", "uint64", "int32", "int", "int"})
	i, c, v, f, start, end := g.fresh("i"), g.fresh("i"), g.fresh("v"), g.fresh("v"), g.fresh("i"), g.fresh("i")
	up, limited := g.chance(60), true
	low, high := "0", fmt.Sprintf("1<<%d - 1", t.bits())
	if t.signed() {
		low, high = fmt.Sprintf("-1<<%d", t.bits()-1), fmt.Sprintf("1<<%d - 1", t.bits()-1)
	}
	switch g.n(4) {
	case 0:
		g.line("%s, %s := %s(%s) + %s, %s", start, end, t, low, g.few(t, 15), g.few(t, 63))
		g.line("%s += %s", end, start)
	case 1:
		g.line("%s, %s := %s, %s(%s) - %s", start, end, g.few(t, 63), t, high, g.few(t, 15))
		g.line("%s = %s - %s", start, end, start)
	default:
		limited = !up && !t.signed()
		g.line("%s, %s := %s, %s", start, end, g.few(t, 15), g.few(t, 63))
	}
	if !up {
		g.line("%s, %s = %s, %s", start, end, end, start)
	}
	sign, cond := "+", pick(g, []string{"<", "<", "<="})
	if !up {
		sign, cond = "-", pick(g, []string{">", ">", ">="})
	}
	step := fmt.Sprint(pick(g, []int{1, 1, 2, 3, 7, 16}))
	if up && g.chance(30) {
		step = g.fresh("i")
		g.line("%s := 1 + %s", step, g.few(t, 7))
	}
	g.line("%s, %s, %s := %s, float32(%s), 0", v, f, c, g.few("int64", 63), g.few("uint8", 7))
	test := fmt.Sprintf("%s %s %s", i, cond, end)
	if limited {
		test = pick(g, []string{test + " && %s < %d", "%s < %d && " + test})
		test = fmt.Sprintf(test, c, 20+g.n(20))
	}
	if g.chance(25) {
		test += fmt.Sprintf(" && %s&63 != %d", v, g.n(64))
	}
	if g.chance(30) {
		g.use("unroll directive")
		g.line("//gpu:unroll %d", pick(g, []int{0, 1, 2, 3, 5, 8, 16}))
	}
	g.line("for %[1]s := %[2]s; %[3]s; %[1]s, %[4]s = %[1]s %[5]s %[6]s, %[4]s+1 {", i, start, test, c, sign, step)
	for range 1 + g.n(2) {
		g.line("\t%s", pick(g, []string{
			fmt.Sprintf("%s = %s*3 + int64(%s)", v, v, i),
			fmt.Sprintf("%s ^= il[uint(%s)%%%d] >> 3", v, i, Inputs),
			fmt.Sprintf("if %s&3 == 1 { %s += 5; continue }", i, v),
			fmt.Sprintf("if %s&31 == %d { break }", v, g.n(32)),
			fmt.Sprintf("if %s > %d { %s -= int64(ii[uint(%s)%%%d]) }", v, g.n(100), v, i, Inputs),
		}))
	}
	g.line("\t%s = %s*0.5 + float32(%s&7)", f, f, i)
	g.line("\t%s = %s*5 + int64(%s)", v, v, c)
	g.line("}")
	g.tell("int64", v)
	g.tell("float32", f)
}

// strided generates loops over parts of slices. The second part may be shorter than the first.
func (g *gen) strided() {
	g.use("loop over a slice with a step")
	a, b := pick(g, g.arrays[:4]), pick(g, g.arrays[:4])
	i, v, s, u := g.fresh("i"), g.fresh("v"), g.fresh("s"), g.fresh("s")
	g.line("%s, %s := %s[%s:][:16+%s], %s[%s:][:40]", s, u, a.name, g.few("int", 7), g.few("int", 15), b.name, g.few("int", 7))
	g.line("%s := int64(0)", v)
	switch g.n(3) {
	case 0:
		g.line("for %s := %s; %s < len(%s); %s += %d {", i, g.few("int", 7), i, s, i, 1+g.n(4))
	case 1:
		g.line("for %s := len(%s) - 1 - %s; %s >= 0; %s -= %d {", i, s, g.few("int", 7), i, i, 1+g.n(4))
	default:
		g.line("for %s := range %s {", i, s)
	}
	g.line("\t%s = %s*3 + int64(%s[%s]) - int64(%s[%s+%d])", v, v, s, i, u, i, g.n(9))
	g.line("}")
	g.tell("int64", v)
}

// faultLater generates a loop that can fault in a later iteration, in the first or the second of two
// slices.
func (g *gen) faultLater() {
	g.use("fault in a later iteration")
	a, b := pick(g, g.arrays[:4]), pick(g, g.arrays[:4])
	i, s, u, n := g.fresh("i"), g.fresh("fs"), g.fresh("fs"), g.fresh("i")
	g.line("%s, %s, %s := %s[%d:][:12+%s], %s[:12+%s], 9+%s", s, u, n, a.name, g.n(8), g.few("int", 7), b.name, g.few("int", 7), g.few("int", 15))
	k := 1 + g.n(2)
	switch g.n(3) {
	case 0:
		g.line("for %s := %s; %s < %s; %s += %d {", i, g.few("int", 3), i, n, i, k)
	case 1:
		g.line("for %s := %s; %s >= -%s; %s -= %d {", i, n, i, g.few("int", 3), i, k)
	default:
		g.line("for %s := int32(%s); %s < int32(%s); %s += %d {", i, g.few("int", 3), i, n, i, k)
	}
	g.line("\toi[g*4] = oi[g*4]*3 + int64(%s[%s])", s, i)
	g.line("\toi[g*4] -= int64(%s[%s+%d])", u, i, g.n(3))
	g.line("}")
}
