package mathtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

// Fusible lists the products in a package's files that a compiler may fuse with an addition, so
// that results would depend on the compiler. A product is safe if it is inside a conversion, if one
// factor is a literal power of 2, or if it is in one of the named functions, which multiply
// integers.
func Fusible(files fs.FS, integers ...string) ([]string, error) {
	names, err := fs.Glob(files, "*.go")
	if err != nil {
		return nil, err
	}
	var found []string
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !strings.Contains(" "+strings.Join(integers, " ")+" ", " "+fn.Name.Name+" ") {
				fusible(fn.Body, func(e ast.Expr) {
					found = append(found, fmt.Sprintf("%s: a product that may be fused", fset.Position(e.Pos())))
				})
			}
		}
	}
	return found, nil
}

func fusible(n ast.Node, report func(ast.Expr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if p, ok := n.Fun.(*ast.Ident); ok && (p.Name == "float32" || p.Name == "float64") {
				if b, ok := n.Args[0].(*ast.BinaryExpr); ok && (b.Op == token.MUL || b.Op == token.QUO) {
					fusible(b.X, report)
					fusible(b.Y, report)
					return false
				}
			}
		case *ast.BinaryExpr:
			if n.Op == token.MUL && !powerOf2(n.X) && !powerOf2(n.Y) {
				report(n)
			}
		case *ast.AssignStmt:
			if n.Tok == token.MUL_ASSIGN && !powerOf2(n.Rhs[0]) {
				report(n.Lhs[0])
			}
		}
		return true
	})
}

// powerOf2 reports whether e is a literal power of 2, possibly negated.
func powerOf2(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		e = u.X
	}
	l, ok := e.(*ast.BasicLit)
	return ok && (strings.HasPrefix(l.Value, "0x1p") || strings.Contains(" 2 0.5 0.25 0.125 0.0625 ", " "+l.Value+" "))
}
