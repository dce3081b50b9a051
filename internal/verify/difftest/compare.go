package difftest

// This file covers comparison and selection (PTX ISA, "Comparison and Selection Instructions" and
// "Half Precision Comparison Instructions").

const (
	signedComparisons   = "eq ne lt le gt ge"
	unsignedComparisons = "eq ne lt le gt ge lo ls hi hs"
	floatComparisons    = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
)

func compareForms() []Form {
	t := &table{}
	each("b16 b32 b64", func(ty string) { t.compare(ty, "", "eq ne") })
	each("u16 u32 u64", func(ty string) { t.compare(ty, "", unsignedComparisons) })
	each("s16 s32 s64", func(ty string) { t.compare(ty, "", signedComparisons) })
	each("f32 f64", func(ty string) { t.compare(ty, "", floatComparisons) })
	t.compare("f32", ".ftz", floatComparisons)
	each("f16 bf16", func(ty string) { t.compareHalf(ty, "") })
	each("f16x2 bf16x2", func(ty string) { t.comparePair(ty, "") })
	t.compareHalf("f16", ".ftz")
	t.comparePair("f16x2", ".ftz")
	t.selections()
	return t.forms
}

func (t *table) compare(ty, ftz, comparisons string) {
	each(comparisons, func(cmp string) {
		t.add("setp."+cmp+ftz+"."+ty, "pred pred", twice(ty), "setp."+cmp+ftz+"."+ty+" %d|%x, %a, %b;")
		each("and or xor", func(b string) {
			op := "setp." + cmp + "." + b + ftz + "." + ty
			t.add(op, "pred pred pred", twice(ty)+" pred", op+" %d|%x, %a, %b, %c; "+op+" %y, %a, %b, !%c;")
		})
		each("u32 s32 f32", func(dt string) {
			t.op("set."+cmp+ftz+"."+dt+"."+ty, dt, twice(ty))
			op := "set." + cmp + ".and" + ftz + "." + dt + "." + ty
			t.op(op, dt, twice(ty)+" pred")
		})
	})
}

func (t *table) compareHalf(ty, ftz string) {
	each(floatComparisons, func(cmp string) {
		t.add("setp."+cmp+ftz+"."+ty, "pred", twice(ty), "setp."+cmp+ftz+"."+ty+" %d, %a, %b;")
		t.op("setp."+cmp+".and"+ftz+"."+ty, "pred", twice(ty)+" pred")
		each("u16 s16 u32 s32 _"+ty, func(dt string) { t.op("set."+cmp+ftz+"."+dt+"."+ty, dt, twice(ty)) })
	})
}

func (t *table) comparePair(ty, ftz string) {
	each(floatComparisons, func(cmp string) {
		t.add("setp."+cmp+ftz+"."+ty, "pred pred", twice(ty), "setp."+cmp+ftz+"."+ty+" %d|%x, %a, %b;")
		op := "setp." + cmp + ".or" + ftz + "." + ty
		t.add(op, "pred pred", twice(ty)+" pred", op+" %d|%x, %a, %b, %c;")
		t.op("set."+cmp+ftz+"."+ty+"."+ty, ty, twice(ty))
	})
}

func (t *table) selections() {
	each("b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", func(ty string) {
		t.op("selp."+ty, ty, twice(ty)+" pred").Payload = true
		t.op("slct."+ty+".s32", ty, twice(ty)+" s32").Payload = true
		t.op("slct."+ty+".f32", ty, twice(ty)+" f32").Payload = true
		t.op("slct.ftz."+ty+".f32", ty, twice(ty)+" f32").Payload = true
	})
}
