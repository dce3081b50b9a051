//go:build unix

package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// The kinds of changes.
const (
	negate     = "condition negated"
	compare    = "comparison shifted"
	check      = "check dropped"
	drop       = "statement dropped"
	swallow    = "error swallowed"
	arithmetic = "operator exchanged"
	value      = "constant changed"
	lock       = "lock dropped"
	deferred   = "defer dropped"
	early      = "early return"
)

// insertion is text that a change inserts into the code. Changes never replace text, so changes of
// nested code can be combined.
type insertion struct {
	at    int
	after bool // text ends a construct that another insertion began before the code
	span  int  // length of the enclosed code in bytes
	text  string
}

// site is a possible change. In its insertions, the constant on stands for the condition that
// selects the change.
type site struct {
	Key  string // key that stays the same as long as the code of the function does not change
	Kind string
	File string
	Line int
	Func string
	Code string // code before the change
	To   string // code after the change

	src  *source
	from int
	to   int
	put  []insertion
}

type statement struct {
	sites []*site
}

const on = "\x00" // a placeholder, which is replaced once the number of the change is known

type finder struct {
	p     *pkg
	s     *source
	name  string
	sig   *types.Signature
	types *ast.FuncType
	all   []*statement
	now   *statement
}

// statements returns the statements of a package that can be changed.
func (p *pkg) statements() []*statement {
	var all []*statement
	seen := map[string]int{}
	for _, s := range p.files {
		if s.generated {
			continue
		}
		for _, d := range s.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			f := &finder{p: p, s: s, name: funcName(fn)}
			f.body(fn.Type, p.info.Defs[fn.Name].Type().(*types.Signature), fn.Body)
			for _, st := range f.all {
				if len(st.sites) == 0 {
					continue
				}
				for _, x := range st.sites {
					key := s.rel + "|" + f.name + "|" + x.Kind + "|" + x.Code + "|" + x.To
					x.Key = key + "|" + strconv.Itoa(seen[key])
					seen[key]++
				}
				all = append(all, st)
			}
		}
	}
	return all
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// body finds the changes in a function or function literal.
func (f *finder) body(typ *ast.FuncType, sig *types.Signature, b *ast.BlockStmt) {
	outer, outerSig := f.types, f.sig
	f.types, f.sig = typ, sig
	f.list(b.List, true)
	f.types, f.sig = outer, outerSig
}

func (f *finder) list(list []ast.Stmt, top bool) {
	for i, s := range list {
		f.statement(s, top && i > 0 || top && len(list) > 1)
	}
}

// statement finds the changes of s and of the statements in it.
func (f *finder) statement(s ast.Stmt, canReturn bool) {
	st := &statement{}
	f.all = append(f.all, st)
	outer := f.now
	f.now = st
	if canReturn {
		f.early(s)
	}
	switch s := s.(type) {
	case *ast.IfStmt:
		f.simple(s.Init)
		f.condition(s.Cond)
		if s.Else == nil && leaves(s.Body) {
			f.around(check, s.Cond, "!"+on+" && (", ")", "dropped")
		}
		f.exprs(s.Cond)
		f.list(s.Body.List, false)
		if s.Else != nil {
			f.statement(s.Else, false)
		}
	case *ast.ForStmt:
		f.simple(s.Init)
		if s.Cond != nil {
			f.condition(s.Cond)
			f.exprs(s.Cond)
		}
		f.simple(s.Post)
		f.list(s.Body.List, false)
	case *ast.RangeStmt:
		f.exprs(s.X)
		f.list(s.Body.List, false)
	case *ast.BlockStmt:
		f.list(s.List, false)
	case *ast.LabeledStmt:
		f.statement(s.Stmt, false)
	case *ast.SwitchStmt:
		f.simple(s.Init)
		f.exprs(s.Tag)
		for _, c := range s.Body.List {
			c := c.(*ast.CaseClause)
			if s.Tag == nil {
				for _, e := range c.List {
					f.now = &statement{}
					f.all = append(f.all, f.now)
					f.condition(e)
					f.exprs(e)
					f.now = st
				}
			}
			f.list(c.Body, false)
		}
	case *ast.TypeSwitchStmt:
		for _, c := range s.Body.List {
			f.list(c.(*ast.CaseClause).Body, false)
		}
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			f.list(c.(*ast.CommClause).Body, false)
		}
	case *ast.ReturnStmt:
		f.swallowed(s)
		for _, e := range s.Results {
			f.exprs(e)
		}
	case *ast.DeferStmt:
		f.around(deferred, s, "if !"+on+" { ", " }", "dropped")
		f.exprs(s.Call)
	case *ast.GoStmt:
		f.exprs(s.Call)
	case *ast.ExprStmt:
		f.dropped(s)
		f.exprs(s.X)
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE && !isBlank(s.Lhs) {
			f.around(drop, s, "if !"+on+" { ", " }", "dropped")
			f.assignOp(s)
		}
		f.simple(s)
	case *ast.IncDecStmt:
		f.around(drop, s, "if !"+on+" { ", " }", "dropped")
	case *ast.SendStmt:
		f.around(drop, s, "if !"+on+" { ", " }", "dropped")
		f.exprs(s.Value)
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				for _, e := range spec.(*ast.ValueSpec).Values {
					f.exprs(e)
				}
			}
		}
	}
	f.now = outer
}

// simple finds the changes in a simple statement that is part of another statement, such as the
// initialisation of a loop.
func (f *finder) simple(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, e := range s.Lhs {
			f.exprs(e)
		}
		for _, e := range s.Rhs {
			f.exprs(e)
		}
	case *ast.ExprStmt:
		f.exprs(s.X)
	}
}

func isBlank(lhs []ast.Expr) bool {
	for _, e := range lhs {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// leaves reports whether the block ends by returning, branching or panicking. If so, an if
// statement with the block counts as a check.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch s := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && isPanic(call)
	}
	return false
}

func isPanic(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// add records a change of the code of n.
func (f *finder) add(kind string, n ast.Node, to string, put ...insertion) {
	from, end := f.p.offset(n.Pos()), f.p.offset(n.End())
	for i := range put {
		put[i].span = end - from
	}
	f.now.sites = append(f.now.sites, &site{
		Kind: kind, File: f.s.rel, Line: f.p.line(n.Pos()), Func: f.name, Code: oneLine(f.code(n)), To: oneLine(to),
		src: f.s, from: from, to: end, put: put,
	})
}

func (f *finder) code(n ast.Node) string { return f.p.text(f.s, n.Pos(), n.End()) }

// around records a change that inserts text before and after n.
func (f *finder) around(kind string, n ast.Node, before, after, to string) {
	f.add(kind, n, to, insertion{at: f.p.offset(n.Pos()), text: before}, insertion{at: f.p.offset(n.End()), after: true, text: after})
}

func (f *finder) condition(c ast.Expr) {
	if f.p.info.Types[c].Value != nil {
		return
	}
	f.around(negate, c, "("+on+") != (", ")", "negated")
}

func (f *finder) dropped(s *ast.ExprStmt) {
	call, ok := s.X.(*ast.CallExpr)
	if !ok || isPanic(call) {
		return
	}
	kind := drop
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		switch name := sel.Sel.Name; {
		case name == "KeepAlive":
			return // a test cannot observe the effect of KeepAlive
		case strings.HasSuffix(strings.ToLower(name), "lock"), strings.HasPrefix(name, "lock"), strings.HasPrefix(name, "unlock"):
			kind = lock
		}
	}
	f.around(kind, s, "if !"+on+" { ", " }", "dropped")
}

// assignOp replaces the operator of an assignment such as +=.
func (f *finder) assignOp(s *ast.AssignStmt) {
	op, ok := assignments[s.Tok]
	if !ok || len(s.Lhs) != 1 {
		return
	}
	other := f.code(s.Lhs[0]) + " " + op.String() + " " + f.code(s.Rhs[0])
	f.around(arithmetic, s, "if "+on+" { "+other+" } else { ", " }", op.String())
}

var assignments = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.ADD_ASSIGN,
	token.QUO_ASSIGN: token.MUL_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN,
	token.AND_NOT_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.OR_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
}

var operators = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD, token.QUO: token.MUL, token.REM: token.QUO,
	token.AND: token.OR, token.OR: token.AND, token.XOR: token.OR, token.AND_NOT: token.AND,
	token.SHL: token.SHR, token.SHR: token.SHL, token.LAND: token.LOR, token.LOR: token.LAND,
}

var shifted = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// exprs finds the changes of operators and constants in an expression, and the changes in
// its function literals.
func (f *finder) exprs(e ast.Expr) {
	if e == nil {
		return
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			sig, ok := f.p.info.Types[n].Type.(*types.Signature)
			if ok {
				outer := f.now
				f.body(n.Type, sig, n.Body)
				f.now = outer
			}
			return false
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.BasicLit:
			f.literal(n)
		case *ast.Ident:
			f.truth(n)
		}
		return true
	})
}

func (f *finder) binary(n *ast.BinaryExpr) {
	tv := f.p.info.Types[n]
	if tv.Value != nil || tv.Type == nil {
		return
	}
	kind, op := arithmetic, operators[n.Op]
	if o, ok := shifted[n.Op]; ok {
		kind, op = compare, o
	}
	if op == token.ILLEGAL {
		return
	}
	if b, ok := tv.Type.Underlying().(*types.Basic); !ok || b.Info()&types.IsString != 0 {
		return
	}
	f.choice(kind, n, tv.Type, f.code(n.X)+" "+op.String()+" "+f.code(n.Y), op.String())
}

func (f *finder) literal(n *ast.BasicLit) {
	tv := f.p.info.Types[n]
	if n.Kind != token.INT || tv.Value == nil || tv.Type == nil {
		return
	}
	if b, ok := tv.Type.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		return // the operand is part of a larger constant expression
	}
	v := constant.BinaryOp(constant.ToInt(tv.Value), token.ADD, constant.MakeInt64(1))
	if constant.Compare(constant.ToInt(tv.Value), token.GTR, constant.MakeInt64(1)) && n.Pos()%2 == 0 {
		v = constant.BinaryOp(constant.ToInt(tv.Value), token.SUB, constant.MakeInt64(1))
	}
	f.choice(value, n, tv.Type, v.ExactString(), v.ExactString())
}

// truth replaces true with false, or false with true.
func (f *finder) truth(n *ast.Ident) {
	if n.Name != "true" && n.Name != "false" || f.p.info.Uses[n] != types.Universe.Lookup(n.Name) {
		return
	}
	other := strconv.FormatBool(n.Name == "false")
	f.choice(value, n, f.p.info.Types[n].Type, other, other)
}

// choice makes an expression conditional, by wrapping it in a call of a function literal that
// evaluates either the expression or the one in other. The compiler inlines the literal.
func (f *finder) choice(kind string, n ast.Expr, t types.Type, other, to string) {
	name, ok := f.typeName(t)
	if !ok {
		return
	}
	f.around(kind, n, "func() "+name+" { if "+on+" { return "+other+" }; return ", " }()", to)
}

// typeName formats a type as the file could write it, and reports whether that is possible.
func (f *finder) typeName(t types.Type) (string, bool) {
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	ok := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == f.p.path {
			return ""
		}
		for _, i := range f.s.tree.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); path == p.Path() {
				if i.Name == nil {
					return p.Name()
				}
				if i.Name.Name != "_" && i.Name.Name != "." {
					return i.Name.Name
				}
			}
		}
		ok = false
		return p.Name()
	})
	return name, ok
}

// swallowed makes a return statement return no error instead of its error.
func (f *finder) swallowed(s *ast.ReturnStmt) {
	n := f.sig.Results().Len()
	if n == 0 || len(s.Results) != n {
		return
	}
	none := noError(f.sig.Results().At(n - 1).Type())
	last := s.Results[n-1]
	if none == "" || f.code(last) == none {
		return
	}
	var b strings.Builder
	if call, ok := last.(*ast.CallExpr); ok && !f.p.info.Types[call.Fun].IsType() {
		fmt.Fprintf(&b, "_ = %s; ", f.code(call)) // preserves the side effects of the call
	}
	b.WriteString("return ")
	for _, r := range s.Results[:n-1] {
		b.WriteString(f.code(r) + ", ")
	}
	b.WriteString(none)
	f.around(swallow, s, "if "+on+" { "+b.String()+" }; ", "", b.String())
}

// noError returns the expression for no error: nil, or the success code of a driver
// function.
func noError(t types.Type) string {
	if types.Identical(t, types.Universe.Lookup("error").Type()) {
		return "nil"
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	if c, ok := named.Obj().Pkg().Scope().Lookup("success").(*types.Const); ok && types.Identical(c.Type(), t) {
		return "success"
	}
	return ""
}

// returnsZero reports whether returning early before the statement would change nothing, because
// the statement returns zero values or calls KeepAlive.
func (f *finder) returnsZero(s ast.Stmt) bool {
	if e, ok := s.(*ast.ExprStmt); ok {
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "KeepAlive"
	}
	r, ok := s.(*ast.ReturnStmt)
	if !ok {
		return false
	}
	for _, e := range r.Results {
		tv := f.p.info.Types[e]
		if tv.IsNil() {
			continue
		}
		if tv.Value == nil {
			lit, ok := e.(*ast.CompositeLit)
			if !ok || len(lit.Elts) != 0 {
				return false
			}
			switch tv.Type.Underlying().(type) {
			case *types.Struct, *types.Array:
				continue
			}
			return false
		}
		switch tv.Value.Kind() {
		case constant.Bool:
			if constant.BoolVal(tv.Value) {
				return false
			}
		case constant.String:
			if constant.StringVal(tv.Value) != "" {
				return false
			}
		default:
			if constant.Sign(tv.Value) != 0 {
				return false
			}
		}
	}
	return true
}

// early inserts a return of zero values before the statement s.
func (f *finder) early(s ast.Stmt) {
	if f.returnsZero(s) {
		return
	}
	r := f.types.Results
	if r == nil || len(r.List) == 0 {
		f.add(early, s, "return", insertion{at: f.p.offset(s.Pos()), text: "if " + on + " { return }; "})
		return
	}
	if len(r.List[0].Names) != 0 {
		f.add(early, s, "return", insertion{at: f.p.offset(s.Pos()), text: "if " + on + " { return }; "})
		return
	}
	var vars, names []string
	for i, t := range r.List {
		name := "zero" + strconv.Itoa(i) + "_"
		vars, names = append(vars, "var "+name+" "+f.code(t.Type)+"; "), append(names, name)
	}
	f.add(early, s, "return", insertion{at: f.p.offset(s.Pos()), text: "if " + on + " { " + strings.Join(vars, "") + "return " + strings.Join(names, ", ") + " }; "})
}
