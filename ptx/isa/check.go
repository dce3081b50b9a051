package isa

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// Check reports every violation of the PTX ISA in the module, including those in
// functions that are never called. It returns nil or an error of type [Errors].
func Check(m *ptx.Module) error { return check(m, 0) }

// CheckFor is like Check, but for PTX that will be compiled for an architecture such as "sm_86".
// The architecture limits the bytes of .shared variables per kernel. All other rules follow the
// .version and .target of the module.
func CheckFor(m *ptx.Module, arch string) error {
	t, _ := ptx.ParseTarget(arch)
	return check(m, 10*t.Major+t.Minor)
}

func check(m *ptx.Module, arch int) error {
	if m == nil {
		return nil
	}
	return newChecker(m, arch).check(m)
}

func newChecker(m *ptx.Module, arch int) *checker {
	return &checker{text: newText(m.Version, m.Targets), file: m.Name, arch: arch, opcodes: map[*ptx.Opcode]*opcode{}}
}

func (c *checker) check(m *ptx.Module) error {
	c.globals(m)
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *ptx.Function:
			c.function(d)
		case *ptx.Variable:
			c.variable(d, nil)
		}
	}
	c.sharedMemory(m)
	if len(c.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(c.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return c.errs
}

// Legal checks whether an instruction with these modifiers exists in a PTX version for a target. It
// returns nil or an error that describes the problem. Legal does not check operands, because their
// types are not known. Use Check for that.
func Legal(op *ptx.Opcode, version ptx.Version, target string) error {
	if op == nil {
		return &Error{Problem: "there is no instruction"}
	}
	t := newText(version, []string{target})
	if o := t.find(op); o.problem != "" {
		return &Error{Problem: o.problem}
	}
	return nil
}

type text struct {
	version int // version times 10: 78 for 7.8
	target  int // number of the target: 90 for sm_90
	own     bool
	name    string // name of the target
	lowest  bool   // the version is chosen by Lowest, so newer assemblers must accept it as well
}

// The newest version and target that the table covers completely.
const (
	knownVersion = 84
	knownTarget  = 90
)

func newText(v ptx.Version, targets []string) text {
	t := text{version: 10*v.Major + v.Minor}
	for _, name := range targets {
		g, ok := ptx.ParseTarget(name)
		if !ok {
			continue
		}
		if n := 10*g.Major + g.Minor; n >= t.target {
			t.target, t.own, t.name = n, g.Scope == ptx.ArchSpecific, g.String()
		}
	}
	return t
}

// unknownPossible reports whether the module may use features that the table lacks: its version is
// newer than knownVersion, and its target is newer than knownTarget or unknown.
func (t *text) unknownPossible() bool {
	return t.version > knownVersion && (t.target > knownTarget || t.name == "")
}

func (t *text) String() string {
	name := t.name
	if name == "" {
		name = "no architecture"
	}
	return fmt.Sprintf("PTX %d.%d for %s", t.version/10, t.version%10, name)
}

type checker struct {
	text
	file    string
	arch    int // number of the architecture: 90 for sm_90; 0 if unknown
	errs    Errors
	opcodes map[*ptx.Opcode]*opcode
	vars    map[string]*ptx.Variable
	funcs   map[string]*ptx.Function
	names   env
	fn      *ptx.Function
	labels  map[string]labelKind
	protos  map[string]*ptx.CallPrototype
	targets map[string]*ptx.Function // the first target of each .calltargets, by label
	used    map[*ptx.Function]*uses
	lacking need // the version and target required by the features that were reported as missing
}

func (c *checker) fail(pos ptx.Pos, format string, args ...any) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, &Error{File: c.file, Pos: pos, Problem: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) globals(m *ptx.Module) {
	c.vars, c.funcs = map[string]*ptx.Variable{}, map[string]*ptx.Function{}
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *ptx.Function:
			switch old := c.funcs[d.Name]; {
			case old == nil || old.Body == nil:
				c.funcs[d.Name] = d
			case d.Body != nil:
				c.fail(d.Pos, "function %s is defined twice", d.Name)
			}
		case *ptx.Variable:
			if old := c.vars[d.Name]; old != nil && old.Linkage == d.Linkage && (d.Linkage == ptx.NoLinkage || d.Linkage == ptx.Visible) {
				c.fail(d.Pos, "variable %s is declared twice", d.Name)
			}
			for i := range min(max(d.Count, 1), maxNumbered) {
				c.vars[numbered(d.Name, d.Count, i)] = d
			}
		case *ptx.Alias:
			if c.funcs[d.Name] == nil {
				c.funcs[d.Name] = c.funcs[d.Target]
			}
		case *ptx.RegDecl:
			if c.version >= 30 {
				c.fail(d.Pos, "register %s is declared outside a function", d.Name)
			}
			c.names.declare(d.Name, d.Count, regType{d.Type, d.Vector})
		}
	}
}

func (c *checker) function(f *ptx.Function) {
	c.header(f)
	if f.Body == nil {
		return
	}
	c.fn, c.labels = f, map[string]labelKind{}
	mark := c.names.mark()
	for _, list := range [][]*ptx.Variable{f.Return, f.Params} {
		for _, v := range list {
			c.declared(v.Pos, v.Name)
			c.names.param(v)
		}
	}
	c.protos, c.targets = nil, nil
	c.collectLabels(f.Body)
	c.block(f.Body)
	c.names.reset(mark)
}

type labelKind uint8

const (
	noSuchLabel labelKind = iota
	plainLabel
	branchTable
	callTable
)

func (c *checker) collectLabels(b *ptx.Block) {
	to := c.labels
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Label:
			to[s.Name] = plainLabel
		case *ptx.BranchTargets:
			to[s.Label] = branchTable
		case *ptx.CallTargets:
			to[s.Label] = callTable
			if c.targets == nil {
				c.targets = map[string]*ptx.Function{}
			}
			if len(s.Targets) > 0 {
				c.targets[s.Label] = c.funcs[s.Targets[0]]
			}
		case *ptx.CallPrototype:
			to[s.Label] = callTable
			if c.protos == nil {
				c.protos = map[string]*ptx.CallPrototype{}
			}
			c.protos[s.Label] = s
		case *ptx.Block:
			c.collectLabels(s)
		}
	}
}

func (c *checker) block(b *ptx.Block) {
	mark := c.names.mark()
	c.names.depth++
	defer func() { c.names.depth-- }()
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Instr:
			c.instruction(s)
		case *ptx.RegDecl:
			c.registers(s)
			c.declared(s.Pos, s.Name)
			c.names.declare(s.Name, s.Count, regType{s.Type, s.Vector})
		case *ptx.Variable:
			c.variable(s, c.fn)
			c.use(s)
			c.declared(s.Pos, s.Name)
			c.names.variable(s)
		case *ptx.Block:
			c.block(s)
		case *ptx.BranchTargets:
			for _, l := range s.Targets {
				if c.labels[l] != plainLabel {
					c.fail(s.Pos, "there is no label %s in this function", l)
				}
			}
		}
	}
	c.names.reset(mark)
}

// declared reports an error if the name has already been declared in the current block.
func (c *checker) declared(pos ptx.Pos, name string) {
	if name != "_" && name != "" && c.names.here(name) {
		c.fail(pos, "%s is declared twice in one block", name)
	}
}

func (c *checker) instruction(in *ptx.Instr) {
	if in.Guard.Reg != "" {
		if r, ok := c.names.register(in.Guard.Reg); !ok {
			c.fail(in.Guard.Pos, "register %s is not declared", in.Guard.Reg)
		} else if r.typ != ptx.Pred {
			c.fail(in.Guard.Pos, "register %s guards the instruction, but is of type .%s: a guard is a .pred", in.Guard.Reg, r.typ)
		}
	}
	o := c.opcodes[in.Op]
	if o == nil {
		o = c.find(in.Op)
		c.opcodes[in.Op] = o
	}
	switch {
	case o.problem != "":
		c.lack(o.lacks)
		c.fail(in.Pos, "%s", o.problem)
		return
	case o.open:
		return
	}
	var nearest *misfit
	for i := range o.matches {
		problem := c.fits(&o.matches[i], in)
		if problem == nil {
			return
		}
		if problem.match = &o.matches[i]; nearest == nil || problem.near > nearest.near {
			nearest = problem
		}
	}
	if c.unknownPossible() {
		return
	}
	for i := range o.late {
		if m := &o.late[i]; c.fits(m, in) == nil {
			c.lack(m.requires(in.Op))
			c.fail(in.Pos, "%s with these operands: %s", in.Op.Text, m.needs(&c.text, in.Op))
			return
		}
	}
	c.lackSpecial(nearest, in)
	c.fail(in.Pos, "%s", nearest.text(c, nearest.match, in))
}

// fits checks the operands and rules of one form. It returns nil if the instruction fits
// the form.
func (c *checker) fits(m *match, in *ptx.Instr) *misfit {
	f := m.form
	args := f.args
	n := len(in.Args)
	if n > len(args) || n < len(args) && !args[n].optional {
		return &misfit{count: true}
	}
	for i, o := range in.Args {
		if why := c.operand(&args[i], m, o); why != fine {
			near := 1 + i
			if why == specialLate { // specialLate is more specific than any other reason
				near++
			}
			return &misfit{arg: i, why: why, near: near}
		}
	}
	for _, r := range f.rules {
		if s := r(c, f, m, in); s != "" {
			return &misfit{problem: s, near: 1 + len(in.Args)}
		}
	}
	return nil
}

// misfit describes why operands do not fit a form.
type misfit struct {
	count   bool
	arg     int
	why     reason
	problem string
	near    int // number of operands that fit; the form with the largest number is probably the intended one
	match   *match
}

func (x *misfit) text(c *checker, m *match, in *ptx.Instr) string {
	switch {
	case x.problem != "":
		return in.Op.Text + ": " + x.problem
	case x.count:
		least := slices.IndexFunc(m.form.args, func(a arg) bool { return a.optional })
		switch {
		case least >= 0:
			return fmt.Sprintf("%s has %d operands; it takes %d to %d", in.Op.Text, len(in.Args), least, len(m.form.args))
		}
		return fmt.Sprintf("%s has %d operands; it takes %d", in.Op.Text, len(in.Args), len(m.form.args))
	}
	return fmt.Sprintf("%s: operand %d %s", in.Op.Text, x.arg+1, c.reasonText(x.why, &m.form.args[x.arg], m, in.Args[x.arg]))
}
