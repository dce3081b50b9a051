package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// calls records which functions refer to which functions. Every reference counts as a call,
// because a function that is passed as a value is called later.
//
// Some references need special treatment:
//
//   - A method Cu… of Driver stands for the C function. If it only calls another such
//     method, it is an alias of that method's C function (cuGraphInstantiate).
//   - The field with a C function's name in the function table also stands for the C
//     function. So does its number Fn…, except as an argument of Has.
//   - A method of Batch stands for the C function with the same name.
//   - The function that is passed to Own to destroy an object is called by Close of the
//     object's type.
//   - A method of an interface stands for that method of every type in these packages that
//     implements the interface.
type calls struct {
	of       map[types.Object][]types.Object // the functions that refer to each object
	raw      map[string][]types.Object       // the functions that refer to each C function, by its name
	concrete []types.Type                    // all types that are not interfaces
}

func read(pkgs []*source) *calls {
	c := &calls{of: make(map[types.Object][]types.Object), raw: make(map[string][]types.Object)}
	for _, s := range pkgs {
		c.addTypes(s.types.Scope())
	}
	for _, s := range pkgs {
		for _, f := range s.files {
			for _, d := range f.Decls {
				c.declaration(s, d)
			}
		}
	}
	return c
}

func (c *calls) addTypes(scope *types.Scope) {
	for _, name := range scope.Names() {
		if t, ok := scope.Lookup(name).(*types.TypeName); ok && !t.IsAlias() && !types.IsInterface(t.Type()) {
			c.concrete = append(c.concrete, t.Type())
		}
	}
}

// declaration records the references in a function, or in the initial values of variables.
func (c *calls) declaration(s *source, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if f := s.info.Defs[d.Name].(*types.Func); d.Body != nil && !isTable(f) {
			c.body(s, f, d.Body)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				for _, value := range v.Values {
					c.body(s, s.info.Defs[v.Names[0]], value)
				}
			}
		}
	}
}

// isTable reports whether a function selects C functions by number: the methods of Batch, and the
// methods Has and Proc of Driver. References in its body do not count as calls.
func isTable(f *types.Func) bool {
	return receiver(f) == "Batch" || receiver(f) == "Driver" && (f.Name() == "Has" || f.Name() == "Proc")
}

// body records the references to other objects in the syntax n, which belongs to the object from.
func (c *calls) body(s *source, from types.Object, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return c.call(s, from, n)
		case *ast.Ident:
			c.use(from, s.info.Uses[n])
		}
		return true
	})
}

// call handles calls with special arguments: Driver.Has does not call its argument, and Close calls
// the last argument of Own. It reports whether body must also read the parts of n.
func (c *calls) call(s *source, from types.Object, n *ast.CallExpr) bool {
	f, ok := s.info.Uses[calleeName(n.Fun)].(*types.Func)
	switch {
	case ok && f.Name() == "Has" && receiver(f) == "Driver":
		return false
	case ok && f.Name() == "Own" && receiver(f) == "" && len(n.Args) == 4:
		if closer := closeOf(s.info.Types[n.Args[0]].Type); closer != nil {
			c.body(s, closer, n.Args[3])
			return false
		}
	}
	return true
}

// calleeName returns the last identifier of a call's function expression.
func calleeName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return calleeName(e.X)
	}
	return nil
}

func closeOf(t types.Type) types.Object {
	if t == nil {
		return nil
	}
	m, _, _ := types.LookupFieldOrMethod(t, true, nil, "Close")
	if f, ok := m.(*types.Func); ok {
		return f.Origin()
	}
	return nil
}

// use records that the object from refers to the object to.
func (c *calls) use(from, to types.Object) {
	switch to := to.(type) {
	case *types.Func:
		c.useFunc(from, to.Origin())
	case *types.Var:
		if to.IsField() && strings.HasPrefix(to.Name(), "cu") {
			c.useRaw(from, baseOf("Cu"+to.Name()[2:]))
		}
		if !to.IsField() && to.Parent() == to.Pkg().Scope() {
			c.of[to] = append(c.of[to], from)
		}
	case *types.Const:
		if name, ok := strings.CutPrefix(to.Name(), "Fn"); ok && strings.HasPrefix(name, "Cu") {
			c.useRaw(from, baseOf(name))
		}
	}
}

func (c *calls) useFunc(from types.Object, to *types.Func) {
	switch {
	case isRaw(to):
		c.useRaw(from, baseOf(to.Name()))
	case receiver(to) == "Batch":
		c.useRaw(from, "cu"+to.Name())
	default:
		c.of[to] = append(c.of[to], from)
		c.useImplementations(from, to)
	}
}

// useImplementations records a call of an interface method as calls of that method of every type
// that implements the interface.
func (c *calls) useImplementations(from types.Object, m *types.Func) {
	recv := m.Signature().Recv()
	if recv == nil || !types.IsInterface(recv.Type()) {
		return
	}
	i := recv.Type().Underlying().(*types.Interface)
	for _, t := range c.concrete {
		if p := types.NewPointer(t); types.Implements(p, i) {
			f, _, _ := types.LookupFieldOrMethod(p, true, m.Pkg(), m.Name())
			if f, ok := f.(*types.Func); ok {
				c.of[f.Origin()] = append(c.of[f.Origin()], from)
			}
		}
	}
}

// useRaw records a call of the C function with the given name, made by the function from. If from
// is the Cu… method for a different C function, it is an alias. Callers of that function then also
// count as callers of the named one.
func (c *calls) useRaw(from types.Object, name string) {
	if f, ok := from.(*types.Func); ok && isRaw(f) {
		if other := baseOf(f.Name()); other != name {
			c.raw[other] = append(c.raw[other], aliasOf{from, name})
		}
		return
	}
	c.raw[name] = append(c.raw[name], from)
}

// aliasOf is an entry of calls.raw that stands for all callers of the C function called name.
type aliasOf struct {
	types.Object
	name string
}

// isRaw reports whether f is a method of Driver that stands for a C function.
func isRaw(f *types.Func) bool {
	return receiver(f) == "Driver" && strings.HasPrefix(f.Name(), "Cu")
}

// receiver returns the name of a method's receiver type, or "" for a function.
func receiver(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return ""
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// api returns the exported functions and methods that call a C function, directly or
// through unexported ones.
func (c *calls) api(name string) []*types.Func {
	seen := make(map[types.Object]bool)
	var found []*types.Func
	var visit func(from []types.Object)
	visit = func(from []types.Object) {
		for _, o := range from {
			if a, ok := o.(aliasOf); ok {
				visit(c.raw[a.name])
				continue
			}
			if seen[o] {
				continue
			}
			seen[o] = true
			if f, ok := o.(*types.Func); ok && isAPI(f) {
				found = append(found, f)
				continue
			}
			visit(c.of[o])
		}
	}
	visit(c.raw[name])
	slices.SortFunc(found, func(a, b *types.Func) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return found
}

// isAPI reports whether f belongs to the typed API. It must be exported, and neither in
// package cu nor in an internal package.
func isAPI(f *types.Func) bool {
	r := receiver(f)
	return f.Exported() && (r == "" || token.IsExported(r)) && f.Pkg().Name() != "cu" && !strings.Contains(f.Pkg().Path(), "internal/")
}

// nameOf formats a function with its package and type.
func nameOf(f *types.Func) string {
	if r := receiver(f); r != "" {
		return f.Pkg().Name() + "." + r + "." + f.Name()
	}
	return f.Pkg().Name() + "." + f.Name()
}
