package randgo

import "fmt"

// path generates memory accesses, loops or choices whose result is wrong if the compiler changes their
// order.
func (g *gen) path() {
	pick(g, []func(){g.guardedLoad, g.callWrites, g.copied, g.andFalse, g.boolChoice, g.negatedChoice, g.genericLocal, g.genericLocal, g.genericElement, g.loopMemory, g.loopMemory,
		g.smallSlots, g.storedPointers, g.capacities, g.rotation, g.rotation})()
}

// andFalse branches on the conjunction or disjunction of two conditions, and then on each of them.
func (g *gen) andFalse() {
	if g.chance(60) {
		g.equalParts()
		return
	}
	g.use("condition of two, then each of them")
	a, b, c := g.fresh("ok"), g.fresh("ok"), g.fresh("ok")
	t := pick(g, ints)
	x, y := g.fresh("v"), g.fresh("v")
	g.line("%s, %s := %s, %s", x, y, g.few(t, 3), g.few(t, 3))
	g.line("%s, %s := %s < %s, %s != %d", a, b, x, y, y, 1+g.n(3))
	g.line("%s := %s %s %s", c, a, pick(g, []string{"&&", "||"}), b)
	k := g.n(4)
	g.line("if %s { oi[g*4+%d] += 3; if %s { oi[g*4+%d] ^= 11 } } else {", c, k, pick(g, []string{a, b}), k)
	g.line("\tif %s { oi[g*4+%d] ^= 5 }", a, k)
	g.line("\tif %s { oi[g*4+%d] -= 7 }", b, k)
	g.line("}")
}

// equalParts compares two structs or arrays, and then their parts.
func (g *gen) equalParts() {
	g.use("comparison of values, then of their parts")
	x, y, v := g.fresh("v"), g.fresh("v"), g.fresh("v")
	parts := []string{"[0]", "[1]"}
	if g.chance(50) {
		parts = []string{".U", ".V"}
		g.line("%s, %s := R{%s, %s}, R{%s, %s}", x, y, g.few("uint8", 1), g.few("int64", 1), g.few("uint8", 1), g.few("int64", 1))
	} else {
		t := g.anyType()
		two := func() string {
			if t.isFloat() {
				return fmt.Sprintf("[2]%s{%s(%s), %s}", t, t, g.few("int32", 1), g.raw(t))
			}
			return fmt.Sprintf("[2]%s{%s, %s}", t, g.few(t, 1), g.few(t, 1))
		}
		g.line("%s, %s := %s, %s", x, y, two(), two())
	}
	g.line("%s := %s", v, g.few("int32", 255))
	part := func() string {
		p := pick(g, parts)
		return fmt.Sprintf("%s%s %s %s%s", x, p, pick(g, []string{"==", "!="}), y, p)
	}
	g.line("if %s %s %s { %s += 3; if %s { %s ^= 11 } } else {", x, pick(g, []string{"==", "!="}), y, v, part(), v)
	g.line("\tif %s { %s ^= 5 }", part(), v)
	g.line("\tif %s { %s -= 7 }", part(), v)
	g.line("}")
	g.tell("int32", v)
}

// boolChoice chooses between conditions.
func (g *gen) boolChoice() {
	g.use("choice between conditions")
	p, q, v := g.fresh("ok"), g.fresh("ok"), g.fresh("v")
	g.line("%s, %s := %s, %s", p, q, g.either(), g.either())
	if g.chance(50) {
		g.line("if %s { %s = %s }", g.either(), q, p)
	} else {
		g.line("if %s { %s = %s } else { %s = %s }", g.either(), p, q, q, p)
	}
	g.line("%s := %s", v, g.few("int32", 255))
	g.line("if %s != (%s) { %s += 3 }", q, g.either(), v)
	g.line("if %s { %s *= 5 }", q, v)
	g.line("if %s { %s ^= 9 }", p, v)
	g.tell("int32", v)
}

// negatedChoice makes a choice that depends on the negation of a condition.
func (g *gen) negatedChoice() {
	g.use("choice by a negated condition")
	ok, v := g.fresh("ok"), g.fresh("v")
	t := g.anyType()
	f := pick(g, floats)
	g.line("%s := true", ok)
	g.line("if %s { %s = false }", pick(g, []string{fmt.Sprintf("%s < %s", g.raw(f), g.raw(f)), "p.E", fmt.Sprintf("%s >= %s", g.raw(f), g.raw(f))}), ok)
	g.line("%s := %s", v, g.raw(t))
	g.line("if %s { %s = %s }", ok, v, g.raw(t))
	g.tell(t, v)
}

// elsewhere generates stores to memory that only this thread uses, and returns a slice of four
// elements. The slice is part of the results, of shared memory, or, if no shared memory is left, of a
// local array.
func (g *gen) elsewhere(t typ) string {
	if t == "int64" && g.chance(40) {
		return "oi[g*4 : g*4+4]"
	}
	if g.room(4 * 8 * Block) {
		tile := g.fresh("tile")
		g.line("%s := gpu.Shared[[%d]%s](t)", tile, 4*Block, t)
		g.line("for i := range 4 { %s[r*4+i] = %s(i) - %s }", tile, t, g.raw(t))
		return fmt.Sprintf("%s[r*4 : r*4+4]", tile)
	}
	a := g.fresh("a")
	g.line("var %s [5]%s", a, t)
	g.line("%s[%s&3] = %s", a, g.index(), g.raw(t))
	return a + "[1:]"
}

// genericLocal accesses a local array directly and through a pointer that may point to other memory.
func (g *gen) genericLocal() {
	g.use("pointer to local or other memory")
	t := pick(g, []typ{"int32", "int64", "int64", "uint32", "float32", "float64", "int16", "uint8"})
	a, q, s, v, w, x := g.fresh("a"), g.fresh("q"), g.fresh("s"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s := %s", s, g.elsewhere(t))
	g.line("var %s [4]%s", a, t)
	g.line("for i := range %s { %s[i] = %s }", a, a, g.raw(t))
	i := g.few("int", 3)
	g.line("%s := &%s[%s]", q, a, i)
	g.line("if %s { %s = &%s[%s] }", g.either(), q, s, g.few("int", 3))
	g.line("%s := *%s", v, q)
	other := pick(g, []string{i, i, g.few("int", 3)})
	g.line("%s[%s] = %s", a, other, g.raw(t))
	if g.chance(40) {
		g.line("%s[%s] -= %s", s, g.few("int", 3), g.raw(t))
	}
	g.line("%s := *%s", w, q)
	g.line("*%s = %s", q, g.raw(t))
	g.line("%s := %s[%s] - %s[%d]", x, a, other, s, g.n(4))
	g.tell(t, v, w, x)
}

// genericElement indexes a slice. A condition that is always false would assign other memory to the
// slice, so the compiler learns late which memory it is.
func (g *gen) genericElement() {
	g.use("slice whose memory is known late")
	t := pick(g, []typ{"int32", "int64", "uint8", "int16", "float32", "float64"})
	in := map[typ]string{"int32": "ii", "int64": "il", "uint8": "ib", "int16": "is", "float32": "fs", "float64": "fd"}[t]
	s, z, v, w := g.fresh("s"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s := %s", s, g.elsewhere(t))
	g.line("%s := %s", z, g.raw("int32"))
	g.line("if %s^%s != 0 { %s = %s[:4] }", z, z, s, in)
	g.line("%s := %s[%s]", v, s, g.few("int", 3))
	g.line("%s[%s] = %s", s, g.few("int", 3), g.raw(t))
	g.line("%s := %s[%d] - %s[%s]", w, s, g.n(4), s, g.few("int", 3))
	g.tell(t, v, w)
}

// loopMemory generates a loop that begins by reading memory that the loop writes later.
func (g *gen) loopMemory() {
	g.use("loop that reads what it writes")
	t := pick(g, []typ{"int64", "int64", "int32", "uint32"})
	s, i, v := g.fresh("s"), g.fresh("i"), g.fresh("v")
	g.line("%s := %s", s, g.elsewhere(t))
	k := g.n(4)
	g.line("%s, %s := 0, %s", i, v, g.few(t, 63))
	switch g.n(3) {
	case 0:
		g.line("for { %s = %s*3 + %s[%d]; %s[%d] = %s ^ %s; %s++; if %s > %d { break } }", v, v, s, k, s, k, v, g.raw(t), i, i, 1+g.n(4))
	case 1:
		g.line("for %s[%d]&7 != %d && %s < 8 { %s[%d] += 3; %s++; %s -= %s(%s) }", s, k, g.n(8), i, s, k, i, v, t, i)
	default:
		q := g.fresh("q")
		g.line("%s := &%s[%s]", q, s, g.few("int", 3))
		g.line("for { %s = %s*3 ^ *%s; %s[%d] -= %s; %s++; if *%s&3 == 1 || %s > %d { break } }", v, v, q, s, k, v, i, q, i, 2+g.n(3))
	}
	g.line("%s += %s(%s)", v, t, i)
	g.tell(t, v)
}

// smallSlots stores numbers narrower than a register in an array whose elements the compiler can keep
// in registers.
func (g *gen) smallSlots() {
	g.use("narrow array at constant indices")
	t := pick(g, []typ{"int8", "int8", "int16", "uint8", "uint16"})
	a, z, v, w := g.fresh("a"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s := %s", z, g.raw("int32"))
	g.line("%s := [4]%s{%s, %s}", a, t, g.raw(t), g.raw(t))
	k := g.n(4)
	g.line("%s[(%s^%s)|%d] = %s", a, z, z, k, g.raw(t))
	if g.chance(50) {
		g.line("if %s { %s[(%s-%s)|%d] = %s }", g.either(), a, z, z, g.n(4), g.raw(t))
	}
	g.line("%s, %s := %s[(%s^%s)|%d], %s[(%s&0)|%d]", v, w, a, z, z, k, a, z, g.n(4))
	g.tell(t, v, w)
}

// storedPointers stores to variables that are read only through pointers in memory.
func (g *gen) storedPointers() {
	g.use("variables read through pointers in memory")
	t := pick(g, []typ{"int32", "int64", "uint8", "float32", "float64"})
	x, y, q, v := g.fresh("v"), g.fresh("v"), g.fresh("q"), g.fresh("v")
	g.line("%s, %s := %s, %s", x, y, g.raw(t), g.raw(t))
	g.line("%s := [2]*%s{&%s, &%s}", q, t, x, y)
	if g.chance(50) {
		g.line("%s = %s", pick(g, []string{x, y}), g.raw(t))
	}
	if g.chance(30) {
		g.line("*%s[%s] -= %s", q, g.few("int", 1), g.raw(t))
	}
	g.line("%s := *%s[%s]", v, q, g.few("int", 1))
	g.tell(t, v)
}

// capacities slices a slice, and uses the length and the capacity of the result.
func (g *gen) capacities() {
	g.use("capacity of a slice")
	a := pick(g, g.arrays[:6])
	s, u, v := g.fresh("s"), g.fresh("s"), g.fresh("v")
	g.line("%s := %s[%s : 20+%s]", s, a.name, g.few("int", 15), g.few("int", 31))
	g.line("%s := cap(%s)", v, s)
	switch g.n(3) {
	case 0:
		g.line("%s := %s[%s : 2+%s]", u, s, g.few("int", 1), g.few("int", 1))
	case 1:
		g.line("%s := %s[%s : 2+%s : 4+%s]", u, s, g.few("int", 1), g.few("int", 1), g.few("int", 3))
	default:
		g.line("%s := %s[1+%s:]", u, s, g.few("int", 3))
	}
	g.line("%s = %s*100 + len(%s)*10 + cap(%s)", v, v, u, u)
	g.line("%s = %s[:cap(%s)]", u, u, u)
	g.line("%s += len(%s)", v, u)
	e := g.fresh("v")
	g.line("%s := %s[len(%s)-1]", e, u, u)
	g.tell("int", v)
	g.tell(a.elem, e)
}

// rotation generates a loop that swaps or rotates variables.
func (g *gen) rotation() {
	g.use("variables exchanged in a loop")
	t := g.anyType()
	a, b, c := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s, %s := %s, %s, %s", a, b, c, g.raw(t), g.raw(t), g.raw(t))
	turns := fmt.Sprintf("1 + %s", g.few("int", 3))
	switch g.n(4) {
	case 0:
		g.line("for range %s { %s, %s = %s, %s }", turns, a, b, b, a)
	case 1:
		g.line("for range %s { %s, %s, %s = %s, %s, %s }", turns, a, b, c, b, c, a)
	case 2:
		g.line("for range %s { %s, %s, %s = %s, %s, %s - %s }", turns, a, b, c, b, c, a, c)
	default:
		g.line("for range %s { %s, %s, %s = %s, %s, %s; if %s { break } }", turns, a, b, c, c, b, b, g.either())
	}
	g.tell(t, a, b, c)
}

// guardedLoad loads from an index that is in range only within a branch.
func (g *gen) guardedLoad() {
	g.use("load in the branch of its check")
	a := pick(g, g.arrays[:4])
	i, v := g.fresh("i"), g.fresh("v")
	g.line("%s, %s := %s, %s", i, v, g.raw("int"), g.few("int64", 63))
	g.line("if %s { %s = %s & 127 }", g.either(), i, i)
	switch g.n(3) {
	case 0:
		g.line("if %s >= 0 && %s < len(%s) { %s = int64(%s[%s]) }", i, i, a.name, v, a.name, i)
	case 1:
		g.line("if uint(%s) < uint(len(%s)) { %s += int64(%s[%s]) } else { %s *= 3 }", i, a.name, v, a.name, i, v)
	default:
		g.line("if %s < 0 || %s >= len(%s) { %s = 7 } else { %s -= int64(%s[%s]) }", i, i, a.name, v, v, a.name, i)
	}
	g.tell("int64", v)
}

// callWrites calls a function that writes memory, and reads that memory before and after the call.
func (g *gen) callWrites() {
	g.use("memory written by a call")
	s, x, v, w := g.fresh("s"), g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s := %s", s, g.elsewhere("int32"))
	g.line("%s := %s", x, g.raw("int32"))
	k := g.n(4)
	g.line("%s := %s[%d] ^ %s", v, s, k, x)
	g.line("%s := bump(&%s[%s], &%s, %s)", w, s, pick(g, []string{fmt.Sprint(k), g.few("int", 3)}), x, g.raw("int32"))
	g.line("%s = %s*3 + %s[%d] - %s", v, v, s, k, x)
	g.tell("int32", v, w)
}

// copied copies within an array to higher or lower indices.
func (g *gen) copied() {
	g.use("copy within an array")
	t := g.anyType()
	a, n, v := g.fresh("a"), g.fresh("v"), g.fresh("v")
	g.line("var %s [8]%s", a, t)
	g.line("for i := range %s { %s[i] = %s - %s(i) }", a, a, g.raw(t), t)
	g.line("%s := copy(%s[%s:], %s[%s:%d])", n, a, g.few("int", 3), a, g.few("int", 3), 4+g.n(5))
	g.line("%s := %s(%s)", v, t, n)
	g.line("for i := range %s { %s = %s - %s[i] + %s(i) }", a, v, v, a, t)
	g.tell(t, v)
}
