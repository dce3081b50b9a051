package difftest

import "strings"

// Form is one instruction form.
type Form struct {
	// Name is unique. It is the opcode, plus a suffix if several forms have the same opcode.
	Name string
	// In describes the operands %a, %b, %c and %e, and Out the results %d, %x, %y and %z. Each is a
	// PTX type, optionally followed by a colon and the operand's kind.
	In, Out []string
	// Body is the PTX that computes the results.
	Body string
	// Payload means that checksums include NaN payloads. Results that are recorded in full always
	// include them.
	Payload bool
	// Bound checks an approximate form. It is nil if the results are exact.
	Bound *Bound
}

// Group holds the forms of one data file.
type Group struct {
	Name  string
	Forms []Form
}

// Groups lists all forms.
func Groups() []Group {
	return []Group{
		{"integer", integerForms()},
		{"bits", bitForms()},
		{"float", floatForms()},
		{"half", halfForms()},
		{"approximate", approximateForms()},
		{"compare", compareForms()},
		{"convert", convertForms()},
		{"pack", packForms()},
		{"memory", memoryForms()},
		{"atomic", atomicForms()},
		{"warp", warpForms()},
		{"immediate", immediateForms()},
		{"vectors", vectorForms()},
	}
}

type table struct{ forms []Form }

// op adds the form of an opcode whose operands are registers in the usual order.
func (t *table) op(opcode, out, in string) *Form {
	regs := []string{}
	for i := range strings.Fields(out) {
		regs = append(regs, outRegs[i])
	}
	for i := range strings.Fields(in) {
		regs = append(regs, inRegs[i])
	}
	return t.add(opcode, out, in, opcode+" "+strings.Join(regs, ", ")+";")
}

// add adds a form with an explicit body.
func (t *table) add(name, out, in, body string) *Form {
	t.forms = append(t.forms, Form{Name: name, In: strings.Fields(in), Out: strings.Fields(out), Body: body})
	return &t.forms[len(t.forms)-1]
}

var (
	inRegs  = []string{"%a", "%b", "%c", "%e"}
	outRegs = []string{"%d", "%x", "%y", "%z"}
)

// each calls f for each word of a list. "_" represents the empty word.
func each(list string, f func(word string)) {
	for _, w := range strings.Fields(list) {
		f(strings.TrimPrefix(w, "_"))
	}
}

// typeOf returns the type in an element of In or Out.
func typeOf(s string) string {
	t, _, _ := strings.Cut(s, ":")
	return t
}

// kindOf returns the kind in an element of In or Out. The default is the type.
func kindOf(s string) string {
	t, k, ok := strings.Cut(s, ":")
	if ok {
		return k
	}
	return t
}

// bitsOf returns the number of significant bits of a value of type t.
func bitsOf(t string) int {
	switch t {
	case "pred":
		return 1
	case "u8", "s8", "b8":
		return 32 // stored in 32-bit registers, so that the extension is visible
	case "u16", "s16", "b16", "f16", "bf16", "e4m3x2", "e5m2x2":
		return 16
	case "u64", "s64", "b64", "f64":
		return 64
	}
	return 32
}

// register returns the type of the register for a value of type t.
func register(t string) string {
	switch {
	case t == "pred", t == "f32", t == "f64":
		return t
	case bitsOf(t) == 16:
		return "b16"
	case bitsOf(t) == 64:
		return "b64"
	}
	return "b32"
}
