// Package ptxforms generates, for each instruction form in package isa, instructions that cover the
// form's types and modifiers.
package ptxforms

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// Instance is an instruction of one form, in a module that package isa accepts.
type Instance struct {
	Opcode string   // opcode with all modifiers and types
	Chosen []string // its modifiers and types, and the optional modifiers that it leaves out
	Text   string   // the module
}

// headers are tried in order. The first header whose version and target support the form is used.
var headers = []string{
	".version 8.4\n.target sm_90a\n", ".version 9.0\n.target sm_90a\n", ".version 6.4\n.target sm_70\n", ".version 6.3\n.target sm_60\n", ".version 3.1\n.target sm_30\n",
	".version 2.0\n.target sm_13\n", ".version 1.3\n.target sm_13\n",
}

// missing is the file missing.txt, the expected result of List, with one line per form.
//
//go:embed missing.txt
var missing string

const surroundings = `.global .align 16 .b8 gv[64];
.const .align 16 .b8 cv[64];
.shared .align 16 .b8 sv[64];
.visible .entry k(.param .u64 kp)
{
	.reg .pred %p<4>; .reg .b8 %b8_<4>; .reg .b16 %b16_<4>; .reg .b32 %b32_<4>; .reg .b64 %b64_<4>;
`

// maxTypes limits the number of type combinations per form.
const maxTypes = 128

// Instances returns instructions of the form. They cover each combination of types with the
// required modifiers, and each choice of one other modifier. If the form does not fully describe
// the operands or the surrounding code, the instructions come from package ptxtest. Forms for
// targets newer than sm_90a have none.
func Instances(f *isa.Form) []Instance {
	var out []Instance
	seen := map[string]bool{}
	mods := modifierSets(f.Modifiers())
	for _, types := range combinations(f.Types()) {
		for _, m := range mods {
			for _, v := range variants {
				if i, ok := build(f, m, types, v); ok && !seen[i.Text] {
					seen[i.Text] = true
					out = append(out, i)
				}
			}
		}
	}
	if len(out) == 0 {
		return fromTests(f)
	}
	return out
}

// fromTests returns the instructions in package ptxtest that have the form's name and types. If
// there are none, it returns those with the same name.
func fromTests(f *isa.Form) []Instance {
	var out, others []Instance
	types := combinations(f.Types())
	for _, p := range ptxtest.Instructions() {
		for _, text := range p.Forms() {
			op, _, _ := strings.Cut(text, " ")
			if !strings.HasPrefix(op+".", f.Name()+".") {
				continue
			}
			chosen := strings.Split(strings.TrimPrefix(strings.TrimPrefix(op, f.Name()), "."), ".")
			module := p.Module(text)
			if !valid(module) {
				continue
			}
			others = append(others, Instance{Opcode: op, Chosen: chosen, Text: module})
			if n := len(f.Types()); n == 0 || len(chosen) >= n && slices.ContainsFunc(types, func(t []string) bool { return slices.Equal(t, chosen[len(chosen)-n:]) }) {
				out = append(out, others[len(others)-1])
			}
		}
	}
	if len(out) == 0 { // no instruction has the form's types
		return others
	}
	return out
}

// variant is one way to write the operands.
type variant struct {
	optional bool   // includes the optional operands
	result   string // text after the first operand
}

var variants = []variant{{false, ""}, {true, ""}, {false, "|%p1"}, {true, "|%p1"}}

// modifierSets returns the set with only the required modifiers, each set that differs from it in
// one modifier, and the set with a modifier in every place.
func modifierSets(places []isa.Place) []modifiers {
	base := func(change int, to string, all bool) (out modifiers) {
		for i, p := range places {
			switch {
			case i == change:
				out.words = append(out.words, to)
			case !p.Optional || all:
				out.words = append(out.words, p.Choices[0])
			default:
				out.without = append(out.without, "without ."+strings.Join(p.Choices, ",."))
			}
		}
		return out
	}
	out := []modifiers{base(-1, "", false), base(-1, "", true)}
	for i, p := range places {
		for _, c := range p.Choices {
			out = append(out, base(i, c, false))
		}
	}
	return out
}

// modifiers contains the modifiers of one instruction and the optional places that it leaves empty.
type modifiers struct{ words, without []string }

func combinations(places []isa.Place) [][]string {
	out := [][]string{nil}
	for _, p := range places {
		var next [][]string
		for _, head := range out {
			for _, c := range p.Choices {
				next = append(next, append(slices.Clone(head), c))
			}
		}
		out = next
	}
	if step := (len(out) + maxTypes - 1) / maxTypes; step > 1 {
		var fewer [][]string
		for i := 0; i < len(out); i += step {
			fewer = append(fewer, out[i])
		}
		out = fewer
	}
	return out
}

// build creates one instruction. It uses the first header and the first constant with which the
// module is valid.
func build(f *isa.Form, mods modifiers, types []string, v variant) (Instance, bool) {
	operands := f.Operands()
	if v.result != "" && (len(operands) == 0 || operands[0].Kind != "result" || operands[0].Count != 0) ||
		v.optional && !slices.ContainsFunc(operands, func(o isa.Operand) bool { return o.Optional }) {
		return Instance{}, false
	}
	chosen := slices.Concat(mods.words, types, mods.without)
	if v.result == "" {
		chosen = append(chosen, "with one result")
	} else {
		chosen = append(chosen, "with two results")
	}
	op := strings.Join(slices.Concat([]string{f.Name()}, mods.words, types), ".")
	vector := 0
	for _, m := range mods.words {
		if len(m) == 2 && m[0] == 'v' {
			vector = int(m[1] - '0')
		}
	}
	for _, header := range headers {
		for _, constant := range constants(operands) {
			var args []string
			for k, o := range operands {
				if o.Optional && !v.optional {
					break
				}
				s := operand(o, types, vector, k, constant)
				if k == 0 {
					s += v.result
				}
				args = append(args, s)
			}
			text := header + surroundings
			if strings.HasPrefix(header, ".version 8") || strings.HasPrefix(header, ".version 9") {
				text += "\t.reg .b128 %b128_<4>;\n"
			}
			text += "\t" + op + " " + strings.Join(args, ", ") + ";\nL0:\n\tret;\n}\n"
			if valid(text) {
				return Instance{Opcode: op, Chosen: chosen, Text: text}, true
			}
		}
	}
	return Instance{}, false
}

// constants returns the values to try for constant operands, in order.
func constants(operands []isa.Operand) []string {
	if slices.ContainsFunc(operands, func(o isa.Operand) bool { return o.Kind == "constant" }) {
		return []string{"1", "0", "16", "4", "128", "32"}
	}
	return []string{""}
}

func valid(text string) bool {
	m, err := ptx.Parse("", []byte(text))
	return err == nil && isa.Check(m) == nil
}

func operand(o isa.Operand, types []string, vector, k int, constant string) string {
	n := o.Count
	if n < 0 {
		n = vector
	}
	t := o.Type
	if o.Place >= 0 {
		t = ptx.ParseType(types[o.Place])
	}
	if n > 0 {
		one := o
		one.Count = 0
		parts := []string{}
		for i := range n {
			parts = append(parts, operand(one, types, 0, i%3, constant))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	switch o.Kind {
	case "address":
		return "[%b64_3]"
	case "predicate":
		return "%p2"
	case "label":
		return "L0"
	case "nothing":
		return "_"
	case "constant":
		return constant
	}
	if t == ptx.Pred {
		return fmt.Sprintf("%%p%d", k%3)
	}
	bytes := t.Size()
	if o.Wide {
		bytes *= 2
	}
	if bytes == 0 {
		bytes = 4
	}
	return fmt.Sprintf("%%b%d_%d", 8*bytes, k%3)
}

// Missing is a form that package isa accepts but the emulator does not execute.
type Missing struct {
	Form     string // form in the notation of the PTX ISA
	Operands string // operands, if another form differs only in its operands
	Only     string // affected instructions; empty if all are affected
	Why      string // feature that the emulator lacks; empty if it lacks the form itself
}

func (m Missing) String() string {
	return strings.Join([]string{m.Form, m.Operands, m.Only, m.Why}, "\t")
}

// List returns the forms in missing.txt, which the emulator lacks. TestTheListOfMissingForms in
// package emulator compares the list with the forms that the emulator loads.
func List() []Missing {
	var out []Missing
	for line := range strings.Lines(missing) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 4 {
			out = append(out, Missing{Form: f[0], Operands: f[1], Only: f[2], Why: f[3]})
		}
	}
	return out
}

// Find loads the instances of a form. If the emulator supports all of them, the result there is
// true. Otherwise m describes what is missing. load reports whether the emulator lacks a feature
// that a module needs, and which one.
func Find(f *isa.Form, load func(text string) (why string, lacks bool)) (m Missing, there bool) {
	m.Form, m.Operands = f.String(), difference(f)
	all := Instances(f)
	var good, bad []Instance
	for _, i := range all {
		why, lacks := load(i.Text)
		if !lacks {
			good = append(good, i)
			continue
		}
		bad = append(bad, i)
		if why != "" {
			m.Why = why
		}
	}
	if len(bad) == 0 {
		return m, true
	}
	if len(good) > 0 {
		m.Only = explain(good, bad)
	}
	return m, false
}

// explain names the choices, or pairs of choices, that instructions in bad have in common and that
// no instruction in good has.
func explain(good, bad []Instance) string {
	kept := map[string]bool{}
	for _, i := range good {
		for _, s := range choices(i) {
			kept[s] = true
		}
	}
	// Add the choice that explains the most instructions first, and single choices before pairs.
	var out []string
	for len(bad) > 0 {
		count := map[string]int{}
		for _, i := range bad {
			for _, s := range choices(i) {
				if !kept[s] {
					count[s]++
				}
			}
		}
		best := ""
		for s, n := range count {
			more := cmp.Or(strings.Count(best, " + ")-strings.Count(s, " + "), n-count[best], strings.Compare(best, s))
			if best == "" || more > 0 {
				best = s
			}
		}
		if best == "" {
			return "some"
		}
		out = append(out, best)
		bad = slices.DeleteFunc(bad, func(i Instance) bool { return slices.Contains(choices(i), best) })
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// choices returns an instruction's choices: first each choice, then each pair of choices.
func choices(i Instance) []string {
	var one []string
	for _, c := range i.Chosen {
		if !strings.HasPrefix(c, "with") {
			c = "." + c
		}
		one = append(one, c)
	}
	out := slices.Clone(one)
	for k, a := range one {
		for _, b := range one[k+1:] {
			out = append(out, a+" + "+b)
		}
	}
	return out
}

// difference describes the operands that distinguish f from other forms with the same notation. If
// there are none, it returns "".
func difference(f *isa.Form) string {
	same := 0
	first, _, _ := strings.Cut(f.Name(), ".")
	for _, g := range isa.Forms(first) {
		if g.String() == f.String() {
			same++
		}
	}
	if same < 2 {
		return ""
	}
	var out []string
	for _, o := range f.Operands() {
		s := o.Kind
		if o.Place < 0 && o.Type != ptx.NoType {
			s += " ." + o.Type.String()
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
