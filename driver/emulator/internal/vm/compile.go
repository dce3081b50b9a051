package vm

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/purecuda/cuda/ptx"
)

// Function pointers are addresses in functionWindow. Function i has the address functionWindow +
// i*functionStep. The addresses contain no code.
const (
	functionWindow = 0x6e00_0000_0000
	functionStep   = 16
)

type compiler struct {
	opts    CompileOptions
	mod     *Module
	sources []*source
	exports map[string]*symbol // symbols that other sources may refer to
	funcs   []*symbol          // functions by number
	errs    CompileErrors
	room    uint32 // result of variadicRoom; 0 if not computed yet

	statics    map[static]*symbol // variables declared in functions, placed like module-level ones
	constBytes int
	placed     uint64 // number of bytes charged for variables so far

	// Programs of kernels (see build.go).
	mu       sync.Mutex
	size     int // number of statements in all functions
	lowered  int // number of statements lowered so far
	checked  map[*symbol]bool
	checkAll bool // every function has been checked for errors
}

// static is a .global or .const variable declared in a function.
type static struct {
	decl *ptx.Variable
	name string
}

// source is one PTX file with its private names.
type source struct {
	index int
	mod   *ptx.Module
	syms  map[string]*symbol
	files map[int]string // file names from .file
}

type symbol struct {
	name   string
	src    *source
	fn     *ptx.Function // the function that the symbol names
	v      *ptx.Variable // the variable that the symbol names
	id     int           // number of a function
	addr   uint64        // address of a global or constant
	target string        // symbol to which an alias refers

	reserved bool // the variable's memory has been charged
}

func compile(opts CompileOptions, mods []*ptx.Module) (*Module, error) {
	if err := CheckNumbers(opts, mods...); err != nil {
		return nil, err
	}
	c := &compiler{opts: opts, exports: map[string]*symbol{}, statics: map[static]*symbol{}, checked: map[*symbol]bool{}}
	c.mod = &Module{mem: opts.Memory, opts: opts, kernels: map[string]*Kernel{}, vars: map[string]*Variable{}}
	for i, m := range mods {
		c.addSource(i, m)
	}
	if c.measure(); len(c.errs) == 0 {
		c.placeVariables()
	}
	if len(c.errs) == 0 {
		c.initialise()
	}
	for _, s := range c.sources {
		for _, d := range s.mod.Decls {
			if f, ok := d.(*ptx.Function); ok && f.Entry {
				c.entry(s, f)
			}
		}
	}
	if len(c.errs) != 0 {
		c.mod.Close()
		sort.SliceStable(c.errs, func(i, j int) bool { return c.errs[i].Line < c.errs[j].Line })
		return nil, c.errs
	}
	return c.mod, nil
}

func (c *compiler) fail(s *source, pos ptx.Pos, kind CompileErrorKind, format string, args ...any) {
	c.errs = append(c.errs, &CompileError{File: s.mod.Name, Line: int(pos.Line), Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

func (c *compiler) addSource(i int, m *ptx.Module) {
	s := &source{index: i, mod: m, syms: map[string]*symbol{}, files: map[int]string{}}
	c.sources = append(c.sources, s)
	c.checkTarget(s)
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *ptx.Function:
			c.addFunction(s, d)
		case *ptx.Variable:
			for _, v := range c.expand(d) {
				c.addVariable(s, v)
			}
		case *ptx.File:
			s.files[d.Index] = d.Name
		case *ptx.Alias:
			s.syms[d.Name] = &symbol{name: d.Name, src: s, target: d.Target}
		}
	}
}

// checkTarget rejects a module whose .target exceeds the device's compute capability. It ignores a
// suffix such as the a in sm_90a.
func (c *compiler) checkTarget(s *source) {
	for _, t := range s.mod.Targets {
		digits := strings.TrimRight(strings.TrimPrefix(t, "sm_"), "abcdefghijklmnopqrstuvwxyz")
		n, err := strconv.Atoi(digits)
		if strings.HasPrefix(t, "sm_") && err == nil && c.opts.ComputeCapability != 0 && n > c.opts.ComputeCapability {
			c.fail(s, ptx.Pos{}, CompileTarget, "target %s is above the device's compute capability %d.%d", t, c.opts.ComputeCapability/10, c.opts.ComputeCapability%10)
		}
	}
}

// expand returns the variables that a parameterised declaration such as a<3> creates.
func (c *compiler) expand(v *ptx.Variable) []*ptx.Variable {
	if v.Count == 0 {
		return []*ptx.Variable{v}
	}
	c.lowered += v.Count
	out := make([]*ptx.Variable, v.Count)
	for i := range out {
		e := *v
		e.Name, e.Count = v.Name+strconv.Itoa(i), 0
		out[i] = &e
	}
	return out
}

func (c *compiler) addFunction(s *source, f *ptx.Function) {
	old := s.syms[f.Name]
	if old != nil && old.fn != nil && old.fn.Body != nil && f.Body != nil {
		c.fail(s, f.Pos, CompileInvalid, "function %s is defined twice", f.Name)
		return
	}
	if old == nil {
		old = &symbol{name: f.Name, src: s, fn: f, id: len(c.funcs)}
		c.funcs = append(c.funcs, old)
		s.syms[f.Name] = old
	} else if f.Body != nil {
		old.fn = f
	}
	if f.Body != nil && f.Linkage != ptx.NoLinkage {
		if e := c.exports[f.Name]; e == nil || e.fn.Linkage == ptx.Weak {
			c.exports[f.Name] = old
		} else if e != old && f.Linkage != ptx.Weak {
			c.fail(s, f.Pos, CompileInvalid, "function %s is defined in two modules", f.Name)
		}
	}
}

func (c *compiler) addVariable(s *source, v *ptx.Variable) {
	old := s.syms[v.Name]
	if old != nil && old.v != nil && old.v.Linkage != ptx.Extern && v.Linkage == ptx.Extern {
		return
	}
	sym := &symbol{name: v.Name, src: s, v: v}
	if old != nil {
		old.v = v
		sym = old
	}
	s.syms[v.Name] = sym
	if v.Linkage == ptx.Visible || v.Linkage == ptx.Weak || v.Linkage == ptx.Common {
		if e := c.exports[v.Name]; e == nil || e.v == nil || e.v.Linkage != ptx.Visible {
			c.exports[v.Name] = sym
		} else if e != sym && v.Linkage == ptx.Visible {
			c.fail(s, v.Pos, CompileInvalid, "variable %s is defined in two modules", v.Name)
		}
	}
}

// lookup finds a module-level name visible in source s, following .alias and .extern. It returns
// nil if the name is undefined.
func (c *compiler) lookup(s *source, name string) *symbol {
	for range 16 { // the longest chain of aliases that is allowed
		sym := s.syms[name]
		if sym == nil || sym.target == "" {
			return c.definition(sym)
		}
		name = sym.target
	}
	return nil
}

// definition returns the symbol in another source that defines sym. If there is none, it returns
// sym.
func (c *compiler) definition(sym *symbol) *symbol {
	if sym == nil {
		return nil
	}
	undefined := sym.fn != nil && sym.fn.Body == nil
	linked := sym.v != nil && (sym.v.Linkage == ptx.Extern || sym.v.Linkage == ptx.Weak || sym.v.Linkage == ptx.Common) && sym.v.Space != ptx.SharedSpace
	if undefined || linked {
		if e := c.exports[sym.name]; e != nil {
			return e
		}
	}
	return sym
}

// sizeOf returns a variable's size in bytes, or the largest uint64 on overflow. An unsized array
// has size 0.
func sizeOf(v *ptx.Variable) uint64 {
	n := uint64(v.Type.Size()) * uint64(max(v.Vector, 1))
	for _, d := range v.Dims {
		if d == ptx.Unsized {
			d = int64(unsizedLen(v))
		}
		over, size := bits.Mul64(n, uint64(d))
		if over != 0 {
			size = math.MaxUint64
		}
		n = size
	}
	return n
}

// unsizedLen returns the length of an unsized dimension: the number of elements in the initialiser,
// or 0 if there is no initialiser.
func unsizedLen(v *ptx.Variable) int {
	if v.Init == nil || !v.Init.List {
		return 0
	}
	return len(v.Init.Elems)
}

func alignOf(v *ptx.Variable) uint64 {
	return uint64(max(v.Align, v.Type.Size()*max(v.Vector, 1), 1))
}

// placeVariables assigns an address to every global and constant if all of them fit into memory.
func (c *compiler) placeVariables() {
	ok := true
	c.eachVariable(func(sym *symbol) {
		if ok && c.defines(sym) && !sym.reserved {
			ok = c.reserve(sym)
		}
	})
	if ok {
		c.eachVariable(c.placeVariable)
	}
}

// eachVariable calls f for each .global and .const variable at module level.
func (c *compiler) eachVariable(f func(sym *symbol)) {
	for _, s := range c.sources {
		for _, d := range s.mod.Decls {
			v, ok := d.(*ptx.Variable)
			if !ok || v.Space != ptx.GlobalSpace && v.Space != ptx.ConstSpace {
				continue
			}
			if v.Count == 0 {
				if sym := s.syms[v.Name]; sym.v == v {
					f(sym)
				}
				continue
			}
			for i := range v.Count {
				f(s.syms[v.Name+strconv.Itoa(i)])
			}
		}
	}
}

// defines reports whether sym defines a variable that has no address yet.
func (c *compiler) defines(sym *symbol) bool {
	return sym.addr == 0 && sym.v.Linkage != ptx.Extern && c.definition(sym) == sym
}

func (c *compiler) placeVariable(sym *symbol) {
	v := sym.v
	if !c.defines(sym) || !sym.reserved && !c.reserve(sym) {
		return
	}
	o := AllocOptions{Device: c.opts.Device, Kind: RegionGlobal, Align: alignOf(v), Tag: "variable " + v.Name}
	if v.Space == ptx.ConstSpace {
		o.Kind, o.ReadOnly = RegionConst, true
	}
	for _, a := range v.Attributes {
		if a.Name == "managed" {
			o.Kind = RegionManaged
		}
	}
	if c.opts.Tag != "" {
		o.Tag += " of " + c.opts.Tag
	}
	addr, err := c.opts.Memory.Alloc(sizeOf(v), o)
	if err != nil {
		c.fail(sym.src, v.Pos, CompileMemory, "variable %s: %v", v.Name, err)
		return
	}
	sym.addr = addr
	c.mod.regions = append(c.mod.regions, addr)
	mv := &Variable{Name: v.Name, Addr: addr, Size: sizeOf(v), Const: o.ReadOnly}
	if c.mod.vars[v.Name] == nil {
		c.mod.vars[v.Name] = mv
		c.mod.varList = append(c.mod.varList, mv)
	}
}

// variableUnit is the granularity, in bytes, to which the charge for a variable is rounded up.
const variableUnit = 512

// reserve charges a variable's memory. It returns false if the variable does not fit.
func (c *compiler) reserve(sym *symbol) bool {
	size := sizeOf(sym.v)
	if limit := c.opts.MemoryLimit; limit != 0 && (limit < c.placed || limit-c.placed < size) {
		c.fail(sym.src, sym.v.Pos, CompileMemory, "variable %s: %d bytes are more than the device has left", sym.name, size)
		return false
	}
	c.placed += roundUp(size, variableUnit)
	c.mod.bytes = c.placed
	sym.reserved = true
	return true
}

func functionAddr(id int) uint64 { return functionWindow + uint64(id)*functionStep }

// entry compiles a kernel. A kernel without a body must be defined in another source, unless its
// declaration is .extern.
func (c *compiler) entry(s *source, f *ptx.Function) {
	if f.Body != nil {
		c.kernel(s, f)
		return
	}
	if sym := c.lookup(s, f.Name); f.Linkage != ptx.Extern && (sym == nil || sym.fn == nil || sym.fn.Body == nil) {
		c.fail(s, f.Pos, CompileUnresolved, "kernel %s is not defined", f.Name)
	}
}

// ISA features that this engine lacks. A module that uses one of them is valid PTX, so the error
// names the missing feature.

// missing maps the names of instructions to the unsupported features that they belong to.
var missing = map[string]string{}

func init() {
	for what, names := range map[string]string{
		"textures and surfaces":               "tex tld4 txq istypep suld sust sured suq",
		"multicast between devices":           "multimem",
		"matrix products of warpgroups":       "wgmma",
		"tensor maps":                         "tensormap",
		"tensor memory":                       "tcgen05",
		"control of the launch from a device": "clusterlaunchcontrol",
		"scalar video instructions":           "vadd vsub vabsdiff vmin vmax vshl vmad vset",
	} {
		for _, n := range strings.Fields(names) {
			missing[n] = what
		}
	}
}

func (l *lowerer) missing(what string) {
	l.fail(CompileUnsupported, "instruction is not supported by the emulator, which has no %s", what)
}

// unsupported records an instruction form that is not implemented. Package isa has already verified
// that the form exists.
func (l *lowerer) unsupported() {
	l.fail(CompileUnsupported, "form is not supported by the emulator")
}

func (l *lowerer) unknown(name string) {
	if what := missing[name]; what != "" {
		l.missing(what)
		return
	}
	l.fail(CompileUnsupported, "instruction is not supported by the emulator")
}
