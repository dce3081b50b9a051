package ptx

import (
	"math"
	"strconv"
	"strings"
)

// String returns the version as text: "8.0".
func (v Version) String() string { return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) }

// AtLeast reports whether v is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Line returns line n of the source without its line end. Lines count from 1. It returns
// "" if there is no such line.
func (m *Module) Line(n int) string {
	s := m.Source
	for ; n > 1; n-- {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			return ""
		}
		s = s[i+1:]
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(s, "\r")
}

// Function returns the function or kernel with that name. It returns the definition if
// there is one, otherwise a declaration, or nil if the module has neither.
func (m *Module) Function(name string) *Function {
	var found *Function
	for _, d := range m.Decls {
		if f, ok := d.(*Function); ok && f.Name == name && (found == nil || found.Body == nil) {
			found = f
		}
	}
	return found
}

// Variable returns the module-level variable with that name. It returns the definition if
// there is one, otherwise an .extern declaration, or nil if the module has neither.
func (m *Module) Variable(name string) *Variable {
	var found *Variable
	for _, d := range m.Decls {
		if v, ok := d.(*Variable); ok && v.Name == name && (found == nil || found.Linkage == Extern) {
			found = v
		}
	}
	return found
}

// Kernels returns the entries with a body, in source order.
func (m *Module) Kernels() []*Function {
	var out []*Function
	for _, d := range m.Decls {
		if f, ok := d.(*Function); ok && f.Entry && f.Body != nil {
			out = append(out, f)
		}
	}
	return out
}

// Directive returns the performance directive with that name, such as "maxntid", and
// whether the function has it.
func (f *Function) Directive(name string) (Directive, bool) {
	for _, d := range f.Perf {
		if d.Name == name {
			return d, true
		}
	}
	return Directive{}, false
}

// Len returns the number of array elements. It returns 1 for a variable that is not an
// array and -1 for an array without a first size.
func (v *Variable) Len() int64 {
	n := int64(1)
	for _, d := range v.Dims {
		switch {
		case d == Unsized:
			return -1
		case d != 0 && n > math.MaxInt64/64/d:
			return math.MaxInt64 / 64 // occurs only in a tree that a program created, because the parser rejects such sizes
		}
		n *= d
	}
	return n
}

// ElemSize returns the size of one element in bytes. A vector is one element.
func (v *Variable) ElemSize() int64 { return int64(v.Type.Size() * max(v.Vector, 1)) }

// Size returns the size in bytes, or 0 for an array without a first size. For name<n> it
// returns the size of a single variable.
func (v *Variable) Size() int64 { return max(v.Len(), 0) * v.ElemSize() }

// Alignment returns the alignment in bytes: .align if specified, otherwise the natural
// alignment of the element.
func (v *Variable) Alignment() int64 {
	if v.Align > 0 {
		return int64(v.Align)
	}
	return max(v.ElemSize(), 1)
}

// NewOpcode splits an instruction's full name, such as "ld.global.f32". It returns false
// if the text is not an instruction name.
func NewOpcode(text string) (*Opcode, bool) {
	name, rest, dotted := strings.Cut(text, ".")
	op := &Opcode{Text: text, Name: name}
	if dotted {
		op.Mods = strings.Split(rest, ".")
	}
	if name == "" || class[name[0]] != clIdent || endOfModifier(name, 0) != len(name) {
		return nil, false
	}
	for _, m := range op.Mods {
		if m == "" || endOfModifier(m, 0) != len(m) {
			return nil, false
		}
	}
	return op, true
}

// Has reports whether mod is one of the modifiers.
func (o *Opcode) Has(mod string) bool {
	for _, m := range o.Mods {
		if m == mod {
			return true
		}
	}
	return false
}

// Type returns the last modifier that is a type, or NoType. For most instructions this is
// the type of the operation. For cvt and setp it is the source type.
func (o *Opcode) Type() Type {
	for i := len(o.Mods) - 1; i >= 0; i-- {
		if t := ParseType(o.Mods[i]); t != NoType {
			return t
		}
	}
	return NoType
}

// Call holds the operands of a call instruction by role.
type Call struct {
	Return []Operand // each element is a *Sym of a .param variable, a *Reg or a *Sink
	Callee Operand   // a *Sym, or a *Reg for an indirect call
	Args   []Operand // like Return, but an element can also be an *Imm
	Table  string    // label of .calltargets or .callprototype; "" for a direct call
}

// Call splits the operands of a call instruction:
//
//	call (ret), callee, (args), table;
//
// Only the callee is required. Call returns false for any other instruction and for a
// call in a different form.
func (in *Instr) Call() (Call, bool) {
	var c Call
	args := in.Args
	if in.Op.Name != "call" || len(args) == 0 {
		return c, false
	}
	if l, ok := args[0].(*List); ok {
		c.Return = l.Elems
		args = args[1:]
	}
	if len(args) == 0 {
		return c, false
	}
	c.Callee = args[0]
	args = args[1:]
	if len(args) > 0 {
		if l, ok := args[0].(*List); ok {
			c.Args = l.Elems
			args = args[1:]
		}
	}
	if len(args) > 0 {
		s, ok := args[0].(*Sym)
		if !ok {
			return c, false
		}
		c.Table = s.Name
		args = args[1:]
	}
	return c, len(args) == 0
}
