package randgo

import (
	"fmt"
	"strings"
)

// special generates a statement about memory or control flow that other generators do not produce.
func (g *gen) special() {
	if g.inHelper {
		pick(g, []func(){g.complexNumbers, g.computed, g.copyClear, g.tables, g.bools, g.jumps, g.nested, g.guarded, g.large, g.hiddenConstant, g.hiddenConstant, g.strings, g.halves})()
		return
	}
	pick(g, []func(){g.complexNumbers, g.computed, g.copyClear, g.tables, g.bools, g.jumps, g.nested, g.guarded, g.large, g.hiddenConstant, g.hiddenConstant, g.hiddenConstant, g.strings, g.vector, g.vector, g.vector, g.atomic, g.atomic, g.atomic, g.atomic,
		g.edge, g.path, g.form, g.fence, g.fence, g.cached, g.views, g.variables, g.alias, g.alias, g.sums, g.copies, g.halves, g.severalResults})()
}

func (g *gen) bools() {
	g.use("variables of type bool")
	a, b := g.fresh("b"), g.fresh("b")
	g.line("%s, %s := %s, %s", a, b, g.cond(1), g.cond(1))
	switch g.n(4) {
	case 0:
		g.line("if %s { %s = %s != %s } else { %s = !%s }", g.cond(1), a, a, b, b, b)
	case 1:
		f := g.fresh("f")
		g.line("var %s [4]bool", f)
		g.line("%s[%s&3] = %s", f, g.index(), a)
		g.line("%s = %s[%s&3] == %s", b, f, g.index(), b)
	case 2:
		g.line("for range %s { %s, %s = %s, %s != %s }", g.turns(), a, b, b, a, b)
	default:
		g.line("%s = func(x, y bool) bool { if x { return y }; return !y && %s }(%s, %s)", a, b, a, b)
	}
	v := g.fresh("v")
	t := pick(g, ints)
	g.line("%s := %s", v, g.expr(t, 1))
	g.line("if %s %s %s { %s++ } else if %s { %s += 3 } else if %s { %s *= 3 }", a, pick(g, []string{"&&", "||"}), b, v, a, v, b, v)
	g.line("if %s == %s { %s += 2 }", a, b, v)
	g.add(v, t)
}

func (g *gen) jumps() {
	if g.loops >= 1 {
		g.assign()
		return
	}
	g.use("goto")
	g.loops += 2
	i, l := g.fresh("i"), g.fresh("L")
	g.line("%s := %s", i, g.turns())
	g.line("%s:", l)
	g.line("if %s > 0 {", i)
	g.line("\t%s--", i)
	g.vars = append(g.vars, variable{i, "int", true})
	g.block(2)
	if g.chance(50) {
		g.line("\tif %s { goto %s }", g.cond(1), l)
		g.block(1)
	}
	g.line("\tgoto %s", l)
	g.line("}")
	g.loops -= 2
}

// guarded generates operations that would fault without the preceding condition.
func (g *gen) guarded() {
	v := g.fresh("v")
	t := pick(g, ints)
	g.line("%s := %s", v, g.expr(t, 2))
	var slices []array
	for _, a := range g.arrays {
		if a.len == 0 && !a.elem.isFloat() {
			slices = append(slices, a)
		}
	}
	kind := g.n(8)
	if len(slices) == 0 && kind == 0 {
		kind = 1
	}
	switch kind {
	case 0:
		g.use("guarded index")
		i, a := g.fresh("i"), pick(g, slices)
		g.line("%s := %s", i, g.expr("int", 1))
		g.line("if %s >= 0 && %s < len(%s) { %s += %s(%s[%s]) }", i, i, a.name, v, t, a.name, i)
	case 1:
		g.use("guarded division")
		d := g.fresh("v")
		g.line("%s := %s & %d", d, g.atom(t), 1+g.n(3))
		g.line("if %s != 0 { %s %s= %s } else { %s++ }", d, v, pick(g, []string{"/", "%"}), d, v)
	case 2:
		g.use("guarded division in a loop")
		d := g.fresh("v")
		g.line("%s := %s & 3", d, g.atom(t))
		g.line("for i := range %s {", g.turns())
		g.line("\tif %s > %s(i&1) { %s += %s / %s }", d, t, v, g.atom(t), d)
		g.line("}")
	case 3:
		g.use("guarded shift")
		c := g.fresh("v")
		g.line("%s := %s", c, g.expr("int32", 1))
		g.line("if %s >= 0 { %s %s= %s }", c, v, pick(g, []string{"<<", ">>"}), c)
	case 5, 6:
		g.use("comparison that another decides")
		x, y, u := g.fresh("v"), g.fresh("v"), pick(g, ints)
		ops := []string{"<", "<=", ">", ">=", "==", "!="}
		g.line("%s, %s := %s, %s", x, y, g.atom(u), g.atom(u))
		if g.chance(40) {
			g.line("if %s { %s = %s }", g.cond(1), y, x)
		}
		g.line("if %s %s %s {", x, pick(g, ops), y)
		g.line("\tif %s %s %s { %s += 3 } else { %s ^= 5 }", x, pick(g, ops), y, v, v)
		g.line("} else if %s %s %s { %s -= 7 }", pick(g, []string{x, y}), pick(g, ops), pick(g, []string{x, y}), v)
	case 4:
		g.use("guarded assertion")
		f := g.fresh("v")
		g.line("%s := %s", f, g.expr("float64", 1))
		if g.inHelper {
			g.line("if %s > 2 { if !(%s > 1) { panic(\"smaller\") } }", f, f)
		} else {
			g.line("if %s > 2 { gpu.Assert(t, %s > 1, \"smaller\") }", f, f)
		}
	default:
		g.use("guarded pointer")
		q := g.fresh("q")
		g.line("var %s *%s", q, t)
		g.line("if %s { %s = &%s }", g.cond(1), q, v)
		g.line("if %s != nil && *%s > 3 { *%s -= 3 }", q, q, q)
	}
	g.add(v, t)
}

// large generates a variable that does not fit in registers.
func (g *gen) large() {
	g.use("large array")
	t := g.anyType()
	a, b := g.fresh("a"), g.fresh("a")
	g.line("var %s [80]%s", a, t)
	g.line("for i := %d; i < 80; i += %d { %s[i] = %s }", g.n(9), 9+g.n(9), a, g.expr(t, 1))
	g.line("%s := %s", b, a)
	g.line("%s[%s&63] = %s", a, g.index(), g.expr(t, 1))
	v := g.fresh("v")
	g.line("%s := %s[%s&63] - %s[0]", v, b, g.index(), b)
	if g.chance(50) {
		g.line("%s = [80]%s{%d: %s}", a, t, g.n(80), g.expr(t, 1))
	}
	g.add(v, t)
	g.arrays = append(g.arrays, array{name: a, elem: t, len: 80})
}

// hiddenConstant generates accesses at indices that become constant only through optimization.
func (g *gen) hiddenConstant() {
	zero := func() string {
		v := g.atom("int32")
		return pick(g, []string{fmt.Sprintf("(%s ^ %s)", v, v), fmt.Sprintf("(%s - %s)", v, v), fmt.Sprintf("(%s & 0)", v), fmt.Sprintf("(%s * 0)", v)})
	}
	t := g.anyType()
	v := g.fresh("v")
	if g.chance(60) {
		g.use("pointers at constant indices")
		x, y, q := g.fresh("v"), g.fresh("v"), g.fresh("q")
		g.line("%s, %s := %s, %s", x, y, g.expr(t, 1), g.expr(t, 1))
		g.line("%s := [2]*%s{&%s, &%s}", q, t, x, y)
		g.line("*%s[%s|1] = %s", q, zero(), g.expr(t, 1))
		if g.chance(50) {
			g.line("%s[%s|1] = %s[%s]", q, zero(), q, zero())
		}
		g.line("*%s[%s|1] %s %s", q, zero(), pick(g, []string{"=", "+=", "-="}), g.expr(t, 1))
		g.line("%s := %s + *%s[%s] - %s", v, x, q, zero(), y)
		g.add(x, t)
		g.add(v, t)
		return
	}
	g.use("array at constant indices")
	a := g.fresh("a")
	g.line("%s := [4]%s{%s, %s}", a, t, g.expr(t, 1), g.expr(t, 1))
	g.line("%s[%s|%d] = %s", a, zero(), g.n(4), g.expr(t, 1))
	if g.chance(60) {
		g.line("if %s { %s[%s|%d] = %s }", g.cond(1), a, zero(), g.n(4), g.expr(t, 1))
	}
	if g.chance(50) {
		g.line("for i := range %s { %s[%s|%d] += %s(i) }", g.turns(), a, zero(), g.n(4), t)
	}
	u := g.fresh("v")
	g.line("%s, %s := %s[%s|%d], %s[%s|%d]", v, u, a, zero(), g.n(4), a, zero(), g.n(4))
	g.add(v, t)
	g.add(u, t)
}

func (g *gen) strings() {
	g.use("range over a string, over a pointer to an array")
	v := g.fresh("v")
	t := pick(g, ints)
	g.line("%s := %s", v, g.expr(t, 1))
	if g.chance(50) {
		g.line("for i, c := range %q { %s = %s*3 + %s(c)%s%s(i) }", pick(g, []string{"abc", "aé∂x", "\U0001f600."}), v, v, t, pick(g, []string{"^", "+"}), t)
	} else {
		a := g.fresh("a")
		g.line("%s := [4]%s{%s, 3}", a, t, g.expr(t, 1))
		g.line("for i, e := range &%s { %s[(i+1)&3] += e; %s ^= e }", a, a, v)
		g.line("for i, e := range %s { %s[(i+1)&3] += e; %s -= e }", a, a, v)
	}
	g.add(v, t)
}

// room reports whether enough static shared memory is left for an array of the given size.
func (g *gen) room(bytes int) bool {
	if g.shared+bytes > 16<<10 {
		return false
	}
	g.shared += bytes
	return true
}

func (g *gen) vector() {
	in := pick(g, []array{{"ii", "int32", 4, true, false}, {"fs", "float32", 4, true, false}, {"il", "int64", 2, true, false}, {"fd", "float64", 2, true, false}, {"is", "int16", 4, true, false}, {"ii", "int32", 2, true, false}})
	v := g.fresh("a")
	if g.chance(40) || !g.room(4*64*8) {
		g.use("vector load")
		g.line("%s := *(*[%d]%s)(%s[(%s&15)*%d:])", v, in.len, in.elem, in.name, g.index(), in.len)
		g.line("_ = %s", v)
		g.arrays = append(g.arrays, array{name: v, elem: in.elem, len: in.len})
		return
	}
	if g.chance(30) {
		g.use("vector store to an output")
		g.line("*(*[2]int64)(oi[g*4+%d:]) = [2]int64{%s, %s}", 2*g.n(2), g.expr("int64", 1), g.expr("int64", 1))
		g.line("oi[g*4+%d] += %s", g.n(4), g.expr("int64", 1))
		g.line("%s := *(*[2]int64)(oi[g*4+%d:])", v, 2*g.n(2))
		g.arrays = append(g.arrays, array{name: v, elem: "int64", len: 2})
		g.line("_ = %s", v)
		return
	}
	g.use("vector store and load")
	tile, e := g.fresh("tile"), g.fresh("v")
	g.line("%s := gpu.Shared[[%d]%s](t)", tile, in.len*Block, in.elem)
	var parts []string
	for range in.len {
		parts = append(parts, g.expr(in.elem, 1))
	}
	at := func() string { return fmt.Sprintf("%s[r*%d:]", tile, in.len) }
	g.line("*(*[%d]%s)(%s) = [%d]%s{%s}", in.len, in.elem, at(), in.len, in.elem, strings.Join(parts, ", "))
	g.line("%s := %s[r*%d+%d]", e, tile, in.len, g.n(in.len))
	g.line("%s[r*%d+%d] = %s", tile, in.len, g.n(in.len), g.expr(in.elem, 1))
	g.line("%s := *(*[%d]%s)(%s)", v, in.len, in.elem, at())
	g.line("_ = %s", v)
	g.add(e, in.elem)
	g.arrays = append(g.arrays, array{name: v, elem: in.elem, len: in.len})
}

// options returns the arguments for the scope and the order of an atomic operation.
func (g *gen) options(orders ...string) string {
	s := ""
	if g.chance(50) {
		s += ", gpu." + pick(g, []string{"ScopeBlock", "ScopeDevice", "ScopeSystem"})
	}
	if g.chance(50) {
		s += ", gpu." + pick(g, orders)
	}
	return s
}

var allOrders = []string{"Relaxed", "Acquire", "Release", "AcqRel"}

// atomic generates an atomic operation on the thread's own memory, so that the result is known.
func (g *gen) atomic() {
	t := pick(g, []typ{"int32", "uint32", "uint32", "uint32", "int64", "uint64", "int", "uint", "float32", "float64"})
	c, at, v := g.fresh("sum"), "", g.fresh("v")
	switch {
	case t == "int64" && g.chance(30):
		at = "d[r]"
		at = strings.Replace(at, "d", c, 1)
		g.use("dynamic shared memory")
		g.line("%s := gpu.DynamicShared[int64](t)", c)
	case t == "int64" && g.chance(50):
		at = c + "[g]"
		g.line("%s := scratch.Ptr()", c)
	case t == "uint32" && g.chance(50):
		at = c + "[g]"
		g.line("%s := scratch32.Ptr()", c)
	case t == "int64":
		at = "oi[g*4+1]"
	case !g.room(8 * Block):
		g.assign()
		return
	default:
		at = c + "[r]"
		g.line("%s := gpu.Shared[[%d]%s](t)", c, Block, t)
	}
	if at != "oi[g*4+1]" {
		g.line("%s = %s", at, g.expr(t, 2))
	}
	e := g.expr(t, 2)
	kind := g.n(10)
	switch {
	case kind == 0:
		g.use("atomic load and store")
		g.line("gpu.AtomicStore(&%s, %s%s)", at, e, g.options("Relaxed", "Release"))
		g.line("%s := gpu.AtomicLoad(&%s%s)", v, at, g.options("Relaxed", "Acquire"))
	case kind <= 4:
		g.use("atomic compare and swap")
		ok := g.fresh("ok")
		old := e
		if g.chance(60) && !t.isFloat() {
			old = at
		}
		g.line("%s, %s := gpu.AtomicCompareAndSwap(&%s, %s, %s%s)", v, ok, at, old, g.expr(t, 1), g.options(allOrders...))
		g.line("if %s { %s++ }", ok, v)
	case kind == 5:
		g.use("atomic exchange")
		g.line("%s := gpu.AtomicExchange(&%s, %s%s)", v, at, e, g.options(allOrders...))
	case t.isFloat():
		g.use("atomic sum of floats")
		g.line("%s := gpu.Atomic%s(&%s, %s%s)", v, pick(g, []string{"Add", "Sub"}), at, e, g.options(allOrders...))
	case t == "uint32" && g.chance(90):
		g.use("atomic increment with a limit")
		g.line("%s := gpu.Atomic%s(&%s, %s%s)", v, pick(g, []string{"Inc", "Dec"}), at, e, g.options(allOrders...))
	default:
		f := pick(g, []string{"Add", "Sub", "Min", "Min", "Max", "Max", "And", "Or", "Xor"})
		g.use("atomic with its old value")
		g.line("%s := gpu.Atomic%s(&%s, %s%s)", v, f, at, e, g.options(allOrders...))
	}
	g.line("%s += %s", v, at)
	g.add(v, t)
}

func (g *gen) fence() {
	g.use("fence")
	g.line("oi[g*4+3] = %s", g.expr("int64", 1))
	g.line("t.Fence%s()", pick(g, []string{"Block", "Device", "System"}))
	g.line("oi[g*4+3] ^= 5")
}

func (g *gen) cached() {
	a := pick(g, g.arrays[:6])
	v := g.fresh("v")
	hints := []string{"CacheAll", "CacheGlobal", "CacheStreaming", "CacheLastUse", "CacheVolatile"}
	at := fmt.Sprintf("&%s[%s]", a.name, g.inside(a))
	switch k := g.n(4); {
	case k == 0:
		g.use("load of read-only data")
		g.line("%s := gpu.LoadNC(%s)", v, at)
	case k == 1:
		g.use("load and store with hints")
		g.line("%s := gpu.LoadCached(%s, gpu.%s)", v, at, pick(g, hints))
		g.line("gpu.StoreCached(&oi[g*4+2], int64(%s), gpu.%s)", g.expr("int64", 1), pick(g, hints))
		g.line("oi[g*4+2]++")
	case k == 2 && a.elem != "uint8" && a.elem != "int16":
		g.use("volatile load and store")
		g.line("%s := gpu.LoadVolatile(%s)", v, at)
		g.line("gpu.StoreVolatile(&oi[g*4+2], %s)", g.expr("int64", 1))
		g.line("oi[g*4+2] -= gpu.LoadVolatile(&oi[g*4+2]) / 2")
	default:
		g.use("prefetch")
		g.line("gpu.PrefetchL%d(%s)", 1+g.n(2), at)
		g.line("%s := %s[%s]", v, a.name, g.inside(a))
	}
	g.add(v, a.elem)
}

func (g *gen) views() {
	v := g.fresh("v")
	switch g.n(4) {
	case 0:
		g.use("view")
		g.line("%s := w.V.At(int(uint(%s)%%uint(w.V.Len()))) + int32(w.A)", v, g.index())
		g.add(v, "int32")
	case 1:
		g.use("view as a slice")
		s := g.fresh("s")
		g.line("%s := w.V.Slice()[%s&31:]", s, g.index())
		g.line("_ = %s", s)
		g.arrays = append(g.arrays, array{s, "int32", 0, true, false})
	case 2:
		g.use("view of a matrix")
		g.line("%s := w.M.At(int(uint(%s)%%%d), int(uint(%s)%%%d)) - float64(w.B)", v, g.index(), Rows, g.index(), Cols)
		g.add(v, "float64")
	default:
		g.use("row of a matrix")
		g.line("%s := w.M.Row(int(uint(%s)%%%d))", v, g.index(), Rows)
		g.line("_ = %s", v)
		g.arrays = append(g.arrays, array{v, "float64", 0, true, true})
	}
}

func (g *gen) variables() {
	v := g.fresh("v")
	switch g.n(3) {
	case 0:
		g.use("device variable with a value")
		g.line("%s := seeds.Ptr()[%s&3]", v, g.index())
		g.add(v, "int64")
	case 1:
		g.use("constant that the host sets")
		g.line("%s := limits.Ptr()[%s&7]", v, g.index())
		g.add(v, "int16")
	default:
		g.use("device variable")
		g.line("scratch.Ptr()[g] = %s", g.expr("int64", 1))
		g.line("oi[g*4] ^= %s", g.expr("int64", 1))
		g.line("%s := scratch.Ptr()[g]", v)
		g.add(v, "int64")
	}
}

// alias generates stores and loads that access the same element through different expressions.
func (g *gen) alias() {
	v, w := g.fresh("v"), g.fresh("v")
	k := g.n(4)
	switch g.n(4) {
	case 0:
		g.use("output read between stores")
		s := g.fresh("s")
		g.line("%s := oi[g*4 : g*4+4]", s)
		g.line("%s := %s[%d]", v, s, k)
		g.line("oi[g*4+%d] = %s", k, g.expr("int64", 1))
		g.line("%s := %s[%d]", w, s, k)
		g.line("%s[%s&3] -= %s", s, g.index(), v)
		g.line("%s ^= oi[g*4+%d]", w, k)
		g.add(v, "int64")
		g.add(w, "int64")
	case 1:
		g.use("pointers to one variable")
		q := g.fresh("q")
		g.line("%s, %s := %s, %s", v, w, g.expr("int32", 1), g.expr("int32", 1))
		g.line("%s := &%s", q, v)
		g.line("if %s { %s = &%s }", g.cond(1), q, w)
		g.line("%s = bump(%s, &%s, %s) - *%s", w, q, v, g.atom("int32"), q)
		g.add(v, "int32")
		g.add(w, "int32")
	case 2:
		if !g.room(8 * Block) {
			g.assign()
			return
		}
		g.use("shared element read between stores")
		t := g.anyType()
		tile, s := g.fresh("tile"), g.fresh("s")
		g.line("%s := gpu.Shared[[%d]%s](t)", tile, Block, t)
		g.line("%s := %s[r : r+1]", s, tile)
		g.line("%s[r] = %s", tile, g.expr(t, 1))
		g.line("%s := %s[0]", v, s)
		g.line("%s[0] = %s", s, g.expr(t, 1))
		g.line("%s := %s[r]", w, tile)
		g.add(v, t)
		g.add(w, t)
	default:
		g.use("array read between stores")
		t := g.anyType()
		a, s := g.fresh("a"), g.fresh("s")
		g.line("var %s [8]%s", a, t)
		g.line("%s := %s[2:6]", s, a)
		g.line("%s[%s&7] = %s", a, g.index(), g.expr(t, 1))
		g.line("%s := %s[%s&3]", v, s, g.index())
		g.line("%s[%s&3] = %s", s, g.index(), g.expr(t, 1))
		g.line("%s := %s[%d] - %s", w, a, 2+k, v)
		g.add(v, t)
		g.add(w, t)
	}
}

// sums generates loops whose indices need no bounds checks.
func (g *gen) sums() {
	a := pick(g, g.arrays[:4])
	s, v := g.fresh("s"), g.fresh("v")
	t := pick(g, ints)
	g.use("loop over indices")
	g.line("%s := %s[%d:%d+%s&7]", s, a.name, g.n(20), 21+g.n(10), g.asUint(g.index()))
	g.line("%s := %s", v, g.expr(t, 1))
	switch g.n(5) {
	case 0:
		g.line("for i := 0; i < len(%s); i++ { %s += %s(%s[i]) }", s, v, t, s)
	case 1:
		g.line("for i := len(%s) - 1; i >= 0; i-- { %s = %s*3 ^ %s(%s[i]) }", s, v, v, t, s)
	case 2:
		g.line("for i := range %s { if i > 0 { %s += %s(%s[i] - %s[i-1]) } }", s, v, t, s, s)
	case 3:
		g.line("for i := uint32(%d); i < uint32(len(%s)); i += %d { %s -= %s(%s[i]) }", g.n(5), s, 1+g.n(3), v, t, s)
	default:
		g.line("for len(%s) > 2 { %s ^= %s(%s[1]); %s = %s[2:] }", s, v, t, s, s, s)
	}
	g.add(v, t)
}

func (g *gen) copies() {
	if g.loops > 0 || !g.room(4*Block) {
		g.assign()
		return
	}
	g.use("asynchronous copy")
	tile, v := g.fresh("tile"), g.fresh("v")
	g.line("%s := gpu.Shared[[%d]int32](t)", tile, Block)
	g.line("gpu.CopyAsync(t, &%s[r], &ii[%s&63])", tile, g.index())
	g.line("t.CommitGroup()")
	g.line("t.WaitGroup(0)")
	g.line("%s := %s[r]", v, tile)
	g.add(v, "int32")
}

// severalResults generates calls of functions with several results.
func (g *gen) severalResults() {
	g.use("function with three results")
	a, b, c := g.fresh("v"), g.fresh("v"), g.fresh("v")
	g.line("%s, %s, %s := %s(%s, %s)", a, b, c, pick(g, []string{"both", "bothCalled"}), g.expr("int64", 2), g.expr("int64", 1))
	g.add(a, "int32")
	g.add(b, "uint8")
	g.add(c, "float32")
}

// halves generates memory accesses, parameters and atomic operations with 16-bit floats.
func (g *gen) halves() {
	h, a, v := pick(g, []string{"num.F16", "num.BF16"}), g.fresh("h"), g.fresh("v")
	of := func() string { return fmt.Sprintf("num.To[%s](%s)", h, g.atom(g.anyType())) }
	switch k := g.n(4); {
	case k == 0:
		g.use("array of 16-bit floats")
		g.line("%s := [4]%s{%s}", a, h, of())
		g.line("%s[%s&3] = %s", a, g.index(), of())
		g.line("%s := %s[%s&3].Float32()", v, a, g.index())
	case k == 1:
		g.use("16-bit floats as parameters and results")
		b := g.fresh("ok")
		g.line("%s, %s := halve(num.To[num.F16](%s), num.To[num.BF16](%s), %s)", a, b, g.atom("float32"), g.atom("float64"), g.cond(1))
		g.line("%s := %s.Float32()", v, a)
		g.line("if %s { %s++ }", b, v)
	case g.inHelper || !g.room(2*Block):
		g.use("comparison of 16-bit floats")
		g.line("%s, %sk := %s, %s", a, a, of(), of())
		g.line("%s := float32(1)", v)
		g.line("if %s == %sk || %s.Less(%sk) { %s = %s.Float32() }", a, a, a, a, v, a)
	case k == 2:
		g.use("shared 16-bit floats")
		g.line("%s := gpu.Shared[[%d]%s](t)", a, Block, h)
		g.line("%s[r] = %s", a, of())
		g.line("%s := %s[r].Float32()", v, a)
	default:
		g.use("atomic sum of 16-bit floats")
		g.line("%s := gpu.Shared[[%d]num.F16](t)", a, Block)
		g.line("%s[r] = num.To[num.F16](%s)", a, g.atom("float32"))
		g.line("%s := gpu.AtomicAdd(&%s[r], num.To[num.F16](%s)).Float32() + %s[r].Float32()", v, a, g.atom("int16"), a)
	}
	g.add(v, "float32")
}

// computed generates operations that the compiler can evaluate, because the values of the variables
// are known.
func (g *gen) computed() {
	g.use("computed from constants")
	v, a, b := g.fresh("v"), g.fresh("v"), g.fresh("v")
	t, u := pick(g, ints), pick(g, ints)
	g.line("%s := %s", v, g.expr(t, 1))
	g.line("%s := %s(%s)", a, u, g.constant(u))
	if g.chance(30) {
		g.line("if %s { %s++ }", g.cond(1), a)
	}
	g.line("%s := uint(%d)", b, pick(g, []int{1, 3, 7, 8, 15, 31, 32, 33, 40, 63, 64, 65}))
	g.line("_, _ = %s, %s", a, b)
	g.line("%s += %s(%s << %s) ^ %s(%s >> %s)", v, t, a, b, t, a, b)
	g.line("%s ^= %s(%s %s (%s(%s) | 1))", v, t, a, pick(g, []string{"/", "%"}), u, b)
	switch g.n(5) {
	case 0:
		g.line("%s += %s(int64(%s)) - %s(uint32(%s))", v, t, a, t, a)
	case 1:
		g.line("if uint64(%s) %s uint64(int32(%s)) { %s++ }", a, pick(g, []string{"<", ">", "=="}), a, v)
	case 2:
		g.line("%s += %s(min(%s, %s(%s&7))) * 3", v, t, a, u, b)
	case 3:
		g.line("%s -= %s(bits.LeadingZeros32(uint32(%s)) + bits.OnesCount64(uint64(%s)))", v, t, a, a)
	default:
		f, z := g.fresh("v"), g.fresh("v")
		of := pick(g, floats)
		g.line("%s := %s(0)", z, of)
		g.line("%s := 1 / (%s(%s)*%s + %s)", f, of, g.atom(of), z, z)
		g.line("if %s > 0 { %s += 7 }", f, v)
	}
	g.add(v, t)
}

// tables generates loads from constant tables.
func (g *gen) tables() {
	g.use("tables")
	v, w := g.fresh("v"), g.fresh("v")
	i, k := g.index()+"&3", g.n(4)
	g.line("%s := int(heights[%d]) - int(heights[%s]) + int(primes[%d])", v, k, i, g.n(12))
	g.line("%s := boxes[%d].V + int64(boxes[(%s)%%3].U)", w, g.n(3), g.asUint(i))
	g.add(v, "int")
	g.add(w, "int64")
	if !g.inHelper {
		a := pick(g, g.arrays[:6])
		s, q, x := g.fresh("s"), g.fresh("q"), g.fresh("v")
		g.line("%s := %s[%d:%d][%d:]", s, a.name, g.n(9), 40+g.n(9), 1+g.n(9))
		g.line("%s := &%s[%d:][%d]", q, s, g.n(5), g.n(5))
		g.line("%s := *%s - %s[%d]", x, q, s, g.n(9))
		g.add(x, a.elem)
	}
}
