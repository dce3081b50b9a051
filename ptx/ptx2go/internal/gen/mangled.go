package gen

import (
	"strconv"
	"strings"
)

// plainName returns a kernel's name in its source. The result includes namespaces and
// template arguments: scan_uint32 for _Z4scanIjEvPT_, ops::add for _ZN3ops3addEPf. It
// returns any other name unchanged.
func plainName(name string) string {
	d := demangler{rest: strings.TrimPrefix(name, "_Z")}
	if d.rest == name {
		return name
	}
	d.name()
	if d.failed || len(d.parts) == 0 {
		return name
	}
	return strings.Join(append([]string{strings.Join(d.parts, "::")}, d.args...), "_")
}

// sourceOf returns the function name in a mangled name, without namespaces, and the template
// arguments as Go types.
func sourceOf(name string) (string, []string) {
	d := demangler{rest: strings.TrimPrefix(name, "_Z")}
	if d.rest == name {
		return name, nil
	}
	d.name()
	if d.failed || len(d.parts) == 0 {
		return name, nil
	}
	return d.parts[len(d.parts)-1], d.args
}

// demangler parses the subset of "Mangling" in the Itanium C++ ABI that kernels need.
type demangler struct {
	rest   string
	parts  []string // namespaces and the name itself
	args   []string // template arguments
	failed bool
}

func (d *demangler) accept(s string) bool {
	rest, ok := strings.CutPrefix(d.rest, s)
	d.rest = rest
	return ok
}

func (d *demangler) name() {
	nested := d.accept("N")
	for !d.failed {
		switch {
		case nested && d.accept("E"):
			return
		case d.rest != "" && d.rest[0] >= '0' && d.rest[0] <= '9':
			if s := d.identifier(); s != "" {
				d.parts = append(d.parts, s)
			}
		case d.accept("_GLOBAL__N_1"), d.accept("L"):
		case d.accept("I"):
			d.args = d.arguments()
		default:
			d.failed = nested
			return
		}
	}
}

func (d *demangler) identifier() string {
	i := 0
	for i < len(d.rest) && d.rest[i] >= '0' && d.rest[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(d.rest[:i])
	if err != nil || n > len(d.rest)-i {
		d.failed = true
		return ""
	}
	s := d.rest[i : i+n]
	d.rest = d.rest[i+n:]
	if strings.HasPrefix(s, "_GLOBAL__N_") {
		return ""
	}
	return s
}

var builtinTypes = map[byte]string{
	'f': "float32", 'd': "float64", 'b': "bool", 'c': "int8", 'a': "int8", 'h': "uint8", 's': "int16", 't': "uint16",
	'i': "int32", 'j': "uint32", 'l': "int64", 'm': "uint64", 'x': "int64", 'y': "uint64",
}

// arguments parses template arguments: numbers and types with names.
func (d *demangler) arguments() (out []string) {
	for !d.failed && !d.accept("E") {
		switch {
		case d.rest == "":
			d.failed = true
		case d.rest[0] >= '0' && d.rest[0] <= '9':
			out = append(out, d.identifier())
		case builtinTypes[d.rest[0]] != "":
			out = append(out, builtinTypes[d.rest[0]])
			d.rest = d.rest[1:]
		case d.accept("L") && len(d.rest) > 1: // a number: type, then digits
			value, rest, ok := strings.Cut(d.rest[1:], "E")
			out, d.rest, d.failed = append(out, value), rest, !ok
		default:
			d.failed = true
		}
	}
	return out
}
