package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// frame is the state of a function while it is lowered, either inlined or as a module function.
type frame struct {
	*builder
	pkg      *source.Package
	env      targs
	outer    *frame // for a function literal: the enclosing function
	caller   *frame
	at0      ast.Node // position of the call in the caller
	key      string   // key of the instance
	entry    goEntry  // how the function was reached, if it belongs to the Go distribution
	lit      *ast.FuncLit
	depth    int
	inline   int32
	nobounds bool
	vars     map[types.Object]*variable
	decl     *types.Signature // the signature as declared
	sig      *types.Signature // the signature with type arguments substituted
	results  []*variable
	ret      *ir.Block
	ctl      *scope
}

// maxDepth limits how deeply inlined calls may be nested.
const maxDepth = 250

// topFrame returns the frame of a module function.
func (b *builder) topFrame(in instance, pkg *source.Package, decl *ast.FuncDecl) *frame {
	sig := in.fn.Signature()
	env := b.l.env(in)
	b.l.inGo = b.l.entries[b.l.key(in)]
	f := &frame{builder: b, pkg: pkg, env: env, key: b.l.key(in), entry: b.l.inGo, vars: map[types.Object]*variable{}}
	f.decl = sig
	f.sig = b.l.subst(sig, env).(*types.Signature)
	f.nobounds = b.f.Options.NoBounds || b.l.prog.Directives(in.fn).NoBounds
	f.at(decl)
	f.declareResults(sig, decl.Type)
	f.ret = b.newBlock()
	return f
}

// env maps the type parameters of an instance to its type arguments.
func (l *lowerer) env(in instance) targs {
	sig := in.fn.Signature()
	list := sig.TypeParams()
	if sig.Recv() != nil {
		list = sig.RecvTypeParams()
	}
	env := targs{}
	for i := range min(list.Len(), len(in.args)) {
		env[list.At(i)] = in.args[i]
	}
	return env
}

// at sets the source position of the instructions that follow.
func (f *frame) at(n ast.Node) {
	if n != nil {
		f.atPos(n.Pos())
	}
}

func (f *frame) atPos(p token.Pos) {
	if p.IsValid() {
		f.l.now = p
		f.pos, _ = f.l.position(p)
		f.pos.Inline = f.inline
	}
}

func (f *frame) errorf(n ast.Node, id string, args ...any) {
	if f.dead {
		return
	}
	for f.caller != nil && f.pkg.Path == pathGPU { // report the position of the user's call
		f, n = f.caller, f.at0
	}
	f.l.errorf(n.Pos(), id, args...)
}

// run lowers the body. Lowering continues at the function's return.
func (f *frame) run(body *ast.BlockStmt) {
	f.body(body, &scope{})
	f.atPos(body.Rbrace)
	f.jump(f.ret)
	f.enter(f.ret)
}

// newVar creates a variable without a value.
func (f *frame) newVar(name string, t types.Type, pos token.Pos, tag int) *variable {
	lay := f.layoutAt(t, pos)
	v := &variable{name: name, typ: t, lay: lay, id: varID{f.site, pos, tag}, loop: f.loop}
	v.mem = lay.big() || f.l.inMemory[v.id]
	if lay.big() && lay.static() {
		f.l.errorf(pos, "func-in-memory")
		v.lay, v.mem, v.refused = f.l.layout(types.NewTuple()), false, true
	}
	return v
}

// layoutAt returns the layout of a type and reports an error if the type cannot be used.
func (f *frame) layoutAt(t types.Type, pos token.Pos) *layout {
	lay := f.l.layout(t)
	if lay.err != "" {
		if !f.dead {
			f.l.errorf(pos, "type", f.typeText(t), lay.err)
		}
		return &layout{align: 1}
	}
	return lay
}

func (f *frame) typeText(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(f.pkg.Types))
}

// declare creates the variable of a Go object and assigns a value to it.
func (f *frame) declare(obj types.Object, t types.Type, v val) *variable {
	x := f.newVar(obj.Name(), t, obj.Pos(), 0)
	f.vars[obj] = x
	f.store(f.whole(x), v)
	return x
}

func (f *frame) whole(v *variable) loc { return loc{typ: v.typ, v: v, none: v.refused} }

// temp creates a variable for the compiler's own use.
func (f *frame) temp(name string, t types.Type, pos token.Pos, tag int, v val) *variable {
	x := f.newVar(name, t, pos, tag)
	f.store(f.whole(x), v)
	return x
}

// Tags distinguish compiler-generated variables at the same source position.
const (
	tagNone = iota
	tagResult
	tagTemp
	tagIter
	tagCode
	tagDone
	tagReceiver
	tagLiteral
	tagNew
	tagPhi
	tagSnapshot
	tagCopy
	tagBody  // only for call sites
	tagParam = 1000
)

func (f *frame) declareResults(sig *types.Signature, ft *ast.FuncType) {
	pos := ft.Pos()
	for i := range sig.Results().Len() {
		r := sig.Results().At(i)
		t := f.subst(r.Type())
		v := f.temp("result", t, pos, tagResult+1000*(i+1), f.zeroOf(t))
		if r.Name() != "" && r.Name() != "_" {
			v.name = r.Name()
			f.vars[r] = v
		}
		f.results = append(f.results, v)
	}
}

func (f *frame) subst(t types.Type) types.Type { return f.l.subst(t, f.env) }

// typeOf returns the type of an expression in the current instance.
func (f *frame) typeOf(e ast.Expr) types.Type {
	t := f.pkg.Info.TypeOf(e)
	if t == nil {
		return types.Typ[types.Invalid]
	}
	return f.subst(t)
}

// lookup returns a local variable of this function or of an enclosing one, or nil.
func (f *frame) lookup(obj types.Object) *variable {
	for ; f != nil; f = f.outer {
		if v := f.vars[obj]; v != nil {
			return v
		}
	}
	return nil
}

// read2 reads a leaf of a variable, from SSA form or from memory.
func (b *builder) read2(v *variable, i int) leaf {
	if !v.mem {
		return b.read(v, i)
	}
	lt, off := v.lay.at(i)
	x := b.opAux(ir.OpLoad, lt.regType(), off, b.slot(v))
	x.Mem = lt.mem
	return x
}

// maxParamBytes is the maximum size of a kernel's parameters. Only targets from sm_70 on allow that
// much, and PTX 8.1. Without this check, a larger array would be compiled for seconds before the
// text is rejected.
const maxParamBytes = 32764

// kernelParams declares the parameters of a kernel.
func (b *builder) kernelParams(f *frame, k *source.Kernel) {
	sig := k.Obj.Signature()
	index := 0
	var size int64
	for i := range sig.Params().Len() {
		p := sig.Params().At(i)
		t := f.subst(p.Type())
		lay := f.layoutAt(t, p.Pos())
		if lay.static() {
			f.l.errorf(p.Pos(), "func-param", f.typeText(t))
			continue
		}
		if lay.leaves == 0 {
			f.declareParam(p, t, f.zeroOf(t))
			continue
		}
		if size += lay.size; size > maxParamBytes {
			f.l.errorf(p.Pos(), "param-bytes", k.Name, fmt.Sprint(size), fmt.Sprint(maxParamBytes))
			f.declareParam(p, t, f.zeroOf(t))
			continue
		}
		q := ir.Param{Name: p.Name(), Size: int(lay.size), Align: int(lay.align), Restrict: k.Directives.Restricted(p.Name()) && source.IsMemory(p.Type())}
		if p.Name() == "" || p.Name() == "_" {
			q.Name = "p" + string(rune('0'+i%10))
		}
		var leaves []leaf
		for j := range lay.leaves {
			lt, off := lay.at(j)
			part := ir.Part{Offset: int(off), Mem: lt.mem, Len: lt.len}
			reg := lt.regType()
			if lt.kind == pointer || lt.kind == text {
				part.Space = ir.Global
				reg.Space = ir.Global
			}
			q.Parts = append(q.Parts, part)
			leaves = append(leaves, b.opAux(ir.OpParam, reg, int64(index), nil...))
			index++
		}
		b.f.Params = append(b.f.Params, q)
		f.declareLeaves(p, t, leaves)
	}
}

func (f *frame) declareParam(p *types.Var, t types.Type, v val) {
	f.declare(p, t, v)
}

// declareLeaves declares a parameter of any size, given its scalar parts.
func (f *frame) declareLeaves(p *types.Var, t types.Type, leaves []leaf) {
	x := f.newVar(p.Name(), t, p.Pos(), 0)
	f.vars[p] = x
	f.storeLeaves(x, leaves)
}

func (f *frame) storeLeaves(x *variable, leaves []leaf) {
	for i, leaf := range leaves {
		if !x.mem {
			f.write(x, i, leaf)
			continue
		}
		lt, off := x.lay.at(i)
		s := f.opAux(ir.OpStore, ir.TNone, off, f.slot(x), f.value(leaf))
		s.Mem = lt.mem
	}
}

// params returns the receiver, if any, followed by the parameters.
func params(sig *types.Signature) []*types.Var {
	var list []*types.Var
	if r := sig.Recv(); r != nil {
		list = append(list, r)
	}
	for i := range sig.Params().Len() {
		list = append(list, sig.Params().At(i))
	}
	return list
}

// signature sets the parameters and results of a module function.
func (l *lowerer) signature(f *ir.Func, in instance) {
	env := l.env(in)
	sig := in.fn.Signature()
	add := func(v *types.Var, each func(*leafType)) {
		t := l.subst(v.Type(), env)
		lay := l.layout(t)
		if lay.err != "" || lay.static() || lay.big() {
			l.errorf(v.Pos(), "func-param", l.typeName(t))
			return
		}
		for i := range lay.leaves {
			lt, _ := lay.at(i)
			each(lt)
		}
	}
	for _, v := range params(sig) {
		add(v, func(lt *leafType) {
			f.Params = append(f.Params, ir.Param{Name: v.Name(), Size: lt.mem.Size(), Align: lt.mem.Size(), Parts: []ir.Part{{Mem: lt.mem}}})
		})
	}
	for i := range sig.Results().Len() {
		add(sig.Results().At(i), func(lt *leafType) { f.Results = append(f.Results, lt.regType()) })
	}
}

// funcParams declares the parameters of a module function.
func (b *builder) funcParams(f *frame) {
	index := 0
	for _, v := range params(f.decl) {
		t := f.subst(v.Type())
		lay := f.l.layout(t)
		var leaves []leaf
		if lay.err == "" && !lay.static() && !lay.big() {
			for i := range lay.leaves {
				lt, _ := lay.at(i)
				leaves = append(leaves, b.opAux(ir.OpParam, lt.regType(), int64(index)))
				index++
			}
		}
		x := f.newVar(v.Name(), t, v.Pos(), 0)
		f.vars[v] = x
		if len(leaves) == x.lay.leaves {
			f.storeLeaves(x, leaves)
		}
	}
}
