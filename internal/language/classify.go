package language

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"reflect"
	"strings"
)

// classifier finds the language features that code uses.
type classifier struct {
	info *types.Info
	keys map[Key]bool
	seen map[types.Type]bool
}

func newClassifier(info *types.Info) *classifier {
	return &classifier{info, map[Key]bool{}, map[types.Type]bool{}}
}

func (c *classifier) add(kind Kind, name string) { c.keys[Key{kind, name}] = true }

// text adds the tokens of source text.
func (c *classifier) text(text []byte) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(text)), text, nil, scanner.ScanComments)
	for {
		_, tok, _ := s.Scan()
		c.add(Token, tok.String())
		if tok == token.EOF {
			return
		}
	}
}

func (c *classifier) node(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n != nil {
			c.one(n)
		}
		return true
	})
}

func (c *classifier) one(n ast.Node) {
	c.add(Syntax, reflect.TypeOf(n).Elem().Name())
	if e, ok := n.(ast.Expr); ok {
		c.exprType(e)
	}
	switch n := n.(type) {
	case *ast.Ident:
		c.ident(n)
	case *ast.BranchStmt:
		name := n.Tok.String()
		if n.Label != nil && n.Tok != token.GOTO {
			name += " with a label"
		}
		c.add(Form, name)
	case *ast.RangeStmt:
		c.add(Form, "range over "+rangeClass(c.info.TypeOf(n.X)))
	case *ast.AssignStmt:
		c.add(Form, "assignment "+n.Tok.String())
	case *ast.CallExpr:
		c.call(n)
	default:
		c.operation(n)
	}
}

// operation adds the operation that an expression performs on its operands. Constant expressions
// are skipped, because they are evaluated by the compiler.
func (c *classifier) operation(n ast.Node) {
	if e, ok := n.(ast.Expr); ok && c.info.Types[e].Value != nil {
		return
	}
	switch n := n.(type) {
	case *ast.SelectorExpr:
		c.selector(n)
	case *ast.IndexExpr:
		if tv := c.info.Types[n.X]; tv.IsValue() && class(tv.Type) != "function" {
			c.add(Form, "index of "+shape(tv.Type))
		}
	case *ast.SliceExpr:
		name := "slice of "
		if n.Slice3 {
			name = "slice with capacity of "
		}
		c.add(Form, name+shape(c.info.TypeOf(n.X)))
	case *ast.CompositeLit:
		if t := c.info.TypeOf(n); t != nil {
			c.add(Form, "literal of "+shape(t))
		}
	case *ast.UnaryExpr:
		if n.Op != token.TILDE {
			c.add(Operator, n.Op.String()+" "+operandClass(c.info.TypeOf(n.X)))
		}
	case *ast.BinaryExpr:
		if !c.info.Types[n].IsType() { // not a union of types
			c.add(Operator, operandClass(c.info.TypeOf(n.X))+" "+n.Op.String())
		}
	}
}

func (c *classifier) ident(n *ast.Ident) {
	for _, obj := range []types.Object{c.info.Uses[n], c.info.Defs[n]} {
		if obj == nil {
			continue
		}
		if obj.Parent() == types.Universe {
			c.add(Universe, obj.Name())
		}
		if obj.Pkg() == types.Unsafe && obj.Type() != nil {
			c.add(Universe, "unsafe."+obj.Name())
		}
		c.typ(obj.Type())
	}
}

func (c *classifier) call(n *ast.CallExpr) {
	tv := c.info.Types[n.Fun]
	switch {
	case tv.IsType():
		if len(n.Args) == 1 && c.info.Types[n].Value == nil {
			c.add(Conversion, class(c.info.TypeOf(n.Args[0]))+" to "+class(tv.Type))
		}
	case tv.IsBuiltin():
	default:
		c.add(Form, "call of "+callClass(c.info, n))
		if n.Ellipsis.IsValid() {
			c.add(Form, "call with ...")
		}
	}
}

func callClass(info *types.Info, n *ast.CallExpr) string {
	fun := ast.Unparen(n.Fun)
	if _, ok := fun.(*ast.FuncLit); ok {
		return "function literal"
	}
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	id, _ := fun.(*ast.Ident)
	if s, ok := fun.(*ast.SelectorExpr); ok {
		id = s.Sel
		if sel := info.Selections[s]; sel != nil && sel.Kind() == types.MethodVal {
			if types.IsInterface(sel.Recv()) {
				return "method of an interface"
			}
			return "method"
		}
	}
	fn, ok := info.Uses[id].(*types.Func)
	switch {
	case !ok:
		return "function value"
	case fn.Signature().TypeParams().Len() > 0:
		return "generic function"
	case fn.Signature().Variadic():
		return "variadic function"
	}
	return "function"
}

func (c *classifier) selector(n *ast.SelectorExpr) {
	s := c.info.Selections[n]
	switch {
	case s == nil:
		c.add(Form, "name of another package")
	case s.Kind() == types.MethodVal:
		c.add(Form, "method value or call")
	case s.Kind() == types.MethodExpr:
		c.add(Form, "method expression")
	case len(s.Index()) > 1:
		c.add(Form, "promoted field")
	default:
		c.add(Form, "field")
	}
}

func (c *classifier) exprType(e ast.Expr) {
	if tv, ok := c.info.Types[e]; ok {
		c.typ(tv.Type)
	}
}

// typ adds the kinds of a type and of its component types.
func (c *classifier) typ(t types.Type) {
	if t == nil || c.seen[t] {
		return
	}
	c.seen[t] = true
	if b, ok := t.(*types.Basic); ok {
		if b.Kind() == types.Invalid {
			return
		}
		c.add(Type, types.Typ[b.Kind()].Name())
	}
	c.add(Type, reflect.TypeOf(t).Elem().Name())
	switch t := t.(type) {
	case *types.Alias:
		c.typ(t.Rhs())
	case *types.Named:
		if t.Obj().Pkg() != nil && t.Obj().Pkg().Name() == "kernels" {
			c.typ(t.Underlying())
		}
	case *types.TypeParam:
		c.typ(t.Constraint())
	case *types.Interface:
		for i := range t.NumEmbeddeds() {
			c.typ(t.EmbeddedType(i))
		}
	case *types.Struct:
		for i := range t.NumFields() {
			c.typ(t.Field(i).Type())
		}
	case *types.Pointer:
		c.typ(t.Elem())
	case *types.Slice:
		c.typ(t.Elem())
	case *types.Array:
		c.typ(t.Elem())
	}
}

// class returns the group to which a type belongs in the rows for operators and conversions.
func class(t types.Type) string {
	if t == nil {
		return "nothing"
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return "type parameter"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return basicClass(u)
	case *types.Slice:
		if e, ok := u.Elem().Underlying().(*types.Basic); ok && e.Kind() == types.Byte {
			return "[]byte"
		} else if ok && e.Kind() == types.Rune {
			return "[]rune"
		}
		return "slice"
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Array); ok {
			return "pointer to array"
		}
		return "pointer"
	}
	return map[string]string{"Array": "array", "Map": "map", "Chan": "channel", "Signature": "function", "Interface": "interface", "Struct": "struct"}[reflect.TypeOf(t.Underlying()).Elem().Name()]
}

func basicClass(b *types.Basic) string {
	switch {
	case b.Kind() == types.UnsafePointer:
		return "unsafe.Pointer"
	case b.Info()&types.IsUnsigned != 0:
		return "unsigned integer"
	case b.Info()&types.IsInteger != 0:
		return "signed integer"
	case b.Info()&types.IsFloat != 0:
		return "float"
	case b.Info()&types.IsComplex != 0:
		return "complex"
	case b.Info()&types.IsString != 0:
		return "string"
	case b.Info()&types.IsBoolean != 0:
		return "boolean"
	}
	return "nil"
}

// shape is like class, but puts all slices into one group.
func shape(t types.Type) string {
	if c := class(t); !strings.HasPrefix(c, "[]") {
		return c
	}
	return "slice"
}

// operandClass is like shape, but puts all pointers into one group.
func operandClass(t types.Type) string {
	if c := shape(t); c != "pointer to array" {
		return c
	}
	return "pointer"
}

// rangeClass is like shape, but for a range over a function it includes the number of values that
// the function yields.
func rangeClass(t types.Type) string {
	if sig, ok := t.Underlying().(*types.Signature); ok && sig.Params().Len() == 1 {
		if yield, ok := sig.Params().At(0).Type().Underlying().(*types.Signature); ok {
			return "function with " + []string{"no value", "one value", "two values"}[min(yield.Params().Len(), 2)]
		}
	}
	if c := shape(t); c != "signed integer" && c != "unsigned integer" {
		return c
	}
	return "integer"
}
