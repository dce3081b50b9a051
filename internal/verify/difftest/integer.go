package difftest

// This file covers integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and
// "Extended-Precision Integer Arithmetic Instructions").

const ints = "u16 s16 u32 s32 u64 s64"

func integerForms() []Form {
	t := &table{}
	t.plainInts()
	t.products()
	t.carries()
	t.dots()
	return t.forms
}

func twice(s string) string  { return s + " " + s }
func thrice(s string) string { return s + " " + s + " " + s }

func (t *table) plainInts() {
	each("add sub min max div rem", func(op string) {
		each(ints, func(ty string) { t.op(op+"."+ty, ty, twice(ty)) })
	})
	each("add sub", func(op string) { t.op(op+".sat.s32", "s32", twice("s32")) })
	each("add min max", func(op string) {
		each("u16x2 s16x2", func(ty string) { t.op(op+"."+ty, ty, twice(ty)) })
	})
	each("min max", func(op string) {
		each("s16x2 s32", func(ty string) { t.op(op+".relu."+ty, ty, twice(ty)) })
	})
	each("abs neg", func(op string) {
		each("s16 s32 s64", func(ty string) { t.op(op+"."+ty, ty, ty) })
	})
	each(ints, func(ty string) { t.op("sad."+ty, ty, thrice(ty)) })
}

func (t *table) products() {
	each("lo hi", func(half string) {
		each(ints, func(ty string) {
			t.op("mul."+half+"."+ty, ty, twice(ty))
			t.op("mad."+half+"."+ty, ty, thrice(ty))
		})
		each("u32 s32", func(ty string) {
			t.op("mul24."+half+"."+ty, ty, twice(ty))
			t.op("mad24."+half+"."+ty, ty, thrice(ty))
		})
	})
	wide := map[string]string{"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
	each("u16 s16 u32 s32", func(ty string) {
		t.op("mul.wide."+ty, wide[ty], twice(ty))
		t.op("mad.wide."+ty, wide[ty], twice(ty)+" "+wide[ty])
	})
	t.op("mad.hi.sat.s32", "s32", thrice("s32"))
	t.op("mad24.hi.sat.s32", "s32", thrice("s32"))
}

// carries adds sequences of instructions with carry. The last one makes the condition code of the
// previous one visible.
func (t *table) carries() {
	each("u32 s32 u64 s64", func(ty string) {
		four := thrice(ty) + " " + ty
		each("add sub", func(op string) {
			t.add(op+".cc."+ty, ty+" "+ty, four, op+".cc."+ty+" %d, %a, %b; "+op+"c."+ty+" %x, %c, %e;")
			t.add(op+"c.cc."+ty, thrice(ty), four,
				op+".cc."+ty+" %d, %a, %b; "+op+"c.cc."+ty+" %x, %c, %e; "+op+"c."+ty+" %y, %a, %c;")
		})
		each("lo hi", func(half string) {
			t.add("mad."+half+".cc."+ty, ty+" "+ty, four, "mad."+half+".cc."+ty+" %d, %a, %b, %c; addc."+ty+" %x, %e, 0;")
			t.add("madc."+half+"."+ty, ty, four, "add.cc."+ty+" %d, %a, %e; madc."+half+"."+ty+" %d, %a, %b, %c;")
			t.add("madc."+half+".cc."+ty, ty+" "+ty, four,
				"add.cc."+ty+" %d, %a, %e; madc."+half+".cc."+ty+" %d, %a, %b, %c; addc."+ty+" %x, %e, 0;")
		})
	})
}

func (t *table) dots() {
	each("u32 s32", func(a string) {
		each("u32 s32", func(b string) {
			in := a + " " + b + " u32"
			if a == "s32" || b == "s32" {
				in = a + " " + b + " s32"
			}
			t.op("dp4a."+a+"."+b, "u32", in)
			each("lo hi", func(half string) { t.op("dp2a."+half+"."+a+"."+b, "u32", in) })
		})
	})
}
