package build

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// slab allocates many small values with few allocations.
type slab[T any] struct{ free []T }

const slabSize = 64

func (s *slab[T]) one() *T { return &s.many(1)[0] }

func (s *slab[T]) many(n int) []T {
	if n > len(s.free) {
		if n > slabSize/4 {
			return make([]T, n)
		}
		s.free = make([]T, slabSize)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// prefixes maps register types to the prefixes of register names.
var prefixes = map[ptx.Type]string{
	ptx.Pred: "%p", ptx.B8: "%rc", ptx.B16: "%rs", ptx.B32: "%r", ptx.B64: "%rd", ptx.B128: "%rq",
	ptx.U8: "%uc", ptx.U16: "%us", ptx.U32: "%u", ptx.U64: "%ud",
	ptx.S8: "%sc", ptx.S16: "%ss", ptx.S32: "%s", ptx.S64: "%sd",
	ptx.F16: "%h", ptx.F16x2: "%hh", ptx.F32: "%f", ptx.F64: "%fd",
}

// Reg returns a new register of type t: .pred, a bit type, an integer type, .f16, .f16x2, .f32 or
// .f64. A register of a bit type can be used by instructions of every type of the same size, so
// compilers use only .pred, .b16, .b32, .b64, .f32 and .f64.
func (f *Func) Reg(t ptx.Type) Reg {
	if !f.ready() {
		return Reg{}
	}
	prefix, ok := prefixes[t]
	if !ok {
		f.fail("there are no registers of type ." + t.String())
		t, prefix = ptx.B32, "%r"
	}
	f.regs[t]++
	r := f.registry.one()
	*r = register{node: ptx.Reg{Name: prefix + strconv.Itoa(f.regs[t])}, typ: t, f: f}
	return Reg{r}
}

// Regs returns n new registers of type t.
func (f *Func) Regs(t ptx.Type, n int) []Reg {
	var out []Reg
	for range n {
		out = append(out, f.Reg(t))
	}
	return out
}

// Local declares a variable of the function in local memory. It is an array of n elements, or a
// single value if n is 0.
func (f *Func) Local(name string, t ptx.Type, n int64) *Var {
	return f.variable(ptx.LocalSpace, name, t, n)
}

// Shared declares a variable of the function in shared memory. The parameters are those of
// [Func.Local].
func (f *Func) Shared(name string, t ptx.Type, n int64) *Var {
	return f.variable(ptx.SharedSpace, name, t, n)
}

// ParamVar declares a .param variable for an argument or the result of a call. Its scope is the
// current block. [Func.Call] adds a complete call instead.
func (f *Func) ParamVar(name string, t ptx.Type, n int64) *Var {
	return f.variable(ptx.ParamSpace, name, t, n)
}

func (f *Func) variable(space ptx.Space, name string, t ptx.Type, n int64) *Var {
	if !f.ready() {
		return nil
	}
	if space != ptx.ParamSpace {
		f.local(name)
	} else if !isName(name) {
		f.fail(notName(name))
	}
	v := newVar(f.m, f, space, name, t, n)
	f.add(&v.node)
	return v
}

func (f *Func) add(s ptx.Stmt) {
	if n := len(f.blocks); n > 0 {
		f.blocks[n-1].Stmts = append(f.blocks[n-1].Stmts, s)
		return
	}
	f.body = append(f.body, s)
}

// Op adds an instruction, given its full name, such as "add.rn.f32", and its operands in PTX's
// order. [Module.Build] checks them.
func (f *Func) Op(name string, args ...Operand) {
	if f.ready() {
		f.emit(ptx.Guard{}, name, args)
	}
}

// Guarded adds instructions that only some threads execute. [Func.When] and [Func.Unless] return
// it.
type Guarded struct {
	f   *Func
	p   Reg
	not bool
}

// When returns a builder for instructions that are executed by the threads for which p is true
// (@p).
func (f *Func) When(p Reg) Guarded { return Guarded{f, p, false} }

// Unless returns a builder for instructions that are executed by the threads for which p is false
// (@!p).
func (f *Func) Unless(p Reg) Guarded { return Guarded{f, p, true} }

// Op adds an instruction with the guard. The parameters are those of [Func.Op].
func (g Guarded) Op(name string, args ...Operand) {
	if !g.f.ready() {
		return
	}
	if why := g.p.in(g.f); why != "" {
		g.f.fail("the guard of " + name + " " + why)
		return
	}
	g.f.emit(ptx.Guard{Reg: g.p.r.node.Name, Not: g.not}, name, args)
}

// Bra adds a branch with the guard.
func (g Guarded) Bra(to Label) { g.Op("bra", to) }

func (f *Func) emit(g ptx.Guard, name string, args []Operand) {
	op := f.m.opcode(name)
	if op == nil {
		f.fail(strconv.Quote(name) + " is not the name of an instruction")
		return
	}
	in := f.instrs.one()
	*in = ptx.Instr{Guard: g, Op: op}
	if len(args) > 0 {
		in.Args = f.operands.many(len(args))
	}
	for i, a := range args {
		node, why := resolve(a, f)
		if why != "" {
			f.fail(fmt.Sprintf("operand %d of %s %s", i+1, name, why))
			return
		}
		in.Args[i] = node
	}
	f.add(in)
}

func (m *Module) opcode(name string) *ptx.Opcode {
	if op, ok := m.opcodes[name]; ok {
		return op
	}
	name = strings.Clone(name)
	op, _ := ptx.NewOpcode(name)
	m.opcodes[name] = op
	return op
}

// Bra adds a branch.
func (f *Func) Bra(to Label) { f.Op("bra", to) }

// Ret adds a return.
func (f *Func) Ret() { f.Op("ret") }

// Label is a label in a function. [Func.NewLabel] creates it.
type Label struct{ l *label }

type label struct {
	f      *Func
	name   string
	placed bool
	used   bool
	table  bool // label of a .branchtargets directive
}

// NewLabel returns a new label. Use [Func.Place] to place it. The hint becomes part of its name.
func (f *Func) NewLabel(hint string) Label {
	if !f.ready() {
		return Label{}
	}
	name := "$L" + strconv.Itoa(len(f.labels)+1)
	if hint != "" {
		if name += "_" + hint; !isWord(hint) {
			f.fail("the label " + strconv.Quote(hint) + " contains characters that PTX names do not have")
		}
	}
	l := &label{f: f, name: name}
	f.labels = append(f.labels, l)
	return Label{l}
}

// Place makes l the label of the next instruction.
func (f *Func) Place(l Label) {
	if !f.ready() {
		return
	}
	switch why := l.in(f); {
	case why != "":
		f.fail("the label to place " + why)
	case l.l.placed:
		f.fail("label " + l.l.name + " is placed twice")
	default:
		l.l.placed = true
		f.add(&ptx.Label{Name: l.l.name})
	}
}

// String returns the label's name.
func (l Label) String() string {
	if l.l == nil {
		return ""
	}
	return l.l.name
}

func (l Label) in(f *Func) string {
	switch {
	case l.l == nil:
		return "is the zero Label: Func.NewLabel creates a label"
	case l.l.f != f:
		return "is " + l.l.name + ", a label of another function"
	}
	return ""
}

func (l Label) operand(f *Func) (ptx.Operand, string) {
	if why := l.in(f); why != "" {
		return nil, why
	}
	l.l.used = true
	return &ptx.Sym{Name: l.l.name}, ""
}

// BranchTable adds a .branchtargets directive with these labels and returns its label, which is the
// second operand of brx.idx.
func (f *Func) BranchTable(targets ...Label) Label {
	t := f.NewLabel("table")
	if t.l == nil {
		return t
	}
	node := &ptx.BranchTargets{Label: t.l.name}
	for _, l := range targets {
		if why := l.in(f); why != "" {
			f.fail("a target of a branch table " + why)
			continue
		}
		l.l.used = true
		node.Targets = append(node.Targets, l.l.name)
	}
	t.l.placed, t.l.table = true, true
	f.add(node)
	return t
}

// Block adds a nested block in braces that contains the statements added by body. Variables
// declared in the block are local to it. Registers and labels belong to the function.
func (f *Func) Block(body func()) {
	if !f.ready() || body == nil {
		return
	}
	b := &ptx.Block{}
	f.add(b)
	f.blocks = append(f.blocks, b)
	body()
	f.blocks = f.blocks[:len(f.blocks)-1]
}

// Comment adds a comment before the next statement.
func (f *Func) Comment(text string) {
	if !f.ready() {
		return
	}
	for _, line := range strings.Split(text, "\n") {
		f.add(&ptx.Raw{Text: "\t// " + strings.TrimRight(line, "\r")})
	}
}

// Pragma adds a .pragma, such as "nounroll", before the next statement.
func (f *Func) Pragma(text ...string) {
	if !f.ready() {
		return
	}
	for _, s := range text {
		if strings.ContainsAny(s, "\"\\\n\r") {
			f.fail("the pragma " + strconv.Quote(s) + " contains quotation marks or line ends")
			return
		}
	}
	f.add(&ptx.Pragma{Text: text})
}

// Add adds a statement in syntax form, such as one that package ptx has parsed. It does not check
// that registers and symbols in the statement belong to the function.
func (f *Func) Add(s ptx.Stmt) {
	if !f.ready() {
		return
	}
	if s == nil {
		f.fail("the statement to add is nil")
		return
	}
	f.add(s)
}
