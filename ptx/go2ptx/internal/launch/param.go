package launch

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"unicode"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
	"github.com/purecuda/cuda/ptx/internal/launcher"
)

// param is a kernel parameter.
type param struct {
	launcher.Param
	restrict bool
}

func (g *generator) param(v *types.Var) (*param, error) {
	q := &param{Param: launcher.Param{Arg: local(v.Name()), Field: exported(v.Name())}}
	t := v.Type()
	elem := t
	switch u := t.Underlying().(type) {
	case *types.Slice:
		q.Memory, elem = true, u.Elem()
	case *types.Pointer:
		q.Memory, elem = true, u.Elem()
	}
	if isGPU(t, "View") {
		q.Memory, elem = true, types.Unalias(t).(*types.Named).TypeArgs().At(0)
	}
	if isGPU(t, "Conditional") { // a handle from package graph, which is the same for every launch
		q.Field, q.Type = "", "driver.ArgWord"
		return q, nil
	}
	var err error
	if q.Type, err = g.typ(elem); err != nil {
		return nil, err
	}
	if b, ok := t.Underlying().(*types.Basic); ok { // the size of int and uint depends on the machine, so they are passed as 64-bit types
		q.As = map[types.BasicKind]string{types.Int: "int64", types.Uint: "uint64", types.Uintptr: "uint64"}[b.Kind()]
	}
	return q, nil
}

func isGPU(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == source.GPUPath && n.Obj().Name() == name
}

// typ formats a type for the generated file and imports the packages it refers to.
func (g *generator) typ(t types.Type) (string, error) {
	if err := g.visible(t); err != nil {
		return "", err
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == g.prog.Packages[len(g.prog.Packages)-1].Path {
			return ""
		}
		return g.importName(p)
	}), nil
}

// importName returns the name of an imported package in the generated file.
func (g *generator) importName(p *types.Package) string {
	name := p.Name()
	for n := 2; g.names[name] != "" && g.names[name] != p.Path(); n++ {
		name = fmt.Sprintf("%s%d", p.Name(), n)
	}
	g.names[name] = p.Path()
	g.imports[p.Path()] = ""
	if name != p.Path()[strings.LastIndexByte(p.Path(), '/')+1:] {
		g.imports[p.Path()] = name
	}
	return name
}

// visible returns an error if the generated file cannot refer to the type.
func (g *generator) visible(t types.Type) error {
	main := g.prog.Packages[len(g.prog.Packages)-1].Types
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		o := t.Obj()
		if o.Pkg() != nil && o.Pkg() != main && !o.Exported() {
			return fmt.Errorf("the type %v is not exported, so the launcher cannot name it", t)
		}
		if o.Pkg() != nil && o.Parent() != o.Pkg().Scope() {
			return fmt.Errorf("the type %v is declared in a function; declare it in the package", t)
		}
		for i := range t.TypeArgs().Len() {
			if err := g.visible(t.TypeArgs().At(i)); err != nil {
				return err
			}
		}
	case *types.Array:
		return g.visible(t.Elem())
	case *types.Struct:
		for i := range t.NumFields() {
			if err := g.visible(t.Field(i).Type()); err != nil {
				return err
			}
		}
	}
	return nil
}

// exported converts a name to an exported Go identifier: rowSoftmax and row_softmax both become
// RowSoftmax.
func exported(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		if r == '_' || r == '$' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		up = false
	}
	s := b.String()
	if s == "" || !unicode.IsUpper([]rune(s)[0]) {
		return "X" + s
	}
	return s
}

// taken contains the names used in the bodies of generated methods.
var taken = map[string]bool{"launcher": true, "launch": true, "args": true, "cfg": true, "on": true, "err": true, "driver": true}

// local returns the name of the Go parameter for a kernel parameter.
func local(name string) string {
	if name == "" || name == "_" {
		return "unused"
	}
	if taken[name] || token.IsKeyword(name) || types.Universe.Lookup(name) != nil {
		return name + "_"
	}
	return name
}

// unique makes the names of parameters and fields unique. They must also differ from the type names
// that the generated bodies use.
func unique(params []*param) {
	args, fields := map[string]bool{}, map[string]bool{"Launch": true}
	for _, q := range params {
		for _, name := range strings.FieldsFunc(q.Type, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
			args[name] = true
		}
	}
	for _, q := range params {
		for args[q.Arg] {
			q.Arg += "_"
		}
		for q.Field != "" && fields[q.Field] {
			q.Field += "_"
		}
		args[q.Arg], fields[q.Field] = true, true
	}
}
