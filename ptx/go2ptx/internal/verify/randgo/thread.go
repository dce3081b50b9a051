package randgo

import "fmt"

// convergent generates a barrier, a shuffle, a vote or an atomic operation.
func (g *gen) convergent() {
	v := g.fresh("v")
	switch g.n(22) {
	case 20, 21:
		g.warpEdge(v)
	case 0, 1:
		g.use("barrier")
		t := g.anyType()
		s := g.fresh("tile")
		g.line("%s := gpu.Shared[[%d]%s](t)", s, Block, t)
		g.line("%s[r] = %s", s, g.expr(t, 3))
		g.line("t.Sync()")
		g.line("%s := %s[(r+%d)%%%d]", v, s, 1+g.n(Block), Block)
		if g.chance(50) {
			g.line("for i := range %d { %s += %s[(r^i)&%d] }", 1+g.n(6), v, s, Block-1)
		}
		g.line("t.Sync()")
		g.add(v, t)
	case 2:
		g.use("barrier in a loop")
		s := g.fresh("tile")
		t := pick(g, ints)
		g.line("%s := gpu.Shared[[%d]%s](t)", s, Block, t)
		g.line("%s[r] = %s", s, g.expr(t, 2))
		g.line("for d := %d; d > 0; d /= 2 {", Block/2)
		g.line("\tt.Sync()")
		g.line("\tif r < d { %s[r] += %s[r+d] }", s, s)
		g.line("}")
		g.line("t.Sync()")
		g.line("%s := %s[0]", v, s)
		g.line("t.Sync()")
		g.add(v, t)
	case 3, 4:
		g.use("shuffle")
		t := g.anyType()
		f := pick(g, []string{"ShuffleXor", "ShuffleUp", "ShuffleDown", "Shuffle"})
		g.line("%s := gpu.%s(t, %s, %d)", v, f, g.expr(t, 3), g.n(32))
		g.add(v, t)
	case 5:
		g.use("vote")
		g.line("%s := gpu.Ballot(t, %s)", v, g.cond(2))
		g.add(v, "uint32")
	case 6:
		g.use("atomic in divergent code")
		f := pick(g, []string{"AtomicAdd", "AtomicMax", "AtomicMin", "AtomicOr", "AtomicXor", "AtomicAnd"})
		i := g.n(Cells)
		group := map[string]int{"AtomicAdd": 0, "AtomicMax": 1, "AtomicMin": 2, "AtomicOr": 3, "AtomicXor": 4, "AtomicAnd": 5}[f]
		i = group*2 + i%2
		g.line("if %s {", g.cond(2))
		if g.chance(60) {
			g.line("\tgpu.%s(&cells[%d], %s)", f, i, g.expr("int32", 2))
		} else {
			g.line("\tgpu.%s(&wide[%d], %s)", f, i, g.expr("uint64", 2))
		}
		g.line("}")
	case 7:
		g.use("atomic in shared memory")
		s := g.fresh("sum")
		g.line("%s := gpu.Shared[[4]uint32](t)", s)
		g.line("if r < 4 { %s[r] = 0 }", s)
		g.line("t.Sync()")
		g.line("for range %s { gpu.AtomicAdd(&%s[(%s)&3], %s) }", g.turns(), s, g.index(), g.expr("uint32", 2))
		g.line("t.Sync()")
		g.line("%s := %s[r&3]", v, s)
		g.line("t.Sync()")
		g.add(v, "uint32")
	case 8:
		g.use("convergent code in a uniform branch")
		g.line("%s := %s", v, g.expr("int32", 2))
		g.line("if n %s %d {", pick(g, []string{">", "<", "!="}), g.n(100))
		g.line("\t%s += gpu.ShuffleXor(t, %s, %d)", v, v, 1+g.n(31))
		g.line("} else {")
		g.line("\t%s -= gpu.ShuffleDown(t, %s, %d)", v, v, 1+g.n(31))
		g.line("}")
		g.add(v, "int32")
	default:
		g.collective(v)
	}
}

// warpEdge generates a warp-level operation on numbers at the limits of their types.
func (g *gen) warpEdge(v string) {
	switch {
	case g.chance(30) && !g.k.Faults: // in a kernel with counted barriers, failed checks trap
		g.use("named barriers on both sides of a branch")
		t := g.anyType()
		s := g.fresh("tile")
		g.line("%s := gpu.Shared[[%d]%s](t)", s, Block, t)
		g.line("%s[r] = %s", s, g.raw(t))
		g.line("%s := %s(0)", v, t)
		g.line("if r < 32 {")
		g.line("\tt.BarrierSync(10, %d)", Block)
		g.line("\t%s[r+32] = %s", s, g.raw(t))
		g.line("\tt.BarrierSync(11, %d)", Block)
		g.line("} else {")
		g.line("\t%s = %s[r]", v, s)
		g.line("\tt.BarrierSync(10, %d)", Block)
		g.line("\tt.BarrierSync(11, %d)", Block)
		g.line("\t%s -= %s[r]", v, s)
		g.line("}")
		g.line("t.Sync()")
		g.tell(t, v)
		return
	case g.chance(60):
		g.use("minimum or maximum of a warp")
		t := pick(g, []typ{"int32", "int32", "uint32"})
		g.line("%s := gpu.Reduce%s(t, %s)", v, pick(g, []string{"Min", "Max"}), g.raw(t))
		g.tell(t, v)
		return
	}
	g.use("shuffle of a wide number")
	t := pick(g, []typ{"int64", "uint64", "float64"})
	by := fmt.Sprint(g.n(32))
	if g.chance(50) { // also distances that exceed the warp size
		t, by = g.anyType(), fmt.Sprintf("n&%d", pick(g, []int{15, 63, 127}))
	}
	g.line("%s := gpu.%s(t, %s, %s)", v, pick(g, []string{"ShuffleXor", "ShuffleUp", "ShuffleDown"}), g.raw(t), by)
	g.tell(t, v)
}

// collective generates a warp-level operation or another kind of barrier.
func (g *gen) collective(v string) {
	word := pick(g, []typ{"int32", "uint32"})
	switch g.n(10) {
	case 7:
		g.use("own element that another thread changes")
		t := g.anyType()
		s, x := g.fresh("tile"), g.fresh("v")
		by := 1 + g.n(Block-1)
		g.line("%s := gpu.Shared[[%d]%s](t)", s, Block, t)
		g.line("%s[r] = %s", s, g.expr(t, 2))
		g.line("%s := %s[r]", v, s)
		g.line("t.Sync()")
		g.line("%s[(r+%d)%%%d] -= %s", s, by, Block, v)
		g.line("t.Sync()")
		g.line("%s := %s[r]", x, s)
		g.line("t.Sync()")
		g.add(v, t)
		g.add(x, t)
	case 0:
		g.use("reduction of a warp")
		g.line("%s := gpu.Reduce%s(t, %s)", v, pick(g, []string{"Add", "Min", "Max", "And", "Or", "Xor"}), g.expr(word, 2))
		g.add(v, word)
	case 1:
		g.use("reduction of half a warp")
		f := pick(g, []string{"Add", "Min", "Max", "And", "Or", "Xor"})
		g.line("%s := %s", v, g.expr(word, 2))
		g.line("if r&31 < 16 {")
		g.line("\t%s = gpu.Reduce%sMask(t, 0xffff, %s)", v, f, v)
		g.line("} else {")
		g.line("\t%s -= gpu.Reduce%sMask(t, 0xffff0000, %s)", v, f, v)
		g.line("}")
		g.add(v, word)
	case 2, 9:
		g.use("match")
		t := g.anyType()
		e := g.expr(t, 1)
		if t.isFloat() { // NaNs that count as equal may have different bits
			e = fmt.Sprintf("notNaN(%s)", e)
		} else {
			e = fmt.Sprintf("(%s)&3", e)
		}
		if g.chance(50) {
			g.line("%s := gpu.MatchAny(t, %s)", v, e)
		} else {
			ok := g.fresh("ok")
			g.line("%s, %s := gpu.MatchAll(t, %s)", v, ok, e)
			g.line("if %s { %s ^= 5 }", ok, v)
		}
		g.add(v, "uint32")
	case 3:
		g.use("vote of all or any")
		g.line("%s := %s", v, g.expr("int32", 1))
		g.line("if gpu.%s(t, %s) { %s += 3 }", pick(g, []string{"All", "Any"}), g.cond(2), v)
		g.add(v, "int32")
	case 4:
		g.use("shuffle of a part of a warp")
		t := g.anyType()
		width := pick(g, []int{2, 4, 8, 16, 32})
		f := pick(g, []string{"ShuffleXorMask", "ShuffleUpMask", "ShuffleDownMask", "ShuffleMask"})
		lane := fmt.Sprint(g.n(width))
		if g.chance(40) {
			lane = fmt.Sprintf("int(%s&%d)", g.atom("uint8"), width-1)
			if f == "ShuffleXorMask" {
				lane = "n&" + fmt.Sprint(width-1)
			}
		}
		g.line("%s := gpu.%s(t, gpu.FullMask, %s, %s, %d)", v, f, g.expr(t, 2), lane, width)
		g.add(v, t)
	case 5:
		g.use("barrier with a vote")
		g.line("%s := %s", v, g.expr("int", 1))
		switch g.n(3) {
		case 0:
			g.line("%s += t.SyncCount(%s)", v, g.cond(2))
		case 1:
			g.line("if t.SyncAnd(%s) { %s++ }", g.cond(2), v)
		default:
			g.line("if t.SyncOr(%s) { %s-- }", g.cond(2), v)
		}
		g.add(v, "int")
	case 6:
		g.use("barrier of a warp, named barrier")
		s := g.fresh("tile")
		t := pick(g, ints)
		g.line("%s := gpu.Shared[[%d]%s](t)", s, Block, t)
		g.line("%s[r] = %s", s, g.expr(t, 2))
		kind := g.n(3)
		if g.k.Faults { // failed checks would trap in a kernel with counted barriers
			kind = 0
		}
		switch kind {
		case 0:
			g.line("t.SyncWarp()")
			g.line("%s := %s[r^%d]", v, s, 1+g.n(31))
			g.line("t.SyncWarp()")
		case 1:
			g.line("t.BarrierSync(%d, %d)", 1+g.n(4), Block)
			g.line("%s := %s[%d-r]", v, s, Block-1)
			g.line("t.BarrierSync(%d, %d)", 5+g.n(4), Block)
		default:
			g.line("%s := %s(0)", v, t)
			g.line("if r < 32 {")
			g.line("\tt.BarrierArrive(9, %d)", Block)
			g.line("} else {")
			g.line("\tt.BarrierSync(9, %d)", Block)
			g.line("\t%s = %s[r-32]", v, s)
			g.line("}")
			g.line("t.Sync()")
		}
		g.add(v, t)
	default:
		g.use("barrier in a function")
		t := g.anyType()
		f := pick(g, []string{"rotate", "rotateCalled"})
		g.line("%s := %s(t, gpu.Shared[[%d]%s](t), %s, %d)", v, f, Block, t, g.expr(t, 2), 1+g.n(Block))
		g.add(v, t)
	}
}
