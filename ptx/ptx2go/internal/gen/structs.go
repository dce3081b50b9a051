package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// declare adds the Go type in a directive such as
//
//	ptx2go: struct Shape { N uint32; Dims [4]uint64 }
func (g *generator) declare(u *unit, d directive) error {
	name, body, ok := strings.Cut(d.rest, "{")
	name, body = strings.TrimSpace(name), strings.TrimSuffix(strings.TrimSpace(body), "}")
	if !ok || !isName(name) || !strings.HasSuffix(d.rest, "}") {
		return d.at.errorf("write a struct as: %s struct Shape { N uint32; Dims [4]uint64 }", marker)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p; type T struct {"+body+"\n}", 0)
	if err != nil {
		return d.at.errorf("struct %s: %w", name, err)
	}
	st := &structType{name: name, at: d.at}
	st.body, err = fields(file)
	if err != nil {
		return d.at.errorf("struct %s: %w", name, err)
	}
	return g.addStruct(u, st)
}

// fields returns the fields of the only type in a file, one per line.
func fields(file *ast.File) (string, error) {
	var b strings.Builder
	list := file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List
	for _, f := range list {
		t, err := typeOf(f.Type)
		if err != nil {
			return "", err
		}
		if len(f.Names) == 0 {
			return "", fmt.Errorf("field %s needs a name", t.text)
		}
		for _, n := range f.Names {
			fmt.Fprintf(&b, "\t%s %s\n", n.Name, t.text)
		}
	}
	return b.String(), nil
}

// addStruct adds a type unless another kernel already added it. It returns an error if the existing
// type has other fields.
func (g *generator) addStruct(u *unit, st *structType) error {
	if other := g.structs[st.name]; other != nil {
		if other.body != st.body {
			return st.at.errorf("struct %s was declared with other fields at %v", st.name, other.at)
		}
		return nil
	}
	g.structs[st.name] = st
	u.structs = append(u.structs, st)
	return nil
}
