package randgo

import "fmt"

// nested generates a condition inside of another one, and a variable that shows which of them were true.
func (g *gen) nested() {
	g.use("conditions inside of conditions")
	v, t := g.fresh("v"), pick(g, ints)
	value := func() string {
		if g.chance(60) {
			return fmt.Sprint(g.n(100))
		}
		return g.atom(t)
	}
	op := func() string { return pick(g, []string{"&&", "||"}) }
	g.line("%s := %s(%s)", v, t, value())
	switch g.n(3) {
	case 0:
		g.line("if %s %s %s {", g.cond(1), op(), g.cond(1))
	default:
		g.line("if %s {", g.cond(1))
	}
	g.line("\t%s = %s(%s)", v, t, value())
	g.line("\tif %s {", g.cond(1))
	g.line("\t%s = %s(%s)", v, t, value())
	g.block(1 + g.n(2))
	g.line("\t}")
	g.line("}")
	g.add(v, t)
}
