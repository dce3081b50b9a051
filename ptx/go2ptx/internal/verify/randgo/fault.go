package randgo

import "fmt"

// faultOf generates a statement that can fault.
func (g *gen) faultOf(kind int) {
	a := pick(g, g.arrays[:4]) // only integers, because Go does not specify out-of-range conversions from float to integer
	switch kind {
	case 0:
		g.use("fault index")
		g.line("oi[g*4] += int64(%s[%s])", a.name, g.expr("int", 2))
	case 1:
		g.use("fault slice")
		g.line("oi[g*4] += int64(len(%s[%s:%s]))", a.name, g.expr("int8", 1), g.expr("int16", 1))
	case 2:
		g.use("fault divide")
		t := pick(g, ints)
		g.line("oi[g*4] += int64(%s / (%s & 1))", g.atom(t), g.atom(t))
	case 3:
		g.use("fault shift")
		g.line("oi[g*4] += int64(%s) << %s", g.atom("int64"), g.expr(pick(g, []typ{"int8", "int32", "int64"}), 1))
	case 4:
		g.use("fault convert")
		g.line("oi[g*4] += int64((*[%d]%s)(%s[%s&63:])[1])", 5+g.n(60), a.elem, a.name, g.expr("int", 1))
	case 5:
		g.use("fault panic")
		g.line("if %s { panic(\"kernel %s gives up\") }", g.cond(2), g.name)
	case 6:
		g.use("fault remainder")
		t := pick(g, ints)
		g.line("oi[g*4] += int64(%s %% (%s >> %d))", g.atom(t), g.atom(t), g.n(8))
	case 7:
		g.use("fault index")
		v := g.fresh("fa")
		g.line("var %s [8]int32", v)
		g.line("%s[%s&15]++", v, g.expr("uint8", 2))
		g.line("oi[g*4] += int64(%s[%s&7])", v, g.expr("uint8", 1))
	case 8:
		g.use("fault three-index slice")
		g.line("oi[g*4] += int64(cap(%s[%s:%s:%s]))", a.name, g.expr("uint8", 1), g.expr("uint8", 1), g.expr("uint8", 1))
	case 9:
		g.use("fault nil")
		v, q := g.fresh("fv"), g.fresh("fq")
		g.line("%s := %s", v, g.expr("int64", 1))
		g.line("var %s *int64", q)
		g.line("if %s { %s = &%s }", g.cond(1), q, v)
		g.line("oi[g*4] += *%s", q)
	case 10:
		g.use("fault assert")
		g.line("gpu.Assert(t, %s, \"kernel %s asserts\")", g.cond(1), g.name)
	case 11:
		g.use("fault in a function")
		f := pick(g, []string{"divide", "divideCalled"})
		g.line("oi[g*4] += int64(%s(%s, %s&%d))", f, g.atom("int32"), g.atom("int32"), 1+g.n(3))
	case 12:
		g.use("fault after the last element")
		s, i := g.fresh("fs"), g.fresh("i")
		g.line("%s := %s[%d:%d]", s, a.name, g.n(4), 4+g.n(5))
		g.line("for %s := %d; %s %s len(%s)+%d; %s++ {", i, g.n(4), i, pick(g, []string{"<", "<="}), s, g.n(2), i)
		g.line("\toi[g*4] += int64(%s[%s])", s, i)
		g.line("}")
	case 13:
		g.use("fault before the first element")
		s, i := g.fresh("fs"), g.fresh("i")
		g.line("%s := %s[%d:%d]", s, a.name, g.n(4), 4+g.n(5))
		g.line("for %s := int8(%d); %s > %d; %s-- {", i, 1+g.n(5), i, -1-g.n(3), i)
		g.line("\toi[g*4] += int64(%s[%s])", s, i)
		g.line("}")
	case 14:
		g.use("fault index that is checked above only")
		i := g.fresh("i")
		g.line("%s := int(%s) - %d", i, g.atom("int8"), g.n(40))
		g.line("if %s < len(%s) { oi[g*4] += int64(%s[%s]) }", i, a.name, a.name, i)
	case 15:
		g.use("fault index that is checked below only")
		i := g.fresh("i")
		g.line("%s := int(%s) + %d", i, g.atom(pick(g, []typ{"int8", "uint8"})), g.n(40))
		g.line("if %s >= 0 { oi[g*4] += int64(%s[%s]) }", i, a.name, a.name+"["+i+"]&3")
	case 16, 17:
		g.use("fault of a slice whose bounds are inside")
		low, high := g.fresh("i"), g.fresh("i")
		g.line("%s, %s := int(%s&63), int(%s&63)", low, high, g.atom("uint8"), g.atom("uint8"))
		g.line("oi[g*4] += int64(len(%s[%s]))", a.name, fmt.Sprintf(pick(g, []string{"%[1]s:%[2]s", "%[1]s:%[2]s", "%[1]s:%[2]s:70", ":%[1]s][%[2]s:"}), low, high))
	case 18, 19:
		g.use("fault that a loop may have before the first one")
		i, d := g.fresh("i"), g.fresh("fd")
		g.line("%s, %s := int(int8(%s)) %s %d, %s & 1", i, d, g.atom("uint8"), pick(g, []string{"-", "+"}), g.n(60), g.atom("int32"))
		g.line("for {")
		g.line("\toi[g*4] += int64(%s[%s])", a.name, i)
		g.line("\toi[g*4] += int64(%d / %s)", 2+g.n(9), d)
		g.line("\tif %s++; %s&3 == 0 { break }", i, i)
		g.line("}")
	case 20, 21:
		g.faultLater()
	default:
		g.use("fault in a loop that may not run")
		i, d := g.fresh("i"), g.fresh("fd")
		g.line("%s := %s & %d", d, g.atom("int32"), g.n(3))
		g.line("for %s := range int(%s&3) {", i, g.atom("uint8"))
		g.line("\tif %s > %d { oi[g*4] += int64(%s / %s) }", i, g.n(3), g.atom("int32"), d)
		g.line("}")
	}
}
