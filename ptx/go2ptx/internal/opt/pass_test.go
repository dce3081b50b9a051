package opt_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

func optimised(t *testing.T, f *ir.Func, off ...string) string {
	t.Helper()
	o := opt.Options{Verify: true, Off: map[string]bool{}}
	for _, name := range off {
		o.Off[name] = true
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	if _, err := opt.Run(f, o); err != nil {
		t.Fatal(err)
	}
	return f.String()
}

func counts(t *testing.T, text string, want map[string]int) {
	t.Helper()
	for s, n := range want {
		if got := strings.Count(text, s); got != n {
			t.Errorf("%d of %q, want %d in\n%s", got, s, n, text)
		}
	}
}

// Two equal loads are merged unless there is a fence, or a store that may alias, between them. A
// load after a store to the same address is replaced with the stored value.
func TestLoads(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(b *irtest.Builder, p *ir.Value)
		loads   int
	}{
		{"nothing", func(b *irtest.Builder, p *ir.Value) {}, 1},
		{"global store", func(b *irtest.Builder, p *ir.Value) { b.Store(ir.M64, p, 8, b.I64(1)) }, 2},
		{"generic store", func(b *irtest.Builder, p *ir.Value) {
			b.Store(ir.M64, b.Load(ir.MPtr, p, 32), 8, b.I64(1))
		}, 2},
		{"barrier", func(b *irtest.Builder, p *ir.Value) { b.Asm("bar.sync 0;", ir.Convergent|ir.Fences, ir.TNone) }, 2},
		{"atomic", func(b *irtest.Builder, p *ir.Value) {
			v := b.Op(ir.OpAtomic, ir.TI32, p, b.I32(1))
			v.Mem = ir.M32
		}, 2},
		{"same store", func(b *irtest.Builder, p *ir.Value) { b.Store(ir.M64, p, 0, b.I64(1)) }, 1},
	} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
		p := b.Param(0)
		x := b.Load(ir.M64, p, 0)
		c.between(b, p)
		b.Store(ir.M64, p, 16, b.Op(ir.OpAdd, ir.TI64, x, b.Load(ir.M64, p, 0)))
		b.B.Ret()
		if text := optimised(t, b.F); strings.Count(text, "load.b64") != c.loads {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}

// loopCheck builds for i := start; i cond n; i += step { check i <u len }.
func loopCheck(start, step int64, cond ir.Cond, negate bool) *ir.Func {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64)
	p, n := b.Param(0), b.Param(1)
	head, body, end := b.Block(), b.Block(), b.Block()
	b.B.Jump(head)
	b.Set(head)
	i := b.Phi(head, ir.TI64)
	b.B.If(b.Cmp(cond, i, n), body, end)
	if negate {
		head.Term.Succs[0], head.Term.Succs[1] = end, body
	}
	b.Set(body)
	b.Check("index", b.Cmp(ir.ULt, i, n), i, n)
	b.Store(ir.M64, p, 0, i)
	next := b.Op(ir.OpAdd, ir.TI64, i, b.I64(step))
	b.B.Jump(head)
	i.Args = []*ir.Value{b.I64(start), next}
	b.Set(end)
	b.B.Ret()
	return b.F
}

// The check in a counted loop is removed, except if the index can be negative, can overflow, or can
// reach the length.
func TestCountedLoops(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      *ir.Func
		checks int
	}{
		{"i < n", loopCheck(0, 1, ir.SLt, false), 0},
		{"!(i >= n)", loopCheck(0, 1, ir.SGe, true), 0},
		{"from -1", loopCheck(-1, 1, ir.SLt, false), 1},
		{"i <= n", loopCheck(0, 1, ir.SLe, false), 1},
		{"i != n", loopCheck(0, 1, ir.Ne, false), 1},
		{"down", loopCheck(0, -1, ir.SLt, false), 1},
	} {
		if text := optimised(t, c.f, "unrollpart"); strings.Count(text, "check") != c.checks {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}

// The guard `if i >= n return` makes the check of a global index redundant. Checks after a barrier
// remain.
func TestGuard(t *testing.T) {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M64)
	p, n := b.Param(0), b.Param(1)
	i := b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpMul, ir.TI64, b.Special("%ctaid.x", ir.TI64), b.Special("%ntid.x", ir.TI64)), b.Special("%tid.x", ir.TI64))
	out, in := b.Block(), b.Block()
	b.B.If(b.Cmp(ir.SGe, i, n), out, in)
	b.Set(out)
	b.B.Ret()
	b.Set(in)
	b.Check("index", b.Cmp(ir.ULt, i, n), i, n)
	j := b.Op(ir.OpSub, ir.TI64, i, b.I64(1))
	b.Check("index", b.Cmp(ir.ULt, j, n), j, n)
	b.Check("index", b.Cmp(ir.ULt, j, n), j, n)
	b.Store(ir.M64, b.Index(p, i, 8), 0, b.Load(ir.M64, b.Index(p, j, 8), 0))
	b.B.Ret()
	counts(t, optimised(t, b.F), map[string]int{"check": 1, "load.b64": 1, "mul ": 1, "shl": 1, " -8": 1})
}

func evaluate(t *testing.T, build func(b *irtest.Builder, x *ir.Value) *ir.Value) string {
	t.Helper()
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.M32)
	p, x := b.Param(0), b.Param(1)
	r := build(b, x)
	b.Store(map[ir.Kind]ir.Mem{ir.I32: ir.M32, ir.I64: ir.M64, ir.Bool: ir.MBool}[r.Type.Kind], p, 0, r)
	b.B.Ret()
	return optimised(t, b.F)
}

func TestSimplify(t *testing.T) {
	counts(t, evaluate(t, func(b *irtest.Builder, x *ir.Value) *ir.Value {
		return b.Op(ir.OpShl, ir.TI32, b.Op(ir.OpAdd, ir.TI32, x, b.I32(3)), b.I32(2))
	}), map[string]int{"i32:12": 1, "shl": 1})
	counts(t, evaluate(t, func(b *irtest.Builder, x *ir.Value) *ir.Value {
		return b.Cmp(ir.SLt, b.Op(ir.OpZExt32, ir.TI64, x), b.I64(math.MaxUint32))
	}), map[string]int{"icmp.ult": 1, "i32:-1": 1, "zext": 0})
	counts(t, evaluate(t, func(b *irtest.Builder, x *ir.Value) *ir.Value {
		return b.Op(ir.OpSDiv, ir.TI32, b.Op(ir.OpAnd, ir.TI32, x, b.I32(1023)), b.I32(16))
	}), map[string]int{"lshr": 1, "div": 0, "ashr": 0})
}

// If the ranges of the operands allow it, a minimum or maximum must be replaced with one of its
// operands.
func TestExtremes(t *testing.T) {
	for _, c := range []struct {
		op   ir.Op
		name string
		at   int64
		want string // what remains of the minimum or maximum of lane and at
	}{
		{ir.OpUMin, "umin", 31, "lane"}, {ir.OpUMin, "umin", 30, "both"}, {ir.OpUMin, "umin", -1, "both"}, {ir.OpUMin, "umin", 0, "at"},
		{ir.OpUMax, "umax", 31, "at"}, {ir.OpUMax, "umax", 30, "both"}, {ir.OpUMax, "umax", -1, "both"}, {ir.OpUMax, "umax", 0, "lane"},
		{ir.OpSMin, "smin", 31, "lane"}, {ir.OpSMin, "smin", 30, "both"}, {ir.OpSMin, "smin", -1, "at"},
		{ir.OpSMax, "smax", 31, "at"}, {ir.OpSMax, "smax", 30, "both"}, {ir.OpSMax, "smax", -1, "lane"},
	} {
		text := evaluate(t, func(b *irtest.Builder, _ *ir.Value) *ir.Value {
			return b.Op(c.op, ir.TI64, b.Special("%laneid", ir.TI64), b.I64(c.at))
		})
		got := "at"
		switch {
		case strings.Contains(text, c.name):
			got = "both"
		case strings.Contains(text, "%laneid"):
			got = "lane"
		}
		if got != c.want {
			t.Errorf("%s of lane and %d is %s, want %s:\n%s", c.name, c.at, got, c.want, text)
		}
	}
}

// Multiplications and additions are fused, but not across a conversion, with NoFMA, or if the
// product has another use.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		name       string
		pin, again bool
		noFMA      bool
		want       int
	}{{"plain", false, false, false, 2}, {"pinned", true, false, false, 0}, {"off", false, false, true, 0}, {"used again", false, true, false, 0}} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr, ir.MF32, ir.MF32)
		p, x, y := b.Param(0), b.Param(1), b.Param(2)
		b.F.Options.NoFMA = c.noFMA
		for i, op := range []ir.Op{ir.OpFAdd, ir.OpFSub} {
			product := b.Op(ir.OpFMul, ir.TF32, x, b.Load(ir.MF32, p, int64(4*i)))
			z := product
			if c.pin {
				z = b.Op(ir.OpPin, ir.TF32, product)
			}
			b.Store(ir.MF32, p, int64(16+4*i), b.Op(op, ir.TF32, y, z))
			if c.again {
				b.Store(ir.MF32, p, int64(32+4*i), product)
			}
		}
		b.B.Ret()
		if text := optimised(t, b.F); strings.Count(text, "fma") != c.want {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}

// A barrier that depends on the thread index is reported, and an early return before a barrier is
// reported as a guard. A barrier that depends on the block index is not reported.
func TestDivergentBarriers(t *testing.T) {
	for _, c := range []struct {
		name, special string
		early         bool
		want          int
	}{{"thread", "%tid.x", false, 1}, {"block", "%ctaid.x", false, 0}, {"early return", "%tid.x", true, 2}} {
		b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
		p := b.Param(0)
		then, els, end := b.Block(), b.Block(), b.Block()
		b.B.If(b.Cmp(ir.SLt, b.Special(c.special, ir.TI64), b.I64(7)), then, els)
		b.Set(then)
		b.Asm("bar.sync 0;", ir.Convergent|ir.Fences, ir.TNone)
		b.B.Jump(end)
		b.Set(els)
		if c.early {
			b.B.Ret()
		} else {
			b.Store(ir.M64, p, 0, b.I64(1))
			b.B.Jump(end)
		}
		b.Set(end)
		b.Asm("bar.sync 0;", ir.Convergent|ir.Fences, ir.TNone)
		b.B.Ret()
		if got := opt.DivergentBarriers(b.F); len(got) != c.want || c.want > 0 && (got[0].Barrier.Block != then || got[0].Guard != c.early) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The check that a counter is not negative remains if the counter can overflow.
func TestOverflowingCounter(t *testing.T) {
	for _, c := range []struct {
		cond   ir.Cond
		checks int
	}{{ir.Ne, 1}, {ir.SLt, 0}, {ir.SLe, 1}} {
		f := loopCheck(0, 1, c.cond, false)
		body := f.Blocks[2]
		cond := body.Values[0]
		nonNegative := f.NewValue(ir.OpICmp, ir.TBool, cond.Args[0], f.Const(ir.TI64, 0))
		nonNegative.Aux, nonNegative.Block = int64(ir.SGe), body
		for i, v := range body.Values {
			if v.Op == ir.OpCheck {
				v.Args[0] = nonNegative
				body.Values[i-1] = nonNegative
			}
		}
		if text := optimised(t, f, "unrollpart"); strings.Count(text, "check") != c.checks {
			t.Errorf("%s:\n%s", c.cond, text)
		}
	}
}

// When a constant becomes known, the operands of a comparison and of its negation are both swapped.
// Each must have its own operand list.
func TestNegationHasItsOwnOperands(t *testing.T) {
	b := irtest.Kernel(&ir.Module{}, "k", ir.MPtr)
	p := b.Param(0)
	zero := b.Op(ir.OpSub, ir.TI32, b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 0))
	less := b.Op(ir.OpICmp, ir.TBool, zero, b.Load(ir.M32, p, 8))
	less.Aux = int64(ir.ULt)
	not := b.Op(ir.OpNot, ir.TBool, less)
	b.Store(ir.M32, p, 16, b.Op(ir.OpSelect, ir.TI32, less, b.Load(ir.M32, p, 20), b.I32(2)))
	b.Store(ir.M32, p, 24, b.Op(ir.OpSelect, ir.TI32, not, b.Load(ir.M32, p, 28), b.I32(4)))
	b.B.Ret()
	counts(t, optimised(t, b.F), map[string]int{"icmp.ugt": 1, "icmp.ule": 1, "icmp.uge": 0})
}

// A difference of integers must not be the subtrahend of another one, unless it has further uses.
func TestDifferences(t *testing.T) {
	load := func(b *irtest.Builder, at int64) *ir.Value { return b.Load(ir.M64, b.Param(0), 8*at) }
	sub := func(b *irtest.Builder, x, y *ir.Value) *ir.Value { return b.Op(ir.OpSub, x.Type, x, y) }
	for _, c := range []struct {
		name             string
		build            func(b *irtest.Builder) *ir.Value
		subtract, change int
	}{
		{"a-(b-c)", func(b *irtest.Builder) *ir.Value {
			return sub(b, load(b, 1), sub(b, load(b, 2), load(b, 3)))
		}, 1, 1},
		{"a-(b-(c-d))", func(b *irtest.Builder) *ir.Value {
			return sub(b, load(b, 1), sub(b, load(b, 2), sub(b, load(b, 3), load(b, 4))))
		}, 2, 1},
		{"a-(b-(c-(d-e)))", func(b *irtest.Builder) *ir.Value {
			return sub(b, load(b, 1), sub(b, load(b, 2), sub(b, load(b, 3), sub(b, load(b, 4), load(b, 5)))))
		}, 2, 2},
		{"32 bits", func(b *irtest.Builder) *ir.Value {
			x := sub(b, b.Load(ir.M32, b.Param(0), 8), sub(b, b.Load(ir.M32, b.Param(0), 16), b.Load(ir.M32, b.Param(0), 24)))
			return b.Op(ir.OpSExt32, ir.TI64, x)
		}, 1, 1},
		{"(a-b)-c", func(b *irtest.Builder) *ir.Value {
			return sub(b, sub(b, load(b, 1), load(b, 2)), load(b, 3))
		}, 2, 0},
		{"used again", func(b *irtest.Builder) *ir.Value {
			x := sub(b, load(b, 2), load(b, 3))
			b.Store(ir.M64, b.Param(0), 48, x)
			return sub(b, load(b, 1), x)
		}, 2, 0},
		{"x-x where x is a difference", func(b *irtest.Builder) *ir.Value {
			x := sub(b, load(b, 2), load(b, 3))
			return sub(b, x, x)
		}, 0, 0},
		{"another block", func(b *irtest.Builder) *ir.Value {
			x := sub(b, load(b, 2), load(b, 3))
			next, end := b.Block(), b.Block()
			b.B.If(b.Cmp(ir.SLt, load(b, 4), b.I64(1)), next, end)
			b.Set(end)
			b.B.Ret()
			b.Set(next)
			return sub(b, load(b, 1), x)
		}, 1, 1},
	} {
		value := func(optimise bool) int64 {
			m := &ir.Module{}
			b := irtest.Kernel(m, "k", ir.MPtr)
			b.Store(ir.M64, b.Param(0), 0, c.build(b))
			b.B.Ret()
			if optimise {
				counts, err := opt.Run(b.F, opt.Options{Verify: true})
				if err != nil {
					t.Fatal(err)
				}
				text := b.F.String()
				for _, x := range counts {
					if x.Pass == "differences" && x.N != c.change {
						t.Errorf("%s: %d changes, want %d\n%s", c.name, x.N, c.change, text)
					}
				}
				if n := strings.Count(text, "sub "); n != c.subtract {
					t.Errorf("%s: %d differences, want %d\n%s", c.name, n, c.subtract, text)
				}
			}
			x := irtest.New(m)
			p := x.Alloc(64)
			for i, v := range []uint64{0, 5, 0xffff_ffff, 0, 1 << 63, 7, 9} {
				binary.LittleEndian.PutUint64(x.Memory[p+8*int64(i):], v)
			}
			if _, err := x.Call(b.F, []int64{p}); err != nil {
				t.Fatal(err)
			}
			return int64(binary.LittleEndian.Uint64(x.Memory[p:]))
		}
		if plain, optimised := value(false), value(true); plain != optimised {
			t.Errorf("%s: %#x, without passes %#x", c.name, optimised, plain)
		}
	}
}
