package isa

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// opcode is the result of looking up one spelling of an instruction. A module contains few distinct
// spellings, so each is looked up only once.
type opcode struct {
	open    bool    // the table lacks the instruction, so operands are not checked
	problem string  // error in the name, the modifiers or the types
	matches []match // rules that fit the modifiers
	late    []match // rules that fit the modifiers but require a newer version or target
	lacks   need    // requirements that the instruction needs to exist; set together with problem
}

// match is a rule that fits a spelling.
type match struct {
	form   *Form
	types  [maxTypes]ptx.Type
	vector int       // length given by .v2, .v4 or .v8; otherwise 0
	space  [2]string // state spaces of the first and the second address operand
	spaces int
}

// narrow contains the types that instructions can have but registers cannot.
var narrow = map[string]bool{
	"b1": true, "u1": true, "s4": true, "u4": true, "s2": true, "u2": true, "b1024": true,
	"e2m1": true, "e2m3": true, "e3m2": true, "ue8m0": true, "ue4m3": true,
	"b8x16": true, "b6x16_p32": true, "b4x16_p64": true,
}

func isType(m string) bool { return ptx.ParseType(m) != ptx.NoType || narrow[m] }

func (t *text) find(op *ptx.Opcode) *opcode {
	all := forms(op.Name)
	if len(all) == 0 {
		if t.unknownPossible() {
			return &opcode{open: true}
		}
		return &opcode{problem: "there is no instruction " + op.Name}
	}
	o := &opcode{}
	var tooLate *Form
	for _, f := range all {
		m, ok := f.match(t, op)
		if !ok {
			continue
		}
		if !f.until.zero() && f.until.met(t) {
			tooLate = f
			continue
		}
		if !m.met(t, op) {
			o.late = append(o.late, m)
			continue
		}
		o.matches = append(o.matches, m)
	}
	switch {
	case len(o.matches) > 0:
	case t.unknownPossible():
		o.open = true
	case len(o.late) > 0:
		least := o.leastLate(op)
		o.problem, o.lacks = least.needs(t, op), least.requires(op)
	case tooLate != nil:
		o.problem = op.Text + " is not available from " + tooLate.until.String() + " on" + instead(op, tooLate, all)
	default:
		o.problem = explain(op, all)
	}
	return o
}

// instead describes the replacement for a form that no longer exists. It returns "" if there is
// none.
func instead(op *ptx.Opcode, old *Form, all []*Form) string {
	for _, f := range all {
		for _, s := range f.slots {
			if !s.optional && len(s.choices) == 1 && s.choices[0].name == "sync" && old.slotOf("sync", 0) < 0 && len(f.slots) > len(old.slots) {
				return ": write " + f.name + ".sync, which takes a mask of threads"
			}
		}
	}
	name, mods, some := named(op, all)
	some = withTypes(mods, slices.DeleteFunc(some, func(f *Form) bool { return !f.until.zero() }))
	if words := missingSlot(mods, some); words != "" {
		return ": " + name + " needs one of " + words
	}
	return ""
}

// match assigns the modifiers to slots of the form. Like the compiler, it accepts
// modifiers in any order, but requires types in the order of the form.
func (f *Form) match(t *text, op *ptx.Opcode) (match, bool) {
	m := match{form: f}
	mods := op.Mods
	if len(mods) < len(f.sub) {
		return m, false
	}
	for i, s := range f.sub {
		if mods[i] != s {
			return m, false
		}
	}
	filled, types := uint64(0), 0
	for i, mod := range mods[len(f.sub):] {
		if isType(mod) {
			if types == f.nType || !hasChoice(f.types[types], mod) {
				return m, false
			}
			m.types[types] = ptx.ParseType(mod)
			types++
			continue
		}
		at := f.slotOf(mod, filled)
		if at < 0 {
			if t.idleFor(f, mod) || repeatable[mod] && slices.Contains(mods[len(f.sub):][:i], mod) {
				continue
			}
			return m, false
		}
		filled |= 1 << at
		if at == f.vec {
			m.vector = int(mod[1] - '0')
		}
		if isSpace(mod) {
			if m.spaces < len(m.space) {
				m.space[m.spaces] = mod
			}
			m.spaces++
		}
	}
	if types != f.nType {
		return m, false
	}
	for i := range f.slots {
		if !f.slots[i].optional && filled>>i&1 == 0 {
			return m, false
		}
	}
	return m, true
}

// repeatable contains modifiers that the compiler accepts more than once.
var repeatable = map[string]bool{"sat": true, "cc": true, "NaN": true, "relu": true, "approx": true, "uni": true, "sync": true, "shiftamt": true}

// idle maps some modifiers to their requirements. The compiler ignores these modifiers on
// instructions whose form does not list them. CUDA 11.8 ignores .oob.
var idle = map[string]need{
	"finite": {}, "infinite": {}, "number": {}, "notanumber": {}, "normal": {}, "subnormal": {}, "oob": {},
	"elemtype": tensorMaps, "rank": tensorMaps, "box_dim": tensorMaps, "global_dim": tensorMaps, "global_address": tensorMaps,
	"element_stride": tensorMaps, "global_stride": tensorMaps, "interleave_layout": tensorMaps, "swizzle_mode": tensorMaps,
	"fill_mode": tensorMaps, "acc::f16": tensorMaps, "acc::f32": tensorMaps,
}

// ignoresOOB is the last PTX version whose assembler ignores .oob.
const ignoresOOB = 78

var tensorMaps = need{version: 80}

// idleFor reports whether the compiler ignores mod on an instruction of the form. It does so only
// if the form does not list mod, and never on tensormap and multimem.
func (t *text) idleFor(f *Form, mod string) bool {
	_, ok := idle[mod]
	if !ok || mod == "oob" && (t.lowest || t.version > ignoresOOB) || f.slotOf(mod, 0) >= 0 {
		return false
	}
	return f.name != "tensormap" && f.name != "multimem"
}

// everywhere maps modifiers that have the same requirements for every instruction to these
// requirements.
var everywhere = map[string]need{"ftz": {version: 14}, "approx": {version: 14}}

func isSpace(mod string) bool {
	s, ok := ptx.ParseSpace(mod)
	return ok && (mod == s.String() || strings.HasPrefix(mod, s.String()+"::"))
}

// slotOf returns the first unfilled slot that accepts the modifier, or -1 if there is none.
func (f *Form) slotOf(mod string, filled uint64) int {
	for i := range f.slots {
		if filled>>i&1 == 0 && hasChoice(f.slots[i].choices, mod) {
			return i
		}
	}
	return -1
}

func hasChoice(list []choice, name string) bool {
	for i := range list {
		if list[i].name == name {
			return true
		}
	}
	return false
}

// For each modifier of the opcode, each calls visit with the corresponding choice: an alternative
// of a slot, a type, or an entry of everywhere or idle.
func (m *match) each(op *ptx.Opcode, visit func(c *choice)) {
	f := m.form
	filled, types := uint64(0), 0
	for _, mod := range op.Mods[len(f.sub):] {
		list := []choice(nil)
		if isType(mod) {
			list = f.types[types]
			types++
		} else if at := f.slotOf(mod, filled); at >= 0 {
			filled |= 1 << at
			list = f.slots[at].choices
		}
		if n, ok := everywhere[mod]; ok {
			visit(&choice{name: mod, need: n})
		} else if n, ok := idle[mod]; ok && list == nil {
			visit(&choice{name: mod, need: n})
		}
		for i := range list {
			if list[i].name == mod {
				visit(&list[i])
				break
			}
		}
	}
}

// met reports whether the module meets the requirements of the form and of every choice that the
// opcode uses.
func (m *match) met(t *text, op *ptx.Opcode) bool {
	ok := m.form.need.met(t)
	m.each(op, func(c *choice) { ok = ok && c.need.met(t) })
	return ok
}

// needs describes one requirement that the version or target of the module does not meet.
func (m *match) needs(t *text, op *ptx.Opcode) string {
	what, n := op.Text, m.form.need
	if n.met(t) {
		m.each(op, func(c *choice) {
			if !c.need.met(t) {
				what, n = "."+c.name+" of "+op.Text, c.need
			}
		})
	}
	return what + " needs " + n.String() + "; the text is " + t.String()
}

func explain(op *ptx.Opcode, all []*Form) string {
	name, mods, some := named(op, all)
	if len(some) == 0 {
		return "there is no instruction " + op.Text
	}
	if bad := strangers(mods, some); bad != "" {
		if isType(bad) {
			if words := longer(mods, all, some[0]); words != "" {
				return op.Text + " lacks a modifier after " + name + ": one of " + words
			}
			return name + " has no type ." + bad + "; it takes " + listTypes(some)
		}
		return name + " has no modifier ." + bad
	}
	if types := withTypes(mods, some); len(types) == 0 {
		return name + " does not take " + typesOf(mods) + "; it takes " + listTypes(some)
	} else {
		some = types
	}
	if s := missingSlot(mods, some); s != "" {
		return op.Text + " lacks a modifier: one of " + s
	}
	return op.Text + ": these modifiers do not go together with " + typesOf(mods)
}

// longer returns modifiers that would turn the name into an existing one with these
// types: .lo, .hi and .wide for mul.
func longer(mods []string, all []*Form, short *Form) string {
	var words []string
	for _, f := range all {
		if len(f.sub) == len(short.sub)+1 && len(withTypes(mods, []*Form{f})) > 0 {
			if w := "." + f.sub[len(short.sub)]; !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return strings.Join(words, " ")
}

// named returns the forms with the longest name that the opcode contains. It prefers
// cp.async.bulk to cp.async.
func named(op *ptx.Opcode, all []*Form) (name string, mods []string, some []*Form) {
	longest := -1
	for _, f := range all {
		if len(op.Mods) < len(f.sub) || strings.Join(op.Mods[:len(f.sub)], ".") != strings.Join(f.sub, ".") || len(f.sub) < longest {
			continue
		}
		if len(f.sub) > longest {
			longest, some = len(f.sub), nil
		}
		some = append(some, f)
	}
	if longest < 0 {
		return op.Name, op.Mods, nil
	}
	return strings.Join(append([]string{op.Name}, op.Mods[:longest]...), "."), op.Mods[longest:], some
}

// strangers returns the first modifier or type that does not occur in any of the forms, or "".
func strangers(mods []string, some []*Form) string {
next:
	for _, mod := range mods {
		for _, f := range some {
			if isType(mod) {
				for _, t := range f.types[:f.nType] {
					if hasChoice(t, mod) {
						continue next
					}
				}
			} else if f.slotOf(mod, 0) >= 0 {
				continue next
			}
		}
		return mod
	}
	return ""
}

func typesOf(mods []string) string {
	var out []string
	for _, m := range mods {
		if isType(m) {
			out = append(out, "."+m)
		}
	}
	if len(out) == 0 {
		return "no type"
	}
	return strings.Join(out, "")
}

func withTypes(mods []string, some []*Form) []*Form {
	var types []string
	for _, m := range mods {
		if isType(m) {
			types = append(types, m)
		}
	}
	var out []*Form
next:
	for _, f := range some {
		if f.nType != len(types) {
			continue
		}
		for i, t := range types {
			if !hasChoice(f.types[i], t) {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

func listTypes(some []*Form) string {
	var out []string
	seen := map[string]bool{}
	for _, f := range some {
		var one []string
		for _, list := range f.types[:f.nType] {
			var names []string
			for _, c := range list {
				names = append(names, "."+c.name)
			}
			one = append(one, strings.Join(names, " "))
		}
		s := strings.Join(one, " with ")
		if s == "" {
			s = "none"
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return strings.Join(out, ", or ")
}

// missingSlot lists the choices of the first empty mandatory slot of a form that accepts all of
// mods. It returns "" if there is none.
func missingSlot(mods []string, some []*Form) string {
	for _, f := range some {
		filled, ok := uint64(0), true
		for _, m := range mods {
			if isType(m) {
				continue
			}
			at := f.slotOf(m, filled)
			if ok = ok && at >= 0; ok {
				filled |= 1 << at
			}
		}
		if !ok {
			continue
		}
		for i, s := range f.slots {
			if !s.optional && filled>>i&1 == 0 {
				var names []string
				for _, c := range s.choices {
					names = append(names, "."+c.name)
				}
				return strings.Join(names, " ")
			}
		}
	}
	return ""
}
