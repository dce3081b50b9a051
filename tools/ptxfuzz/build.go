package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/isa"
)

// builder holds the parts of a module to which one instruction is added.
type builder struct {
	m       *build.Module
	k       *build.Func
	label   build.Label
	regs    map[string][]build.Reg // registers, by the prefix that maker uses
	symbols map[string]build.Operand
}

// newBuilder declares what surroundings declares, except for vector registers.
func newBuilder(c build.Config, halfs bool) *builder {
	m := build.New(c)
	b := &builder{m: m, regs: map[string][]build.Reg{}, symbols: map[string]build.Operand{
		"gv": m.Global("gv", ptx.B32, 8).Align(16), "cv": m.Const("cv", ptx.B32, 8).Align(16), "sv": m.Shared("sv", ptx.B32, 8).Align(16),
	}}
	b.k = m.Kernel("k")
	b.symbols["kp"], b.symbols["kq"] = b.k.Param("kp", ptx.B64), b.k.Param("kq", ptx.B32)
	b.symbols["lv"] = b.k.Local("lv", ptx.B32, 8).Align(16)
	b.symbols["pv"] = b.k.ParamVar("pv", ptx.B32, 8).Align(16)
	b.label = b.k.NewLabel("")
	b.symbols["L0"] = b.label
	for t := ptx.Pred; ; t++ {
		p, ok := registers[t]
		if ok && (halfs || p != "hf" && p != "hx") {
			b.regs[p] = b.k.Regs(t, 9)
		}
		if t == ptx.F64 {
			return b
		}
	}
}

// operand returns the operand that the PTX in text denotes, built with package build.
func (b *builder) operand(s string) build.Operand {
	switch {
	case s[0] == '{':
		return build.Vec(b.list(s[1 : len(s)-1])...)
	case s[0] == '[':
		first, more, _ := strings.Cut(s[1:len(s)-1], ", ")
		var rest []build.Operand
		if more != "" {
			rest = append(rest, b.operand(more))
		}
		base, offset := cutOffset(first)
		switch o := b.operand(base).(type) {
		case build.Reg:
			return o.At(offset, rest...)
		case *build.Var:
			return o.At(offset, rest...)
		case *build.Param:
			return o.At(offset)
		}
	case strings.Contains(s, "|"):
		x, y, _ := strings.Cut(s, "|")
		return build.Pair(b.operand(x), b.operand(y))
	case s[0] == '!':
		return b.operand(s[1:]).(build.Reg).Not()
	case s == "_":
		return build.Discard()
	case s[0] == '%':
		return b.register(s)
	case strings.HasPrefix(s, "0f"):
		bits, _ := strconv.ParseUint(s[2:], 16, 32)
		return build.F32Bits(uint32(bits))
	case strings.Contains(s, "."):
		x, _ := strconv.ParseFloat(s, 64)
		return build.F64(x)
	case s[0] == '-' || s[0] >= '0' && s[0] <= '9':
		return build.Int(int64(atoi(s)))
	}
	name, offset := cutOffset(s)
	if v, ok := b.symbols[name].(*build.Var); ok && offset != 0 {
		return v.Plus(offset)
	}
	return b.symbols[name]
}

func (b *builder) list(s string) []build.Operand {
	var out []build.Operand
	for _, e := range strings.Split(s, ", ") {
		out = append(out, b.operand(e))
	}
	return out
}

// register returns a register, a sum of a register and a number, or a special register.
func (b *builder) register(s string) build.Operand {
	name, offset := cutOffset(s)
	prefix := strings.TrimRight(name[1:], "0123456789")
	n := atoi(name[1+len(prefix):])
	list := b.regs[prefix]
	switch {
	case n < len(list) && offset != 0:
		return list[n].Plus(offset)
	case n < len(list):
		return list[n]
	case ptx.IsSpecial(strings.Split(name, ".")[0]):
		return build.Special(name)
	}
	return build.Syntax(&ptx.Reg{Name: name})
}

func cutOffset(s string) (string, int64) {
	base, offset, _ := strings.Cut(s, "+")
	return base, int64(atoi(offset))
}

// construct returns the instruction as package build prints it, the header of its module, and, if
// package build rejects it, the reason.
func construct(c build.Config, halfs bool, in *instruction) (head, line, why string) {
	b := newBuilder(c, halfs)
	b.k.Op(in.opcode(), b.arguments(in)...)
	b.k.Place(b.label)
	t, err := b.m.Build()
	var first *build.Error
	if errors.As(err, &first) {
		why = first.Problem
	}
	f := t.Function("k")
	for _, s := range f.Body.Stmts {
		if i, ok := s.(*ptx.Instr); ok {
			line = i.String()
			break
		}
	}
	for i, s := range f.Body.Stmts {
		if _, ok := s.(*ptx.Instr); ok {
			f.Body.Stmts = f.Body.Stmts[:i]
			break
		}
	}
	return strings.TrimSuffix(t.String(), "}\n"), line, why
}

func (b *builder) arguments(in *instruction) []build.Operand {
	var out []build.Operand
	for _, a := range in.args {
		out = append(out, b.operand(a))
	}
	return out
}

// builtJob is a batch of instructions whose modules have the same header.
type builtJob struct {
	a            *assembler
	target, head string
	lines        []string
	out          []verdict
	err          error
}

func (j *builtJob) run(dir string) {
	theirs, err := j.a.judge(dir, j.target, j.head, j.lines, "$L1:\n\tret;\n}\n")
	if j.err = err; err != nil {
		return
	}
	for i := range j.out {
		j.out[i].theirs = theirs[i]
	}
}

// built compares n instructions that package build constructs. One half of them is for random
// versions and targets. The other half is for the lowest ones, which package build chooses. In each
// half, half of the instructions are changed, so that many are invalid.
func built(assemblers []*assembler, seed uint64, n, examples int) error {
	dir, err := os.MkdirTemp("", "ptxfuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	jobs, err := builtJobs(assemblers, seed, n)
	if err != nil {
		return err
	}
	parallel(len(jobs), func(i int) { jobs[i].run(dir) })
	var all []verdict
	for _, j := range jobs {
		if j.err != nil {
			return fmt.Errorf("%s: %w", strings.SplitN(j.head, "\n.address", 2)[0], j.err)
		}
		all = append(all, j.out...)
	}
	return agreement(all, examples)
}

func builtJobs(assemblers []*assembler, seed uint64, n int) ([]*builtJob, error) {
	m := &maker{rng: rand.New(rand.NewPCG(seed, 0)), words: allWords(), scalars: true}
	open := map[string]*builtJob{}
	var jobs []*builtJob
	list := builtForms()
	known := knownHeaders(assemblers)
	for i := 0; i < n; {
		h := pick(m.rng, known)
		c := build.Config{Version: parseVersion(h.version), Target: h.target}
		t, _ := ptx.ParseTarget(h.target)
		m.halfs = 10*t.Major+t.Minor >= 53 && h.version >= "4.2"
		if i%2 == 1 {
			c, m.halfs = build.Config{}, i%4 == 1
		}
		f := pick(m.rng, list)
		in := m.make(f)
		if i/4%2 == 1 {
			m.change(in, f)
		}
		head, line, why := construct(c, m.halfs, in)
		if line == "" {
			return nil, fmt.Errorf("package build did not add %v: %s", in, why)
		}
		version, target := headerOf(head)
		a := newestFor(assemblers, version)
		if a == nil {
			continue // the lowest version for the form is newer than all assemblers
		}
		j := open[head]
		if j == nil || len(j.lines) == batch {
			j = &builtJob{a: a, target: target, head: head}
			open[head] = j
			jobs = append(jobs, j)
		}
		i++
		j.lines = append(j.lines, line)
		j.out = append(j.out, verdict{family: family(strings.Split(f.Name(), ".")[0]), what: "[" + version + " " + target + "] " + line, ours: why})
	}
	return jobs, nil
}

// builtForms returns all forms except those of textures, which need variables of opaque types.
func builtForms() []*isa.Form {
	var out []*isa.Form
	for _, name := range isa.Names() {
		if family(name) != "texture" {
			out = append(out, isa.Forms(name)...)
		}
	}
	return out
}

// knownHeaders returns the headers that one of the assemblers accepts and for which package isa
// knows every instruction.
func knownHeaders(assemblers []*assembler) []textHeader {
	var out []textHeader
	for _, h := range headers {
		if newestFor(assemblers, h.version) != nil {
			out = append(out, h)
		}
	}
	return out
}

// headerOf returns the version and target in the header of a module.
func headerOf(text string) (version, target string) {
	for line := range strings.Lines(text) {
		if s, ok := strings.CutPrefix(line, ".version "); ok {
			version = strings.TrimSpace(s)
		}
		if s, ok := strings.CutPrefix(line, ".target "); ok {
			return version, strings.TrimSpace(s)
		}
	}
	return version, ""
}

// agreement prints the differences, their explanations, and the share of instructions on which the
// library and ptxas agree. It fails if that share is less than 99 %, or if a difference has no
// explanation.
func agreement(all []verdict, examples int) error {
	accepted, refused, valid, invalid := report(all, examples)
	n := valid + invalid
	fmt.Printf("%d instructions, %d agree: %.2f %%\n", n, n-accepted-refused, percent(n-accepted-refused, n))
	left := explained(all)
	switch {
	case percent(n-accepted-refused, n) < 99:
		return errors.New("less than 99 % agree")
	case left > 0:
		return fmt.Errorf("%d differences are not explained", left)
	}
	return nil
}
