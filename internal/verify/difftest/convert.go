package difftest

// This file covers conversions of single values (PTX ISA, "Data Movement and Conversion
// Instructions: cvt").

const (
	cvtInts   = "u8 s8 u16 s16 u32 s32 u64 s64"
	cvtFloats = "f16 bf16 f32 f64"
)

func convertForms() []Form {
	t := &table{}
	t.intToInt()
	t.floatToInt()
	t.intToFloat()
	t.widenings()
	t.narrowings()
	t.integrals()
	return t.forms
}

func (t *table) intToInt() {
	each(cvtInts, func(to string) {
		each(cvtInts, func(from string) {
			t.op("cvt."+to+"."+from, to, from)
			t.op("cvt.sat."+to+"."+from, to, from)
			t.add("cvt."+to+"."+from+" in b64", "b64", from, "cvt."+to+"."+from+" %d, %a;")
		})
	})
}

// intKind returns the operand kind for an integer conversion of ty. For f32 and f64, the values of
// that kind are near the limits of the integer types.
func intKind(ty string) string {
	if ty == "f32" || ty == "f64" {
		return ty + ":" + ty + "int"
	}
	return ty
}

func (t *table) floatToInt() {
	each("rni rzi rmi rpi", func(r string) {
		each(cvtInts, func(to string) {
			each(cvtFloats, func(from string) {
				t.op("cvt."+r+"."+to+"."+from, to, intKind(from))
				t.op("cvt."+r+".sat."+to+"."+from, to, intKind(from))
			})
			t.op("cvt."+r+".ftz."+to+".f32", to, intKind("f32"))
		})
	})
}

func (t *table) intToFloat() {
	each(roundings, func(r string) {
		each(cvtFloats, func(to string) {
			each(cvtInts, func(from string) {
				t.op("cvt."+r+"."+to+"."+from, to, from)
				t.op("cvt."+r+".sat."+to+"."+from, to, from)
			})
		})
	})
}

func (t *table) widenings() {
	each("_ _.sat", func(sat string) {
		t.op("cvt"+sat+".f64.f32", "f64", "f32")
		t.op("cvt.ftz"+sat+".f64.f32", "f64", "f32")
		each("f32 f64", func(to string) {
			t.op("cvt"+sat+"."+to+".f16", to, "f16")
			t.op("cvt"+sat+"."+to+".bf16", to, "bf16")
		})
		t.op("cvt.ftz"+sat+".f32.f16", "f32", "f16")
		each("f32 f64 f16", func(ty string) { t.op("cvt"+sat+"."+ty+"."+ty, ty, ty) })
		t.op("cvt.ftz"+sat+".f32.f32", "f32", "f32")
	})
}

func (t *table) narrowings() {
	each(roundings, func(r string) {
		each("_ _.sat", func(sat string) {
			each("_ _.ftz", func(ftz string) {
				t.op("cvt."+r+ftz+sat+".f32.f64", "f32", "f64")
				t.op("cvt."+r+ftz+sat+".f16.f32", "f16", "f32")
			})
			t.op("cvt."+r+sat+".f16.f64", "f16", "f64")
			t.op("cvt."+r+sat+".bf16.f32", "bf16", "f32")
			t.op("cvt."+r+sat+".bf16.f64", "bf16", "f64")
			t.op("cvt."+r+sat+".bf16.f16", "bf16", "f16")
			t.op("cvt."+r+sat+".f16.bf16", "f16", "bf16")
		})
	})
	each("rn rz", func(r string) {
		each("_ _.relu", func(relu string) {
			each("_ _.satfinite", func(fin string) {
				t.op("cvt."+r+relu+fin+".bf16.f32", "bf16", "f32").rename(" finite")
				t.op("cvt."+r+relu+fin+".f16.f32", "f16", "f32").rename(" finite")
				t.op("cvt."+r+fin+relu+".tf32.f32", "b32", "f32")
			})
		})
	})
	t.op("cvt.rna.tf32.f32", "b32", "f32")
	t.op("cvt.rna.satfinite.tf32.f32", "b32", "f32")
}

// rename adds a suffix to a form's name, so that it differs from the name of the same form in
// another list.
func (f *Form) rename(suffix string) { f.Name += suffix }

func (t *table) integrals() {
	each("rni rzi rmi rpi", func(r string) {
		each("_ _.sat", func(sat string) {
			t.op("cvt."+r+sat+".f32.f32", "f32", "f32:f32int")
			t.op("cvt."+r+".ftz"+sat+".f32.f32", "f32", "f32:f32int")
			t.op("cvt."+r+sat+".f64.f64", "f64", "f64:f64int")
			t.op("cvt."+r+sat+".f16.f16", "f16", "f16")
			t.op("cvt."+r+sat+".bf16.bf16", "bf16", "bf16")
		})
	})
}
