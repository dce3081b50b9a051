package ptxtest

import (
	"fmt"
	"strings"
)

// LongText writes modules with many repetitions of one construct. With N repetitions, quadratic
// work would dominate the time.
type LongText struct {
	N     int
	write func(p func(format string, args ...any), n int)
}

const longHead = ".version 8.0\n.target sm_80\n.address_size 64\n"

// Text returns a module with n repetitions.
func (l LongText) Text(n int) string {
	var b strings.Builder
	b.WriteString(longHead)
	l.write(func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }, n)
	return b.String()
}

// kernelOf returns a function that writes a kernel with n lines in its body.
func kernelOf(regs string, line func(p func(string, ...any), i int)) func(func(string, ...any), int) {
	return func(p func(string, ...any), n int) {
		p(".visible .entry k(.param .u32 a)\n{\n.reg .pred %%p<2>;\n.reg .b32 %%r<"+regs+">;\n.reg .b64 %%d<4>;\nld.param.u32 %%r1, [a];\n", n+2)
		for i := range n {
			line(p, i)
		}
		p("END:\nret;\n}\n")
	}
}

const emptyKernel = ".visible .entry k()\n{\nret;\n}\n"

// LongTexts contains constructs that would take quadratic time to load or reject in a naive
// implementation.
var LongTexts = map[string]LongText{
	"branches over one register": {3000, kernelOf("%d", func(p func(string, ...any), i int) {
		p("setp.eq.s32 %%p1, %%r1, %d;\n@!%%p1 bra L%d;\nadd.s32 %%r1, %%r1, 1;\nL%d:\n", i, i, i)
	})},
	"branches over many registers": {3000, kernelOf("%d", func(p func(string, ...any), i int) {
		p("setp.eq.s32 %%p1, %%r%d, 7;\n@!%%p1 bra L%d;\nadd.s32 %%r%d, %%r%d, 1;\nL%d:\n", i, i, i+1, i, i)
	})},
	"branches to the end": {3000, kernelOf("%d", func(p func(string, ...any), i int) {
		p("setp.eq.s32 %%p1, %%r1, %d;\n@!%%p1 bra END;\n", i)
	})},
	"branches backwards": {3000, func(p func(string, ...any), n int) {
		p(".visible .entry k(.param .u32 a)\n{\n.reg .b32 %%r<%d>;\nbra L%d;\nL0:\nret;\n", n+2, n)
		for i := range n {
			p("L%d:\nadd.u32 %%r%d, %%r%d, 1;\nbra L%d;\n", i+1, i, i+1, i)
		}
		p("}\n")
	}},
	"registers alive everywhere": {3000, func(p func(string, ...any), n int) {
		p(".visible .entry k(.param .u32 a)\n{\n.reg .pred %%p;\n.reg .b32 %%r<%d>;\n", n)
		for i := range n {
			p("ld.param.u32 %%r%d, [a];\n", i)
		}
		for i := range n {
			p("setp.eq.u32 %%p, %%r0, 7;\n@%%p bra L%d;\nL%d:\n", i, i)
		}
		for i := range n {
			p("add.u32 %%r0, %%r0, %%r%d;\n", i)
		}
		p("ret;\n}\n")
	}},
	"a table of branches, used often": {1000, func(p func(string, ...any), n int) {
		p(".visible .entry k(.param .u32 a)\n{\n.reg .b32 %%r;\nld.param.u32 %%r, [a];\nT: .branchtargets L0")
		for i := 1; i < n; i++ {
			p(", L%d", i)
		}
		p(";\n")
		for i := range n {
			p("brx.idx %%r, T;\nL%d:\n", i)
		}
		p("ret;\n}\n")
	}},
	"a list of functions, called often": {600, func(p func(string, ...any), n int) {
		for i := range n {
			p(".func f%d()\n{\nret;\n}\n", i)
		}
		p(".visible .entry k()\n{\n.reg .b64 %%d;\nmov.u64 %%d, f0;\nT: .calltargets f0")
		for i := 1; i < n; i++ {
			p(", f%d", i)
		}
		p(";\n")
		for range n {
			p("call %%d, T;\n")
		}
		p("ret;\n}\n")
	}},
	"constants": {4000, kernelOf("%d", func(p func(string, ...any), i int) { p("add.u32 %%r1, %%r1, %d;\n", i+7) })},
	"labels":    {8000, kernelOf("%d", func(p func(string, ...any), i int) { p("L%d:\n", i) })},
	"variables of a kernel": {4000, kernelOf("%d", func(p func(string, ...any), i int) {
		p(".local .u32 l%d;\nmov.u64 %%d1, l%d;\n", i, i)
	})},
	"entries": {3000, func(p func(string, ...any), n int) {
		for i := range n {
			p(".visible .entry k%d()\n{\nret;\n}\n", i)
		}
	}},
	"functions": {3000, func(p func(string, ...any), n int) {
		for i := range n {
			p(".func f%d()\n{\nret;\n}\n", i)
		}
		p(".visible .entry k()\n{\n")
		for i := range n {
			p("call f%d;\n", i)
		}
		p("ret;\n}\n")
	}},
	"functions that call each other": {3000, func(p func(string, ...any), n int) {
		chain(p, n)
		p(".visible .entry k()\n{\ncall f%d;\nret;\n}\n", n-1)
	}},
	"entries that call many functions": {400, func(p func(string, ...any), n int) {
		chain(p, n)
		for i := range n {
			p(".visible .entry k%d()\n{\ncall f%d;\nret;\n}\n", i, n-1)
		}
	}},
	"entries that call indirectly": {300, func(p func(string, ...any), n int) {
		chain(p, n)
		for i := range n {
			p(".visible .entry k%d()\n{\n.reg .b64 %%d;\nP: .callprototype _ ();\nmov.u64 %%d, f0;\ncall %%d, (), P;\nret;\n}\n", i)
		}
	}},
	"globals": {3000, func(p func(string, ...any), n int) {
		for i := range n {
			p(".visible .global .u32 g%d = %d;\n", i, i)
		}
		p(emptyKernel)
	}},
	"globals with addresses": {3000, func(p func(string, ...any), n int) {
		p(".global .u32 g;\n")
		for i := range n {
			p(".global .u64 g%d = g;\n", i)
		}
		p(emptyKernel)
	}},
	"shared variables": {3000, func(p func(string, ...any), n int) {
		for i := range n {
			p(".shared .u8 s%d;\n", i)
		}
		kernelOf("%d", func(p func(string, ...any), i int) { p("mov.u64 %%d1, s%d;\n", i) })(p, n)
	}},
	"parameters": {3000, func(p func(string, ...any), n int) {
		p(".func f(.reg .u32 p0")
		for i := 1; i < n; i++ {
			p(", .reg .u32 p%d", i)
		}
		p(")\n{\nret;\n}\n.visible .entry k()\n{\n.reg .u32 %%r;\ncall f, (%%r")
		for range n - 1 {
			p(", %%r")
		}
		p(");\nret;\n}\n")
	}},
	"elements of an initialiser": {8000, func(p func(string, ...any), n int) {
		p(".global .u32 g[] = {0")
		for i := range n {
			p(", %d", i)
		}
		p("};\n" + emptyKernel)
	}},
	"mistakes": {4000, kernelOf("%d", func(p func(string, ...any), i int) { p("mov.u32 %%x%d, 1;\n", i) })},
	"a register of many digits": {20000, func(p func(string, ...any), n int) {
		p(".visible .entry k()\n{\n.reg .b32 %%r<4>;\nmov.u32 %%r%s, 1;\nret;\n}\n", strings.Repeat("9", n))
	}},
	"aliases": {3000, func(p func(string, ...any), n int) {
		p(".visible .func f()\n{\nret;\n}\n")
		for i := range n {
			p(".visible .func a%d();\n.alias a%d, f;\n", i, i)
		}
		p(emptyKernel)
	}},
	"lines of a source": {4000, func(p func(string, ...any), n int) {
		p(".file 1 \"a.cu\"\n")
		kernelOf("%d", func(p func(string, ...any), i int) { p(".loc 1 %d 1\nadd.u32 %%r1, %%r1, 1;\n", i+1) })(p, n)
	}},
}

func chain(p func(string, ...any), n int) {
	p(".func f0()\n{\nret;\n}\n")
	for i := 1; i < n; i++ {
		p(".func f%d()\n{\ncall f%d;\nret;\n}\n", i, i-1)
	}
}
