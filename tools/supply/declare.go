package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"strings"
)

// declarations lists the exports of a package. It returns one line for each property that users can
// depend on, such as the value of a constant, a field or a method. It omits the names of
// parameters, because they may change.
func declarations(pkg *types.Package) []string {
	var all []string
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			all = append(all, "const "+name+" "+typeText(obj.Type())+" = "+value(obj))
		case *types.Var:
			all = append(all, "var "+name+" "+typeText(obj.Type()))
		case *types.Func:
			all = append(all, "func "+name+signature(obj.Type()))
		case *types.TypeName:
			all = append(all, typeLines(obj)...)
		}
	}
	return all
}

// value formats a constant. Unlike Value.String, it does not shorten long strings.
func value(c *types.Const) string {
	if c.Val().Kind() == constant.String {
		return c.Val().ExactString()
	}
	return c.Val().String()
}

func typeLines(t *types.TypeName) []string {
	head := "type " + t.Name()
	if t.IsAlias() {
		return []string{head + " = " + typeText(types.Unalias(t.Type()))}
	}
	named := t.Type().(*types.Named)
	head += parameters(named.TypeParams())
	var all []string
	switch u := named.Underlying().(type) {
	case *types.Struct:
		all = append([]string{head + " struct" + comparable(named)}, fields(head, u)...)
	case *types.Interface:
		all = []string{head + " " + typeText(u)}
	default:
		all = []string{head + " " + typeText(u)}
	}
	return append(all, methods(t.Name(), named)...)
}

// comparable returns a note if values of a struct type cannot be compared.
func comparable(t types.Type) string {
	if types.Comparable(t) {
		return ""
	}
	return ", not comparable"
}

func fields(head string, s *types.Struct) []string {
	var all []string
	for f := range s.Fields() {
		if !f.Exported() {
			continue
		}
		kind := ""
		if f.Embedded() {
			kind = "embedded "
		}
		all = append(all, head+" struct, "+kind+f.Name()+" "+typeText(f.Type()))
	}
	return all
}

// methods lists the exported methods of a type that is not an interface, including embedded
// methods.
func methods(name string, t *types.Named) []string {
	if types.IsInterface(t) {
		return nil
	}
	var all []string
	value := types.NewMethodSet(t)
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		f := m.Obj()
		if !f.Exported() {
			continue
		}
		receiver := "*" + name
		if value.Lookup(f.Pkg(), f.Name()) != nil {
			receiver = name
		}
		all = append(all, "method ("+receiver+") "+f.Name()+signature(m.Type()))
	}
	return all
}

func parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.Obj().Name()+" "+typeText(p.Constraint()))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func signature(t types.Type) string {
	s := t.(*types.Signature)
	plain := types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
	return parameters(s.TypeParams()) + strings.TrimPrefix(typeText(plain), "func")
}

// typeText formats a type, with package names and without parameter names.
func typeText(t types.Type) string {
	text := types.TypeString(t, (*types.Package).Name)
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return text // the text is not an expression, such as the type set of a constraint
	}
	ast.Inspect(expr, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncType); ok {
			unname(f.Params)
			unname(f.Results)
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), expr); err != nil {
		return fmt.Sprint(err)
	}
	return oneLine.Replace(strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\n", " ; ")), " "))
}

// oneLine removes what remains of line breaks in formatted types.
var oneLine = strings.NewReplacer("{ ; ", "{ ", " ; }", " }", " ; ", "; ")

func unname(list *ast.FieldList) {
	if list == nil {
		return
	}
	var all []*ast.Field
	for _, f := range list.List {
		for range max(len(f.Names), 1) {
			all = append(all, &ast.Field{Type: f.Type})
		}
	}
	list.List = all
}
