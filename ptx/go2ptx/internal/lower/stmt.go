package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func (f *frame) stmt(s ast.Stmt) { f.inner(s, nil) }

// inner lowers a statement, whose label may be nil.
func (f *frame) inner(s ast.Stmt, label types.Object) {
	f.at(s)
	switch s := s.(type) {
	case *ast.ExprStmt:
		f.exprs(s.X)
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.IncDecStmt:
		f.incDec(s)
	case *ast.DeclStmt:
		f.declStmt(s)
	case *ast.BlockStmt:
		f.block(s.List)
	case *ast.IfStmt:
		f.ifStmt(s)
	case *ast.ForStmt:
		f.forStmt(s, label)
	case *ast.RangeStmt:
		f.rangeStmt(s, label)
	case *ast.SwitchStmt:
		f.switchStmt(s, label)
	case *ast.TypeSwitchStmt:
		f.typeSwitch(s, label)
	case *ast.ReturnStmt:
		f.returnStmt(s)
	case *ast.BranchStmt:
		f.branchStmt(s)
	case *ast.LabeledStmt:
		f.labeled(s)
	case *ast.EmptyStmt:
	default:
		f.refusedStmt(s)
	}
}

func (f *frame) refusedStmt(s ast.Stmt) {
	switch s.(type) {
	case *ast.GoStmt:
		f.errorf(s, "go")
	case *ast.DeferStmt:
		f.errorf(s, "defer")
	case *ast.SelectStmt:
		f.errorf(s, "select")
	case *ast.SendStmt:
		f.errorf(s, "chan")
	default:
		f.errorf(s, "internal", fmt.Sprintf("a statement %T", s))
	}
}

func (f *frame) declStmt(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		f.at(vs)
		values := f.values(vs.Values, len(vs.Names))
		for i, n := range vs.Names {
			obj := f.pkg.Info.Defs[n]
			if obj == nil {
				continue
			}
			t := f.subst(obj.Type())
			v := f.zeroOf(t)
			if len(vs.Values) > 0 {
				v = f.convertTo(vs, values[i], t)
			} else {
				f.layoutAt(t, n.Pos())
			}
			if n.Name != "_" {
				f.declare(obj, t, v)
			}
		}
	}
}

// values evaluates n expressions, or a single call with n results.
func (f *frame) values(list []ast.Expr, n int) []val {
	if len(list) == 1 && n > 1 {
		return f.pad(f.exprs(list[0]), n)
	}
	var values []val
	for _, e := range list {
		v := f.expr(e)
		if len(list) > 1 {
			v = f.snapshot(v, e.Pos())
		}
		values = append(values, v)
	}
	return f.pad(values, n)
}

// pad extends a list to the expected length after an error.
func (f *frame) pad(values []val, n int) []val {
	for len(values) < n {
		values = append(values, f.zeroOf(types.Typ[types.Int]))
	}
	return values
}

func (f *frame) assign(s *ast.AssignStmt) {
	switch s.Tok {
	case token.DEFINE:
		f.define(s)
	case token.ASSIGN:
		f.assignAll(s)
	default:
		x := f.loc(s.Lhs[0])
		op := assignOps[s.Tok]
		t := f.typeOf(s.Lhs[0])
		old := f.load(x)
		var r val
		if op == token.SHL || op == token.SHR {
			r = f.shift(s, op, old, f.expr(s.Rhs[0]), s.Rhs[0])
		} else {
			r = f.binary(s, op, old, f.convertTo(s, f.expr(s.Rhs[0]), t), t)
		}
		f.at(s)
		f.store(x, r)
	}
}

var assignOps = map[token.Token]token.Token{token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL,
	token.QUO_ASSIGN: token.QUO, token.REM_ASSIGN: token.REM, token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR,
	token.XOR_ASSIGN: token.XOR, token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR, token.AND_NOT_ASSIGN: token.AND_NOT}

func (f *frame) define(s *ast.AssignStmt) {
	values := f.values(s.Rhs, len(s.Lhs))
	for i, e := range s.Lhs {
		n, ok := e.(*ast.Ident)
		if !ok || n.Name == "_" {
			continue
		}
		if obj := f.pkg.Info.Defs[n]; obj != nil {
			t := f.subst(obj.Type())
			f.declare(obj, t, f.convertTo(e, values[i], t))
			continue
		}
		x := f.loc(e)
		f.store(x, f.convertTo(e, values[i], x.typ))
	}
}

// assignAll lowers an assignment in Go's order: it evaluates the operands of index expressions and
// pointer indirections on the left, then the right side, and then assigns from left to right.
func (f *frame) assignAll(s *ast.AssignStmt) {
	locs := make([]loc, len(s.Lhs))
	for i, e := range s.Lhs {
		locs[i] = f.loc(e)
	}
	values := f.values(s.Rhs, len(s.Lhs))
	f.at(s)
	for i, x := range locs {
		if x.none {
			continue
		}
		v := f.convertTo(s.Lhs[i], values[i], x.typ)
		f.store(x, v)
	}
}

func (f *frame) incDec(s *ast.IncDecStmt) {
	x := f.loc(s.X)
	op := token.ADD
	if s.Tok == token.DEC {
		op = token.SUB
	}
	one := f.constant(s, x.typ, intConst(1))
	f.store(x, f.binary(s, op, f.load(x), one, x.typ))
}

func (f *frame) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		f.stmt(s.Init)
	}
	then, end := f.newBlock(), f.newBlock()
	els := end
	if s.Else != nil {
		els = f.newBlock()
	}
	f.cond(s.Cond, then, els)
	f.enter(then)
	if !f.dead {
		f.block(s.Body.List)
	}
	f.jump(end)
	if s.Else != nil {
		f.enter(els)
		if !f.dead {
			f.stmt(s.Else)
		}
		f.jump(end)
	}
	f.enter(end)
}

func (f *frame) returnStmt(s *ast.ReturnStmt) {
	if len(s.Results) > 0 {
		values := f.values(s.Results, len(f.results))
		for i, r := range f.results {
			if i < len(values) {
				values[i] = f.convertTo(s, values[i], r.typ)
			}
		}
		f.at(s)
		for i, r := range f.results {
			f.store(f.whole(r), values[i])
		}
	}
	f.leave(f.ctl, exitKey{tok: token.RETURN})
}

// cond evaluates a condition and branches on it.
func (f *frame) cond(e ast.Expr, then, els *ir.Block) {
	if tv := f.pkg.Info.Types[e]; tv.Value == nil {
		switch e := e.(type) {
		case *ast.ParenExpr:
			f.cond(e.X, then, els)
			return
		case *ast.UnaryExpr:
			if e.Op == token.NOT {
				f.cond(e.X, els, then)
				return
			}
		case *ast.BinaryExpr:
			if e.Op == token.LAND || e.Op == token.LOR {
				mid := f.newBlock()
				if e.Op == token.LAND {
					f.cond(e.X, mid, els)
				} else {
					f.cond(e.X, then, mid)
				}
				f.enter(mid)
				if !f.dead {
					f.cond(e.Y, then, els)
				}
				return
			}
		}
	}
	c := f.scalar(f.expr(e))
	f.at(e)
	if c.Type != ir.TBool {
		c = f.bool(false) // an error has been reported
	}
	f.branch(c, then, els)
}
