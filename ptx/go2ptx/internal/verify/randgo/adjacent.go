package randgo

import (
	"fmt"
	"strings"
)

// lateMemory lists the generators of statements that access adjacent elements, which the compiler joins
// into vector accesses.
func (g *gen) lateMemory() []func() {
	return []func(){g.rows, g.rows, g.ownRow, g.ownRow, g.complexTile, g.pairs}
}

// from returns the number of elements by which a row is shifted. It is the same for all threads.
func (g *gen) from() string { return pick(g, []string{"0", "1", "2", "n&1", "n&3", "m&3", "m&1"}) }

// weigh returns a sum of all elements of an array or slice, each with its own factor.
func (g *gen) weigh(name string, t typ, n int) string {
	var parts []string
	for i := range n {
		e := fmt.Sprintf("int64(%s[%d])", name, i)
		switch t {
		case "float32":
			e = fmt.Sprintf("int64(bits32(%s[%d]))", name, i)
		case "float64":
			e = fmt.Sprintf("int64(bits64(%s[%d]))", name, i)
		}
		parts = append(parts, fmt.Sprintf("%s*%d", e, 2*g.n(50)+1))
	}
	return strings.Join(parts, " + ")
}

// rows reads vectors from an input. Their alignment depends on the shift.
func (g *gen) rows() {
	g.use("rows of adjacent elements")
	type row struct {
		name string
		elem typ
		len  int
	}
	in := pick(g, []row{{"ib", "uint8", 4}, {"ib", "uint8", 8}, {"ib", "uint8", 16}, {"is", "int16", 8}, {"is", "int16", 4}, {"is", "int16", 2},
		{"ii", "int32", 4}, {"ii", "int32", 2}, {"fs", "float32", 4}, {"fd", "float64", 2}, {"il", "int64", 2}})
	s, i, v, q := g.fresh("s"), g.fresh("i"), g.fresh("v"), g.fresh("q")
	g.line("%s, %s := %s[%s:], int64(0)", s, v, in.name, g.from())
	// A step of half a row changes the alignment.
	step := in.len / pick(g, []int{1, 1, 2})
	at := fmt.Sprintf("%d*%s", step, i)
	if g.chance(50) {
		g.line("for %s := range %s {", i, pick(g, []string{"4", "1+n&3", "1+int(m&3)", "1+" + g.few("int", 3)}))
	} else {
		g.line("for ; len(%s) > %d; %s = %s[%d:] {", s, Inputs-4*step, s, s, step)
		at = ""
	}
	if in.elem == "uint8" && g.chance(60) { // other types check the alignment
		g.line("\t%s := *(*[%d]%s)(%s[%s:])", q, in.len, in.elem, s, at)
	} else {
		g.line("\t%s := %s[%s:][:%d]", q, s, at, in.len)
	}
	g.line("\t%s = %s*7 + %s", v, v, g.weigh(q, in.elem, in.len))
	g.line("}")
	g.tell("int64", v)
}

// ownRow writes the elements of a thread's row of shared memory in several steps.
func (g *gen) ownRow() {
	t, n := pick(g, []typ{"uint8", "int8", "int16", "uint16", "int32", "float32", "int64"}), pick(g, []int{2, 4, 8})
	if t == "uint8" || t == "int8" {
		n *= 2
	}
	if !g.room((2*Block*n + 4) * t.bits() / 8) {
		return
	}
	g.use("row of adjacent elements in shared memory")
	tile, row, q, v := g.fresh("tile"), g.fresh("s"), g.fresh("q"), g.fresh("v")
	g.line("%s := gpu.Shared[[%d]%s](t)", tile, 2*Block*n+3, t)
	g.line("%s, %s := %s[r*%d+%s:][:%d], int64(0)", row, v, tile, 2*n, pick(g, []string{"0", "0", "1", "n&1", "int(m&3)"}), 2*n)
	g.line("%s := %s[%d:]", q, row, n)
	set := func(name string, from, to int) {
		var left, right []string
		for i := from; i < to; i++ {
			left, right = append(left, fmt.Sprintf("%s[%d]", name, i)), append(right, g.expr(t, 1))
		}
		g.line("%s = %s", strings.Join(left, ", "), strings.Join(right, ", "))
	}
	cut := 1 + g.n(n-1)
	set(row, 0, cut)
	if g.chance(50) { // a load between the stores
		g.line("%s += %s", v, g.weigh(fmt.Sprintf("%s[%s:]", row, g.few("int", min(cut-1, 1))), t, 1))
	}
	set(row, cut, n)
	set(q, 0, n)
	if g.chance(50) { // a store between the loads, without a check that would also separate them
		g.line("%s += %s", v, g.weigh(row, t, cut))
		g.line("%s[(r*%d+%d)&%d] = %s(r*13 + 5)", row, 2*g.n(4)+1, g.n(8), 2*n-1, t)
		g.line("%s = %s*9 + %s", v, v, g.weigh(fmt.Sprintf("%s[%d:]", row, cut), t, 2*n-cut))
	} else {
		g.line("%s = %s*9 + %s", v, v, g.weigh(row, t, 2*n))
	}
	g.tell("int64", v)
}

// complexTile keeps complex numbers in shared memory.
func (g *gen) complexTile() {
	t, part := "complex64", typ("float32")
	if g.chance(30) {
		t, part = "complex128", "float64"
	}
	if !g.room(2 * Block * 16) {
		return
	}
	g.use("complex numbers in shared memory")
	tile, a, b := g.fresh("tile"), g.fresh("c"), g.fresh("v")
	g.line("%s := gpu.Shared[[%d]%s](t)", tile, 2*Block, t)
	g.line("%s[2*r], %s[2*r+1] = complex(%s, %s), complex(%s, %s)", tile, tile, g.raw(part), g.raw(part), g.raw(part), g.raw(part))
	g.line("%s := %s[2*r+%s]", a, tile, g.few("int", 1))
	g.line("%s := real(%s) - imag(%s) + real(%s[2*r])", b, a, a, tile)
	g.tell(part, b)
}

// pairs changes adjacent elements of an output.
func (g *gen) pairs() {
	g.use("adjacent elements of an output")
	q, i := g.fresh("q"), g.fresh("i")
	g.line("%s := oi[g*%d:][:%d]", q, Ints, Ints)
	g.line("%s[0], %s[1], %s[2] = %s[1]+%s, %s[0]-%s, %s[3]", q, q, q, q, g.expr("int64", 1), q, g.expr("int64", 1), q)
	g.line("%s = oi[g*%d+n&1:]", q, Ints)
	g.line("for %s := range 2 - n&1 {", i)
	g.line("\t%s[2*%s], %s[2*%s+1] = %s, %s[2*%s]+%s", q, i, q, i, g.expr("int64", 1), q, i, g.expr("int64", 1))
	g.line("}")
}
