package lower

import (
	"encoding/binary"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// varKey identifies a module variable.
type varKey struct {
	obj  types.Object
	pos  token.Pos
	text string
}

// moduleVar is a package-level variable or a variable in shared memory.
type moduleVar struct {
	v       *ir.Var
	leaves  []leaf // set if the value is known at compile time
	failed  bool
	working bool
}

// packageVar returns the location of a package-level variable.
func (f *frame) packageVar(n ast.Node, obj *types.Var) loc {
	t := obj.Type()
	inGo := f.l.inGo
	defer func() { f.l.inGo = inGo }()
	f.l.inGo = f.goEntry(n, obj)
	if e := f.l.inGo; e.pos.IsValid() && source.HostOnly(obj.Pkg().Path()) {
		if !f.dead {
			f.l.goError(e, e.in+" works only on the host")
		}
		return loc{none: true, typ: t}
	}
	key := varKey{obj: obj}
	m := f.l.vars[key]
	if m == nil {
		m = &moduleVar{working: true}
		f.l.vars[key] = m
		f.l.initialize(m, obj, n)
		m.working = false
	}
	switch {
	case m.working:
		f.errorf(n, "init-var", obj.Name())
		m.failed = true
	case m.v != nil:
		return loc{typ: t, ptr: f.global(m.v)}
	case m.leaves != nil:
		x := f.newVar(obj.Name(), t, n.Pos(), tagTemp)
		for i, leaf := range m.leaves {
			f.write(x, i, f.relocate(leaf))
		}
		return f.whole(x)
	}
	return loc{none: true, typ: t}
}

// tableAddress is the address of a constant table.
type tableAddress struct{ v *ir.Var }

// relocate makes the leaf of a package-level constant usable in the current function.
func (f *frame) relocate(x leaf) leaf {
	switch x := x.(type) {
	case tableAddress:
		return f.global(x.v)
	case *ir.Value:
		return f.builder.f.Const(x.Type, x.Aux)
	}
	return x
}

// initialize evaluates the initial value of a package-level variable.
func (l *lowerer) initialize(m *moduleVar, obj *types.Var, use ast.Node) {
	t := obj.Type()
	pkg, init := l.initOf(obj)
	if pkg == nil {
		l.errorf(use.Pos(), "init-var", obj.Name())
		return
	}
	global, constant := isNamed(t, pathGPU, "Global"), isNamed(t, pathGPU, "Constant")
	if !global && !constant && l.isChanged(obj) {
		l.errorf(use.Pos(), "assign-var", obj.Name())
		return
	}
	now, inGo := l.now, l.inGo
	defer func() { l.now, l.inGo = now, inGo }()
	s := l.scratch(pkg)
	lay := s.layoutAt(t, obj.Pos())
	switch {
	case lay.err != "":
	case global || constant:
		space := ir.Const
		if global {
			space = ir.Global
		}
		m.v = s.table(obj, init, lay, space)
		if m.v != nil {
			m.v.Visible = true
			m.v.Package, m.v.Object = obj.Pkg().Path(), obj.Name()
		}
	case lay.static() || !hasArray(lay):
		m.leaves = s.constLeaves(init, t, obj)
	default:
		m.v = s.table(obj, init, lay, ir.Const)
	}
}

func hasArray(lay *layout) bool {
	if lay.elem != nil {
		return true
	}
	for _, f := range lay.fields {
		if hasArray(f.layout) {
			return true
		}
	}
	return false
}

// scratch returns a frame for evaluating constant expressions.
func (l *lowerer) scratch(pkg *source.Package) *frame {
	b := newBuilder(l, &ir.Func{Module: l.mod})
	b.scratch = true
	f := &frame{builder: b, pkg: pkg, vars: map[types.Object]*variable{}, key: "init"}
	f.ret = f.newBlock()
	return f
}

// initOf returns the initializer of a package-level variable, or nil if it has none.
func (l *lowerer) initOf(obj *types.Var) (*source.Package, ast.Expr) {
	pkg := l.prog.PackageOf(obj.Pkg())
	if pkg == nil {
		return nil, nil
	}
	for _, file := range pkg.Files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				vs := s.(*ast.ValueSpec)
				for i, n := range vs.Names {
					switch {
					case pkg.Info.Defs[n] != obj:
					case len(vs.Values) == 0:
						return pkg, nil
					case len(vs.Values) == len(vs.Names):
						return pkg, vs.Values[i]
					default:
						return nil, nil
					}
				}
			}
		}
	}
	return nil, nil
}

// constLeaves evaluates an expression whose leaves are all known at compile time.
func (f *frame) constLeaves(e ast.Expr, t types.Type, obj *types.Var) []leaf {
	if e == nil {
		return f.zeroOf(t).leaves
	}
	if c, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
		if s, ok := under(t).(*types.Slice); ok {
			return f.constSlice(c, s, obj)
		}
	}
	errs := len(f.l.errs)
	v := f.convertTo(e, f.expr(e), t)
	leaves := make([]leaf, len(v.leaves))
	for i, x := range v.leaves {
		x = f.resolveLeaf(x)
		if r, ok := x.(*ir.Value); ok && r.Op == ir.OpGlobal {
			x = tableAddress{r.Var}
		} else if !isConstLeaf(x) {
			if len(f.l.errs) == errs {
				f.l.errorf(e.Pos(), "init-var", obj.Name())
			}
			return nil
		}
		leaves[i] = x
	}
	return leaves
}

func isConstLeaf(x leaf) bool {
	switch x := x.(type) {
	case *ir.Value:
		return x.Op == ir.OpConst
	case constString, nilLeaf, *closure:
		return true
	}
	return false
}

// constSlice creates a table for a slice literal.
func (f *frame) constSlice(c *ast.CompositeLit, s *types.Slice, obj *types.Var) []leaf {
	n := f.literalLen(c)
	lay := f.layoutAt(types.NewArray(s.Elem(), n), c.Pos())
	v := f.table(obj, c, lay, ir.Const)
	if v == nil {
		return nil
	}
	return []leaf{tableAddress{v}, f.int(n), f.int(n)}
}

const maxTable = 1 << 26

// table creates a variable with an initial value.
func (f *frame) table(obj *types.Var, init ast.Expr, lay *layout, space ir.Space) *ir.Var {
	if lay.static() || lay.size > maxTable && init != nil {
		f.l.errorf(obj.Pos(), "init-var", obj.Name())
		return nil
	}
	v := &ir.Var{Name: f.l.unique(obj.Name()), Space: space, Size: int(max(lay.size, 1)), Align: int(max(lay.align, 1))}
	if init != nil {
		v.Init = make([]byte, lay.size)
		t := obj.Type()
		if s, ok := under(t).(*types.Slice); ok {
			t = types.NewArray(s.Elem(), lay.n)
		}
		if call, ok := ast.Unparen(init).(*ast.CallExpr); ok && (isNamed(t, pathGPU, "Global") || isNamed(t, pathGPU, "Constant")) {
			init, t = call.Args[0], under(t).(*types.Struct).Field(0).Type()
		}
		if !f.fill(v.Init, init, t) {
			f.l.errorf(init.Pos(), "init-var", obj.Name())
			return nil
		}
	}
	f.l.mod.Vars = append(f.l.mod.Vars, v)
	return v
}

// fill writes the bytes of a constant value to data.
func (f *frame) fill(data []byte, e ast.Expr, t types.Type) bool {
	lay := f.l.layout(t)
	if c, ok := ast.Unparen(e).(*ast.CompositeLit); ok && lay.leaf == nil {
		ok := true
		switch u := under(t).(type) {
		case *types.Array:
			f.elements(c, func(i int64, x ast.Expr) {
				at := i * lay.elem.size
				ok = ok && at+lay.elem.size <= int64(len(data)) && f.fill(data[at:at+lay.elem.size], x, u.Elem())
			})
			return ok
		case *types.Struct:
			f.fieldValues(c, u, func(i int, x ast.Expr) {
				fl := lay.fields[i]
				ok = ok && f.fill(data[fl.offset:fl.offset+fl.size], x, u.Field(i).Type())
			})
			return ok
		}
		return false
	}
	if lay.big() {
		return false
	}
	var v val
	if c, ok := e.(*ast.CompositeLit); ok {
		v = f.literalElem(c, t)
	} else {
		v = f.convertTo(e, f.expr(e), t)
	}
	for i, x := range v.leaves {
		r, ok := f.resolveLeaf(x).(*ir.Value)
		if !ok || r.Op != ir.OpConst {
			return false
		}
		lt, off := lay.at(i)
		put(data[off:], lt.mem, r.Aux)
	}
	return true
}

func put(data []byte, m ir.Mem, bits int64) {
	switch m.Size() {
	case 1:
		data[0] = byte(bits)
	case 2:
		binary.LittleEndian.PutUint16(data, uint16(bits))
	case 4:
		binary.LittleEndian.PutUint32(data, uint32(bits))
	case 8:
		binary.LittleEndian.PutUint64(data, uint64(bits))
	}
}

// isChanged reports whether code that a kernel can reach assigns to the variable.
func (l *lowerer) isChanged(obj *types.Var) bool {
	for _, pkg := range l.prog.Packages {
		if l.changed[pkg.Types] == nil {
			l.changed[pkg.Types] = assigned(pkg)
		}
		if l.changed[pkg.Types][obj] {
			return true
		}
	}
	return false
}

// assigned returns the variables that a package's code assigns to, in whole or in part.
func assigned(pkg *source.Package) map[types.Object]bool {
	set := map[types.Object]bool{}
	mark := func(e ast.Expr) {
		for e != nil {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				if pkg.Info.Selections[x] == nil {
					e = x.Sel
				} else {
					e = x.X
				}
			case *ast.Ident:
				set[pkg.Info.Uses[x]] = true
				return
			default:
				return
			}
		}
	}
	for _, file := range pkg.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					mark(e)
				}
			case *ast.IncDecStmt:
				mark(n.X)
			case *ast.RangeStmt:
				mark(n.Key)
				mark(n.Value)
			}
			return true
		})
	}
	return set
}
