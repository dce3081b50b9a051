package fuzztest

import (
	"bytes"
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"slices"
)

// mutate changes the functions of a Go file: it swaps names, literals, operators and expressions,
// and removes, copies and moves statements. It returns text unchanged if text does not parse.
func mutate(text string, seed uint64) string {
	if seed == 0 {
		return text
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return text
	}
	m := &mutator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for _, d := range file.Decls {
		if fun, ok := d.(*ast.FuncDecl); ok && fun.Body != nil {
			ast.Inspect(fun.Body, m.collect)
		}
	}
	for range 1 + m.IntN(4) {
		m.change()
	}
	file.Comments = slices.DeleteFunc(file.Comments, func(g *ast.CommentGroup) bool {
		return !bytes.Contains([]byte(g.List[len(g.List)-1].Text), []byte("//gpu:"))
	})
	var b bytes.Buffer
	if printTree(&b, fset, file) != nil {
		return text
	}
	return b.String()
}

// printTree prints a syntax tree that need not be one that a parser can produce.
func printTree(b *bytes.Buffer, fset *token.FileSet, file *ast.File) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the tree has no text")
		}
	}()
	return format.Node(b, fset, file)
}

type mutator struct {
	*rand.Rand
	exprs    []*ast.Expr // pointers to expressions in the tree
	blocks   []*[]ast.Stmt
	binaries []*ast.BinaryExpr
	assigns  []*ast.AssignStmt
}

// collect records the nodes that can be changed.
func (m *mutator) collect(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *ast.BinaryExpr:
		m.binaries = append(m.binaries, n)
	case *ast.AssignStmt:
		m.assigns = append(m.assigns, n)
	case *ast.BlockStmt:
		m.blocks = append(m.blocks, &n.List)
	case *ast.CaseClause:
		m.blocks = append(m.blocks, &n.Body)
	}
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		switch p := v.Field(i).Addr().Interface().(type) {
		case *ast.Expr:
			if *p != nil {
				m.exprs = append(m.exprs, p)
			}
		case *[]ast.Expr:
			for i := range *p {
				m.exprs = append(m.exprs, &(*p)[i])
			}
		}
	}
	return true
}

var (
	binaryOps = []token.Token{token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.AND, token.OR, token.XOR, token.SHL, token.SHR, token.AND_NOT,
		token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR}
	assignTokens = []token.Token{token.ASSIGN, token.DEFINE, token.ADD_ASSIGN, token.QUO_ASSIGN, token.SHL_ASSIGN, token.AND_NOT_ASSIGN}
	literals     = []string{"0", "1", "-1", "2", "7", "63", "64", "255", "1<<31", "-1<<63", "1<<62", "0.5", "1e300", "'x'", `"text"`, "nil", "true", "1i",
		"int8(3)", "uint64(5)", "float32(2)", "len(x)", "t.ThreadX()", "[3]int{1, 2}", "[]int32{1}", "struct{}{}", "func() {}", "any(1)", "&i", "x[:]", "x[i]"}
	statements = []string{"return", "break", "continue", "goto l", "t.Sync()", "panic(1)", "for {}", "i++", "l:\n", "x = nil", "defer t.Sync()",
		"for range x {}", "for i := range 3 { x[i]++ }", "switch { default: }", "p := &i; *p++", "var q [1 << 20]int; q[i] = 1; _ = q", "if i > 3 { return }",
		"f := func(a int) int { return a + i }; i = f(i)", "type w struct { a, b int }; v := w{1, i}; v.a, v.b = v.b, v.a; _ = v", "_ = x[1:2:3]", "clear(x)"}
)

func pick[T any](m *mutator, list []T) T { return list[m.IntN(len(list))] }

func (m *mutator) change() {
	switch m.IntN(6) {
	case 0:
		if len(m.binaries) > 0 {
			pick(m, m.binaries).Op = pick(m, binaryOps)
		}
	case 1:
		if len(m.assigns) > 0 {
			pick(m, m.assigns).Tok = pick(m, assignTokens)
		}
	case 2, 3:
		m.changeExpr()
	default:
		m.changeBlock()
	}
}

func (m *mutator) changeExpr() {
	if len(m.exprs) == 0 {
		return
	}
	to := pick(m, m.exprs)
	if m.IntN(2) == 0 {
		if e, err := parser.ParseExpr(pick(m, literals)); err == nil {
			*to = e
		}
		return
	}
	if e, err := parser.ParseExpr(textOf(*pick(m, m.exprs))); err == nil {
		*to = e
	}
}

// textOf formats a part of the tree. Parts are copied as text, because a tree that contains itself
// could not be printed.
func textOf(n ast.Node) string {
	var b bytes.Buffer
	if format.Node(&b, token.NewFileSet(), n) != nil {
		return ""
	}
	return b.String()
}

func (m *mutator) changeBlock() {
	if len(m.blocks) == 0 {
		return
	}
	b := pick(m, m.blocks)
	at := m.IntN(len(*b) + 1)
	switch m.IntN(3) {
	case 0:
		if at < len(*b) {
			*b = slices.Delete(*b, at, at+1)
		}
	case 1:
		if from := *pick(m, m.blocks); len(from) > 0 {
			*b = slices.Insert(*b, at, parsed(textOf(pick(m, from)))...)
		}
	default:
		*b = slices.Insert(*b, at, parsed(pick(m, statements))...)
	}
}

// parsed parses statements.
func parsed(text string) []ast.Stmt {
	e, err := parser.ParseExpr("func() {" + text + "\n}")
	if err != nil {
		return nil
	}
	return e.(*ast.FuncLit).Body.List
}
