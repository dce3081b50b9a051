package randgo

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// typ is the Go type of an expression.
type typ string

var (
	ints   = []typ{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int", "uint"}
	floats = []typ{"float32", "float64"}
)

func (t typ) isFloat() bool { return t == "float32" || t == "float64" }
func (t typ) signed() bool  { return strings.HasPrefix(string(t), "int") }
func (t typ) bits() int {
	switch t {
	case "int8", "uint8":
		return 8
	case "int16", "uint16":
		return 16
	case "int32", "uint32", "float32":
		return 32
	}
	return 64
}

// variable is a variable in scope.
type variable struct {
	name  string
	t     typ
	fixed bool // whether the variable must not be assigned to
}

// array is an array or slice in scope. The length of a local array is a power of two.
type array struct {
	name  string
	elem  typ
	len   int // 0 for a slice, whose length is len(name)
	fixed bool
	short bool // whether slices of it may exceed its capacity
}

type gen struct {
	r    *rand.Rand
	seed uint64
	k    *Kernel
	name string

	out      strings.Builder // the functions that precede the kernel
	body     strings.Builder
	indent   int
	vars     []variable
	arrays   []array
	count    int
	depth    int // nesting depth of the current statement
	loops    int
	shared   int // upper bound of the static shared memory used so far, in bytes
	budget   int
	helpers  []helper
	inHelper bool // whether a helper function is being generated, in which the kernel's parameters are not in scope
}

func (g *gen) n(n int) int             { return g.r.IntN(n) }
func (g *gen) chance(percent int) bool { return g.n(100) < percent }
func (g *gen) use(what string)         { g.k.Uses[what]++ }

func (g *gen) fresh(prefix string) string {
	g.count++
	return fmt.Sprintf("%s%d", prefix, g.count)
}

func (g *gen) line(format string, args ...any) {
	g.body.WriteString(strings.Repeat("\t", g.indent))
	fmt.Fprintf(&g.body, format, args...)
	g.body.WriteByte('\n')
}

func pick[T any](g *gen, of []T) T { return of[g.n(len(of))] }

func (g *gen) anyType() typ {
	if g.chance(30) {
		return pick(g, floats)
	}
	return pick(g, ints)
}

// block generates n statements in a new scope.
func (g *gen) block(n int) {
	v, a := len(g.vars), len(g.arrays)
	g.indent++
	g.depth++
	for range n {
		g.statement()
	}
	g.mix(v, 1)
	g.depth--
	g.indent--
	g.vars, g.arrays = g.vars[:v], g.arrays[:a]
}

func (g *gen) kernel() {
	g.k.Faults = g.chance(25)
	g.k.Converges = g.chance(45)
	g.k.Fuses = g.chance(20)
	g.inHelper = true
	g.functions()
	g.inHelper = false
	g.body.Reset()
	fmt.Fprintf(&g.body, "%s\nfunc %s%s {\n", g.k.Directive, g.name, Signature)
	g.indent = 1
	g.vars = []variable{{"p.A", "int32", true}, {"p.B", "uint16", true}, {"p.C", "int8", true}, {"p.D", "uint64", true}, {"p.F", "float32", true},
		{"p.G", "float64", true}, {"p.R.U", "uint8", true}, {"p.R.V", "int64", true}, {"n", "int", true}, {"m", "uint32", true}, {"x", "float32", true}, {"y", "float64", true}}
	g.arrays = []array{{"ii", "int32", 0, true, false}, {"il", "int64", 0, true, false}, {"ib", "uint8", 0, true, false}, {"is", "int16", 0, true, false}, {"fs", "float32", 0, true, false},
		{"fd", "float64", 0, true, false}, {"p.Q", "int16", 3, true, false}, {"primes", "uint16", 12, true, false}, {"waves", "float32", 6, true, false}}
	g.line("g := t.GlobalX()")
	g.line("r := t.ThreadX()")
	g.line("_ = r")
	g.vars = append(g.vars, variable{"g", "int", true}, variable{"r", "int", true})
	g.line("sum := int64(0)")
	own := len(g.vars)
	g.budget = 40 + g.n(60)
	for range 4 + g.n(7) {
		g.statement()
		if g.chance(60) {
			pick(g, []func(){g.edge, g.edge, g.path, g.path, g.form})()
		}
		if g.k.Converges && g.chance(60) {
			g.convergent()
		}
	}
	if g.k.Faults {
		thread := g.n(Threads)
		for range 1 + g.n(3) {
			g.fault(thread)
		}
		g.line("if g == %d {", thread)
		g.late(g.seed+1, g.lateFaults())
		g.line("}")
	}
	g.mix(own, 2)
	g.late(g.seed, g.lateShapes())
	g.late(^g.seed, g.lateMemory())
	g.line("oi[g*%d] += sum", Ints)
	for i := range Ints {
		t := pick(g, ints)
		g.line("oi[g*%d+%d] += int64(%s)", Ints, i, g.expr(t, 3))
	}
	for i := range Floats {
		g.line("of[g*%d+%d] = %s", Floats, i, g.expr("float64", 3))
		g.line("og[g*%d+%d] = %s", Floats, i, g.expr("float32", 3))
	}
	g.body.WriteString("}\n")
	g.k.Text = g.out.String() + g.body.String()
}

// fault generates statements with which a single thread can fault.
func (g *gen) fault(thread int) {
	g.line("if g == %d {", thread)
	g.indent++
	g.faultOf(g.n(23))
	g.indent--
	g.line("}")
}

// mix adds the variables whose index is at least from to a sum, so that each of them affects the
// results. It always adds the last variable of a block, and the others most of the time.
func (g *gen) mix(from int, often int) {
	if g.inHelper {
		return
	}
	for i, v := range g.vars[from:] {
		if from+i+1 < len(g.vars) && g.n(often+1) == 0 {
			continue
		}
		switch v.t {
		case "float32":
			g.line("sum = sum*5 + int64(bits32(%s))", v.name)
		case "float64":
			g.line("sum = sum*5 + int64(bits64(%s))", v.name)
		default:
			g.line("sum = sum*5 + int64(%s)", v.name)
		}
	}
}
