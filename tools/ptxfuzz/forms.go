package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// surroundings declares, for generated instructions, several registers of each type and variables
// in each state space.
const surroundings = `.address_size 64
.global .align 16 .b32 gv[8];
.const .align 16 .b32 cv[8];
.shared .align 16 .b32 sv[8];
.visible .entry k(.param .b64 kp, .param .b32 kq)
{
	.local .align 16 .b32 lv[8];
	.param .align 16 .b32 pv[8];
	.reg .b8 %qb<9>; .reg .u8 %qu<9>; .reg .s8 %qs<9>;
	.reg .b16 %hb<9>; .reg .u16 %hu<9>; .reg .s16 %hs<9>;
	.reg .b32 %b<9>; .reg .u32 %u<9>; .reg .s32 %s<9>; .reg .f32 %f<9>;
	.reg .b64 %bd<9>; .reg .u64 %ud<9>; .reg .s64 %sd<9>; .reg .f64 %d<9>;
	.reg .pred %p<9>;
	.reg .v2 .b16 %vh1, %vh2; .reg .v2 .b32 %vb1, %vb2; .reg .v2 .f32 %vf1, %vf2; .reg .v2 .b64 %vd1, %vd2;
	.reg .v4 .b16 %wh1, %wh2; .reg .v4 .b32 %wb1, %wb2; .reg .v4 .f32 %wf1, %wf2;
`

// halves declares registers whose types need a newer PTX version.
const halves = "\t.reg .f16 %hf<9>; .reg .f16x2 %hx<9>;\n"

// registers maps types to the prefixes of their registers' names.
var registers = map[ptx.Type]string{
	ptx.B8: "qb", ptx.U8: "qu", ptx.S8: "qs", ptx.B16: "hb", ptx.U16: "hu", ptx.S16: "hs", ptx.F16: "hf",
	ptx.B32: "b", ptx.U32: "u", ptx.S32: "s", ptx.F32: "f", ptx.F16x2: "hx",
	ptx.B64: "bd", ptx.U64: "ud", ptx.S64: "sd", ptx.F64: "d", ptx.Pred: "p",
}

var prefixes = []string{"qb", "qu", "hb", "hu", "hs", "b", "u", "s", "f", "bd", "ud", "d", "p"}

// maker generates instructions from the rules, and changes most of them so that many are invalid.
type maker struct {
	rng     *rand.Rand
	halfs   bool
	scalars bool     // do not use vector registers
	words   []string // modifiers of all instructions
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// instruction is an instruction that matches a form.
type instruction struct {
	name  string
	mods  []string
	types []string
	args  []string
	addr  string
}

func (i *instruction) opcode() string {
	op := i.name
	for _, m := range append(append([]string(nil), i.mods...), i.types...) {
		op += "." + m
	}
	return op
}

func (i *instruction) String() string {
	return i.opcode() + " " + strings.Join(i.args, ", ") + ";"
}

// make generates an instruction that matches the form.
func (m *maker) make(f *isa.Form) *instruction {
	in := &instruction{name: f.Name()}
	vector := 0
	for _, p := range f.Modifiers() {
		if p.Optional && m.rng.IntN(3) > 0 {
			continue
		}
		w := pick(m.rng, p.Choices)
		switch w {
		case "v2", "v4", "v8":
			vector = int(w[1] - '0')
		}
		in.mods = append(in.mods, w)
	}
	for _, p := range f.Types() {
		in.types = append(in.types, pick(m.rng, p.Choices))
	}
	if n := len(in.types); n == 4 && in.types[1] != in.types[2] && m.rng.IntN(4) > 0 {
		in.types[2] = in.types[1]
	}
	spaces := 0
	for _, o := range f.Operands() {
		if o.Optional && m.rng.IntN(2) == 0 {
			break
		}
		t := o.Type
		if o.Place >= 0 {
			t = ptx.ParseType(in.types[o.Place])
		}
		if o.Wide {
			t = wider(t)
		}
		if o.Kind == "address" {
			in.args = append(in.args, m.address(in.mods, spaces))
			spaces++
			continue
		}
		n := o.Count
		if n < 0 {
			n = vector
		}
		in.args = append(in.args, m.operand(o.Kind, t, n))
	}
	if strings.HasSuffix(in.name, ".tensor") && m.rng.IntN(8) > 0 {
		m.tensor(in)
	}
	return in
}

func wider(t ptx.Type) ptx.Type {
	return map[ptx.Type]ptx.Type{ptx.U16: ptx.U32, ptx.S16: ptx.S32, ptx.U32: ptx.U64, ptx.S32: ptx.S64}[t]
}

// tensor adds coordinates to the tensor map, and sets the operands that depend on the modifiers.
func (m *maker) tensor(in *instruction) {
	all := strings.Join(in.mods, " ")
	dims := int(in.mods[0][0] - '0')
	at, fixed := 0, 0
	if strings.HasPrefix(all[3:], "shared") {
		at = 1
	}
	for fixed < len(in.args) && in.args[fixed][0] == '[' {
		fixed++
	}
	in.args[at] = "[%bd2, " + m.operand("source", ptx.S32, dims) + "]"
	in.args = in.args[:fixed]
	if strings.Contains(all+" ", "im2col ") {
		in.args = append(in.args, m.operand("source", ptx.U16, max(dims-2, 1)))
	}
	if strings.Contains(all, "multicast::cluster") {
		in.args = append(in.args, m.operand("source", ptx.U16, 0))
	}
	if strings.Contains(all, "L2::cache_hint") {
		in.args = append(in.args, m.operand("source", ptx.U64, 0))
	}
}

// address returns an address operand in the nth state space that the modifiers select.
func (m *maker) address(mods []string, nth int) string {
	for _, w := range mods {
		s, ok := ptx.ParseSpace(w)
		if !ok {
			continue
		}
		if nth > 0 {
			nth--
			continue
		}
		if v := map[ptx.Space]string{ptx.GlobalSpace: "gv", ptx.SharedSpace: "sv", ptx.ConstSpace: "cv", ptx.LocalSpace: "lv", ptx.ParamSpace: "pv"}[s]; v != "" && m.rng.IntN(2) == 0 {
			return "[" + v + "+8]"
		}
	}
	return fmt.Sprintf("[%%bd%d]", m.rng.IntN(9))
}

func (m *maker) operand(kind string, t ptx.Type, n int) string {
	if n > 0 {
		var parts []string
		for range n {
			parts = append(parts, m.operand(kind, t, 0))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	switch kind {
	case "constant":
		return pick(m.rng, []string{"0", "1", "4", "8", "16", "32", "128"})
	case "predicate":
		return pick(m.rng, []string{"%p1", "%p2", "!%p3", "1"})
	case "label":
		return "L0"
	case "any":
		return fmt.Sprintf("%%b%d", m.rng.IntN(9))
	}
	if kind == "source" && m.rng.IntN(6) == 0 && t != ptx.Pred {
		switch {
		case t == ptx.F32 || t == ptx.F64:
			return "1.5"
		case t.Kind() == ptx.KindFloat:
		default:
			return pick(m.rng, []string{"1", "0", "7", "-1"})
		}
	}
	return m.register(t)
}

// register returns a register of type t or, at random, an untyped register of the same size.
func (m *maker) register(t ptx.Type) string {
	p, ok := registers[t]
	if !ok || !m.halfs && (p == "hf" || p == "hx") || m.rng.IntN(3) == 0 && t != ptx.Pred {
		p = map[int]string{1: "qb", 2: "hb", 4: "b", 8: "bd"}[t.Size()]
	}
	if p == "" {
		p = "b"
	}
	return fmt.Sprintf("%%%s%d", p, m.rng.IntN(9))
}

func (m *maker) change(in *instruction, f *isa.Form) {
	switch m.rng.IntN(10) {
	case 0, 1: // use another modifier
		in.mods = append(in.mods, m.word(f))
	case 2: // remove a modifier
		if len(in.mods) > 0 {
			i := m.rng.IntN(len(in.mods))
			in.mods = append(in.mods[:i:i], in.mods[i+1:]...)
		}
	case 3: // replace a modifier
		if len(in.mods) > 0 {
			in.mods[m.rng.IntN(len(in.mods))] = m.word(f)
		}
	case 4, 5: // use another type
		if len(in.types) > 0 {
			in.types[m.rng.IntN(len(in.types))] = pick(m.rng, typeWords)
		}
	case 6: // change the number of operands
		if len(in.args) > 0 && m.rng.IntN(2) == 0 {
			in.args = in.args[:len(in.args)-1]
		} else {
			in.args = append(in.args, pick(m.rng, []string{"%b1", "%p1", "1", "%bd1"}))
		}
	default: // use another operand
		if len(in.args) > 0 {
			in.args[m.rng.IntN(len(in.args))] = m.other()
		}
	}
}

var typeWords = strings.Fields("pred b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 f16x2 bf16x2 tf32 b64 u64 s64 f64")

func (m *maker) other() string {
	if m.rng.IntN(8) == 0 && !m.scalars {
		return "%" + pick(m.rng, []string{"vh", "vb", "vf", "vd", "wh", "wb", "wf"}) + "1" + pick(m.rng, []string{"", "", ".x", ".w"})
	}
	p := pick(m.rng, prefixes)
	return pick(m.rng, []string{
		"%" + p + "1", "%" + p + "2", "%" + p + "3", "%" + p + "4", "1", "1.5", "0f3F800000", "_", "gv", "sv", "[gv]", "[sv]", "[%bd1]", "[%b1]", "[%f1]", "[kp]", "[cv]",
		"{%b1, %b2}", "{%" + p + "1, %" + p + "2}", "%tid.x", "%laneid", "%clock64", "!%p1", "%b1|%p1", "-1", "16", "70000", "%unknown", "L0", "gv+4", "%b1+4",
	})
}

// word returns a random modifier, usually from another form of the same instruction.
func (m *maker) word(f *isa.Form) string {
	if m.rng.IntN(3) > 0 {
		first, _, _ := strings.Cut(f.Name(), ".")
		if p := pick(m.rng, isa.Forms(first)).Modifiers(); len(p) > 0 {
			return pick(m.rng, pick(m.rng, p).Choices)
		}
	}
	return pick(m.rng, m.words)
}

func allWords() []string {
	seen := map[string]bool{}
	var out []string
	for _, name := range isa.Names() {
		for _, f := range isa.Forms(name) {
			for _, p := range f.Modifiers() {
				for _, w := range p.Choices {
					if !seen[w] && !strings.HasPrefix(w, "m64n") {
						seen[w] = true
						out = append(out, w)
					}
				}
			}
		}
	}
	return out
}
