package opt_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

const words = 16 // per thread

// generator builds random functions in the form that lowering produces, with variables in slots.
type generator struct {
	*irtest.Builder
	r     *rand.Rand
	p     *ir.Value
	slots []*ir.Value
	mems  []ir.Mem
	depth int
}

var slotMems = []ir.Mem{ir.M32, ir.M64, ir.M64, ir.M32, ir.MS8, ir.MU16, ir.MBool, ir.MF32, ir.MF64}

func random(m *ir.Module, seed uint64) *ir.Func {
	b := irtest.Kernel(m, "k", ir.MPtr)
	b.F.Options.NoFMA = true
	g := &generator{Builder: b, r: rand.New(rand.NewPCG(seed, 9))}
	g.p = b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 8*words)
	for i, mem := range slotMems {
		b.F.Slots = append(b.F.Slots, ir.Slot{Name: "s", Size: 8, Align: 8})
		s := b.Aux(ir.OpSlot, ir.PtrTo(ir.Local), int64(i))
		g.slots, g.mems = append(g.slots, s), append(g.mems, mem)
		b.Store(mem, s, 0, g.input(mem, int64(i%words)))
	}
	g.statements(6 + g.r.IntN(6))
	for i, s := range g.slots {
		b.Store(g.mems[i], g.p, 8*int64(i), b.Load(g.mems[i], s, 0))
	}
	b.B.Ret()
	return b.F
}

func (g *generator) input(mem ir.Mem, i int64) *ir.Value { return g.Load(mem, g.p, 8*i) }

// read returns a value of type t from a slot, from memory or from a constant.
func (g *generator) read(t ir.Type) *ir.Value {
	for range 20 {
		i := g.r.IntN(len(g.slots))
		if g.mems[i].Type() == t {
			return g.Load(g.mems[i], g.slots[i], 0)
		}
	}
	small := []int64{0, 1, 2, 3, 4, 7, 8, 10, 16, 31, 63, 100, -1, -2, -8}
	if t.Kind.IsFloat() {
		return g.F.Const(t, map[ir.Kind]int64{ir.F32: 0x3f800000, ir.F64: 0x40 << 56}[t.Kind])
	}
	return g.F.Const(t, small[g.r.IntN(len(small))])
}

var intOps = []ir.Op{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpSMin, ir.OpSMax, ir.OpUMin, ir.OpUMax, ir.OpMulHiS, ir.OpMulHiU, ir.OpAdd, ir.OpSub}
var conds = []ir.Cond{ir.Eq, ir.Ne, ir.SLt, ir.SLe, ir.SGt, ir.SGe, ir.ULt, ir.ULe, ir.UGt, ir.UGe}

func (g *generator) operand(t ir.Type, depth int) *ir.Value {
	if depth == 0 || g.r.IntN(3) == 0 {
		if t.Kind.IsInt() && g.r.IntN(3) == 0 {
			return g.F.Const(t, []int64{0, 1, 2, 3, 5, 8, 12, 64, -1, -3, 1 << 20}[g.r.IntN(11)])
		}
		return g.read(t)
	}
	return g.expression(t, depth-1)
}

func (g *generator) expression(t ir.Type, depth int) *ir.Value {
	arg := func(t ir.Type) *ir.Value { return g.operand(t, depth) }
	if g.r.IntN(8) == 0 {
		return g.Op(ir.OpSelect, t, arg(ir.TBool), arg(t), arg(t))
	}
	switch t.Kind {
	case ir.Bool:
		return g.condition(depth)
	case ir.F32, ir.F64:
		op := []ir.Op{ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFMin}[g.r.IntN(4)]
		if g.r.IntN(4) == 0 {
			return g.Op(ir.OpFNeg, t, arg(t))
		}
		return g.Op(op, t, arg(t), arg(t))
	}
	switch g.r.IntN(7) {
	case 0:
		c := g.F.Const(t, []int64{1, 2, 3, 7, 8, 10, 641, 64, 1 << 20, 1<<31 - 1, -3}[g.r.IntN(11)])
		return g.Op([]ir.Op{ir.OpSDiv, ir.OpUDiv, ir.OpSRem, ir.OpURem}[g.r.IntN(4)], t, arg(t), c)
	case 1:
		return g.Op([]ir.Op{ir.OpShl, ir.OpLShr, ir.OpAShr}[g.r.IntN(3)], t, arg(t), g.F.Const(ir.TI32, int64(g.r.IntN(70))))
	case 2:
		if t == ir.TI64 {
			return g.Op([]ir.Op{ir.OpSExt32, ir.OpZExt32}[g.r.IntN(2)], t, arg(ir.TI32))
		}
		return g.Op([]ir.Op{ir.OpSExt8, ir.OpZExt16, ir.OpTrunc}[g.r.IntN(2)], t, arg(ir.TI32))
	case 3:
		if t == ir.TI32 {
			return g.Op(ir.OpTrunc, t, arg(ir.TI64))
		}
		return g.Op(ir.OpNot, t, arg(t))
	}
	if g.r.IntN(8) == 0 {
		return g.Op(ir.OpSub, t, arg(t), g.Op(ir.OpSub, t, arg(t), arg(t)))
	}
	return g.Op(intOps[g.r.IntN(len(intOps))], t, arg(t), arg(t))
}

func (g *generator) condition(depth int) *ir.Value {
	switch g.r.IntN(6) {
	case 0:
		return g.Op(ir.OpNot, ir.TBool, g.operand(ir.TBool, depth))
	case 1:
		return g.Op([]ir.Op{ir.OpAnd, ir.OpOr, ir.OpXor}[g.r.IntN(3)], ir.TBool, g.operand(ir.TBool, depth), g.operand(ir.TBool, depth))
	case 2:
		return g.Cmp([]ir.Cond{ir.Eq, ir.Ne, ir.FLt, ir.FGe}[g.r.IntN(4)], g.operand(ir.TF32, depth), g.operand(ir.TF32, depth))
	}
	t := []ir.Type{ir.TI32, ir.TI64}[g.r.IntN(2)]
	return g.Cmp(conds[g.r.IntN(len(conds))], g.operand(t, depth), g.operand(t, depth))
}

func (g *generator) statements(n int) {
	for range n {
		switch k := g.r.IntN(10); {
		case k < 5 || g.depth > 3:
			g.assign()
		case k < 6:
			at := 8 * int64(9+g.r.IntN(4))
			g.Store(ir.M64, g.p, at, g.operand(ir.TI64, 2))
			if g.r.IntN(2) == 0 {
				g.Store(ir.M64, g.slots[1], 0, g.Load(ir.M64, g.p, 8*int64(9+g.r.IntN(4))))
			}
		case k < 8:
			g.branch()
		case k < 9:
			g.loop()
		default:
			x := g.operand(ir.TI64, 1)
			lo := g.Op(ir.OpAnd, ir.TI64, x, g.I64(15))
			g.Check("index", g.Cmp(ir.ULt, lo, g.I64([]int64{16, 16, 16, 14}[g.r.IntN(4)])), lo, g.I64(16))
		}
	}
}

func (g *generator) assign() {
	i := g.r.IntN(len(g.slots))
	v := g.operand(g.mems[i].Type(), 3)
	switch g.mems[i] {
	case ir.MS8:
		v = g.Op(ir.OpSExt8, ir.TI32, v)
	case ir.MU16:
		v = g.Op(ir.OpZExt16, ir.TI32, v)
	}
	g.Store(g.mems[i], g.slots[i], 0, v)
}

func (g *generator) branch() {
	g.depth++
	then, els, end := g.Block(), g.Block(), g.Block()
	g.B.If(g.condition(2), then, els)
	g.Set(then)
	g.statements(1 + g.r.IntN(3))
	g.B.Jump(end)
	g.Set(els)
	g.statements(g.r.IntN(3))
	g.B.Jump(end)
	g.Set(end)
	g.depth--
}

// loop adds a loop whose bound differs between threads.
func (g *generator) loop() {
	g.depth++
	g.F.Slots = append(g.F.Slots, ir.Slot{Name: "i", Size: 8, Align: 8})
	i := g.Aux(ir.OpSlot, ir.PtrTo(ir.Local), int64(len(g.F.Slots)-1))
	n := g.Op(ir.OpAnd, ir.TI64, g.operand(ir.TI64, 1), g.I64(7))
	g.Store(ir.M64, i, 0, g.I64(int64(g.r.IntN(3))-1))
	head, body, end := g.Block(), g.Block(), g.Block()
	g.B.Jump(head)
	g.Set(head)
	x := g.Load(ir.M64, i, 0)
	g.B.If(g.Cmp(ir.SLt, x, n), body, end)
	g.Set(body)
	g.Check("index", g.Cmp(ir.ULt, g.Load(ir.M64, i, 0), n), x, n)
	g.statements(1 + g.r.IntN(3))
	if g.r.IntN(3) == 0 {
		next := g.Block()
		g.B.If(g.condition(1), end, next)
		g.Set(next)
	}
	g.Store(ir.M64, i, 0, g.Op(ir.OpAdd, ir.TI64, g.Load(ir.M64, i, 0), g.I64(1)))
	g.B.Jump(head)
	g.Set(end)
	g.depth--
}

// result is the outcome of a kernel: the contents of memory, or a fault.
type result struct {
	memory []uint64
	fault  bool
}

func execute(t *testing.T, c *driver.Context, m *ir.Module, seed uint64) result {
	t.Helper()
	src, err := emit.Emit(m, emit.Options{}).Text()
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, m)
	}
	const threads = 32
	r := rand.New(rand.NewPCG(seed, 1))
	in := make([]uint64, threads*words)
	for i := range in {
		in[i] = r.Uint64() >> r.IntN(64)
	}
	mod, err := c.LoadModule(src)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, src)
	}
	k, err1 := mod.Kernel("k")
	buf, err2 := driver.AllocFrom(c, in)
	s, err3 := c.NewStream()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	err = k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(threads)}, buf)
	err = errors.Join(err, s.Wait(context.Background()))
	var fault *driver.KernelFault
	res := result{fault: errors.As(err, &fault)}
	if err != nil && !res.fault {
		t.Fatalf("seed %d: %v\n%s", seed, err, src)
	}
	if !res.fault {
		res.memory = make([]uint64, len(in))
		err = buf.CopyTo(res.memory)
	} else {
		err = nil
	}
	if err := errors.Join(err, s.Close(), buf.Close(), mod.Close()); err != nil {
		t.Fatal(err)
	}
	return res
}

// Random functions must compute the same results with and without the passes, and each pass must
// change something.
func TestRandom(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 120
	}
	total := map[string]int{}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for seed := range n {
			plain, m := &ir.Module{}, &ir.Module{}
			random(plain, seed)
			f := random(m, seed)
			if err := m.Verify(); err != nil {
				t.Fatal(err)
			}
			counts, err := opt.Run(f, opt.Options{Verify: true})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, x := range counts {
				total[x.Pass] += x.N
			}
			want, got := execute(t, c, plain, seed), execute(t, c, m, seed)
			if want.fault != got.fault {
				t.Fatalf("seed %d: fault %t, want %t\n%s\n%s", seed, got.fault, want.fault, plain, m)
			}
			for i := range want.memory {
				if want.memory[i] != got.memory[i] && !nan(i, want.memory[i], got.memory[i]) {
					t.Fatalf("seed %d: word %d is %#x, want %#x\n%s\n%s", seed, i, got.memory[i], want.memory[i], plain, m)
				}
			}
		}
	})
	for _, name := range []string{"cfg", "sroa", "simplify", "gvn", "checks", "select", "licm", "unrollpart", "divide", "differences", "dce"} {
		if total[name] < 100 {
			t.Errorf("pass %s changed %d things", name, total[name])
		}
	}
}

// nan reports whether both words contain NaNs in the type of the slot.
func nan(i int, a, b uint64) bool {
	switch i % words {
	case 7:
		return a&0x7f800000 == 0x7f800000 && a&0x7fffff != 0 && b&0x7f800000 == 0x7f800000 && b&0x7fffff != 0
	case 8:
		const exp = 0x7ff << 52
		return a&exp == exp && a<<12 != 0 && b&exp == exp && b<<12 != 0
	}
	return false
}
