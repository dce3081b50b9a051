package zerovalue

import (
	"fmt"
	"go/types"
	"strings"
)

// names maps each package to its unique name in the program.
type names map[string]string

func (n names) of(p *types.Package) string {
	if name, ok := n[p.Path()]; ok {
		return name
	}
	name := fmt.Sprintf("p%d", len(n))
	n[p.Path()] = name
	return name
}

// program returns the source of a program that lists the exported functions of the packages, and
// their exported types with methods. The program passes this list to package calls.
func program(packages []*types.Package) (string, error) {
	imported := make(names)
	var list strings.Builder
	for _, p := range packages {
		scope := p.Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if !o.Exported() {
				continue
			}
			switch o := o.(type) {
			case *types.TypeName:
				line, err := typeLine(o, imported)
				if err != nil {
					return "", err
				}
				list.WriteString(line)
			case *types.Func:
				args, err := typeArgs(p, o.Signature().TypeParams(), imported)
				if err != nil {
					return "", fmt.Errorf("%s.%s: %w", p.Name(), name, err)
				}
				fmt.Fprintf(&list, "\t{Name: %q, Value: %s.%s%s},\n", p.Name()+"."+name, imported.of(p), name, args)
			}
		}
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"os\"\n\n\t\"github.com/purecuda/cuda/tools/zerovalue/calls\"\n")
	for path, name := range imported {
		fmt.Fprintf(&b, "\t%s %q\n", name, path)
	}
	fmt.Fprintf(&b, ")\n\nvar all = []calls.Exported{\n%s}\n\nfunc main() { os.Exit(calls.Main(all)) }\n", list.String())
	return b.String(), nil
}

// typeLine returns the line of the program that lists a type, as a nil pointer to the type. It
// returns "" for an alias, an interface or a type without methods.
func typeLine(o *types.TypeName, imported names) (string, error) {
	if o.IsAlias() {
		return "", nil
	}
	named := o.Type().(*types.Named)
	if types.IsInterface(named) || types.NewMethodSet(types.NewPointer(named)).Len() == 0 {
		return "", nil
	}
	args, err := typeArgs(o.Pkg(), named.TypeParams(), imported)
	if err != nil {
		return "", fmt.Errorf("%s.%s: %w", o.Pkg().Name(), o.Name(), err)
	}
	return fmt.Sprintf("\t{Name: %q, Type: (*%s.%s%s)(nil)},\n", o.Pkg().Name()+"."+o.Name(), imported.of(o.Pkg()), o.Name(), args), nil
}

// typeArgs returns type arguments in brackets for the type parameters, or "" if there are none.
func typeArgs(in *types.Package, params *types.TypeParamList, imported names) (string, error) {
	if params.Len() == 0 {
		return "", nil
	}
	var all []string
	for i := range params.Len() {
		p := params.At(i)
		t, err := satisfying(in, p.Constraint().Underlying().(*types.Interface))
		if err != nil {
			return "", fmt.Errorf("no type for %v: %w", p, err)
		}
		all = append(all, types.TypeString(t, imported.of))
	}
	return "[" + strings.Join(all, ", ") + "]", nil
}

// satisfying returns a type that satisfies a constraint. It prefers float32, then a type
// that the constraint lists, and then a type of the package.
func satisfying(in *types.Package, c *types.Interface) (types.Type, error) {
	for _, k := range []types.BasicKind{types.Float32, types.Uint32, types.Int} {
		if t := types.Typ[k]; types.Satisfies(t, c) {
			return t, nil
		}
	}
	for i := range c.NumEmbeddeds() {
		u, ok := c.EmbeddedType(i).(*types.Union)
		if !ok {
			continue
		}
		for j := range u.Len() {
			if t := u.Term(j).Type(); types.Satisfies(t, c) {
				return t, nil
			}
		}
	}
	for _, name := range in.Scope().Names() {
		t, ok := in.Scope().Lookup(name).(*types.TypeName)
		if ok && t.Exported() && types.Satisfies(t.Type(), c) {
			return t.Type(), nil
		}
	}
	return nil, fmt.Errorf("%v: add a type that it admits", c)
}
