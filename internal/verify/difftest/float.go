package difftest

// This file covers arithmetic in f32 and f64 (PTX ISA, "Floating-Point Instructions").

const roundings = "rn rz rm rp"

func floatForms() []Form {
	t := &table{}
	each("_ _.ftz", func(ftz string) {
		each("_ _.sat", func(sat string) { t.rounded32(ftz, sat) })
	})
	t.rounded64()
	t.roots()
	t.extremes()
	t.signs()
	for i := range t.forms {
		f := &t.forms[i]
		f.Payload = f.Out[0] == "f32" && f.Name != "copysign.f32" // these operations return canonical NaNs
	}
	return t.forms
}

func (t *table) rounded32(ftz, sat string) {
	each("add sub mul", func(op string) {
		t.op(op+ftz+sat+".f32", "f32", "f32 f32")
		each(roundings, func(r string) { t.op(op+"."+r+ftz+sat+".f32", "f32", "f32 f32") })
	})
	each(roundings, func(r string) {
		t.op("fma."+r+ftz+sat+".f32", "f32", thrice("f32"))
		t.op("mad."+r+ftz+sat+".f32", "f32", thrice("f32"))
		if sat == "" {
			t.op("div."+r+ftz+".f32", "f32", "f32 f32")
			t.op("rcp."+r+ftz+".f32", "f32", "f32")
			t.op("sqrt."+r+ftz+".f32", "f32", "f32")
		}
	})
}

func (t *table) rounded64() {
	each("add sub mul", func(op string) { t.op(op+".f64", "f64", "f64 f64") })
	each(roundings, func(r string) {
		each("add sub mul div", func(op string) { t.op(op+"."+r+".f64", "f64", "f64 f64") })
		t.op("fma."+r+".f64", "f64", thrice("f64"))
		t.op("mad."+r+".f64", "f64", thrice("f64"))
	})
}

func (t *table) roots() {
	each(roundings, func(r string) {
		t.op("rcp."+r+".f64", "f64", "f64")
		t.op("sqrt."+r+".f64", "f64", "f64")
	})
}

func (t *table) extremes() {
	each("min max", func(op string) {
		each("_ _.ftz", func(ftz string) {
			each("_ _.NaN", func(nan string) {
				each("_ _.xorsign.abs", func(sign string) { t.op(op+ftz+nan+sign+".f32", "f32", "f32 f32") })
			})
		})
		t.op(op+".f64", "f64", "f64 f64")
	})
}

func (t *table) signs() {
	each("abs neg", func(op string) {
		t.op(op+".f32", "f32", "f32")
		t.op(op+".ftz.f32", "f32", "f32")
		t.op(op+".f64", "f64", "f64")
	})
	each("f32 f64", func(ty string) {
		t.op("copysign."+ty, ty, twice(ty))
		each("finite infinite number notanumber normal subnormal", func(test string) {
			t.op("testp."+test+"."+ty, "pred", ty)
		})
	})
}
