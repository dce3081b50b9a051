package difftest

import "fmt"

// This file covers constants as operands (PTX ISA, "Constants" and "Constant Expressions"), guards,
// and sequences that a compiler may contract.

func immediateForms() []Form {
	t := &table{}
	t.constants("s32", "mov.s32", "-1 0x80000000 2147483647 0 017 0b1011 0xFFFFFFFFU 4294967295U")
	t.constants("u64", "mov.u64", "-1 0xffffffffffffffff 0x8000000000000000U 18446744073709551615U 077")
	t.constants("b16", "mov.b16", "-1 65535 0x8000 -32768")
	t.constants("f32", "mov.f32", "0f3F800000 0fFF800000 0f7FFFFFFF 0f00000001 1.5 -0.1 1e-40 1.0e10 0d3FF8000000000000")
	t.constants("f64", "mov.f64", "0d3FF0000000000000 0d8000000000000000 1.5 -0.1 1e-300 1.7976931348623157e308 0f3F000000")
	t.binary("s32", "add.s32 sub.s32 mul.lo.s32 mul.hi.s32 min.s32 max.s32 div.s32 rem.s32 and.b32 or.b32 xor.b32", "-1 5 -7 0x80000000 65536")
	t.binary("u32", "add.u32 min.u32 max.u32 div.u32 rem.u32", "-1 3 1000 0x80000001")
	t.binary("u16", "add.u16 mul.lo.u16 and.b16 min.u16 div.u16", "-1 3 0x8001")
	t.binary("s64", "add.s64 mul.lo.s64 min.s64 div.s64 rem.s64 xor.b64", "-1 7 -4294967297 0x7fffffffffffffff")
	t.binary("f32", "add.rn.f32 mul.rn.f32 min.f32 max.f32 div.rn.f32 add.rz.f32", "0f3F800000 0fBF000001 1.5 0f00000001 -2.5e-3")
	t.binary("f64", "add.rn.f64 mul.rn.f64 min.f64 div.rn.f64", "0d3FF0000000000000 -0.3 1e308")
	t.shifts32()
	t.comparisons()
	t.expressions()
	t.guards()
	t.contractions()
	t.shuffled()
	return t.forms
}

func (t *table) constants(ty, op, values string) {
	each(values, func(v string) { t.add(op+" "+v, ty, ty, op+" %d, "+v+";").Payload = true })
}

func (t *table) binary(ty, ops, values string) {
	each(ops, func(op string) {
		each(values, func(v string) { t.add(op+" by "+v, ty, ty, op+" %d, %a, "+v+";") })
	})
}

func (t *table) shifts32() {
	each("0 1 31 32 33 255", func(n string) {
		each("shl.b32 shr.u32 shr.s32", func(op string) { t.add(op+" by "+n, "b32", "b32", op+" %d, %a, "+n+";") })
		each("shl.b64 shr.u64 shr.s64", func(op string) { t.add(op+" by "+n, "b64", "b64", op+" %d, %a, "+n+";") })
		each("shf.l.wrap.b32 shf.r.clamp.b32", func(op string) { t.add(op+" by "+n, "b32", "b32 b32", op+" %d, %a, %b, "+n+";") })
	})
	each("0x3210 0x5410 0x7632 0x4440 0xba98", func(sel string) {
		t.add("prmt.b32 by "+sel, "b32", "b32 b32", "prmt.b32 %d, %a, %b, "+sel+";")
	})
	for _, f := range [][2]int{{0, 8}, {8, 8}, {24, 8}, {5, 13}, {31, 1}, {0, 32}, {16, 32}} {
		t.add(fmt.Sprintf("bfe.u32 %v", f), "u32", "u32", fmt.Sprintf("bfe.u32 %%d, %%a, %d, %d;", f[0], f[1]))
		t.add(fmt.Sprintf("bfe.s32 %v", f), "s32", "s32", fmt.Sprintf("bfe.s32 %%d, %%a, %d, %d;", f[0], f[1]))
		t.add(fmt.Sprintf("bfi.b32 %v", f), "b32", "b32 b32", fmt.Sprintf("bfi.b32 %%d, %%a, %%b, %d, %d;", f[0], f[1]))
	}
}

func (t *table) comparisons() {
	each("-1 0 7 0x80000000", func(v string) {
		each("setp.lt.s32 setp.gt.u32 setp.eq.b32", func(op string) { t.add(op+" to "+v, "pred", "b32", op+" %d, %a, "+v+";") })
		t.add("selp.b32 of "+v, "b32", "b32 pred", "selp.b32 %d, %a, "+v+", %b;")
	})
	each("0f00000000 0f3F800000 0f7F800000 1.5", func(v string) {
		each("setp.lt.f32 setp.geu.f32 setp.neu.f32", func(op string) { t.add(op+" to "+v, "pred", "f32", op+" %d, %a, "+v+";") })
	})
}

// expressions adds constant expressions, which the PTX compiler folds.
func (t *table) expressions() {
	for _, e := range []string{"(1+2*3)", "(1<<31)", "(0x100>>4)|3", "~5", "-(3)", "(7/2)", "(-7 % 3)", "(5>3)?11:22", "!0", "(1==1)", "0xff&~0xf", "(-1>>1)", "(4294967295U>>1)"} {
		t.add("add.s32 "+e, "s32", "s32", "add.s32 %d, %a, "+e+";")
		t.add("add.s64 "+e, "s64", "s64", "add.s64 %d, %a, "+e+";")
	}
}

func (t *table) guards() {
	t.add("@p add", "s32", "s32 s32 pred", "mov.b32 %d, %b; @%c add.s32 %d, %a, %b;")
	t.add("@!p add", "s32", "s32 s32 pred", "mov.b32 %d, %b; @!%c add.s32 %d, %a, %b;")
	t.add("@p add.cc", "s32 s32", "s32 s32 pred", "add.cc.s32 %d, %b, %b; @%c add.cc.s32 %d, %a, %b; addc.s32 %x, 0, 0;")
	t.add("@p setp", "pred", "s32 s32 pred", "setp.lt.s32 %d, %a, 0; @%c setp.lt.s32 %d, %a, %b;")
	t.add("@p branch", "s32", "s32 s32 pred", "mov.b32 %d, %a; @%c bra done; add.s32 %d, %a, %b;\ndone: add.s32 %d, %d, 1;")
	t.add("loop", "s32", "u32:nibble u32", "mov.b32 %d, 0;\nagain: setp.eq.u32 %p, %a, 0; @%p bra done; mad.lo.u32 %d, %d, 3, %b; sub.u32 %a, %a, 1; bra again;\ndone:")
}

// contractions adds products followed by sums, which a compiler may fuse depending on the rounding
// modifiers.
func (t *table) contractions() {
	each("f32 f64", func(ty string) {
		r := "%f1"
		if ty == "f64" {
			r = "%g1"
		}
		t.add("mul.rn."+ty+" add.rn."+ty, ty, thrice(ty), "mul.rn."+ty+" "+r+", %a, %b; add.rn."+ty+" %d, "+r+", %c;")
		t.add("mul."+ty+" add."+ty, ty, thrice(ty), "mul."+ty+" "+r+", %a, %b; add."+ty+" %d, "+r+", %c;")
	})
}

// shuffled adds shuffles in the form that compilers emit for reductions.
func (t *table) shuffled() {
	each("16 8 4 2 1 0 31 32", func(n string) {
		t.add("shfl.sync.bfly.b32 by "+n, "b32 pred", "b32", "shfl.sync.bfly.b32 %d|%x, %a, "+n+", 31, -1;")
		t.add("shfl.sync.down.b32 by "+n, "b32", "b32", "shfl.sync.down.b32 %d, %a, "+n+", 31, -1;")
		t.add("shfl.sync.up.b32 by "+n, "b32", "b32", "shfl.sync.up.b32 %d, %a, "+n+", 0, -1;")
		t.add("shfl.sync.idx.b32 by "+n, "f32", "f32", "shfl.sync.idx.b32 %d, %a, "+n+", 31, -1;").Payload = true
	})
}
