package tensor_test

import (
	"fmt"
	"strings"
)

// This file generates one kernel for each form of the tensor core instructions.

// tensorForm is an instruction form and the PTX of a kernel form(d, a, b, c) that executes it with
// one warp per block. For mma the buffers hold registers: register r of lane l in block i is word
// (i*n+r)*32+l, where n is the operand's number of registers. For wmma the buffers hold one matrix
// after another.
type tensorForm struct {
	name       string // instruction with its modifiers
	ptx        string
	types      [4]string // element types of d, a, b and c
	words      [4]int    // number of 32-bit words per block for each operand
	cases      int
	sequential bool // the inputs enumerate all values instead of being random
	metadata   bool // the last register of a contains the metadata of a sparse product
}

var elementBits = map[string]int{
	"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8,
	"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32,
}

// tensorForms returns all forms that are compared with a device.
func tensorForms() []tensorForm {
	var all []tensorForm
	for _, group := range [][]tensorForm{halfForms(), floatForms(), doubleForms(), integerForms(), wmmaForms(), fragmentForms(), sparseForms()} {
		all = append(all, group...)
	}
	return all
}

func halfForms() (all []tensorForm) {
	for _, s := range [][3]int{{16, 8, 8}, {16, 8, 16}} {
		for _, cd := range [][2]string{{"f16", "f16"}, {"f32", "f32"}} {
			all = append(all, mmaForm(s, "row.col", "", [4]string{cd[0], "f16", "f16", cd[1]}))
		}
		all = append(all, mmaForm(s, "row.col", "", [4]string{"f32", "bf16", "bf16", "f32"}))
	}
	for _, layout := range []string{"row.row", "row.col", "col.row", "col.col"} {
		for _, cd := range [][2]string{{"f16", "f16"}, {"f32", "f16"}, {"f32", "f32"}} {
			all = append(all, mmaForm([3]int{8, 8, 4}, layout, "", [4]string{cd[0], "f16", "f16", cd[1]}))
		}
	}
	return all
}

func floatForms() (all []tensorForm) {
	for _, k := range []int{4, 8} {
		all = append(all, mmaForm([3]int{16, 8, k}, "row.col", "", [4]string{"f32", "tf32", "tf32", "f32"}))
	}
	for _, a := range []string{"e4m3", "e5m2"} {
		for _, b := range []string{"e4m3", "e5m2"} {
			for _, cd := range []string{"f32", "f16"} {
				for _, k := range []int{16, 32} {
					all = append(all, mmaForm([3]int{16, 8, k}, "row.col", "", [4]string{cd, a, b, cd}))
				}
			}
		}
	}
	return all
}

func doubleForms() (all []tensorForm) {
	for _, s := range [][3]int{{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}} {
		for _, round := range []string{"", ".rn", ".rz", ".rm", ".rp"} {
			f := mmaForm(s, "row.col", "", [4]string{"f64", "f64", "f64", "f64"})
			if round != "" {
				f = mmaNamed(f.name+round, s, f.types)
			}
			all = append(all, f)
		}
	}
	return all
}

func integerForms() (all []tensorForm) {
	for _, s := range [][3]int{{8, 8, 16}, {16, 8, 16}, {16, 8, 32}} {
		all = append(all, signForms(s, "8")...)
	}
	for _, s := range [][3]int{{8, 8, 32}, {16, 8, 32}, {16, 8, 64}} {
		all = append(all, signForms(s, "4")...)
	}
	for _, s := range [][3]int{{8, 8, 128}, {16, 8, 128}, {16, 8, 256}} {
		for _, op := range []string{".xor", ".and"} {
			f := mmaForm(s, "row.col", "", [4]string{"s32", "b1", "b1", "s32"})
			all = append(all, mmaNamed(f.name+op+".popc", s, f.types))
		}
	}
	return all
}

// signForms returns the signed and unsigned forms, with and without saturation, for integers with
// the given number of bits.
func signForms(s [3]int, bits string) (all []tensorForm) {
	for _, a := range []string{"s", "u"} {
		for _, b := range []string{"s", "u"} {
			for _, sat := range []string{"", ".satfinite"} {
				all = append(all, mmaForm(s, "row.col", sat, [4]string{"s32", a + bits, b + bits, "s32"}))
			}
		}
	}
	return all
}

// mmaForm returns the mma.sync form with shape s (m, n, k) and the given types of d, a, b and c.
func mmaForm(s [3]int, layout, mod string, types [4]string) tensorForm {
	name := fmt.Sprintf("mma.sync.aligned.m%dn%dk%d.%s%s.%s", s[0], s[1], s[2], layout, mod, strings.Join(types[:], "."))
	return mmaNamed(name, s, types)
}

func mmaNamed(name string, s [3]int, types [4]string) tensorForm {
	f := tensorForm{name: name, types: types, cases: casesOf(types)}
	m, n, k := s[0], s[1], s[2]
	if s == [3]int{8, 8, 4} && types[1] == "f16" {
		m = 32 // m8n8k4 computes four products at once, each with its own A and B
		n = 8
		f.words = [4]int{wordCount(m*n, types[0]), wordCount(m*k, types[1]), wordCount(4*n*k, types[2]), wordCount(m*n, types[3])}
	} else {
		f.words = [4]int{wordCount(m*n, types[0]), wordCount(m*k, types[1]), wordCount(n*k, types[2]), wordCount(m*n, types[3])}
	}
	f.ptx = mmaKernel(&f)
	return f
}

func wordCount(elements int, typ string) int { return elements * elementBits[typ] / 32 }

func casesOf(types [4]string) int {
	switch types[0] {
	case "s32":
		return 4
	case "f64":
		return 16
	}
	return 96
}

const tensorHeader = ".version 8.7\n.target sm_90\n.address_size 64\n\n" +
	".visible .entry form(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc)\n{\n" +
	"\t.reg .b32 %lane, %cta, %at;\n\t.reg .b64 %off, %base<4>, %p<4>;\n" +
	"\tmov.u32 %lane, %tid.x;\n\tmov.u32 %cta, %ctaid.x;\n" +
	"\tld.param.u64 %base0, [pd];\n\tld.param.u64 %base1, [pa];\n\tld.param.u64 %base2, [pb];\n\tld.param.u64 %base3, [pc];\n"

func mmaKernel(f *tensorForm) string {
	var b strings.Builder
	b.WriteString(tensorHeader)
	list := [4]string{}
	for o, letter := range "dabc" {
		bits, n := 32, f.words[o]/32
		if f.types[o] == "f64" {
			bits, n = 64, n/2
		}
		fmt.Fprintf(&b, "\t.reg .b%d %%%c<%d>;\n", bits, letter, n)
		fmt.Fprintf(&b, "\tmad.lo.u32 %%at, %%cta, %d, %%lane;\n\tmul.wide.u32 %%off, %%at, %d;\n\tadd.u64 %%p%d, %%base%d, %%off;\n", 32*n, bits/8, o, o)
		var regs []string
		for r := range n {
			regs = append(regs, fmt.Sprintf("%%%c%d", letter, r))
			if o > 0 {
				fmt.Fprintf(&b, "\tld.global.b%d %s, [%%p%d+%d];\n", bits, regs[r], o, r*32*bits/8)
			}
		}
		list[o] = "{" + strings.Join(regs, ", ") + "}"
	}
	fmt.Fprintf(&b, "\t%s %s;\n", f.name, strings.Join(list[:], ", "))
	storeRegisters(&b, list[0], f.types[0])
	b.WriteString("\tret;\n}\n")
	return b.String()
}

func storeRegisters(b *strings.Builder, list, typ string) {
	bits := 32
	if typ == "f64" {
		bits = 64
	}
	for r, name := range strings.Split(strings.Trim(list, "{}"), ", ") {
		fmt.Fprintf(b, "\tst.global.b%d [%%p0+%d], %s;\n", bits, r*32*bits/8, name)
	}
}
