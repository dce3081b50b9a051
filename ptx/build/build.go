package build

import (
	"errors"
	"fmt"
	"slices"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// Build returns the module as a syntax tree. The error is nil or of type [Errors]. Even if there
// are errors, the tree is complete and can be printed. The module may be extended and built again.
func (m *Module) Build() (*ptx.Module, error) {
	if !m.ready() {
		return nil, Errors{{Problem: "nil or zero module: make one with build.New"}}
	}
	own := m.errs
	defer func() { m.errs = own }()
	t := &ptx.Module{AddressSize: m.config.AddressSize}
	if t.AddressSize == 0 {
		t.AddressSize = 64
	}
	m.decls(t)
	places := number(t)
	err := m.check(t, places)
	unnumber(places)
	if len(m.errs) == 0 && err == nil {
		return t, nil
	}
	return t, slices.Concat(m.errs, err)
}

// decls adds the declarations to the tree. Functions that are referred to before their definitions
// are declared first, because PTX requires it.
func (m *Module) decls(t *ptx.Module) {
	for _, f := range m.files {
		t.Decls = append(t.Decls, f)
	}
	vars := make([]ptx.Decl, len(m.vars))
	for i, v := range m.vars {
		vars[i] = v.build()
	}
	for _, f := range m.funcs {
		if f.node.Linkage == ptx.Extern || f.early {
			t.Decls = append(t.Decls, f.declaration())
		}
	}
	t.Decls = append(t.Decls, vars...)
	for _, f := range m.funcs {
		if f.node.Linkage != ptx.Extern {
			t.Decls = append(t.Decls, f.build())
		} else if len(f.body) > 0 {
			f.fail("the function is .extern and has a body")
		}
	}
	if len(m.strings) > 0 {
		t.Decls = append(t.Decls, m.debugSection())
	}
}

func (f *Func) declaration() *ptx.Function {
	d := f.node
	d.Doc, d.Body = "", nil
	return &d
}

// build returns the function's definition: registers first, then the statements.
func (f *Func) build() *ptx.Function {
	d := f.node
	if len(f.blocks) > 0 {
		f.fail("Build was called within Func.Block")
	}
	for _, l := range f.labels {
		if l.used && !l.placed {
			f.fail("label " + l.name + " is used and not placed: Func.Place places it")
		}
	}
	for _, name := range f.order {
		if f.m.names[name] {
			f.fail(name + " is declared in the function and in the module")
		}
	}
	d.Body = &ptx.Block{}
	var types []ptx.Type
	for t := range f.regs {
		types = append(types, t)
	}
	slices.Sort(types)
	for _, t := range types {
		d.Body.Stmts = append(d.Body.Stmts, &ptx.RegDecl{Type: t, Name: prefixes[t], Count: f.regs[t] + 1})
	}
	d.Body.Stmts = append(d.Body.Stmts, f.body...)
	if f.falls() {
		d.Body.Stmts = append(d.Body.Stmts, &ptx.Instr{Op: f.m.opcode("ret")})
	}
	return &d
}

// falls reports whether control can reach the end of the body.
func (f *Func) falls() bool {
	for i := len(f.body) - 1; i >= 0; i-- {
		switch s := f.body[i].(type) {
		case *ptx.Raw, *ptx.Loc, *ptx.Pragma:
			continue
		case *ptx.Instr:
			return s.Guard.Reg != "" || s.Op.Name != "ret" && s.Op.Name != "exit" && s.Op.Name != "bra" && s.Op.Name != "brx" && s.Op.Name != "trap"
		}
		return true
	}
	return true
}

// header sets .version and .target and returns the errors found by package isa.
func (m *Module) header(t *ptx.Module) error {
	c := m.config
	if !m.targets(t, c) {
		return nil
	}
	if t.Version == (ptx.Version{}) {
		t.Version = ptx.Version{Major: 2, Minor: 3} // version 2.3 is the first that supports .address_size
		if m.inlined {
			t.Version = ptx.Version{Major: 7, Minor: 2}
		}
	}
	if m.inlined && !t.Version.AtLeast(7, 2) {
		m.fail("", fmt.Sprintf("Func.LocInlined needs PTX 7.2; the module is PTX %v", t.Version))
	}
	version, target, err := isa.Lowest(t)
	fixed := c.Version != ptx.Version{} && c.Version != version || c.Target != "" && c.Target != target.String()
	if c.Version == (ptx.Version{}) {
		t.Version = version
	}
	if c.Target == "" {
		t.Targets = []string{target.String()}
	}
	if c.Debug {
		t.Targets = append(t.Targets, "debug")
	}
	if fixed {
		return m.fixedHeader(t)
	}
	return err
}

// fixedHeader checks a module whose configuration fixes the version or the target.
func (m *Module) fixedHeader(t *ptx.Module) error {
	target, _ := ptx.ParseTarget(t.Targets[0])
	since, ok := target.Since()
	switch {
	case ok && m.config.Version == (ptx.Version{}) && !t.Version.AtLeast(since.Major, since.Minor):
		t.Version = since
	case ok && !t.Version.AtLeast(since.Major, since.Minor):
		m.fail("", fmt.Sprintf("target %v needs PTX %v; the module is PTX %v", target, since, t.Version))
	}
	return isa.Check(t)
}

// targets sets the version and target that the configuration specifies.
func (m *Module) targets(t *ptx.Module, c Config) bool {
	t.Version = c.Version
	name := c.Target
	if name == "" {
		name = c.MinTarget
	}
	if name == "" {
		return true
	}
	if _, ok := ptx.ParseTarget(name); !ok {
		m.fail("", name+" is not a target: write one such as sm_80 or sm_90a")
		return false
	}
	t.Targets = []string{name}
	return true
}

// place is a statement or declaration in the built tree. It is used to locate errors from package
// isa.
type place struct {
	in   string
	node any
	pos  *ptx.Pos
}

// number assigns a unique line number to each node for which package isa can report errors. It
// returns the nodes indexed by line, starting at 1.
func number(t *ptx.Module) []place {
	n := &numberer{places: make([]place, 1, 256)}
	for _, d := range t.Decls {
		switch d := d.(type) {
		case *ptx.Variable:
			n.variable(d.Name, d)
		case *ptx.Function:
			n.function(d)
		}
	}
	return n.places
}

type numberer struct{ places []place }

func (n *numberer) add(in string, node any, pos *ptx.Pos) {
	pos.Line = int32(len(n.places))
	n.places = append(n.places, place{in, node, pos})
}

func (n *numberer) variable(in string, v *ptx.Variable) {
	n.add(in, v, &v.Pos)
	if v.Init != nil {
		v.Init.Pos.Line = v.Pos.Line
	}
}

func (n *numberer) function(f *ptx.Function) {
	n.add(f.Name, f, &f.Pos)
	f.Perf = slices.Clone(f.Perf)
	for i := range f.Perf {
		n.add(f.Name, &f.Perf[i], &f.Perf[i].Pos)
	}
	for _, list := range []*[]*ptx.Variable{&f.Return, &f.Params} {
		*list = slices.Clone(*list)
		for i, v := range *list {
			own := *v
			(*list)[i] = &own
			n.add(f.Name, &own, &own.Pos)
		}
	}
	if f.Body != nil {
		n.block(f.Name, f.Body)
	}
}

func (n *numberer) block(in string, b *ptx.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Instr:
			n.add(in, s, &s.Pos)
			s.Guard.Pos = s.Pos
		case *ptx.Variable:
			n.variable(in, s)
		case *ptx.RegDecl:
			n.add(in, s, &s.Pos)
		case *ptx.BranchTargets:
			n.add(in, s, &s.Pos)
		case *ptx.Block:
			n.block(in, s)
		}
	}
}

func unnumber(places []place) {
	for _, p := range places[1:] {
		*p.pos = ptx.Pos{}
		switch s := p.node.(type) {
		case *ptx.Instr:
			s.Guard.Pos = ptx.Pos{}
		case *ptx.Variable:
			if s.Init != nil {
				s.Init.Pos = ptx.Pos{}
			}
		}
	}
}

// check sets the header and returns the errors that package isa reports.
func (m *Module) check(t *ptx.Module, places []place) Errors {
	err := m.header(t)
	var found isa.Errors
	if !errors.As(err, &found) {
		return nil
	}
	out := make(Errors, len(found))
	for i, e := range found {
		out[i] = &Error{Problem: e.Problem}
		if n := int(e.Pos.Line); n > 0 && n < len(places) {
			out[i].In = places[n].in
			if in, ok := places[n].node.(*ptx.Instr); ok {
				out[i].Instr = in.String()
			}
		}
	}
	return out
}
