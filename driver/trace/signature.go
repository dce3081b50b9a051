package trace

import (
	"reflect"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// signature describes how to decode the argument words of a function.
type signature struct {
	params []param
	// byValue means that the function has a float parameter, or a struct parameter of more than 16
	// bytes. Go and C functions receive such arguments in different forms.
	byValue bool
}

type param struct {
	name string
	typ  reflect.Type
	in   bool // a pointer to memory that the driver only reads
}

// lists names the array parameters that the driver only reads, although cuda.h does not declare
// them const. A trace shows their addresses, because showing only the first element would not help.
var lists = map[string]bool{"kernelParams": true, "extra": true, "optionValues": true, "options": true}

func signatureOf(f cu.Function) *signature {
	names, typ := declaration(f)
	s := &signature{}
	if typ == nil {
		return s
	}
	for i, name := range strings.Fields(names) {
		p := param{name: strings.TrimPrefix(name, "="), typ: typ.In(i), in: strings.HasPrefix(name, "=") || lists[name]}
		s.params = append(s.params, p)
		s.byValue = s.byValue || p.typ.Kind() == reflect.Float32 || p.large()
	}
	return s
}

// large reports whether p is a struct that a Go function receives through a pointer.
func (p param) large() bool { return p.typ.Kind() == reflect.Struct && p.typ.Size() > 16 }

func (s *signature) before(a loader.Args) []Arg {
	args := make([]Arg, 0, len(s.params))
	for i, p := range s.params {
		if i < a.Len() {
			args = append(args, Arg{Name: p.name, Value: p.value(a, i)})
		}
	}
	return args
}

// after adds to args the values that a successful call wrote through its pointers.
func (s *signature) after(a loader.Args, args []Arg) {
	for i := range args {
		args[i].Result = s.params[i].result(a, i)
	}
}
