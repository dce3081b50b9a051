package isa

import (
	"sort"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Forms returns the rules for the first word of an instruction ("add", "cp"), or nil if
// there is no such instruction.
func Forms(name string) []*Form { return forms(name) }

// Names returns the first words of all instructions, sorted.
func Names() []string {
	table.once.Do(load)
	var out []string
	for name := range table.byName {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Name returns the name of the instruction, including modifiers that are part of the
// name: "cp.async.bulk".
func (f *Form) Name() string {
	if f == nil {
		return ""
	}
	return strings.Join(append([]string{f.name}, f.sub...), ".")
}

// Place is a position for one modifier or type, with its alternatives.
type Place struct {
	Choices  []string
	Optional bool
}

// Modifiers returns the places for modifiers. An instruction may have its modifiers in
// any order.
func (f *Form) Modifiers() []Place {
	if f == nil {
		return nil
	}
	out := make([]Place, len(f.slots))
	for i, s := range f.slots {
		out[i] = Place{names(s.choices), s.optional}
	}
	return out
}

// Types returns the places for types, in order.
func (f *Form) Types() []Place {
	if f == nil {
		return nil
	}
	out := make([]Place, f.nType)
	for i := range out {
		out[i] = Place{names(f.types[i]), false}
	}
	return out
}

func names(list []choice) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.name
	}
	return out
}

// Operand describes one operand of a form.
type Operand struct {
	Kind     string   // "result", "source", "register", "constant", "address", "predicate", "label", "nothing" (_) or "any"
	Type     ptx.Type // NoType if the types of the instruction determine it
	Place    int      // index in Types of the operand's type; -1 if Type holds the type
	Wide     bool     // the operand is twice the size of its type
	Count    int      // number of elements of a vector; 0 for a scalar, -1 if .v2, .v4 or .v8 determines the number
	Optional bool
}

var kindNames = [...]string{"result", "source", "register", "constant", "address", "predicate", "any", "label", "nothing"}

// Operands returns the operands, in order.
func (f *Form) Operands() []Operand {
	if f == nil {
		return nil
	}
	out := make([]Operand, len(f.args))
	for i, a := range f.args {
		out[i] = Operand{Kind: kindNames[a.kind], Type: a.typ, Place: int(a.slot) - 1, Wide: a.wide, Count: int(a.count), Optional: a.optional}
		if a.vecs {
			out[i].Count = -1
		}
	}
	return out
}

// Since returns the requirements of the form, such as "PTX 7.8 and sm_90". It returns ""
// if there are none.
func (f *Form) Since() string {
	if f == nil {
		return ""
	}
	return f.need.String()
}

// Until returns the version and target that removed the form, such as "PTX 6.4 and
// sm_70". It returns "" if the form still exists.
func (f *Form) Until() string {
	if f == nil {
		return ""
	}
	return f.until.String()
}

// Later returns the modifiers and types that were added after the form, each with its requirements,
// such as ".cluster: PTX 7.8 and sm_90".
func (f *Form) Later() []string {
	if f == nil {
		return nil
	}
	var out []string
	add := func(list []choice) {
		for _, c := range list {
			if !c.need.zero() {
				out = append(out, "."+c.name+": "+c.need.String())
			}
		}
	}
	for _, s := range f.slots {
		add(s.choices)
	}
	for _, list := range f.types[:f.nType] {
		add(list)
	}
	return out
}

// String returns the form in the PTX ISA's notation:
// add{.rn,.rz,.rm,.rp}{.ftz}{.sat}.f32.
func (f *Form) String() string {
	if f == nil {
		return "no form"
	}
	var b strings.Builder
	b.WriteString(f.Name())
	write := func(list []choice, optional bool) {
		all := "." + strings.Join(names(list), ",.")
		switch {
		case optional:
			b.WriteString("{" + all + "}")
		case len(list) > 1:
			b.WriteString("(" + strings.ReplaceAll(all, ",", "|") + ")")
		default:
			b.WriteString(all)
		}
	}
	for _, s := range f.slots {
		write(s.choices, s.optional)
	}
	for _, t := range f.types[:f.nType] {
		write(t, false)
	}
	return b.String()
}
