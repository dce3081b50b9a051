package difftest

// This file covers operations across the lanes of a warp (PTX ISA, "shfl.sync", "vote.sync",
// "match.sync", "redux.sync", "elect.sync", "activemask").

// halfMask computes in %t4 a mask of the lanes in this lane's half of the warp. It sets %q if the
// lane is in the lower half.
const halfMask = "and.b32 %t3, %t2, 16; setp.eq.u32 %q, %t3, 0; selp.b32 %t4, 0x0000ffff, 0xffff0000, %q; "

func warpForms() []Form {
	t := &table{}
	t.shuffles()
	t.votes()
	t.matches()
	t.reductions()
	t.barriers()
	t.add("activemask.b32", "b32", "b32", "activemask.b32 %d;")
	t.add("elect.sync", "b32 pred", "b32", "elect.sync %d|%x, 0xffffffff;")
	t.add("elect.sync halves", "b32 pred", "b32", halfMask+"elect.sync %d|%x, %t4;")
	return t.forms
}

func (t *table) shuffles() {
	each("up down bfly idx", func(mode string) {
		op := "shfl.sync." + mode + ".b32"
		t.add(op, "b32 pred", "b32 b32:lane b32", "and.b32 %c, %c, 0x1f1f; "+op+" %d|%x, %a, %b, %c, 0xffffffff;")
		t.add(op+" any", "b32 pred", thrice("b32"), op+" %d|%x, %a, %b, %c, 0xffffffff;")
		clamp := "0x100f"
		if mode == "up" {
			clamp = "0x1000"
		}
		t.add(op+" halves", "b32 pred", "b32 b32:lane", halfMask+op+" %d|%x, %a, %b, "+clamp+", %t4;")
		t.add(op+" guarded", "b32 pred", "b32 b32:lane", halfMask+"@%q "+op+" %d|%x, %a, %b, "+clamp+", 0x0000ffff;")
		each("0x1f 0x0 0x181f 0x1c1f 0x1e01", func(c string) {
			t.add(op+" "+c, "b32 pred", "b32 b32:lane", op+" %d|%x, %a, %b, "+c+", 0xffffffff;")
		})
	})
}

func (t *table) votes() {
	each("all any uni", func(mode string) {
		op := "vote.sync." + mode + ".pred"
		t.add(op, "pred pred", "pred b32", "setp.lt.u32 %p, %b, 0xf0000000; "+op+" %d, %a, 0xffffffff; "+op+" %x, %p, 0xffffffff;")
		t.add(op+" not", "pred", "b32", "setp.lt.u32 %p, %a, 0xf0000000; "+op+" %d, !%p, 0xffffffff;")
		t.add(op+" halves", "pred", "b32", halfMask+"setp.lt.u32 %p, %a, 0xf0000000; "+op+" %d, %p, %t4;")
	})
	t.op("vote.sync.ballot.b32", "b32", "pred").Body = "vote.sync.ballot.b32 %d, %a, 0xffffffff;"
	t.add("vote.sync.ballot.b32 not", "b32", "pred", "vote.sync.ballot.b32 %d, !%a, 0xffffffff;")
	t.add("vote.sync.ballot.b32 halves", "b32", "pred", halfMask+"vote.sync.ballot.b32 %d, %a, %t4;")
	t.add("vote.sync.ballot.b32 guarded", "b32", "pred", halfMask+"@%q vote.sync.ballot.b32 %d, %a, 0x0000ffff;")
}

func (t *table) matches() {
	each("b32 b64", func(ty string) {
		each("nibble pred", func(kind string) {
			in := ty + ":" + kind
			any, all := "match.any.sync."+ty, "match.all.sync."+ty
			t.add(any+" "+kind, "b32", in, any+" %d, %a, 0xffffffff;")
			t.add(any+" halves "+kind, "b32", in, halfMask+any+" %d, %a, %t4;")
			t.add(all+" "+kind, "b32 pred", in, "shr."+ty+" %a, %a, 3; "+all+" %d|%x, %a, 0xffffffff;")
			t.add(all+" halves "+kind, "b32 pred", in, "shr."+ty+" %a, %a, 3; "+halfMask+all+" %d|%x, %a, %t4;")
		})
	})
}

func (t *table) reductions() {
	redux := func(op, ty string) {
		op = "redux.sync." + op + "." + ty
		t.add(op, ty, ty, op+" %d, %a, 0xffffffff;")
		t.add(op+" halves", ty, ty, halfMask+op+" %d, %a, %t4;")
		t.add(op+" guarded", ty, ty, halfMask+"@%q "+op+" %d, %a, 0x0000ffff;")
	}
	each("add min max", func(op string) {
		each("u32 s32", func(ty string) { redux(op, ty) })
	})
	each("and or xor", func(op string) { redux(op, "b32") })
}

// barriers adds barriers that reduce over all threads of a block.
func (t *table) barriers() {
	each("bar.red barrier.cta.red", func(op string) {
		t.add(op+".popc.u32", "u32", "pred", op+".popc.u32 %d, 0, %a;")
		t.add(op+".popc.u32 not", "u32", "pred", op+".popc.u32 %d, 3, !%a;")
		t.add(op+".and.pred", "pred pred", "b32", "setp.gt.u32 %p, %a, 3; "+op+".and.pred %d, 0, %p; setp.gt.u32 %p, %t2, 500; "+op+".and.pred %x, 1, !%p;")
		t.add(op+".or.pred", "pred pred", "b32", "setp.lt.u32 %p, %a, 3; "+op+".or.pred %d, 0, %p; setp.gt.u32 %p, %t2, 500; "+op+".or.pred %x, 1, %p;")
	})
}
