package isa

import (
	"sort"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Forms lists the rules for an instruction's first word ("add", "cp"), nil if there is
// no such instruction.
func Forms(name string) []*Form { return forms(name) }

// Names lists the first words of all instructions, sorted.
func Names() []string {
	table.once.Do(load)
	var out []string
	for name := range table.byName {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Name returns the instruction's name with the modifiers that belong to it:
// "cp.async.bulk".
func (f *Form) Name() string {
	if f == nil {
		return ""
	}
	return strings.Join(append([]string{f.name}, f.sub...), ".")
}

// Place is a place for one modifier or type.
type Place struct {
	Choices  []string
	Optional bool
}

// Modifiers returns the places for modifiers, which may appear in any order.
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
	Type     ptx.Type // NoType if the instruction's types determine it
	Place    int      // the index in Types of the type; -1 if Type holds it
	Wide     bool     // twice as large as that type
	Count    int      // elements of a vector; 0 for a scalar, -1 if .v2, .v4 or .v8 determines it
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

// Since returns what the form requires, such as "PTX 7.8 and sm_90", or "" if every
// text may use it.
func (f *Form) Since() string {
	if f == nil {
		return ""
	}
	return f.need.String()
}

// Until returns from where on the form no longer exists, such as "PTX 6.4 and sm_70",
// or "" if it still does.
func (f *Form) Until() string {
	if f == nil {
		return ""
	}
	return f.until.String()
}

// Later lists the modifiers and types that were added after the form, each with what it
// requires: ".cluster: PTX 7.8 and sm_90".
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
