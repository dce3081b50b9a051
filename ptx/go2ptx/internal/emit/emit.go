// Package emit translates the compiler's intermediate representation to PTX.
package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/isa"
)

// Lines selects how much line information the PTX contains.
type Lines uint8

const (
	NoLines      Lines = iota
	SourceLines        // .loc directives
	InlinedLines       // .loc directives that include inlined calls, which require PTX 7.2
)

// Options configure the output.
type Options struct {
	// Target is the oldest target the PTX must support, such as "sm_80". The output may use every
	// instruction of that target. If Target is empty, the output supports the oldest target that
	// can express the code.
	Target string
	Lines  Lines
}

// defaultArch selects the instructions that may be used if Options.Target is empty.
const defaultArch = 52

// Emit translates m to a PTX module under construction, which also records the errors. Emit splits
// critical edges and replaces comparisons by negations of others in m's functions, and does not change them otherwise.
func Emit(m *ir.Module, o Options) *build.Module {
	e := &module{ir: m, options: o, out: build.New(build.Config{MinTarget: o.Target}), arch: defaultArch,
		vars: map[*ir.Var]*build.Var{}, funcs: map[*ir.Func]*build.Func{}, callees: map[*ir.Func][]*ir.Func{}, recursive: map[*ir.Func]bool{}}
	if t, ok := ptx.ParseTarget(o.Target); ok {
		e.arch = 10*t.Major + t.Minor
	}
	for _, v := range m.Vars {
		e.variable(v)
	}
	for _, f := range m.Externs {
		x := &fn{m: e, f: f, b: e.out.Extern(f.Name)}
		x.funcParams()
		e.funcs[f] = x.b
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if v.Op == ir.OpCall {
					e.callees[f] = append(e.callees[f], v.Callee)
				}
			}
		}
	}
	var all []*fn
	for _, f := range e.calleesFirst(m.Funcs) {
		all = append(all, e.declare(f))
	}
	for _, f := range all {
		f.emit()
	}
	return e.out
}

// calleesFirst returns the functions in an order in which few of them need a declaration before their definition:
// only those that call each other.
func (e *module) calleesFirst(list []*ir.Func) (all []*ir.Func) {
	seen := map[*ir.Func]bool{}
	var visit func(f *ir.Func)
	visit = func(f *ir.Func) {
		if seen[f] {
			return
		}
		seen[f] = true
		for _, c := range e.callees[f] {
			if slices.Contains(list, c) {
				visit(c)
			}
		}
		all = append(all, f)
	}
	for _, f := range list {
		visit(f)
	}
	return all
}

type module struct {
	ir      *ir.Module
	options Options
	out     *build.Module
	arch    int
	vars    map[*ir.Var]*build.Var
	funcs   map[*ir.Func]*build.Func

	fault     *build.Var
	callees   map[*ir.Func][]*ir.Func
	recursive map[*ir.Func]bool // what recurses has found
}

// recurses reports whether a call of f can reach a function that can call itself, directly or through others.
func (e *module) recurses(f *ir.Func) bool {
	if _, known := e.recursive[f]; !known {
		e.recursive[f] = slices.ContainsFunc(e.reached(f), func(g *ir.Func) bool { return slices.Contains(e.reached(g), g) })
	}
	return e.recursive[f]
}

// indirect reports whether a call is made through a register. For sm_90, ptxas 11.8 to 13.0 crashes on some modules
// with a cycle in the graph of direct calls, for example if the kernel's only call into the cycle is in a loop that
// ptxas considers dead. It also crashes on some kernels that shuffle or vote, and call directly a function that is not
// in a cycle but leads to one. And it crashes on some kernels that call into a cycle through a register.
func (e *module) indirect(caller, callee *ir.Func) bool {
	if after := e.reached(callee); slices.Contains(after, callee) {
		return slices.Contains(after, caller)
	}
	return e.recurses(callee)
}

// reached returns the functions that a call of f can reach: f only if it can call itself.
func (e *module) reached(f *ir.Func) (all []*ir.Func) {
	for todo := []*ir.Func{f}; len(todo) > 0; todo = todo[1:] {
		for _, c := range e.callees[todo[0]] {
			if !slices.Contains(all, c) {
				all, todo = append(all, c), append(todo, c)
			}
		}
	}
	return all
}

// withRecursion reports whether recurses holds for f or a function that can call it. Ptxas may inline f there.
func (e *module) withRecursion(f *ir.Func) bool {
	return slices.ContainsFunc(e.ir.Funcs, func(g *ir.Func) bool {
		return e.recurses(g) && (g == f || slices.Contains(e.reached(g), f))
	})
}

func (e *module) variable(v *ir.Var) {
	var b *build.Var
	switch {
	case v.Extern:
		b = e.out.DynamicShared(v.Name, ptx.B8)
	case v.Space == ir.Shared:
		b = e.out.Shared(v.Name, ptx.B8, int64(max(v.Size, 1)))
	case v.Space == ir.Const:
		b = e.out.Const(v.Name, ptx.B8, int64(max(v.Size, 1)))
	case v.Space == ir.Global:
		b = e.out.Global(v.Name, ptx.B8, int64(max(v.Size, 1)))
	default:
		e.out.Fail(fmt.Sprintf("the variable %s is in space %s", v.Name, v.Space))
		return
	}
	if v.Align > 0 {
		b.Align(v.Align)
	}
	if v.Visible {
		b.Linkage(ptx.Visible)
	}
	if v.Init != nil {
		b.InitBytes(v.Init)
	}
	e.vars[v] = b
}

// declare declares the function, its parameters and its directives in the PTX module.
func (e *module) declare(f *ir.Func) *fn {
	x := &fn{m: e, f: f, places: map[ir.Pos]int32{}}
	if f.Kernel {
		x.b = e.out.Kernel(f.Name)
		x.kernelParams()
		x.directives()
	} else {
		x.b = e.out.Func(f.Name)
		x.funcParams()
	}
	e.funcs[f] = x.b
	return x
}

func (x *fn) kernelParams() {
	for i, p := range x.f.Params {
		name := x.paramName(i)
		if len(p.Parts) == 1 && p.Parts[0].Offset == 0 && p.Parts[0].Mem.Size() == p.Size {
			b := x.b.Param(name, paramTypes[p.Parts[0].Mem])
			if p.Parts[0].Mem == ir.MPtr {
				b.Ptr(spaces[p.Parts[0].Space], p.Pointee)
			}
			x.params = append(x.params, b)
			continue
		}
		x.params = append(x.params, x.b.Param(name, ptx.B8).Array(int64(max(p.Size, 1))).Align(max(p.Align, 1)))
	}
}

// paramName returns the PTX name of kernel parameter i. It is the parameter's name in Go, because
// launch errors show it, unless that name conflicts with PTX or with the emitted code.
func (x *fn) paramName(i int) string {
	name := x.f.Params[i].Name
	if !simpleName(name) || isa.Forms(name) != nil || x.m.declares(name) {
		return fmt.Sprintf("%s_param_%d", x.f.Name, i)
	}
	return name
}

// simpleName reports whether a name is a valid PTX identifier that cannot conflict with the names
// in emitted code, such as slot0 and arg0.
func simpleName(name string) bool {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if digit := '0' <= r && r <= '9' || r == '_'; !letter && (i == 0 || !digit) {
			return false
		}
	}
	stem := strings.TrimRight(name, "0123456789")
	return !slices.Contains([]string{"", "slot", "arg", "WARP_SZ", "vprintf", "cudaGraphSetConditional"}, stem)
}

// declares reports whether the module has a variable or function with this name.
func (e *module) declares(name string) bool {
	return slices.ContainsFunc(e.ir.Vars, func(v *ir.Var) bool { return v.Name == name }) ||
		slices.ContainsFunc(e.ir.Funcs, func(f *ir.Func) bool { return f.Name == name })
}

func (x *fn) directives() {
	l := x.f.Launch
	dims := func(d [3]int) (a, b, c uint32) {
		return uint32(max(d[0], 1)), uint32(max(d[1], 1)), uint32(max(d[2], 1))
	}
	if l.Block != [3]int{} {
		if l.Required {
			x.b.ReqNTID(dims(l.Block))
		} else {
			x.b.MaxNTID(dims(l.Block))
		}
	}
	if l.MinBlocks > 0 {
		x.b.MinNCTAPerSM(uint32(l.MinBlocks))
	}
	if l.MaxRegs > 0 {
		x.b.MaxNReg(uint32(l.MaxRegs))
	}
	if l.Cluster != [3]int{} {
		x.b.ReqNCTAPerCluster(dims(l.Cluster))
	}
}

// paramTypes are the PTX types of scalar kernel parameters. Launchers check arguments against them.
var paramTypes = map[ir.Mem]ptx.Type{
	ir.MBool: ptx.U8, ir.MS8: ptx.S8, ir.MU8: ptx.U8, ir.MS16: ptx.S16, ir.MU16: ptx.U16, ir.M32: ptx.U32, ir.M64: ptx.U64,
	ir.MF16: ptx.B16, ir.MBF16: ptx.B16, ir.MF32: ptx.F32, ir.MF64: ptx.F64, ir.MPtr: ptx.U64,
}

var spaces = map[ir.Space]ptx.Space{
	ir.Generic: ptx.GenericSpace, ir.Global: ptx.GlobalSpace, ir.Shared: ptx.SharedSpace, ir.Local: ptx.LocalSpace, ir.Const: ptx.ConstSpace,
}

// regTypes are the types of registers. Numbers of one size have one type, so bitcasts need no instructions.
var regTypes = map[ir.Kind]ptx.Type{
	ir.Bool: ptx.Pred, ir.I32: ptx.B32, ir.I64: ptx.B64, ir.Ptr: ptx.B64, ir.F16: ptx.B16, ir.BF16: ptx.B16, ir.F32: ptx.B32, ir.F64: ptx.B64,
}
