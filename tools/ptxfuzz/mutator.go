package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// mutator makes one change in a module.
type mutator struct {
	rng   *rand.Rand
	words []string
	m     *ptx.Module
}

// instruction makes a random change to the nth instruction and returns its new text, or "" if the
// change does not apply.
func (u *mutator) instruction(nth int) string {
	var in *ptx.Instr
	var others []ptx.Operand
	n := 0
	instructions(u.m, func(i *ptx.Instr) {
		if n == nth {
			in = i
		}
		n++
		others = append(others, i.Args...)
	})
	before := (&ptx.Instr{Op: in.Op, Args: in.Args, Guard: in.Guard})
	was := text(before)
	in.Args = slices.Clone(in.Args)
	mods := slices.Clone(in.Op.Mods)
	switch u.rng.IntN(9) {
	case 0:
		at := u.rng.IntN(len(mods) + 1)
		mods = slices.Insert(mods, at, u.word(in))
	case 1:
		if len(mods) == 0 {
			return ""
		}
		at := u.rng.IntN(len(mods))
		mods = slices.Delete(mods, at, at+1)
	case 2:
		if len(mods) == 0 {
			return ""
		}
		mods[u.rng.IntN(len(mods))] = u.word(in)
	case 3: // use another type
		var at []int
		for i, m := range mods {
			if ptx.ParseType(m) != ptx.NoType {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			return ""
		}
		mods[pick(u.rng, at)] = pick(u.rng, typeWords)
	case 4: // add or remove an operand
		if len(in.Args) == 0 {
			return ""
		}
		if at := u.rng.IntN(len(in.Args)); u.rng.IntN(2) == 0 {
			in.Args = slices.Delete(in.Args, at, at+1)
		} else {
			in.Args = append(in.Args, in.Args[at])
		}
	case 5: // exchange two operands
		if len(in.Args) < 2 {
			return ""
		}
		a, b := u.rng.IntN(len(in.Args)), u.rng.IntN(len(in.Args))
		in.Args[a], in.Args[b] = in.Args[b], in.Args[a]
	case 6: // change a constant
		if len(in.Args) == 0 {
			return ""
		}
		in.Args[u.rng.IntN(len(in.Args))] = pick(u.rng, []ptx.Operand{
			&ptx.Imm{Bits: uint64(u.rng.IntN(300))}, &ptx.Imm{Bits: ^uint64(0)}, &ptx.Imm{Kind: ptx.ImmF32, Bits: 0x3f800000},
			&ptx.Imm{Kind: ptx.ImmF64, Bits: 0x3ff0000000000000}, &ptx.Sink{}, &ptx.Sym{Name: "nowhere"},
		})
	default: // use an operand from elsewhere
		if len(in.Args) == 0 || len(others) == 0 {
			return ""
		}
		in.Args[u.rng.IntN(len(in.Args))] = pick(u.rng, others)
	}
	name := in.Op.Name
	if len(mods) > 0 {
		name += "." + strings.Join(mods, ".")
	}
	op, ok := ptx.NewOpcode(name)
	if !ok {
		return ""
	}
	in.Op = op
	now := text(in)
	if now == was {
		return ""
	}
	return now + "  (was " + was + ")"
}

// text returns the printed form of an instruction.
func text(in *ptx.Instr) string {
	m := &ptx.Module{Decls: []ptx.Decl{&ptx.Function{Name: "f", Body: &ptx.Block{Stmts: []ptx.Stmt{in}}}}}
	s := m.String()
	s = s[strings.Index(s, "{")+1:]
	return strings.TrimSpace(s[:strings.LastIndex(s, "}")])
}

func (u *mutator) word(in *ptx.Instr) string {
	if list := isa.Forms(in.Op.Name); len(list) > 0 && u.rng.IntN(3) > 0 {
		if p := pick(u.rng, list).Modifiers(); len(p) > 0 {
			return pick(u.rng, pick(u.rng, p).Choices)
		}
	}
	return pick(u.rng, u.words)
}

// declaration makes a random change to the header, a register's type, a variable or a kernel's
// directives. It returns a description of the change, or "" if the change does not apply.
func (u *mutator) declaration() string {
	switch u.rng.IntN(6) {
	case 0:
		v := pick(u.rng, []ptx.Version{{Major: 1, Minor: 4}, {Major: 2, Minor: 3}, {Major: 3, Minor: 1}, {Major: 4, Minor: 2}, {Major: 5, Minor: 0}, {Major: 6, Minor: 0}, {Major: 6, Minor: 4}, {Major: 7, Minor: 0}, {Major: 7, Minor: 5}, {Major: 7, Minor: 8}})
		u.m.Version = v
		if u.tooOld() {
			return ""
		}
		return fmt.Sprintf(".version %v for %v, with %s", v, u.m.Targets, u.some())
	case 1:
		t := pick(u.rng, []string{"sm_35", "sm_50", "sm_53", "sm_60", "sm_70", "sm_75", "sm_80", "sm_90"})
		u.m.Targets = []string{t}
		if u.tooOld() {
			return ""
		}
		return fmt.Sprintf(".target %s of %v, with %s", t, u.m.Version, u.some())
	case 2:
		var list []*ptx.RegDecl
		u.statements(func(s ptx.Stmt) {
			if r, ok := s.(*ptx.RegDecl); ok {
				list = append(list, r)
			}
		})
		if len(list) == 0 {
			return ""
		}
		r := pick(u.rng, list)
		was := r.Type
		r.Type = pick(u.rng, []ptx.Type{ptx.B8, ptx.B16, ptx.B32, ptx.B64, ptx.U32, ptx.S32, ptx.F32, ptx.F64, ptx.U64, ptx.S16, ptx.F16, ptx.BF16, ptx.TF32, ptx.F16x2, ptx.Pred, ptx.B128})
		return fmt.Sprintf(".reg .%s %s (was .%s), with %s", r.Type, r.Name, was, u.some())
	case 3:
		var list []*ptx.Variable
		u.statements(func(s ptx.Stmt) {
			if v, ok := s.(*ptx.Variable); ok {
				list = append(list, v)
			}
		})
		for _, d := range u.m.Decls {
			if v, ok := d.(*ptx.Variable); ok {
				list = append(list, v)
			}
		}
		if len(list) == 0 {
			return ""
		}
		return u.variable(pick(u.rng, list))
	case 4:
		for _, d := range u.m.Decls {
			if f, ok := d.(*ptx.Function); ok && len(f.Params) > 0 && u.rng.IntN(2) == 0 {
				p := pick(u.rng, f.Params)
				return "parameter " + u.variable(p)
			}
		}
		return ""
	}
	for _, d := range u.m.Decls {
		if f, ok := d.(*ptx.Function); ok && f.Body != nil {
			w := pick(u.rng, []ptx.Directive{{Name: "noreturn"}, {Name: "maxntid", Args: []uint64{uint64(u.rng.IntN(3000))}}, {Name: "reqntid", Args: []uint64{uint64(u.rng.IntN(3000)), 1, 1}},
				{Name: "minnctapersm", Args: []uint64{uint64(u.rng.IntN(40))}}, {Name: "maxnreg", Args: []uint64{uint64(u.rng.IntN(300))}}, {Name: "maxnctapersm", Args: []uint64{2}},
				{Name: "explicitcluster"}, {Name: "maxclusterrank", Args: []uint64{8}}, {Name: "reqnctapercluster", Args: []uint64{2, 1, 1}}})
			f.Perf = append(slices.Clone(f.Perf), w)
			return fmt.Sprintf(".%s %v after %v at %s of PTX %v for %v", w.Name, w.Args, f.Perf[:len(f.Perf)-1], f.Name, u.m.Version, u.m.Targets)
		}
	}
	return ""
}

// tooOld reports whether the version is too old for the target. Drivers and ptx.Module.Needs reject
// such a module, but ptxas accepts it.
func (u *mutator) tooOld() bool {
	since, ok := u.m.Needs().Target.Since()
	return ok && !u.m.Version.AtLeast(since.Major, since.Minor)
}

// variable changes a variable or parameter.
func (u *mutator) variable(v *ptx.Variable) string {
	switch u.rng.IntN(5) {
	case 0:
		v.Type = pick(u.rng, []ptx.Type{ptx.B8, ptx.U16, ptx.B32, ptx.F32, ptx.U64, ptx.F16, ptx.Pred, ptx.F16x2, ptx.BF16, ptx.B128, ptx.TF32})
	case 1:
		v.Dims = []int64{pick(u.rng, []int64{0, 1, 1000, 12288, 12289, 70000, ptx.Unsized})}
	case 2:
		v.Align = 1 << u.rng.IntN(12)
	case 3:
		v.Space = pick(u.rng, []ptx.Space{ptx.GlobalSpace, ptx.SharedSpace, ptx.LocalSpace, ptx.ConstSpace, ptx.ParamSpace, ptx.RegSpace})
	default:
		v.Vector = pick(u.rng, []int{0, 2, 4})
	}
	return fmt.Sprintf("%s .%s .align %d .v%d .%s %v, with %s", v.Name, v.Space, v.Align, v.Vector, v.Type, v.Dims, u.some())
}

func (u *mutator) statements(visit func(ptx.Stmt)) {
	var block func(b *ptx.Block)
	block = func(b *ptx.Block) {
		for _, s := range b.Stmts {
			visit(s)
			if b, ok := s.(*ptx.Block); ok {
				block(b)
			}
		}
	}
	for _, d := range u.m.Decls {
		if f, ok := d.(*ptx.Function); ok && f.Body != nil {
			block(f.Body)
		}
	}
}

// some returns an instruction of the module, which identifies the module in reports.
func (u *mutator) some() string {
	out := ""
	instructions(u.m, func(in *ptx.Instr) {
		if out == "" || in.Op.Name != "ret" {
			out = in.Op.Text
		}
	})
	return out
}
