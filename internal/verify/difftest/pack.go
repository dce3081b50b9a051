package difftest

// This file covers conversions to and from pairs (PTX ISA, "cvt" and "cvt.pack").

func packForms() []Form {
	t := &table{}
	each("f16x2 bf16x2", func(to string) {
		each("rn rz", func(r string) {
			each("_ _.relu", func(relu string) {
				each("_ _.satfinite", func(fin string) { t.op("cvt."+r+relu+fin+"."+to+".f32", to, "f32 f32") })
			})
		})
	})
	each("e4m3x2 e5m2x2", func(ty string) {
		each("_ _.relu", func(relu string) {
			t.op("cvt.rn.satfinite"+relu+"."+ty+".f32", ty, "f32 f32")
			t.op("cvt.rn.satfinite"+relu+"."+ty+".f16x2", ty, "f16x2")
			t.op("cvt.rn"+relu+".f16x2."+ty, "f16x2", ty)
		})
	})
	each("u16 s16", func(to string) { t.op("cvt.pack.sat."+to+".s32", "b32", "s32 s32") })
	each("u8 s8 u4 s4 u2 s2", func(to string) { t.op("cvt.pack.sat."+to+".s32.b32", "b32", "s32 s32 b32") })
	return t.forms
}
