package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// This file covers products with a sparse A. Of every four elements, two are present. For tf32, one
// of two is present, and for four-bit elements, two pairs of every eight elements. Metadata, in the
// lanes that a selector chooses, indicates which elements are present.

// sparseShapes maps each type of A to pairs of a value of k and the number of selectors for that
// value.
var sparseShapes = map[string][][2]int{
	"f16": {{16, 4}, {32, 2}}, "bf16": {{16, 4}, {32, 2}}, "tf32": {{8, 4}, {16, 2}},
	"s8": {{32, 2}, {64, 1}}, "u8": {{32, 2}, {64, 1}}, "s4": {{64, 2}, {128, 1}}, "u4": {{64, 2}, {128, 1}},
	"e4m3": {{64, 1}}, "e5m2": {{64, 1}},
}

func sparseForms() (all []tensorForm) {
	for _, ab := range [][2]string{{"f16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"}, {"s8", "s8"}, {"u8", "s8"}, {"s4", "s4"}, {"u4", "s4"},
		{"e4m3", "e4m3"}, {"e4m3", "e5m2"}, {"e5m2", "e5m2"}} {
		for _, shape := range sparseShapes[ab[0]] {
			for _, cd := range sparseAccumulators(ab[0]) {
				for selector := range shape[1] {
					all = append(all, sparseForm("sp::ordered_metadata", shape[0], cd, ab, selector, ""))
				}
			}
		}
	}
	return append(all, sparseForm("sp", 32, "f32", [2]string{"f16", "f16"}, 1, ""),
		sparseForm("sp", 64, "s32", [2]string{"u8", "u8"}, 0, ".satfinite"))
}

func sparseAccumulators(typ string) []string {
	switch typ {
	case "f16", "e4m3", "e5m2":
		return []string{"f32", "f16"}
	case "bf16", "tf32":
		return []string{"f32"}
	}
	return []string{"s32"}
}

// sparseForm returns a form whose A has an additional register for the metadata.
func sparseForm(sp string, k int, cd string, ab [2]string, selector int, sat string) tensorForm {
	f := tensorForm{types: [4]string{cd, ab[0], ab[1], cd}, metadata: true}
	f.cases = max(casesOf(f.types)/2, 4)
	f.words = [4]int{wordCount(16*8, cd), wordCount(16*k/2, ab[0]) + 32, wordCount(8*k, ab[1]), wordCount(16*8, cd)}
	f.name = fmt.Sprintf("mma.%s.sync.aligned.m16n8k%d.row.col%s.%s.%s.%s.%s", sp, k, sat, cd, ab[0], ab[1], cd)
	f.ptx = mmaKernel(&f)
	n := f.words[1]/32 - 1
	f.ptx = strings.Replace(f.ptx, fmt.Sprintf(", %%a%d}, {", n), "}, {", 1)
	at := strings.Index(f.ptx, "\t"+f.name+" ")
	f.ptx = f.ptx[:at] + strings.Replace(f.ptx[at:], "};\n", fmt.Sprintf("}, %%a%d, %d;\n", n, selector), 1)
	f.name += fmt.Sprintf(":%d", selector)
	return f
}

// drawMetadata returns a random metadata word, which selects the elements that are present in eight
// groups.
func drawMetadata(r *rand.Rand, typ string) uint32 {
	choices := []uint32{0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110}
	if typ == "tf32" {
		choices = []uint32{0b0100, 0b1110}
	}
	w := uint32(0)
	for range 8 {
		w = w<<4 | choices[r.IntN(len(choices))]
	}
	return w
}
