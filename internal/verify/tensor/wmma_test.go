package tensor_test

import (
	"fmt"
	"strings"
)

// wmmaShape is a wmma shape together with one of the types that it supports for A and B.
type wmmaShape struct {
	m, n, k int
	typ     string
}

// wmmaShapes returns all shapes for each type of A and B.
func wmmaShapes() (all []wmmaShape) {
	for _, t := range []string{"f16", "bf16", "s8", "u8"} {
		all = append(all, wmmaShape{16, 16, 16, t}, wmmaShape{32, 8, 16, t}, wmmaShape{8, 32, 16, t})
	}
	return append(all, wmmaShape{16, 16, 8, "tf32"}, wmmaShape{8, 8, 4, "f64"}, wmmaShape{8, 8, 32, "s4"}, wmmaShape{8, 8, 32, "u4"}, wmmaShape{8, 8, 128, "b1"})
}

func (s wmmaShape) String() string { return fmt.Sprintf("m%dn%dk%d", s.m, s.n, s.k) }

// fragmentWords returns the number of 32-bit words per lane that hold the operand "a", "b", "c" or
// "d".
func (s wmmaShape) fragmentWords(operand, typ string) int {
	switch {
	case operand == "c" || operand == "d":
		return max(s.m*s.n*elementBits[typ]/32/32, 1)
	case typ == "f16":
		return 8
	case operand == "a":
		return max(s.m*s.k*elementBits[typ]/32/32, 1)
	}
	return max(s.n*s.k*elementBits[typ]/32/32, 1)
}

// accumulators returns the types of d and c for a type of A and B.
func accumulators(typ string) [][2]string {
	switch typ {
	case "f16":
		return [][2]string{{"f16", "f16"}, {"f32", "f16"}, {"f16", "f32"}, {"f32", "f32"}}
	case "bf16", "tf32":
		return [][2]string{{"f32", "f32"}}
	case "f64":
		return [][2]string{{"f64", "f64"}}
	}
	return [][2]string{{"s32", "s32"}}
}

func wmmaForms() (all []tensorForm) {
	for _, s := range wmmaShapes() {
		layouts := []string{"row.col", "row.row", "col.row", "col.col"}
		tails := []string{""}
		switch s.typ {
		case "s4", "u4":
			layouts = layouts[:1]
			tails = []string{"", ".satfinite"}
		case "b1":
			layouts = layouts[:1]
		case "s8", "u8":
			tails = []string{"", ".satfinite"}
		case "f64":
			tails = []string{"", ".rn", ".rz", ".rm", ".rp"}
		}
		for _, l := range layouts {
			for _, cd := range accumulators(s.typ) {
				for _, tail := range tails {
					all = append(all, wmmaForm(s, l, cd, tail))
				}
			}
		}
	}
	b1 := wmmaShape{8, 8, 128, "b1"}
	return append(all, wmmaAnd(b1))
}

// wmmaAnd returns the single-bit form that counts the ones in a AND b.
func wmmaAnd(s wmmaShape) tensorForm {
	f := wmmaForm(s, "row.col", [2]string{"s32", "s32"}, "")
	f.name = strings.ReplaceAll(f.name, ".xor.", ".and.")
	f.ptx = strings.ReplaceAll(f.ptx, ".xor.", ".and.")
	return f
}

// wmmaForm returns a form that loads the matrices A, B and C, multiplies, and stores D. In memory,
// C is ordered by rows and D by columns.
func wmmaForm(s wmmaShape, layouts string, cd [2]string, tail string) tensorForm {
	f := tensorForm{types: [4]string{cd[0], s.typ, s.typ, cd[1]}, cases: max(casesOf([4]string{cd[0]})/4, 2)}
	f.words = [4]int{wordCount(s.m*s.n, cd[0]), wordCount(s.m*s.k, s.typ), wordCount(s.n*s.k, s.typ), wordCount(s.m*s.n, cd[1])}
	la, lb, _ := strings.Cut(layouts, ".")
	op, types := "", ""
	switch s.typ {
	case "f16":
		types = cd[0] + "." + cd[1]
	case "b1":
		op = ".xor.popc"
		types = "s32.b1.b1.s32"
	default:
		types = cd[0] + "." + s.typ + "." + s.typ + "." + cd[1]
	}
	f.name = fmt.Sprintf("wmma.mma%s.sync.aligned.%s.%s.%s%s", op, layouts, s, types, tail)
	var b strings.Builder
	b.WriteString(tensorHeader)
	matrixPointers(&b, &f)
	list := [4]string{}
	for o, letter := range []string{"d", "a", "b", "c"} {
		list[o] = declareFragment(&b, letter, f.types[o], s.fragmentWords(letter, f.types[o]))
	}
	wmmaLoad(&b, s, "a", la, f.types[1], list[1], 1)
	wmmaLoad(&b, s, "b", lb, f.types[2], list[2], 2)
	wmmaLoad(&b, s, "c", "row", f.types[3], list[3], 3)
	fmt.Fprintf(&b, "\t%s %s;\n", f.name, strings.Join(list[:], ", "))
	fmt.Fprintf(&b, "\twmma.store.d.sync.aligned.col.%s.global.%s [%%p0], %s, %d;\n", s, f.types[0], list[0], s.m)
	b.WriteString("\tret;\n}\n")
	f.ptx = b.String()
	return f
}

// matrixPointers writes instructions that set %p0 to %p3 to the block's matrices.
func matrixPointers(b *strings.Builder, f *tensorForm) {
	for o := range f.words {
		fmt.Fprintf(b, "\tmul.wide.u32 %%off, %%cta, %d;\n\tadd.u64 %%p%d, %%base%d, %%off;\n", 4*f.words[o], o, o)
	}
}

func declareFragment(b *strings.Builder, letter, typ string, words int) string {
	bits := 32
	if typ == "f64" {
		bits, words = 64, words/2
	}
	fmt.Fprintf(b, "\t.reg .b%d %%%s<%d>;\n", bits, letter, words)
	var regs []string
	for r := range words {
		regs = append(regs, fmt.Sprintf("%%%s%d", letter, r))
	}
	return "{" + strings.Join(regs, ", ") + "}"
}

func wmmaLoad(b *strings.Builder, s wmmaShape, operand, layout, typ, list string, o int) {
	rows, cols := s.m, s.k
	switch operand {
	case "b":
		rows, cols = s.k, s.n
	case "c":
		cols = s.n
	}
	stride := cols
	if layout == "col" {
		stride = rows
	}
	fmt.Fprintf(b, "\twmma.load.%s.sync.aligned.%s.%s.global.%s %s, [%%p%d], %d;\n", operand, layout, s, typ, list, o, stride)
}

// fragmentForms returns forms that store the registers after a load, because the device determines
// which elements of the matrix each lane receives.
func fragmentForms() (all []tensorForm) {
	for _, s := range wmmaShapes() {
		for _, operand := range []string{"a", "b", "c"} {
			types := []string{s.typ}
			if operand == "c" {
				types = types[:0]
				for _, cd := range accumulators(s.typ) {
					if len(types) == 0 || types[len(types)-1] != cd[0] {
						types = append(types, cd[0])
					}
				}
			}
			for _, t := range types {
				for _, l := range []string{"row", "col"} {
					all = append(all, fragmentForm(s, operand, l, t))
				}
			}
		}
	}
	return all
}

func fragmentForm(s wmmaShape, operand, layout, typ string) tensorForm {
	n := s.fragmentWords(operand, typ)
	f := tensorForm{types: [4]string{typ, typ, typ, typ}, cases: map[int]int{1: 10, 4: 3}[elementBits[typ]], sequential: true}
	f.cases = max(f.cases, 2)
	f.name = fmt.Sprintf("wmma.load.%s.sync.aligned.%s.%s.global.%s", operand, layout, s, typ)
	f.words = [4]int{32 * n, 32 * n, 1, 1}
	var b strings.Builder
	b.WriteString(tensorHeader)
	matrixPointers(&b, &f)
	list := declareFragment(&b, operand, typ, n)
	wmmaLoad(&b, s, operand, layout, typ, list, 1)
	shift := 2
	if typ == "f64" {
		shift = 3
	}
	fmt.Fprintf(&b, "\tmul.wide.u32 %%off, %%lane, %d;\n\tadd.u64 %%p0, %%p0, %%off;\n", 1<<shift)
	storeRegisters(&b, list, typ)
	b.WriteString("\tret;\n}\n")
	f.ptx = b.String()
	return f
}
