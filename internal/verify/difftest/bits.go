package difftest

import "fmt"

// This file covers logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions"). It also
// covers the bit instructions among the integer ones, and moves that pack and unpack.

func bitForms() []Form {
	t := &table{}
	t.logic()
	t.lop3()
	t.shifts()
	t.fields()
	t.permutations()
	t.parts()
	return t.forms
}

func (t *table) logic() {
	each("pred b16 b32 b64", func(ty string) {
		each("and or xor", func(op string) { t.op(op+"."+ty, ty, twice(ty)) })
		t.op("not."+ty, ty, ty)
		if ty != "pred" {
			t.op("cnot."+ty, ty, ty)
		}
	})
}

// lop3 adds lop3 with each of its 256 lookup tables. One form covers four tables.
func (t *table) lop3() {
	for k := 0; k < 256; k += 4 {
		body := ""
		for j := range 4 {
			body += fmt.Sprintf("lop3.b32 %s, %%a, %%b, %%c, %d; ", outRegs[j], k+j)
		}
		t.add(fmt.Sprintf("lop3.b32 %#02x-%#02x", k, k+3), "b32 b32 b32 b32", thrice("b32"), body)
	}
	each("and or xor", func(op string) {
		for _, table := range []int{0x96, 0xe8, 0xca, 0x80, 0x01} {
			if op == "xor" {
				continue // PTX provides only .and and .or
			}
			t.add(fmt.Sprintf("lop3.%s.b32 %#02x", op, table), "b32 pred", thrice("b32")+" pred",
				fmt.Sprintf("lop3.%s.b32 %%d|%%x, %%a, %%b, %%c, %d, %%e;", op, table))
		}
	})
}

func (t *table) shifts() {
	each("b16 b32 b64", func(ty string) {
		t.op("shl."+ty, ty, ty+" u32:shift")
		t.op("shr."+ty, ty, ty+" u32:shift")
	})
	each(ints, func(ty string) { t.op("shr."+ty, ty, ty+" u32:shift") })
	t.add("shl.b32 any", "b32", "b32 u32", "shl.b32 %d, %a, %b;")
	t.add("shr.s64 any", "s64", "s64 u32", "shr.s64 %d, %a, %b;")
	each("l r", func(way string) {
		each("wrap clamp", func(mode string) {
			t.op("shf."+way+"."+mode+".b32", "b32", "b32 b32 u32:shift")
			t.add("shf."+way+"."+mode+".b32 any", "b32", "b32 b32 u32", "shf."+way+"."+mode+".b32 %d, %a, %b, %c;")
		})
	})
}

func (t *table) fields() {
	each("b32 b64", func(ty string) {
		t.op("popc."+ty, "u32", ty)
		t.op("clz."+ty, "u32", ty)
		t.op("brev."+ty, ty, ty)
		t.op("bfi."+ty, ty, ty+" "+ty+" u32:shift u32:shift")
		t.add("bfi."+ty+" any", ty, ty+" "+ty+" u32:pos u32:pos", "bfi."+ty+" %d, %a, %b, %c, %e;")
	})
	each("u32 s32 u64 s64", func(ty string) {
		t.op("bfind."+ty, "u32", ty)
		t.op("bfind.shiftamt."+ty, "u32", ty)
		t.op("bfe."+ty, ty, ty+" u32:shift u32:shift")
		t.add("bfe."+ty+" any", ty, ty+" u32:pos u32:pos", "bfe."+ty+" %d, %a, %b, %c;")
	})
	t.op("fns.b32", "b32", "b32 b32:lane s32:lane")
	t.add("fns.b32 backwards", "b32", "b32 b32:lane s32:lane", "neg.s32 %c, %c; fns.b32 %d, %a, %b, %c;")
	each("clamp wrap", func(mode string) {
		t.op("bmsk."+mode+".b32", "b32", "b32:shift b32:shift")
		t.add("bmsk."+mode+".b32 any", "b32", "b32 b32", "bmsk."+mode+".b32 %d, %a, %b;")
		each("u32 s32", func(ty string) {
			t.op("szext."+mode+"."+ty, ty, ty+" u32:shift")
			t.add("szext."+mode+"."+ty+" any", ty, ty+" u32", "szext."+mode+"."+ty+" %d, %a, %b;")
		})
	})
}

func (t *table) permutations() {
	t.op("prmt.b32", "b32", "b32 b32 b32:sel")
	t.add("prmt.b32 any", "b32", thrice("b32"), "prmt.b32 %d, %a, %b, %c;")
	each("f4e b4e rc8 ecl ecr rc16", func(mode string) {
		t.op("prmt.b32."+mode, "b32", "b32 b32 b32:nibble")
	})
}

func (t *table) parts() {
	t.add("mov.b32 pack", "b32", "b16 b16", "mov.b32 %d, {%a, %b};")
	t.add("mov.b64 pack", "b64", "b32 b32", "mov.b64 %d, {%a, %b};")
	t.add("mov.b64 pack of four", "b64", "b16 b16 b16 b16", "mov.b64 %d, {%a, %b, %c, %e};")
	t.add("mov.b32 unpack", "b16 b16", "b32", "mov.b32 {%d, %x}, %a;")
	t.add("mov.b64 unpack", "b32 b32", "b64", "mov.b64 {%d, %x}, %a;")
	t.add("mov.b64 unpack in four", "b16 b16 b16 b16", "b64", "mov.b64 {%d, %x, %y, %z}, %a;")
	t.add("mov.b64 unpack high", "b32", "b64", "mov.b64 {_, %d}, %a;")
	t.add("mov.b128", "b64 b64", "b64 b64", ".reg .b128 %v; mov.b128 %v, {%a, %b}; mov.b128 {%x, %d}, %v;")
	each("pred b16 b32 b64 f32 f64", func(ty string) { t.op("mov."+ty, ty, ty).Payload = true })
}
