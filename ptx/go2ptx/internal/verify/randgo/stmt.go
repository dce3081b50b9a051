package randgo

import (
	"fmt"
	"strconv"
	"strings"
)

// statement generates one statement.
func (g *gen) statement() {
	g.budget--
	if g.budget < 0 || g.depth > 4 {
		g.assign()
		return
	}
	switch g.n(42) {
	case 0, 1, 2, 3:
		g.declare()
	case 4, 5, 6, 7:
		g.assign()
	case 8, 9, 10:
		g.branch()
	case 11, 12, 13:
		g.loop()
	case 14:
		g.rangeLoop()
	case 15:
		g.switchOver()
	case 16, 17:
		g.localArray()
	case 18:
		g.structure()
	case 19:
		g.closure()
	case 20:
		g.pointer()
	case 21:
		g.slices()
	case 22:
		g.results()
	case 23:
		g.generic()
	case 24:
		g.labelled()
	case 25:
		g.copyClear()
	default:
		g.special()
	}
}

func (g *gen) add(name string, t typ) {
	g.vars = append(g.vars, variable{name: name, t: t})
	g.line("_ = %s", name)
}

func (g *gen) declare() {
	t := g.anyType()
	v := g.fresh("v")
	switch k := g.n(100); {
	case k < 10:
		g.line("var %s %s", v, t)
	case k < 20: // the compiler can evaluate operations on it
		g.use("variable with a constant value")
		g.line("%s := %s(%s)", v, t, g.constant(t))
	default:
		g.line("%s := %s", v, g.expr(t, 3))
	}
	g.add(v, t)
}

func (g *gen) target() (string, typ, bool) {
	var of []variable
	for _, v := range g.vars {
		if !v.fixed {
			of = append(of, v)
		}
	}
	var arrays []array
	for _, a := range g.arrays {
		if !a.fixed {
			arrays = append(arrays, a)
		}
	}
	if len(arrays) > 0 && (len(of) == 0 || g.chance(35)) {
		a := pick(g, arrays)
		g.use("element assigned")
		return fmt.Sprintf("%s[%s]", a.name, g.inside(a)), a.elem, true
	}
	if len(of) == 0 {
		return "", "", false
	}
	v := pick(g, of)
	return v.name, v.t, true
}

func (g *gen) assign() {
	to, t, ok := g.target()
	if !ok {
		g.declare()
		return
	}
	if other, o, ok := g.target(); ok && o == t && g.chance(15) {
		g.use("parallel assignment")
		g.line("%s, %s = %s, %s", to, other, g.expr(t, 2), g.expr(t, 2))
		return
	}
	switch {
	case g.chance(50):
		g.line("%s = %s", to, g.expr(t, 3))
	case g.chance(20):
		g.line("%s%s", to, pick(g, []string{"++", "--"}))
	case t.isFloat():
		g.line("%s %s %s", to, pick(g, g.floatAssigns()), g.expr(t, 2))
	default:
		g.line("%s %s %s", to, pick(g, []string{"+=", "-=", "*=", "^=", "|=", "&=", "&^="}), g.expr(t, 2))
	}
}

func (g *gen) branch() {
	g.use("if")
	g.line("if %s {", g.cond(2))
	g.block(1 + g.n(3))
	if g.chance(50) {
		g.line("} else {")
		g.block(1 + g.n(3))
	}
	g.line("}")
}

// turns returns a number of iterations below eight that differs between threads.
func (g *gen) turns() string {
	if g.chance(50) {
		return fmt.Sprint(1 + g.n(5))
	}
	g.use("loop with a count per thread")
	return fmt.Sprintf("int(%s&%d)", g.atom(pick(g, []typ{"uint8", "int32", "uint64", "int16"})), pick(g, []int{1, 3, 7}))
}

func (g *gen) loop() {
	if g.loops >= 2 {
		g.assign()
		return
	}
	g.loops++
	i := g.fresh("i")
	if g.chance(20) {
		g.leftInside(i)
		g.loops--
		return
	}
	switch g.n(4) {
	case 0:
		g.use("range over an integer")
		g.line("for %s := range %s {", i, g.turns())
		g.line("\t_ = %s", i)
	case 1:
		g.use("for with a condition")
		g.line("%s := %s", i, g.turns())
		g.line("for %s > 0 {", i)
		g.line("\t%s--", i)
	default:
		g.use("for with three clauses")
		g.line("for %s := 0; %s < %s; %s++ {", i, i, g.turns(), i)
	}
	g.vars = append(g.vars, variable{i, "int", true})
	g.block(1 + g.n(3))
	if g.chance(25) {
		g.line("\tif %s { %s }", g.cond(1), pick(g, []string{"break", "continue"}))
	}
	if g.chance(30) {
		g.block(1)
	}
	g.line("}")
	g.vars = drop(g.vars, i)
	g.loops--
}

// leftInside generates a loop with one exit, which is in its body.
func (g *gen) leftInside(i string) {
	g.use("loop left inside")
	g.line("for %s := 0; ; %s += %d {", i, i, 1+g.n(2))
	g.vars = append(g.vars, variable{i, "int", true})
	if g.chance(70) {
		g.block(1 + g.n(2))
	}
	if g.chance(20) {
		g.line("\tif %s < 6 && %s { continue }", i, g.cond(1))
	}
	g.line("\tif %s >= %s { break }", i, pick(g, []string{g.turns(), fmt.Sprint(g.n(5))}))
	g.block(1)
	g.line("}")
	g.vars = drop(g.vars, i)
}

func drop(of []variable, name string) []variable {
	for i, v := range of {
		if v.name == name {
			return append(of[:i:i], of[i+1:]...)
		}
	}
	return of
}

func (g *gen) rangeLoop() {
	if g.loops >= 2 {
		g.assign()
		return
	}
	g.loops++
	defer func() { g.loops-- }()
	a := pick(g, g.arrays)
	i, v := g.fresh("i"), g.fresh("e")
	part := a.name
	if a.len == 0 {
		low, high := strconv.Itoa(g.n(5)), strconv.Itoa(5+g.n(6))
		if !g.k.Faults { // then the bounds must not exceed the capacity
			if a.short {
				low = fmt.Sprintf("min(%s, cap(%s))", low, a.name)
			}
			high = fmt.Sprintf("min(%s, cap(%s))", high, a.name)
		}
		part = fmt.Sprintf("%s[%s:%s]", a.name, low, high)
	}
	if a.name == "p.Q" {
		part = "p.Q"
	}
	switch g.n(4) {
	case 0:
		if a.len == 0 {
			g.use("range over a function of two values")
			g.line("for %s, %s := range pairs(%s) {", i, v, part)
			break
		}
		fallthrough
	case 1:
		g.use("range over a function")
		g.line("for %s := range upTo(%s) {", i, g.turns())
		g.line("\t_ = %s", i)
		v = ""
	default:
		g.use("range over elements")
		g.line("for %s, %s := range %s {", i, v, part)
	}
	g.vars = append(g.vars, variable{i, "int", true})
	if v != "" {
		g.line("\t_, _ = %s, %s", i, v)
		g.vars = append(g.vars, variable{v, a.elem, true})
	}
	g.block(1 + g.n(2))
	if g.chance(40) {
		g.line("\tif %s { %s }", g.cond(1), pick(g, []string{"break", "continue"}))
	}
	g.block(1)
	g.line("}")
	g.vars = drop(drop(g.vars, i), v)
}

func (g *gen) switchOver() {
	g.use("switch")
	if g.chance(30) {
		g.line("switch {")
		for range 1 + g.n(3) {
			g.line("case %s:", g.cond(1))
			g.block(1 + g.n(2))
		}
		g.line("default:")
		g.block(1)
		g.line("}")
		return
	}
	g.line("switch %s & 7 {", g.atom(pick(g, []typ{"int", "uint8", "int32", "uint64"})))
	cases := g.r.Perm(8)
	for range 1 + g.n(4) {
		k := 1
		if len(cases) > 2 && g.chance(30) {
			k = 2
		}
		g.line("case %s:", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(cases[:k])), ", "), "[]"))
		cases = cases[k:]
		g.block(1 + g.n(2))
		if g.chance(20) {
			g.use("fallthrough")
			g.line("\tfallthrough")
			g.line("case %d:", cases[0])
			cases = cases[1:]
			g.block(1)
		}
		if len(cases) < 3 {
			break
		}
	}
	if g.chance(50) {
		g.line("default:")
		g.block(1)
	}
	g.line("}")
}

func (g *gen) localArray() {
	t := g.anyType()
	a := g.fresh("a")
	n := pick(g, []int{2, 4, 8, 16})
	if g.chance(40) {
		g.use("array literal")
		var e []string
		for range 1 + g.n(n) {
			e = append(e, g.expr(t, 1))
		}
		g.line("%s := [%d]%s{%s}", a, n, t, strings.Join(e, ", "))
	} else {
		g.use("array")
		g.line("var %s [%d]%s", a, n, t)
		g.line("for i := range %s { %s[i] = %s }", a, a, g.expr(t, 2))
	}
	g.line("_ = %s", a)
	g.arrays = append(g.arrays, array{name: a, elem: t, len: n})
}

func (g *gen) structure() {
	s := g.fresh("s")
	switch g.n(4) {
	case 0:
		g.use("struct copied and compared")
		g.line("%s := R{%s, %s}", s, g.expr("uint8", 2), g.expr("int64", 2))
		g.line("%sc := %s", s, s)
		g.line("%sc.V += %s", s, g.expr("int64", 1))
		g.line("if %s == %sc { %sc.U++ }", s, s, s)
		g.vars = append(g.vars, variable{s + ".U", "uint8", false}, variable{s + ".V", "int64", false}, variable{s + "c.U", "uint8", false}, variable{s + "c.V", "int64", false})
	case 1:
		g.use("array of structs")
		g.line("var %s [4]R", s)
		g.line("%s[%s&3].V = %s", s, g.index(), g.expr("int64", 2))
		g.line("%s[%s&3].U = %s", s, g.index(), g.expr("uint8", 2))
		v := g.fresh("v")
		g.line("%s := %s[%s&3]", v, s, g.index())
		g.line("_ = %s", v)
		g.vars = append(g.vars, variable{v + ".U", "uint8", false}, variable{v + ".V", "int64", false})
	case 2:
		if g.k.Fuses { // otherwise, its products could be fused
			g.assign()
			return
		}
		g.use("method with a pointer")
		g.line("%s := vec{%s, %s, 1}", s, g.expr("float32", 1), g.expr("float32", 1))
		g.line("%s.scale(%s)", s, g.expr("float32", 1))
		g.vars = append(g.vars, variable{s + ".x", "float32", false}, variable{s + ".z", "float32", false})
	case 3:
		if g.inHelper {
			g.assign()
			return
		}
		g.use("parameter copied")
		g.line("%s := p", s)
		g.line("%s.Q[%s] = %s", s, fmt.Sprint(g.n(3)), g.expr("int16", 2))
		g.line("%s.R.V = %s", s, g.expr("int64", 1))
		g.vars = append(g.vars, variable{s + ".Q[1]", "int16", false}, variable{s + ".R.V", "int64", false}, variable{s + ".A", "int32", false})
	}
}

func (g *gen) closure() {
	f := g.fresh("f")
	a, r := g.anyType(), g.anyType()
	to, t, ok := g.target()
	g.use("closure")
	g.line("%s := func(q %s) %s {", f, a, r)
	g.vars = append(g.vars, variable{"q", a, true})
	if ok && strings.IndexByte(to, '[') < 0 {
		g.use("closure that assigns")
		g.line("\t%s = %s", to, g.expr(t, 2))
	}
	if g.chance(30) {
		g.line("\tif %s { return %s }", g.cond(1), g.expr(r, 1))
	}
	g.line("\treturn %s", g.expr(r, 2))
	g.line("}")
	g.vars = drop(g.vars, "q")
	v := g.fresh("v")
	g.line("%s := %s(%s)", v, f, g.expr(a, 2))
	g.add(v, r)
	if g.chance(50) {
		g.line("%s = %s(%s)", v, f, g.expr(a, 1))
	}
}

func (g *gen) pointer() {
	var of []variable
	for _, v := range g.vars {
		if !v.fixed {
			of = append(of, v)
		}
	}
	if len(of) == 0 {
		g.declare()
		return
	}
	v := pick(g, of)
	q := g.fresh("q")
	g.use("pointer to a variable")
	g.line("%s := &%s", q, v.name)
	if g.chance(40) {
		for _, w := range of {
			if w.t == v.t && w.name != v.name {
				g.use("pointer that varies")
				g.line("if %s { %s = &%s }", g.cond(1), q, w.name)
				break
			}
		}
	}
	g.line("*%s = %s", q, g.expr(v.t, 2))
	g.vars = append(g.vars, variable{"(*" + q + ")", v.t, false})
}

func (g *gen) slices() {
	a := pick(g, g.arrays)
	if a.fixed && a.len > 0 || a.short {
		g.localArray()
		return
	}
	s := g.fresh("s")
	if a.len > 0 {
		g.use("slice of an array")
		low := g.n(a.len)
		g.line("%s := %s[%d:]", s, a.name, low)
		g.arrays = append(g.arrays, array{s, a.elem, 0, a.fixed, a.len-low < 16})
		g.line("_ = %s", s)
		return
	}
	g.use("slice of a slice")
	g.line("%s := %s[%s&1 : 2+%s&3]", s, a.name, g.index(), g.asUint(g.index()))
	if g.chance(50) {
		g.use("slice beyond the length")
		g.line("%s = %s[:1+len(%s)]", s, s, s)
	}
	g.line("_ = %s", s)
	g.arrays = append(g.arrays, array{s, a.elem, 0, a.fixed, false})
}

func (g *gen) results() {
	g.use("several results")
	a, b := g.fresh("v"), g.fresh("v")
	switch g.n(3) {
	case 0:
		g.line("%s, %s := bits.Mul64(%s, %s)", a, b, g.expr("uint64", 2), g.expr("uint64", 1))
	case 1:
		g.line("%s, %s := bits.Add64(%s, %s, %s&1)", a, b, g.expr("uint64", 2), g.expr("uint64", 1), g.atom("uint64"))
	default:
		g.line("%s, %s := func(v uint64) (h, l uint64) { h = v >> 7; l = v * 3; return }(%s)", a, b, g.expr("uint64", 2))
	}
	g.line("_, _ = %s, %s", a, b)
	g.vars = append(g.vars, variable{name: a, t: "uint64"}, variable{name: b, t: "uint64"})
}

func (g *gen) generic() {
	g.use("generic type")
	t := g.anyType()
	s, v, ok := g.fresh("s"), g.fresh("v"), g.fresh("ok")
	g.line("var %s stack[%s]", s, t)
	for range 1 + g.n(3) {
		g.line("%s.push(%s)", s, g.expr(t, 2))
	}
	g.line("%s, %s := %s.pop()", v, ok, s)
	g.line("if !%s { %s++ }", ok, v)
	g.add(v, t)
}

func (g *gen) labelled() {
	if g.loops >= 1 {
		g.assign()
		return
	}
	g.loops += 2
	g.use("labelled loop")
	l, i, j := g.fresh("L"), g.fresh("i"), g.fresh("j")
	g.line("%s:", l)
	g.line("for %s := 0; %s < %s; %s++ {", i, i, g.turns(), i)
	g.line("\tfor %s := range %s {", j, g.turns())
	g.line("\t\t_ = %s", j)
	g.vars = append(g.vars, variable{i, "int", true}, variable{j, "int", true})
	g.indent++
	g.block(1)
	g.line("\tif %s { %s %s }", g.cond(1), pick(g, []string{"break", "continue"}), l)
	g.block(1)
	g.indent--
	g.line("\t}")
	g.line("}")
	g.vars = drop(drop(g.vars, i), j)
	g.loops -= 2
}

func (g *gen) copyClear() {
	var of []array
	for _, a := range g.arrays {
		if !a.fixed && a.len > 0 {
			of = append(of, a)
		}
	}
	if len(of) == 0 {
		g.localArray()
		return
	}
	a := pick(g, of)
	defer func() { g.checksum(a) }()
	switch g.n(4) {
	case 0:
		g.use("clear")
		g.line("clear(%s[%d:])", a.name, g.n(a.len))
	case 1, 2:
		g.use("copy that overlaps")
		g.line("copy(%s[%d:], %s[:%d])", a.name, g.n(a.len), a.name, 1+g.n(a.len))
	default:
		g.use("array assigned")
		b := g.fresh("a")
		g.line("%s := %s", b, a.name)
		g.line("%s[%s] = %s", b, g.inside(array{name: b, len: a.len}), g.expr(a.elem, 2))
		if a.len <= 64 { // the compiler does not support comparisons of larger arrays
			g.line("if %s != %s { %s[0]++ }", b, a.name, b)
		}
		g.arrays = append(g.arrays, array{name: b, elem: a.elem, len: a.len})
	}
}

// checksum returns an expression that depends on all elements of an array.
func (g *gen) checksum(a array) {
	v := g.fresh("v")
	g.line("%s := %s", v, g.expr(a.elem, 1))
	g.line("for i := range %s { %s = %s - %s[i] + %s(i) }", a.name, v, v, a.name, a.elem)
	g.add(v, a.elem)
}
