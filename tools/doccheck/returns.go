package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// returns finds tests that can pass without checking anything. It looks for an if statement that
// only returns, in a test or in another function that has a *testing.T parameter. Such a test must
// skip with a reason instead. Fuzz targets are exempt, because they may ignore unsuitable inputs.
func returns(root string) error {
	var errs []error
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		found, err := returnsIn(path)
		errs = append(errs, found...)
		return err
	})
	return errors.Join(append(errs, err)...)
}

func returnsIn(path string) (errs []error, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || s.Sel.Name != "Fuzz"
		case *ast.FuncDecl:
			if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
				body = n.Body
			}
		case *ast.FuncLit:
			if takesT(n.Type) {
				body = n.Body
			}
		}
		if body != nil {
			for _, s := range body.List {
				if passes(s) {
					errs = append(errs, fmt.Errorf("%s: this test passes without a check: skip it with t.Skip and the reason", fset.Position(s.Pos())))
				}
			}
		}
		return true
	})
	return errs, nil
}

func takesT(f *ast.FuncType) bool {
	if len(f.Params.List) == 0 {
		return false
	}
	p, ok := f.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	s, ok := p.X.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "T"
}

func passes(s ast.Stmt) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok || len(i.Body.List) != 1 {
		return false
	}
	r, ok := i.Body.List[0].(*ast.ReturnStmt)
	return ok && len(r.Results) == 0
}
