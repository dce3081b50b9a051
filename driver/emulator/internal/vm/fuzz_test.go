package vm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomProgram is a random program over eight 32-bit variables. It holds the PTX text and the same
// statements as Go functions. Every temporary has its own register, as in a compiler's output.
type randomProgram struct {
	r      *rand.Rand
	text   strings.Builder
	regs   int
	labels int
	depth  int
}

const fuzzVars = 8

type fuzzState struct {
	v     [fuzzVars]uint32
	steps int
}

type fuzzStmt func(s *fuzzState)

func (p *randomProgram) reg() string {
	p.regs++
	return fmt.Sprintf("%%t%d", p.regs-1)
}

func (p *randomProgram) label() string {
	p.labels++
	return fmt.Sprintf("L%d", p.labels)
}

func (p *randomProgram) emit(format string, args ...any) {
	fmt.Fprintf(&p.text, "\t"+format+"\n", args...)
}

func (p *randomProgram) expression(depth int) (reg string, value func(s *fuzzState) uint32) {
	switch n := p.r.IntN(4); {
	case depth == 0 && n < 3:
		i := p.r.IntN(fuzzVars)
		return fmt.Sprintf("%%v%d", i), func(s *fuzzState) uint32 { return s.v[i] }
	case depth == 0:
		c := p.r.Uint32() >> p.r.IntN(32)
		r := p.reg()
		p.emit("mov.u32 %s, %d;", r, c)
		return r, func(*fuzzState) uint32 { return c }
	}
	a, fa := p.expression(depth - 1)
	b, fb := p.expression(p.r.IntN(depth))
	ops := []struct {
		name string
		f    func(a, b uint32) uint32
	}{
		{"add.u32", func(a, b uint32) uint32 { return a + b }}, {"sub.u32", func(a, b uint32) uint32 { return a - b }},
		{"mul.lo.u32", func(a, b uint32) uint32 { return a * b }}, {"xor.b32", func(a, b uint32) uint32 { return a ^ b }},
		{"and.b32", func(a, b uint32) uint32 { return a & b }}, {"or.b32", func(a, b uint32) uint32 { return a | b }},
		{"min.u32", func(a, b uint32) uint32 { return min(a, b) }}, {"max.s32", func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }},
		{"shr.u32", func(a, b uint32) uint32 { return a >> b }}, {"shl.b32", func(a, b uint32) uint32 { return a << b }},
		{"mul.hi.u32", func(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }},
	}
	op := ops[p.r.IntN(len(ops))]
	d := p.reg()
	p.emit("%s %s, %s, %s;", op.name, d, a, b)
	return d, func(s *fuzzState) uint32 { return op.f(fa(s), fb(s)) }
}

// condition emits a comparison and returns the predicate that holds its result.
func (p *randomProgram) condition() (pred string, value func(s *fuzzState) bool) {
	a, fa := p.expression(1)
	mask := []uint32{1, 3, 7, 0xff, 0xffff}[p.r.IntN(5)]
	limit := p.r.Uint32() & mask
	m := p.reg()
	pred = fmt.Sprintf("%%p%d", p.labels)
	p.labels++
	p.emit("and.b32 %s, %s, %d;", m, a, mask)
	p.emit("setp.le.u32 %s, %s, %d;", pred, m, limit)
	return pred, func(s *fuzzState) bool { return fa(s)&mask <= limit }
}

func (p *randomProgram) block(n int) fuzzStmt {
	var list []fuzzStmt
	for range n {
		list = append(list, p.statement())
	}
	return func(s *fuzzState) {
		for _, f := range list {
			f(s)
		}
	}
}

func (p *randomProgram) statement() fuzzStmt {
	kind := p.r.IntN(10)
	if p.depth > 3 {
		kind = 0
	}
	p.depth++
	defer func() { p.depth-- }()
	switch {
	case kind < 4:
		r, f := p.expression(1 + p.r.IntN(3))
		i := p.r.IntN(fuzzVars)
		p.emit("mov.u32 %%v%d, %s;", i, r)
		return func(s *fuzzState) { s.v[i] = f(s) }
	case kind < 5:
		c, fc := p.condition()
		r, f := p.expression(1)
		i := p.r.IntN(fuzzVars)
		p.emit("@!%s mov.u32 %%v%d, %s;", c, i, r)
		return func(s *fuzzState) {
			keep := fc(s)
			if v := f(s); !keep {
				s.v[i] = v
			}
		}
	case kind < 8:
		return p.ifElse()
	case kind < 9:
		return p.loop()
	}
	return p.crossing()
}

func (p *randomProgram) ifElse() fuzzStmt {
	c, fc := p.condition()
	no, end := p.label(), p.label()
	p.emit("@!%s bra %s;", c, no)
	yes := p.block(1 + p.r.IntN(3))
	p.emit("bra %s;", end)
	p.emit("%s:", no)
	other := p.block(p.r.IntN(3))
	p.emit("%s:", end)
	return func(s *fuzzState) {
		if fc(s) {
			yes(s)
		} else {
			other(s)
		}
	}
}

func (p *randomProgram) loop() fuzzStmt {
	r, f := p.expression(1)
	n, i, c := p.reg(), p.reg(), fmt.Sprintf("%%p%d", p.labels)
	p.labels++
	p.emit("and.b32 %s, %s, 7;", n, r)
	p.emit("mov.u32 %s, 0;", i)
	top, end := p.label(), p.label()
	p.emit("%s:", top)
	p.emit("setp.ge.u32 %s, %s, %s;", c, i, n)
	p.emit("@%s bra %s;", c, end)
	body := p.block(1 + p.r.IntN(3))
	p.emit("add.u32 %s, %s, 1;", i, i)
	p.emit("bra %s;", top)
	p.emit("%s:", end)
	return func(s *fuzzState) {
		for range f(s) & 7 {
			body(s)
			if s.steps++; s.steps > 1e6 {
				panic("endless program")
			}
		}
	}
}

// crossing emits forward jumps that skip the labels of other jumps.
func (p *randomProgram) crossing() fuzzStmt {
	c, fc := p.condition()
	d, fd := p.condition()
	mid, end := p.label(), p.label()
	p.emit("@%s bra %s;", c, mid)
	first := p.block(1)
	p.emit("@%s bra %s;", d, end)
	p.emit("%s:", mid)
	second := p.block(1)
	p.emit("%s:", end)
	return func(s *fuzzState) {
		jump, skip := fc(s), fd(s)
		if !jump {
			first(s)
			if skip {
				return
			}
		}
		second(s)
	}
}

func TestRandomProgramsAgreeWithAScalarReference(t *testing.T) {
	programs := 400
	if testing.Short() {
		programs = 20
	}
	for seed := range uint64(programs) {
		p := &randomProgram{r: rand.New(rand.NewPCG(seed, 99))}
		run := p.block(6)
		body := fmt.Sprintf(".reg .b32 %%t<%d>, %%v<%d>, %%id, %%n; .reg .pred %%p<%d>; .reg .b64 %%a<3>;\n", p.regs+1, fuzzVars, p.labels+1)
		body += "\tld.param.u64 %a0, [out];\n\tmov.u32 %id, %tid.x;\n"
		for i := range fuzzVars {
			body += fmt.Sprintf("\tmul.lo.u32 %%v%d, %%id, %d;\n\tadd.u32 %%v%d, %%v%d, %d;\n", i, uint32(0x9e3779b1)>>i, i, i, i*7)
		}
		body += p.text.String()
		body += fmt.Sprintf("\tmul.wide.u32 %%a1, %%id, %d;\n\tadd.u64 %%a0, %%a0, %%a1;\n", 4*fuzzVars)
		for i := range fuzzVars {
			body += fmt.Sprintf("\tst.global.u32 [%%a0+%d], %%v%d;\n", 4*i, i)
		}
		text := ".visible .entry k(.param .u64 out)\n{\n" + body + "}\n"
		const threads = 64
		m := load(t, text)
		out := upload(m, make([]uint32, threads*fuzzVars))
		m.mustLaunch("k", threads, out)
		got := download[uint32](m, out, threads*fuzzVars)
		for id := range uint32(threads) {
			var s fuzzState
			for i := range s.v {
				s.v[i] = id*(0x9e3779b1>>i) + uint32(i*7)
			}
			run(&s)
			if [fuzzVars]uint32(got[id*fuzzVars:]) != s.v {
				t.Fatalf("seed %d thread %d: %x, want %x\n%s", seed, id, got[id*fuzzVars:(id+1)*fuzzVars], s.v, text)
			}
		}
	}
}
