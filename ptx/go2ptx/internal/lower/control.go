package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// scope is an enclosing statement that break, continue or goto can refer to.
type scope struct {
	outer     *scope
	label     types.Object // label of the statement
	brk, cont *ir.Block
	labels    map[types.Object]*ir.Block // blocks that goto can jump to
	body      *bodyCall                  // set if the scope is the body of a range over a function
}

// rangeFunc is a range statement over a function.
type rangeFunc struct {
	f     *frame
	stmt  *ast.RangeStmt
	outer *scope
	label types.Object
	code  *variable // how the body was left: 0 for break, otherwise an index into exits plus one
	done  *variable // whether further calls of the body are forbidden
	exits []exit
	loop  *loop
}

// bodyCall is an inlined call of the body of a range over a function.
type bodyCall struct {
	*rangeFunc
	ret    *ir.Block
	result *variable
}

// exit is a way to leave the body of a range over a function. Equivalent exits have equal keys.
type exit struct {
	key exitKey
	do  func()
}

type exitKey struct {
	tok   token.Token
	label types.Object
}

// body lowers the statements of a function or of the body of a range over a function.
func (f *frame) body(body *ast.BlockStmt, s *scope) {
	s.outer, f.ctl = f.ctl, s
	s.labels = map[types.Object]*ir.Block{}
	var order []*ir.Block
	inspectFunc(body, func(n ast.Node) {
		if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO {
			obj := f.pkg.Info.Uses[b.Label]
			if obj != nil && s.labels[obj] == nil && declares(body, f, obj) {
				blk := f.newBlock()
				s.labels[obj] = blk
				order = append(order, blk)
			}
		}
	})
	f.block(body.List)
	for _, blk := range order {
		f.seal(blk)
	}
	f.ctl = s.outer
}

// inspectFunc visits the nodes of a function, but skips function literals.
func inspectFunc(root ast.Node, visit func(ast.Node)) {
	ast.Inspect(root, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

// declares reports whether a function body declares a label outside of the bodies of ranges over
// functions.
func declares(body ast.Node, f *frame, obj types.Object) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.RangeStmt:
			if f.isRangeFunc(n) {
				return false
			}
		case *ast.LabeledStmt:
			found = found || f.pkg.Info.Defs[n.Label] == obj
		}
		return !found
	})
	return found
}

func (f *frame) isRangeFunc(n *ast.RangeStmt) bool {
	_, ok := under(f.typeOf(n.X)).(*types.Signature)
	return ok
}

func under(t types.Type) types.Type {
	if t == nil {
		return types.Typ[types.Invalid]
	}
	return t.Underlying()
}

// block lowers a list of statements.
func (f *frame) block(list []ast.Stmt) {
	saved := f.loop
	for _, s := range list {
		if f.dead {
			if _, ok := s.(*ast.LabeledStmt); !ok {
				continue
			}
		}
		f.stmt(s)
	}
	f.loop = saved
}

// labeled lowers a labeled statement.
func (f *frame) labeled(s *ast.LabeledStmt) {
	obj := f.pkg.Info.Defs[s.Label]
	if blk := f.ctl.findLabel(obj); blk != nil {
		f.jump(blk)
		f.start(blk)
		// Each goto back to the label creates new instances of the variables declared after it, so
		// the label starts a loop.
		f.loop = &loop{f.loop}
	}
	if !f.dead {
		f.inner(s.Stmt, obj)
	}
}

// findLabel returns the block of a label in the current body, or nil.
func (s *scope) findLabel(obj types.Object) *ir.Block {
	for ; s != nil && s.body == nil; s = s.outer {
		if b := s.labels[obj]; b != nil {
			return b
		}
	}
	if s != nil {
		return s.labels[obj]
	}
	return nil
}

// branchStmt lowers break, continue and goto. Fallthrough is handled by the switch statement.
func (f *frame) branchStmt(s *ast.BranchStmt) {
	var label types.Object
	if s.Label != nil {
		label = f.pkg.Info.Uses[s.Label]
	}
	f.leave(f.ctl, exitKey{s.Tok, label})
}

// leave jumps to the target of a break, continue, goto or return.
func (f *frame) leave(from *scope, key exitKey) {
	for s := from; s != nil; s = s.outer {
		if to := s.matches(key); to != nil {
			f.jump(to)
			return
		}
		if s.body != nil {
			f.leaveBody(s.body, key)
			return
		}
	}
	if key.tok == token.RETURN {
		f.jump(f.ret)
		return
	}
	f.l.errorf(f.l.now, "internal", "no place for "+key.tok.String())
	f.stop()
}

func (s *scope) matches(key exitKey) *ir.Block {
	switch key.tok {
	case token.GOTO:
		return s.labels[key.label]
	case token.BREAK:
		if key.label == nil || key.label == s.label {
			return s.brk
		}
	case token.CONTINUE:
		if key.label == nil || key.label == s.label {
			return s.cont
		}
	}
	return nil
}

// leaveBody ends a call of the body of a range over a function.
func (f *frame) leaveBody(b *bodyCall, key exitKey) {
	mine := key.label == nil || key.label == b.label
	if key.tok == token.CONTINUE && mine {
		f.setBool(b.result, true)
		f.setBool(b.done, false)
		f.jump(b.ret)
		return
	}
	code := 0
	if key.tok != token.BREAK || !mine {
		code = b.exitCode(f, key)
	}
	f.store(f.whole(b.code), single(types.Typ[types.Int], f.int(int64(code))))
	f.setBool(b.result, false)
	f.jump(b.ret)
}

func (f *frame) setBool(v *variable, x bool) {
	f.store(f.whole(v), single(types.Typ[types.Bool], f.bool(x)))
}

func (r *rangeFunc) exitCode(f *frame, key exitKey) int {
	for i, e := range r.exits {
		if e.key == key {
			return i + 1
		}
	}
	r.exits = append(r.exits, exit{key, func() { f.leave(r.outer, key) }})
	return len(r.exits)
}

// rangeOverFunc lowers a range over a function as a call of that function, with the loop body as
// yield.
func (f *frame) rangeOverFunc(s *ast.RangeStmt, label types.Object) {
	fn := f.expr(s.X)
	boolean := types.Typ[types.Bool]
	r := &rangeFunc{f: f, stmt: s, outer: f.ctl, label: label, loop: &loop{f.loop}}
	r.code = f.temp("code", types.Typ[types.Int], s.For, tagCode, single(types.Typ[types.Int], f.int(0)))
	r.done = f.temp("done", boolean, s.For, tagDone, single(boolean, f.bool(false)))
	sig, ok := under(fn.typ).(*types.Signature)
	if !ok || sig.Params().Len() != 1 {
		f.errorf(s.X, "func-known")
		return
	}
	yield := &closure{f: f, body: r, typ: sig.Params().At(0).Type()}
	f.callFunc(s.X, fn, []val{single(sig.Params().At(0).Type(), yield)})
	f.at(s)
	// Go requires a panic if the body is called after the loop has ended. That cannot happen here,
	// because yield cannot escape.
	for i, e := range r.exits {
		code := f.scalar(f.load(f.whole(r.code)))
		yes, no := f.newBlock(), f.newBlock()
		f.branch(f.cmp(ir.Eq, code, f.int(int64(i+1))), yes, no)
		f.enter(yes)
		if !f.dead {
			e.do()
		}
		f.jump(no)
		f.enter(no)
	}
}

// callBody inlines the body of a range over a function in place of a call of yield.
func (f *frame) callBody(call ast.Node, r *rangeFunc, args []val) val {
	boolean := types.Typ[types.Bool]
	in := r.f
	ctl, lp, now, pos, inGo := in.ctl, f.loop, f.l.now, f.pos, f.l.inGo
	b := &bodyCall{rangeFunc: r, ret: f.newBlock()}
	b.result = f.temp("more", boolean, call.Pos(), tagResult, single(boolean, f.bool(false)))
	f.check("panic", "range function continued iteration after function for loop body returned false", f.not(f.scalar(f.load(f.whole(r.done)))))
	f.setBool(r.done, true)
	f.loop = &loop{f.loop}
	site := f.site
	f.site = f.l.site(site, call.Pos(), tagBody)
	if in.depthLimit() {
		return f.zeroOf(boolean)
	}
	f.l.inGo = f.literalEntry(call, in)
	in.ctl = &scope{outer: r.outer, body: b}
	in.assignRange(r.stmt, args)
	inner := &scope{}
	in.body(r.stmt.Body, inner)
	in.leave(in.ctl, exitKey{tok: token.CONTINUE})
	in.ctl, f.site, f.loop = ctl, site, lp
	f.enter(b.ret)
	f.l.now, f.pos, f.l.inGo = now, pos, inGo
	return f.load(f.whole(b.result))
}

// depthLimit reports an error and returns true if inlined calls are nested too deeply.
func (f *frame) depthLimit() bool {
	if f.depth > maxDepth {
		f.l.errorf(f.l.now, "too-large")
		return true
	}
	return false
}
