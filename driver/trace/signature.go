package trace

import (
	"reflect"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// signature says how the argument words of a function are to be read.
type signature struct {
	params []param
	// byValue: takes a float, or a struct that does not fit into a word. Go
	// functions get these in another way than C functions do.
	byValue bool
}

// param is one parameter.
type param struct {
	name string
	typ  reflect.Type
	in   bool // the driver only reads what it points to
}

// lists are arrays, whose first element says nothing. cuda.h does not declare
// them const.
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

// large reports a struct of which a Go function gets a pointer.
func (p param) large() bool { return p.typ.Kind() == reflect.Struct && p.typ.Size() > 16 }

// before reads the arguments of a call that is about to be made.
func (s *signature) before(a loader.Args) []Arg {
	args := make([]Arg, 0, len(s.params))
	for i, p := range s.params {
		if i < a.Len() {
			args = append(args, Arg{Name: p.name, Value: p.value(a, i)})
		}
	}
	return args
}

// after reads what a call has written.
func (s *signature) after(a loader.Args, args []Arg) {
	for i := range args {
		args[i].Result = s.params[i].result(a, i)
	}
}
