package lower

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// Options apply to all kernels of a program.
type Options struct {
	NoBounds bool
	Trap     bool
	NoFMA    bool
	Arch     int // target architecture, such as 80; 0 means the oldest possible one
}

// Lower compiles the kernels of a program. If there are errors, the returned module is incomplete.
func Lower(p *source.Program, o Options) (*ir.Module, []*Error) {
	l := newLowerer(p, o)
	for _, k := range p.Kernels {
		l.kernel(k)
	}
	return l.finish()
}

// LowerFunc compiles a single non-generic function. Its parameters and results are split into
// scalars.
func LowerFunc(p *source.Program, fn *types.Func, o Options) (*ir.Module, []*Error) {
	l := newLowerer(p, o)
	l.funcOf(instance{fn: fn})
	return l.finish()
}

func (l *lowerer) finish() (*ir.Module, []*Error) {
	for len(l.queue) > 0 {
		job := l.queue[0]
		l.queue = l.queue[1:]
		job()
	}
	l.inGo = goEntry{}
	l.layoutVars()
	if len(l.errs) == 0 {
		l.checkHeaders()
	}
	slices.SortStableFunc(l.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	l.errs = slices.CompactFunc(l.errs, func(a, b *Error) bool { return *a == *b })
	return l.mod, l.errs
}

type lowerer struct {
	prog    *source.Program
	mod     *ir.Module
	opt     Options
	errs    []*Error
	now     token.Pos // position of the code being lowered
	inGo    goEntry
	ctxt    *types.Context
	layouts map[types.Type]*layout
	locals  map[localKey]types.Type
	files   map[string]int32
	queue   []func()

	// Facts that earlier attempts to lower the current function have found.
	again    bool
	inMemory map[varID]bool
	varying  map[varLeaf]bool
	recurse  map[string]bool // recursive instances
	sites    map[siteKey]int
	attempt  int

	closures map[string]*closure
	funcs    map[string]*ir.Func
	entries  map[string]goEntry // for functions that are not inlined: how each was first reached
	externs  map[string]*ir.Func
	names    map[string]bool
	strings  map[string]*ir.Var
	vars     map[varKey]*moduleVar
	headers  []header
	changed  map[*types.Package]map[types.Object]bool
}

type varLeaf struct {
	id varID
	i  int
}

type siteKey struct {
	outer int
	pos   token.Pos
	tag   int
}

func newLowerer(p *source.Program, o Options) *lowerer {
	return &lowerer{prog: p, opt: o, mod: &ir.Module{}, ctxt: types.NewContext(), layouts: map[types.Type]*layout{},
		locals: map[localKey]types.Type{}, files: map[string]int32{},
		inMemory: map[varID]bool{}, varying: map[varLeaf]bool{}, recurse: map[string]bool{}, sites: map[siteKey]int{},
		closures: map[string]*closure{}, funcs: map[string]*ir.Func{}, entries: map[string]goEntry{}, externs: map[string]*ir.Func{}, names: map[string]bool{}, strings: map[string]*ir.Var{},
		vars: map[varKey]*moduleVar{}, changed: map[*types.Package]map[types.Object]bool{}}
}

// retry records a fact for the next attempt to lower the function.
func retry[K comparable](l *lowerer, key K, set map[K]bool) {
	if !set[key] {
		set[key] = true
		l.again = true
	}
}

// retry records a fact in one of the lowerer's sets and requests another attempt.
func (l *lowerer) retry(key any, set any) {
	switch set := set.(type) {
	case map[varID]bool:
		retry(l, key.(varID), set)
	case map[varLeaf]bool:
		retry(l, key.(varLeaf), set)
	case map[string]bool:
		retry(l, key.(string), set)
	}
}

// site returns the number of a call within the call chain outer. It is the same in every attempt.
func (l *lowerer) site(outer int, pos token.Pos, tag int) int {
	k := siteKey{outer, pos, tag}
	n, ok := l.sites[k]
	if !ok {
		n = len(l.sites) + 1
		l.sites[k] = n
	}
	return n
}

// maxAttempts is far more than programs need. Each attempt finds at least one more variable that
// needs a slot, or a similar fact.
const maxAttempts = 200

// attempts lowers a function repeatedly, until an attempt discovers nothing new.
func (l *lowerer) attempts(f *ir.Func, pos token.Pos, body func(*builder)) {
	errs, inlines := len(l.errs), len(l.mod.Inlines)
	for l.attempt = 0; ; l.attempt++ {
		l.errs, l.mod.Inlines = l.errs[:errs], l.mod.Inlines[:inlines]
		*f = ir.Func{Name: f.Name, GoName: f.GoName, Kernel: f.Kernel, Module: l.mod, Launch: f.Launch, Options: f.Options, Pos: f.Pos}
		l.again = false
		b := newBuilder(l, f)
		l.protect(pos, func() {
			body(b)
			b.finish()
		})
		switch {
		case !l.again:
			return
		case l.attempt > maxAttempts:
			l.now, l.inGo = pos, goEntry{}
			l.errorf(pos, "too-large")
			return
		}
	}
}

// protect calls the function do and reports a panic of the compiler as an error.
func (l *lowerer) protect(pos token.Pos, do func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooLarge:
			l.again, l.inGo = false, goEntry{}
			l.errorf(pos, "too-large")
		default:
			l.again = false
			if debugPanics {
				panic(r)
			}
			l.errorf(l.now, "internal", fmt.Sprint(r))
		}
	}()
	do()
}

// debugPanics lets panics through instead of reporting them as errors. Tests set it.
var debugPanics = false

// kernel lowers a kernel.
func (l *lowerer) kernel(k *source.Kernel) {
	f := l.mod.NewFunc(k.Name)
	l.names[k.Name] = true
	f.Kernel = true
	f.GoName = l.goName(k.Obj)
	f.Pos, _ = l.position(k.Decl.Pos())
	d := k.Directives
	f.Launch = ir.Launch{Block: d.Block, Required: d.Block[0] > 0, Cluster: d.Cluster, MinBlocks: d.MinBlocks, MaxRegs: d.MaxRegs}
	if d.MaxBlock > 0 {
		f.Launch.Block = [3]int{d.MaxBlock, 1, 1}
	}
	f.Options = ir.Options{NoBounds: l.opt.NoBounds, Trap: l.opt.Trap || d.Trap, NoFMA: l.opt.NoFMA || d.NoFMA}
	l.attempts(f, k.Decl.Pos(), func(b *builder) {
		in := instance{fn: k.Obj, args: k.Instance}
		fr := b.topFrame(in, k.Pkg, k.Decl)
		if fr == nil {
			return
		}
		b.kernelParams(fr, k)
		fr.run(k.Decl.Body)
		b.cur.Ret()
		b.stop()
	})
}

// instance is a function with its type arguments.
type instance struct {
	fn   *types.Func // the generic function rather than an instance of it
	args []types.Type
}

func (l *lowerer) key(in instance) string {
	s := in.fn.FullName() + fmt.Sprintf("@%d", in.fn.Pos())
	for _, t := range in.args {
		s += "," + l.typeName(t)
	}
	return s
}

func (l *lowerer) goName(fn *types.Func) string {
	name := fn.Name()
	if r := fn.Signature().Recv(); r != nil {
		t := types.TypeString(r.Type(), func(*types.Package) string { return "" })
		name = t + "." + name
		if _, ok := r.Type().(*types.Pointer); ok {
			name = "(" + t + ")." + fn.Name()
		}
	}
	if fn.Pkg() != nil {
		name = fn.Pkg().Name() + "." + name
	}
	return name
}

// funcOf returns the module function for an instance. The function is lowered later.
func (l *lowerer) funcOf(in instance) *ir.Func {
	key := l.key(in)
	if f := l.funcs[key]; f != nil {
		return f
	}
	f := l.mod.NewFunc(l.unique(in.fn.Name()))
	l.funcs[key] = f
	f.GoName = l.goName(in.fn)
	pkg, decl := l.prog.Body(in.fn)
	if decl == nil || decl.Body == nil {
		l.errorf(l.now, "no-body", in.fn.Name())
		return f
	}
	f.Pos, _ = l.position(decl.Pos())
	f.Options = ir.Options{NoBounds: l.opt.NoBounds, Trap: l.opt.Trap, NoFMA: l.opt.NoFMA}
	l.signature(f, in)
	l.queue = append(l.queue, func() { l.function(f, in, pkg, decl) })
	return f
}

func (l *lowerer) function(f *ir.Func, in instance, pkg *source.Package, decl *ast.FuncDecl) {
	results := f.Results
	params := f.Params
	l.attempts(f, decl.Pos(), func(b *builder) {
		f.Results, f.Params = results, params
		fr := b.topFrame(in, pkg, decl)
		if fr == nil {
			return
		}
		b.funcParams(fr)
		fr.run(decl.Body)
		var values []*ir.Value
		for _, r := range fr.results {
			for i := range r.lay.leaves {
				values = append(values, b.value(b.read2(r, i)))
			}
		}
		b.cur.Ret(values...)
		b.stop()
	})
}

// unique returns an unused name for a function or variable of the module.
func (l *lowerer) unique(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || ptxName("a"+string(r)) {
			return r
		}
		return '_' // Go identifiers may contain any Unicode letter
	}, name)
	for i, n := 0, name; ; i++ {
		if i > 0 {
			n = fmt.Sprintf("%s_%d", name, i)
		}
		if !l.names[n] {
			l.names[n] = true
			return n
		}
	}
}
