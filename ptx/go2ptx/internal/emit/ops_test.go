package emit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// form is an instruction with the types of its operands.
type form struct {
	op    ir.Op
	to    ir.Type
	from  []ir.Type
	aux   int64
	round ir.Round
}

func (f form) String() string {
	return fmt.Sprintf("%s %s %s %s %d", f.op, f.round, f.to, f.from, f.aux)
}

var ints = []ir.Type{ir.TI32, ir.TI64}
var floats = []ir.Type{ir.TF16, ir.TBF16, ir.TF32, ir.TF64}

// forms returns all combinations of instruction and types that ir.Eval can evaluate.
func forms() []form {
	var all []form
	add := func(op ir.Op, to ir.Type, aux int64, from ...ir.Type) {
		all = append(all, form{op: op, to: to, from: from, aux: aux})
	}
	for _, t := range ints {
		for op := ir.OpAdd; op <= ir.OpMulHiU; op++ {
			if op == ir.OpShl || op == ir.OpLShr || op == ir.OpAShr {
				add(op, t, 0, t, ir.TI32)
			} else {
				add(op, t, 0, t, t)
			}
		}
		add(ir.OpClz, ir.TI32, 0, t)
		add(ir.OpPopc, ir.TI32, 0, t)
		add(ir.OpBrev, t, 0, t)
		add(ir.OpNot, t, 0, t)
		for c := ir.Eq; c <= ir.UGe; c++ {
			add(ir.OpICmp, ir.TBool, int64(c), t, t)
		}
	}
	for _, op := range []ir.Op{ir.OpAnd, ir.OpOr, ir.OpXor} {
		add(op, ir.TBool, 0, ir.TBool, ir.TBool)
	}
	add(ir.OpNot, ir.TBool, 0, ir.TBool)
	add(ir.OpICmp, ir.TBool, int64(ir.Eq), ir.TBool, ir.TBool)
	add(ir.OpICmp, ir.TBool, int64(ir.Ne), ir.TBool, ir.TBool)
	add(ir.OpBswap, ir.TI32, 0, ir.TI32)
	for table := range int64(256) {
		add(ir.OpLop3, ir.TI32, table, ir.TI32, ir.TI32, ir.TI32)
	}
	add(ir.OpFunnel, ir.TI32, 0, ir.TI32, ir.TI32, ir.TI32)
	add(ir.OpMulWideS, ir.TI64, 0, ir.TI32, ir.TI32)
	add(ir.OpMulWideU, ir.TI64, 0, ir.TI32, ir.TI32)
	for op := ir.OpSExt8; op <= ir.OpZExt16; op++ {
		add(op, ir.TI32, 0, ir.TI32)
	}
	add(ir.OpSExt32, ir.TI64, 0, ir.TI32)
	add(ir.OpZExt32, ir.TI64, 0, ir.TI32)
	add(ir.OpTrunc, ir.TI32, 0, ir.TI64)
	for _, t := range append(append([]ir.Type{ir.TBool}, ints...), floats...) {
		add(ir.OpSelect, t, 0, ir.TBool, t, t)
	}
	return append(all, floatForms()...)
}

func floatForms() []form {
	var all []form
	add := func(op ir.Op, to ir.Type, aux int64, from ...ir.Type) {
		all = append(all, form{op: op, to: to, from: from, aux: aux})
	}
	for _, t := range floats {
		for _, op := range []ir.Op{ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFDiv, ir.OpFMin, ir.OpFMax} {
			add(op, t, 0, t, t)
		}
		for _, op := range []ir.Op{ir.OpFNeg, ir.OpFAbs, ir.OpFSqrt, ir.OpPin} {
			add(op, t, 0, t)
		}
		add(ir.OpFMA, t, 0, t, t, t)
		for _, c := range []ir.Cond{ir.Eq, ir.Ne, ir.FLt, ir.FLe, ir.FGt, ir.FGe} {
			add(ir.OpFCmp, ir.TBool, int64(c), t, t)
		}
		for r := ir.RN; r <= ir.RP; r++ {
			add(ir.OpFInt, t, int64(r), t)
		}
		for _, i := range ints {
			add(ir.OpSToF, t, 0, i)
			add(ir.OpUToF, t, 0, i)
			for r := ir.RN; r <= ir.RP; r++ {
				add(ir.OpFToS, i, int64(r), t)
				add(ir.OpFToU, i, int64(r), t)
			}
		}
		for _, u := range floats {
			if u != t {
				add(ir.OpFConv, t, 0, u)
			}
		}
	}
	for _, p := range [][2]ir.Type{{ir.TI32, ir.TF32}, {ir.TI64, ir.TF64}, {ir.TI32, ir.TF16}, {ir.TI32, ir.TBF16}} {
		add(ir.OpBitcast, p[1], 0, p[0])
		add(ir.OpBitcast, p[0], 0, p[1])
	}
	return all
}

var memOf = map[ir.Kind]ir.Mem{
	ir.Bool: ir.MBool, ir.I32: ir.M32, ir.I64: ir.M64, ir.F16: ir.MF16, ir.BF16: ir.MBF16, ir.F32: ir.MF32, ir.F64: ir.MF64,
}

// word returns the bits of a random value of type t, with a preference for edge cases.
func word(r *rand.Rand, t ir.Type) int64 {
	bits := int64(r.Uint64())
	if t.Kind.IsFloat() {
		return ir.Canonical(t.Kind, floatWord(r, t, bits))
	}
	switch r.IntN(6) {
	case 0:
		bits = []int64{0, 1, -1, 2, math.MinInt32, math.MaxInt32, math.MinInt64, math.MaxInt64, 31, 32, 63, 64}[r.IntN(12)]
	case 1:
		bits >>= r.IntN(64)
	case 2:
		bits = int64(uint64(bits) >> r.IntN(64))
	}
	return ir.Canonical(t.Kind, bits)
}

func floatWord(r *rand.Rand, t ir.Type, bits int64) int64 {
	width := t.Kind.Bits()
	mant := map[ir.Kind]int{ir.F16: 10, ir.BF16: 7, ir.F32: 23, ir.F64: 52}[t.Kind]
	exp := int64(1)<<(width-1-mant) - 1
	bias := exp >> 1
	sign := bits & math.MinInt64
	frac := bits & (int64(1)<<mant - 1)
	if r.IntN(3) == 0 {
		frac &= frac << r.IntN(mant)
	}
	e := bits >> 8 & exp
	switch r.IntN(6) {
	case 0:
		e = []int64{0, exp, 1, exp - 1}[r.IntN(4)]
		if r.IntN(2) == 0 {
			frac = 0
		}
	case 1, 2:
		e = bias + int64(r.IntN(40)) - 8
	case 3:
		e = bias + int64(r.IntN(4)) - 2
	}
	return int64(uint64(sign)>>(64-width)) | (e&exp)<<mant | frac
}

func isNaN(t ir.Type, bits int64) bool {
	mant := map[ir.Kind]int{ir.F16: 10, ir.BF16: 7, ir.F32: 23, ir.F64: 52}[t.Kind]
	if mant == 0 {
		return false
	}
	exp := int64(1)<<(t.Kind.Bits()-1-mant) - 1
	return bits>>mant&exp == exp && bits&(int64(1)<<mant-1) != 0
}

// For several targets, every operation on every type must compute the same result as ir.Eval.
func TestOperations(t *testing.T) {
	const lanes = 512
	all := forms()
	for _, target := range []string{"", "sm_53", "sm_80", "sm_90"} {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr)
		tid := b.Special("%tid.x", ir.TI64)
		p := b.Index(b.Param(0), tid, int64(32*len(all)))
		rnd := rand.New(rand.NewPCG(1, 2))
		words := make([]uint64, 4*lanes*len(all))
		for i, f := range all {
			at := int64(32 * i)
			v := b.F.NewValue(f.op, f.to)
			v.Aux, v.Round = f.aux, f.round
			for k, from := range f.from {
				v.Args = append(v.Args, b.Load(memOf[from.Kind], p, at+8*int64(k)))
			}
			b.B.Append(v)
			b.Store(memOf[f.to.Kind], p, at+24, v)
			for lane := range lanes {
				for k, from := range f.from {
					w := word(rnd, from)
					if k == 1 && w == 0 && f.op >= ir.OpSDiv && f.op <= ir.OpURem {
						w = 3
					}
					words[4*(lane*len(all)+i)+k] = uint64(w)
				}
			}
		}
		b.B.Ret()
		src := text(t, m, emit.Options{Target: target})
		gputest.Each(t, func(t *testing.T, c *driver.Context) {
			out := run(t, c, src, lanes, words)
			for i, f := range all {
				v := b.F.NewValue(f.op, f.to)
				v.Aux, v.Round = f.aux, f.round
				for _, from := range f.from {
					v.Args = append(v.Args, b.F.Const(from, 0))
				}
				compare(t, target, f, v, out[4*i:], 4*len(all), lanes)
			}
		})
	}
}

func compare(t *testing.T, target string, f form, v *ir.Value, out []uint64, stride, lanes int) {
	bad := 0
	for lane := range lanes {
		w := out[lane*stride:]
		args := make([]int64, len(f.from))
		for k := range args {
			args[k] = int64(w[k])
		}
		want, ok := ir.Eval(v, args)
		if !ok {
			t.Errorf("%s: ir.Eval does not compute it", f)
			return
		}
		got := ir.Canonical(f.to.Kind, int64(w[3]))
		if got == want || isNaN(f.to, got) && isNaN(f.to, want) {
			continue
		}
		if bad++; bad < 3 {
			t.Errorf("%s %q of %#x: %#x, want %#x", f, target, args, uint64(got), uint64(want))
		}
	}
}

// A lop3 with equal operands becomes other instructions with the same result.
func TestLop3WithEqualOperands(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 16)
	x, y := b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4)
	operands := [][3]*ir.Value{{x, x, y}, {x, y, x}, {y, x, x}, {x, x, x}}
	sum := b.I32(0)
	for table := range int64(256) {
		for _, o := range operands {
			v := b.Op(ir.OpLop3, ir.TI32, o[:]...)
			v.Aux = table
			sum = b.Op(ir.OpAdd, ir.TI32, b.Op(ir.OpMul, ir.TI32, sum, b.I32(5)), v)
		}
	}
	b.Store(ir.M32, p, 8, sum)
	b.B.Ret()
	src := text(t, m, emit.Options{})
	if strings.Contains(string(src), "lop3") {
		t.Error("the text contains lop3")
	}
	const lanes = 64
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		words := make([]uint64, 2*lanes)
		rnd := rand.New(rand.NewPCG(3, 4))
		for i := range lanes {
			words[2*i] = rnd.Uint64()
		}
		out := run(t, c, src, lanes, words)
		for lane := range lanes {
			x, y := uint32(words[2*lane]), uint32(words[2*lane]>>32)
			want := uint32(0)
			for table := range uint32(256) {
				for _, o := range [][3]uint32{{x, x, y}, {x, y, x}, {y, x, x}, {x, x, x}} {
					var r uint32
					for bit := range 32 {
						r |= table >> (o[0]>>bit&1<<2 | o[1]>>bit&1<<1 | o[2]>>bit&1) & 1 << bit
					}
					want = 5*want + r
				}
			}
			if got := uint32(out[2*lane+1]); got != want {
				t.Fatalf("lane %d: %#x, want %#x", lane, got, want)
			}
		}
	})
}
