package randgo

import "math/rand/v2"

// late generates further statements from random numbers of their own, and leaves nothing in scope. A
// new generator in these lists therefore changes no other statement of any kernel, and the seeded
// errors that the other statements reveal are still caught.
func (g *gen) late(seed uint64, of []func()) {
	r, vars, arrays := g.r, len(g.vars), len(g.arrays)
	g.r = rand.New(rand.NewPCG(seed, 0x2545f4914f6cdd1d))
	for range 1 + g.n(2) {
		pick(g, of)()
	}
	g.r, g.vars, g.arrays = r, g.vars[:vars], g.arrays[:arrays]
}

// lateShapes lists the generators of statements that follow the others.
func (g *gen) lateShapes() []func() { return []func(){g.wrapped, g.groups} }

// wrapped compares a sum, which may overflow, with one of its operands.
func (g *gen) wrapped() {
	g.use("sum compared with its operand")
	t := pick(g, []typ{"int32", "int", "int64"})
	x, y, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, %s", x, v, g.raw(t), g.few("int", 63))
	g.line("%s := %s %s", y, x, pick(g, []string{"- 1", "- 3", "- 100", "+ 1", "+ 50", "- " + g.few(t, 3)}))
	for range 2 {
		g.line("if %s %s %s { %s += 3 } else { %s *= 5 }", y, pick(g, comparisons), x, v, v)
	}
	g.tell("int", v)
}

// groups divides numbers into groups of equal size, and compares the index of an element with the
// number of elements. The branch holds for indices of groups that are complete.
func (g *gen) groups() {
	g.use("index of an element of a group")
	t := pick(g, []typ{"int", "int32", "int64"})
	n, i, v := g.fresh("v"), g.fresh("i"), g.fresh("v")
	k := 2 + g.n(4)
	g.line("%s, %s := %s, %s", n, v, g.few(t, 31), g.few("int", 63))
	g.line("%s := %s", i, g.few(t, 7))
	g.line("if %s %s %s/%d {", i, pick(g, []string{"<", "<", "<="}), n, k)
	for range 3 { // the factor may differ from the divisor, and the element may be of the next group
		g.line("\tif %s*%d+%d %s %s { %s += 3 } else { %s *= 5 }", i, k+max(0, g.n(4)-2), g.n(2*k+1), pick(g, []string{"<", "<=", ">"}), n, v, v)
	}
	g.line("}")
	g.tell("int", v)
}
