package randgo

import (
	"fmt"
	"math/rand/v2"
)

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
func (g *gen) lateShapes() []func() {
	return []func(){g.wrapped, g.groups, g.sideChecks, g.loopChecks, g.truncated}
}

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

// truncated compares 32 bits of a number that is not negative and has more. They may be negative.
func (g *gen) truncated() {
	g.use("lower half of a number that is not negative")
	x, y, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s := int64(%s)+%d, %s", x, v, g.raw("uint32"), g.n(100), g.few("int", 63))
	g.line("%s := int32(%s)", y, x)
	for range 2 {
		g.line("if %s %s %d { %s += 3 } else { %s *= 5 }", y, pick(g, comparisons), g.n(3)-1, v, v)
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

// small returns an index of type t that is inside every input, which the compiler cannot know.
func (g *gen) small(t typ) string { return g.few(t, 63) }

// sideChecks loads elements in one or both sides of branches, which follow one another.
func (g *gen) sideChecks() {
	g.use("loads in the sides of several branches")
	t := pick(g, []typ{"int", "int32", "int32", "int64"})
	i, v, s := g.fresh("i"), g.fresh("v"), g.fresh("s")
	g.line("%s, %s := %s, %s", i, v, g.small(t), g.few("int64", 63))
	g.line("%s := %s", s, g.elsewhere("int64"))
	for k := range 2 + g.n(3) {
		a := pick(g, g.arrays[:4])
		g.line("if %s {", pick(g, []string{g.either(), fmt.Sprintf("%s < %d", i, 20+g.n(40))}))
		g.line("\t%s[%d] = int64(%s[%s+%d]) - %s", s, k%4, a.name, i, g.n(9), v)
		if g.chance(30) {
			g.line("\tif %s { %s += int64(%s[%s+%d]) }", g.either(), v, a.name, i, g.n(9))
		}
		if g.chance(40) {
			g.line("} else {")
			g.line("\t%s ^= int64(%s[%s^%d])", v, a.name, i, 1+g.n(7))
		}
		g.line("}")
	}
	g.line("%s = %s*3 + %s[0] - %s[1] + %s[2] ^ %s[3]", v, v, s, s, s, s)
	g.tell("int64", v)
}

// loopChecks generates a loop with loads from indices that the loop changes and from others.
func (g *gen) loopChecks() {
	g.use("loop with loads from constant indices")
	t := pick(g, []typ{"int", "int32", "int32", "int64"})
	i, j, k, v := g.fresh("i"), g.fresh("i"), g.fresh("i"), g.fresh("v")
	g.line("%s, %s, %s := %s, %s, %s", i, k, v, g.small(t), g.small(t), g.few("int64", 63))
	g.line("_, _ = %s, %s", i, k)
	g.line("for %s := %s(0); %s < %s; %s++ {", j, t, j, g.few(t, 3), j)
	for range 1 + g.n(3) {
		a := pick(g, g.arrays[:4])
		load := fmt.Sprintf("%s = %s*3 + int64(%s[%s])", v, v, a.name, pick(g, []string{i + "+" + j, k, k + "+" + i + "&15", i + "^" + j, "r&31+int(" + k + ")"}))
		if g.chance(50) {
			load = fmt.Sprintf("if %s { %s }", pick(g, []string{g.either(), fmt.Sprintf("r < int(%s)", k)}), load)
		}
		g.line("\t%s", load)
	}
	g.line("}")
	g.tell("int64", v)
}

// lateFaults lists the generators of statements that follow the other statements that can fault.
func (g *gen) lateFaults() []func() { return []func(){g.faultOfSeveral, g.faultInLoop} }

// wild returns an index of type t, which is inside an input for about half of the threads.
func (g *gen) wild(t typ) string {
	return fmt.Sprintf("%s(%s)", t, pick(g, []string{g.raw("int8"), g.raw("uint8"), fmt.Sprintf("(%d + %s)", Inputs-2, g.few("int8", 3))}))
}

// faultOfSeveral generates several accesses, each of which can fault.
func (g *gen) faultOfSeveral() {
	g.use("fault of one of several accesses")
	t := pick(g, []typ{"int", "int32", "int32"})
	i, k := g.fresh("i"), g.fresh("i")
	g.line("%s, %s := %s, %s", i, k, g.wild(t), g.wild(t))
	g.line("_, _ = %s, %s", i, k)
	for range 2 + g.n(3) {
		a := pick(g, g.arrays[:4])
		load := fmt.Sprintf("oi[g*4] += int64(%s[%s])", a.name, pick(g, []string{i, k, i + "+1", k + "-1", i + "-" + k, i + "*3"}))
		if g.chance(60) {
			load = fmt.Sprintf("if %s { %s }", pick(g, []string{g.either(), i + " > 0", fmt.Sprintf("%s < %s(len(%s))", i, t, a.name), k + " >= 0"}), load)
		}
		g.line("%s", load)
	}
}

// faultInLoop generates a loop with accesses that can fault. Some of their indices are the same in all
// iterations.
func (g *gen) faultInLoop() {
	g.use("fault of one of several accesses in a loop")
	t := pick(g, []typ{"int", "int32", "int32"})
	i, j, k := g.fresh("i"), g.fresh("i"), g.fresh("i")
	g.line("%s, %s := %s, %s", i, k, g.wild(t), g.wild(t))
	g.line("_, _ = %s, %s", i, k)
	g.line("for %s := %s(0); %s < %s; %s++ {", j, t, j, g.few(t, 7), j)
	g.line("\t_ = %s", j)
	for range 2 + g.n(3) {
		a := pick(g, g.arrays[:4])
		load := fmt.Sprintf("oi[g*4] += int64(%s[%s])", a.name, pick(g, []string{i, k, i + "+" + j, k + "-" + j, i + "-" + k, k + "*" + j}))
		if g.chance(60) {
			load = fmt.Sprintf("if %s { %s }", pick(g, []string{fmt.Sprintf("%s > %d", j, g.n(4)), i + " > 0", fmt.Sprintf("%s < %s(len(%s))", k, t, a.name)}), load)
		}
		g.line("\t%s", load)
	}
	g.line("}")
}
