package difftest

// This file covers arithmetic in f16 and bf16, single and in pairs (PTX ISA, "Half Precision
// Floating-Point Instructions").

const halves = "f16 f16x2 bf16 bf16x2"

func halfForms() []Form {
	t := &table{}
	each("f16 f16x2", func(ty string) { t.halfArithmetic(ty) })
	each("bf16 bf16x2", func(ty string) { t.bfloatArithmetic(ty) })
	each(halves, func(ty string) { t.halfExtremes(ty) })
	t.outOfBounds("f16", "0x4000")
	t.outOfBounds("bf16", "0x4000")
	for i := range t.forms {
		t.forms[i].Payload = true // these operations return canonical NaNs
	}
	return t.forms
}

func (t *table) halfArithmetic(ty string) {
	each("_ _.rn", func(rn string) {
		each("_ _.ftz", func(ftz string) {
			each("_ _.sat", func(sat string) {
				each("add sub mul", func(op string) { t.op(op+rn+ftz+sat+"."+ty, ty, twice(ty)) })
			})
		})
	})
	each("_ _.ftz", func(ftz string) {
		each("_ _.sat _.relu _.oob _.oob.relu", func(m string) { t.op("fma.rn"+ftz+m+"."+ty, ty, thrice(ty)) })
		each("abs neg", func(op string) { t.op(op+ftz+"."+ty, ty, ty) })
	})
}

func (t *table) bfloatArithmetic(ty string) {
	each("_ _.rn", func(rn string) {
		each("add sub mul", func(op string) { t.op(op+rn+"."+ty, ty, twice(ty)) })
	})
	each("_ _.relu _.oob _.oob.relu", func(m string) { t.op("fma.rn"+m+"."+ty, ty, thrice(ty)) })
	each("abs neg", func(op string) { t.op(op+"."+ty, ty, ty) })
}

func (t *table) halfExtremes(ty string) {
	each("min max", func(op string) {
		each("_ _.ftz", func(ftz string) {
			if ftz != "" && ty[0] == 'b' {
				return
			}
			each("_ _.NaN", func(nan string) {
				each("_ _.xorsign.abs", func(sign string) { t.op(op+ftz+nan+sign+"."+ty, ty, twice(ty)) })
			})
		})
	})
}

// outOfBounds adds fma.oob with each NaN as each operand.
func (t *table) outOfBounds(ty, two string) {
	each("_ _.relu", func(relu string) {
		op := "fma.rn.oob" + relu + "." + ty
		t.add(op+" of NaN", thrice(ty), ty+":"+ty+"nan", "mov.b16 %h0, "+two+"; "+
			op+" %d, %a, %h0, %h0; "+op+" %x, %h0, %a, %h0; "+op+" %y, %h0, %h0, %a;")
	})
}
