package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func (f *frame) switchStmt(s *ast.SwitchStmt, label types.Object) {
	if s.Init != nil {
		f.stmt(s.Init)
	}
	var tag *val
	if s.Tag != nil {
		v := f.expr(s.Tag)
		if isUntyped(v.typ) && !isNil(v.typ) {
			v = f.convertTo(s.Tag, v, types.Default(v.typ))
		}
		tag = &v
	}
	end := f.newBlock()
	bodies := make([]*ir.Block, len(s.Body.List))
	for i := range bodies {
		bodies[i] = f.newBlock()
	}
	def := end
	for i, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil {
			def = bodies[i]
		}
		for _, e := range clause.List {
			next := f.newBlock()
			f.caseExpr(tag, e, bodies[i], next)
			f.enter(next)
			if f.dead {
				break
			}
		}
	}
	f.jump(def)
	f.ctl = &scope{outer: f.ctl, label: label, brk: end}
	for i, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		// A fallthrough in the previous clause may also lead to this body.
		f.enter(bodies[i])
		list, falls := clause.Body, false
		if n := len(list); n > 0 {
			if b, ok := list[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
				list, falls = list[:n-1], true
			}
		}
		if !f.dead {
			f.block(list)
		}
		if falls && i+1 < len(bodies) {
			f.jump(bodies[i+1])
		} else {
			f.jump(end)
		}
	}
	f.ctl = f.ctl.outer
	f.enter(end)
}

// caseExpr branches to body if the tag equals e. If there is no tag, e is a condition.
func (f *frame) caseExpr(tag *val, e ast.Expr, body, next *ir.Block) {
	if tag == nil {
		f.cond(e, body, next)
		return
	}
	x, y := *tag, f.expr(e)
	switch {
	case isNil(y.typ) || isUntyped(y.typ):
		y = f.convertTo(e, y, x.typ)
	case types.IsInterface(x.typ) && !types.IsInterface(y.typ):
		y = f.convertTo(e, y, x.typ)
	case types.IsInterface(y.typ) && !types.IsInterface(x.typ):
		x = f.convertTo(e, x, y.typ)
	}
	f.at(e)
	f.branch(f.equal(e, x, y), body, next)
}

// typeSwitch lowers a type switch. The dynamic type must be known at compile time.
func (f *frame) typeSwitch(s *ast.TypeSwitchStmt, label types.Object) {
	if s.Init != nil {
		f.stmt(s.Init)
	}
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = ast.Unparen(a.X).(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		x = ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr).X
	}
	v := f.expr(x)
	b, ok := f.dynamic(x, v)
	if !ok {
		return
	}
	clause, single := f.matchingClause(s, b)
	if clause == nil {
		return
	}
	end := f.newBlock()
	f.ctl = &scope{outer: f.ctl, label: label, brk: end}
	if obj := f.pkg.Info.Implicits[clause]; obj != nil {
		t := f.subst(obj.Type())
		if single && b != nil && !types.IsInterface(t) {
			v = b.v
		}
		f.declare(obj, t, val{typ: t, leaves: v.leaves, from: v.from, zero: v.zero})
	}
	f.block(clause.Body)
	f.ctl = f.ctl.outer
	f.jump(end)
	f.enter(end)
}

// matchingClause returns the clause that matches the dynamic type, and whether that clause lists
// exactly one type.
func (f *frame) matchingClause(s *ast.TypeSwitchStmt, b *boxed) (*ast.CaseClause, bool) {
	var def *ast.CaseClause
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil {
			def = clause
		}
		for _, e := range clause.List {
			isNilCase := f.pkg.Info.Types[e].IsNil()
			if isNilCase && b == nil || !isNilCase && b != nil && f.implements(b.v.typ, f.typeOf(e)) {
				return clause, len(clause.List) == 1
			}
		}
	}
	return def, false
}
