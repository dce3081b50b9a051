package build

import (
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// Func is a kernel or a device function under construction. As an operand, it stands for the
// function's address.
type Func struct {
	m          *Module
	node       ptx.Function
	index      int
	early      bool // a function or an initializer before this function refers to it
	body       []ptx.Stmt
	blocks     []*ptx.Block // open nested blocks, outermost first
	params     []*Param
	results    []*Param
	names      map[string]bool // names of parameters and local variables
	order      []string        // names in the order of declaration
	regs       map[ptx.Type]int
	labels     []*label
	located    map[Pos]bool // positions for which a .loc was added
	prototypes int
	instrs     slab[ptx.Instr]
	operands   slab[ptx.Operand]
	registry   slab[register]
}

// Kernel adds a kernel (.visible .entry).
func (m *Module) Kernel(name string) *Func {
	f := m.function(name)
	f.node.Entry, f.node.Linkage = true, ptx.Visible
	return f
}

// Func adds a device function (.func), private to the module.
func (m *Module) Func(name string) *Func { return m.function(name) }

// Extern declares a device function that is defined in another module or by the driver. Its
// parameters and results are added in the same way as for other functions.
func (m *Module) Extern(name string) *Func {
	f := m.function(name)
	f.node.Linkage = ptx.Extern
	return f
}

// Vprintf declares the driver's vprintf function. Its parameters are the addresses of the format
// and of the arguments. Its result is the number of arguments.
func (m *Module) Vprintf() *Func {
	return m.known("vprintf", func(f *Func) {
		f.Result("result", ptx.B32)
		f.Param("format", ptx.B64)
		f.Param("arguments", ptx.B64)
	})
}

// GraphSetConditional declares cudaGraphSetConditional, which sets the value of a graph's
// conditional node. Its parameters are the handle and the value.
func (m *Module) GraphSetConditional() *Func {
	return m.known("cudaGraphSetConditional", func(f *Func) {
		f.Param("handle", ptx.B64)
		f.Param("value", ptx.B32)
	})
}

func (m *Module) known(name string, signature func(f *Func)) *Func {
	if m.ready() {
		for _, f := range m.funcs {
			if f.node.Name == name && f.node.Linkage == ptx.Extern {
				return f
			}
		}
	}
	f := m.Extern(name)
	signature(f)
	return f
}

func (m *Module) function(name string) *Func {
	f := &Func{m: m, node: ptx.Function{Name: name}, names: map[string]bool{}, regs: map[ptx.Type]int{}, located: map[Pos]bool{}}
	if m.ready() {
		m.declare(name)
		f.index = len(m.funcs)
		m.funcs = append(m.funcs, f)
	}
	return f
}

func (f *Func) fail(problem string) {
	if f.ready() {
		f.m.fail(f.node.Name, problem)
	}
}

func (f *Func) ready() bool { return f != nil && f.m.ready() }

// Fail adds an error, which Build returns together with all other errors.
func (f *Func) Fail(problem string) { f.fail(problem) }

// Name returns the function's name.
func (f *Func) Name() string {
	if f == nil {
		return ""
	}
	return f.node.Name
}

// Module returns the module of the function.
func (f *Func) Module() *Module {
	if f == nil {
		return nil
	}
	return f.m
}

// Linkage sets the visibility to other modules and returns f.
func (f *Func) Linkage(l ptx.Linkage) *Func {
	if f.ready() {
		f.node.Linkage = l
	}
	return f
}

// Doc adds a comment before the function and returns f.
func (f *Func) Doc(text string) *Func {
	if f.ready() {
		f.node.Doc = text
	}
	return f
}

// Directive adds a directive to the function's header and returns f. The name has no leading dot,
// as in "maxntid" or "noreturn".
func (f *Func) Directive(name string, args ...uint64) *Func {
	if f.ready() {
		f.node.Perf = append(f.node.Perf, ptx.Directive{Name: name, Args: args})
		if !isName(name) {
			f.fail(strconv.Quote(name) + " is not a directive")
		}
	}
	return f
}

// ReqNTID sets the block dimensions that every launch must use (.reqntid) and returns f.
func (f *Func) ReqNTID(x, y, z uint32) *Func { return f.sizes("reqntid", x, y, z) }

// MaxNTID limits the block dimensions (.maxntid) and returns f.
func (f *Func) MaxNTID(x, y, z uint32) *Func { return f.sizes("maxntid", x, y, z) }

// ReqNCTAPerCluster sets the cluster dimensions that every launch must use and returns f.
func (f *Func) ReqNCTAPerCluster(x, y, z uint32) *Func { return f.sizes("reqnctapercluster", x, y, z) }

func (f *Func) sizes(name string, x, y, z uint32) *Func {
	return f.Directive(name, uint64(x), uint64(y), uint64(z))
}

// MinNCTAPerSM requests at least n blocks per multiprocessor and returns f.
func (f *Func) MinNCTAPerSM(n uint32) *Func { return f.Directive("minnctapersm", uint64(n)) }

// MaxNReg limits the number of registers per thread and returns f.
func (f *Func) MaxNReg(n uint32) *Func { return f.Directive("maxnreg", uint64(n)) }

// NoReturn states that the function does not return to its caller, and returns f.
func (f *Func) NoReturn() *Func { return f.Directive("noreturn") }

// Param is a parameter or a result of a function, in the .param space.
type Param struct {
	f    *Func
	node *ptx.Variable
}

func (p *Param) ready() bool { return p != nil && p.node != nil && p.f != nil }

// Param adds a parameter.
func (f *Func) Param(name string, t ptx.Type) *Param {
	p := f.newParam(name, t)
	if p != nil {
		f.params = append(f.params, p)
		f.node.Params = append(f.node.Params, p.node)
	}
	return p
}

// Result adds a result of a device function.
func (f *Func) Result(name string, t ptx.Type) *Param {
	p := f.newParam(name, t)
	if p != nil {
		f.results = append(f.results, p)
		f.node.Return = append(f.node.Return, p.node)
		if f.node.Entry {
			f.fail("a kernel has no results")
		}
	}
	return p
}

func (f *Func) newParam(name string, t ptx.Type) *Param {
	if !f.ready() {
		return nil
	}
	f.local(name)
	return &Param{f, &ptx.Variable{Space: ptx.ParamSpace, Type: t, Name: name}}
}

// local reserves a name in the function's scope.
func (f *Func) local(name string) {
	switch {
	case !isName(name):
		f.fail(notName(name))
	case f.names[name]:
		f.fail("the name " + name + " is declared twice in one function")
	}
	f.names[name] = true
	f.order = append(f.order, name)
}

// Name returns the parameter's name.
func (p *Param) Name() string {
	if !p.ready() {
		return ""
	}
	return p.node.Name
}

// Align sets the parameter's alignment in bytes and returns p.
func (p *Param) Align(bytes int) *Param {
	if p.ready() {
		p.node.Align = bytes
		if bytes <= 0 || bytes&(bytes-1) != 0 {
			p.f.fail("the alignment of " + p.node.Name + " is " + strconv.Itoa(bytes) + ": it must be a power of two")
		}
	}
	return p
}

// Array makes the parameter an array of n elements, such as the bytes of a struct, and returns p.
func (p *Param) Array(n int64) *Param {
	if p.ready() {
		p.node.Dims = []int64{n}
	}
	return p
}

// Ptr declares that a kernel's parameter is a pointer into a state space. align is the alignment in
// bytes of the memory it points to, or 0 if unknown. Ptr returns p.
func (p *Param) Ptr(space ptx.Space, align int) *Param {
	if p.ready() {
		p.node.Ptr = &ptx.Pointer{Space: space, Align: align}
	}
	return p
}

// At returns the address operand [p+offset]. The offset is in bytes.
func (p *Param) At(offset int64) Operand { return address{p, offset, nil} }

// Plus returns the operand p+offset, an address as a value. The offset is in bytes.
func (p *Param) Plus(offset int64) Operand { return sum{p, offset} }

func (p *Param) operand(f *Func) (ptx.Operand, string) {
	switch {
	case !p.ready():
		return nil, "is not a parameter: Func.Param creates one"
	case p.f != f:
		return nil, "is " + p.node.Name + ", a parameter of " + p.f.node.Name
	}
	return &ptx.Sym{Name: p.node.Name}, ""
}

func (f *Func) operand(from *Func) (ptx.Operand, string) {
	switch {
	case f == nil || f.m == nil:
		return nil, "is not a function: Module.Func creates one"
	case from != nil && f.m != from.m:
		return nil, "is " + f.node.Name + ", a function of another module"
	}
	f.early = f.early || from == nil || from.index < f.index
	return &ptx.Sym{Name: f.node.Name}, ""
}
