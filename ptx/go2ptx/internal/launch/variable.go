package launch

import (
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// variable is a PTX variable that the host can set.
type variable struct {
	Variable
	obj    types.Object
	goName string // name of the generated function
	typ    string // Go type of the value
}

// variables finds the variables that the generated file can refer to: those of the package itself,
// and exported ones of imported packages.
func (g *generator) variables() {
	if len(g.opts.Variables) == 0 {
		return // the package itself may be missing as well
	}
	main := g.prog.Packages[len(g.prog.Packages)-1]
	for _, v := range g.opts.Variables {
		pkg := g.packageAt(v.Package)
		if pkg == nil {
			continue
		}
		obj := pkg.Types.Scope().Lookup(v.Object)
		if obj == nil || pkg != main && !obj.Exported() {
			continue
		}
		named, ok := types.Unalias(obj.Type()).(*types.Named)
		if !ok || named.TypeArgs().Len() != 1 {
			continue
		}
		typ, err := g.typ(named.TypeArgs().At(0))
		if err != nil {
			if pkg == main {
				g.errorf(obj.Pos(), "variable %s: %v", obj.Name(), err)
			}
			continue
		}
		name := exported(v.Object) + "In"
		if pkg != main {
			name = exported(pkg.Types.Name()) + name
		}
		g.vars = append(g.vars, &variable{v, obj, name, typ})
	}
}

func (g *generator) packageAt(path string) *source.Package {
	for _, p := range g.prog.Packages {
		if p.Path == path {
			return p
		}
	}
	return nil
}

// variable emits the function that returns a variable.
func (p *printer) variable(v *variable) {
	p.F("// %s returns the variable %s of the kernels in a context, as a view of one element.\n", v.goName, v.Object)
	p.F("func %s(c *driver.Context) (driver.View[%s], error) {\n", v.goName, v.typ)
	p.F("m, err := gpuModule(c)\nif err != nil {\nreturn driver.View[%s]{}, err\n}\n", v.typ)
	p.F("bytes, err := m.Global(%q)\nif err != nil {\nreturn driver.View[%s]{}, err\n}\n", v.Name, v.typ)
	p.F("return driver.ViewAs[%s](bytes)\n}\n\n", v.typ)
}
