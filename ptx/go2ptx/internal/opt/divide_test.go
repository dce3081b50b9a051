package opt_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// quotient returns what a division computes. The operands have the width of t.
func quotient(op ir.Op, t ir.Type, a, c int64) int64 {
	if t == ir.TI32 && (op == ir.OpUDiv || op == ir.OpURem) {
		a, c = int64(uint32(a)), int64(uint32(c))
	}
	var q int64
	switch op {
	case ir.OpSDiv:
		q = a / c
	case ir.OpSRem:
		q = a % c
	case ir.OpUDiv:
		q = int64(uint64(a) / uint64(c))
	case ir.OpURem:
		q = int64(uint64(a) % uint64(c))
	}
	return ir.Canonical(t.Kind, q)
}

// dividends returns values at which a wrong multiplier for c shows first: next to multiples of c, of
// small and of the greatest size, and next to the ends of the ranges.
func dividends(r *rand.Rand, t ir.Type, c int64) []int64 {
	all := []int64{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxInt64, math.MinInt64, c, -c}
	d := uint64(c)
	if t == ir.TI32 {
		d = uint64(uint32(c))
	}
	for _, top := range []uint64{math.MaxUint64, math.MaxInt64, math.MaxUint32, math.MaxInt32, r.Uint64(), r.Uint64() >> 20} {
		all = append(all, int64(top/d*d), int64(r.Uint64()>>r.IntN(64)))
	}
	if c < 0 && c != math.MinInt64 { // the multiples of the absolute value too
		for _, top := range []uint64{math.MaxInt64, 1 << 63, math.MaxInt32, 1 << 31} {
			m := int64(top / uint64(-c) * uint64(-c))
			all = append(all, m, -m)
		}
	}
	for _, a := range all[:len(all):len(all)] {
		all = append(all, a-1, a+1, -a)
	}
	return all
}

// Divisions by constants must be right for the dividends at which they are most likely wrong, also if
// the compiler knows that the dividend has a few leading zeros. No division by a constant may remain, except
// of signed 32-bit numbers, which ptxas replaces itself.
func TestDivisionByConstants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	constants := []int64{1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 25, 97, 100, 125, 128, 641, 1000, 6700417, 1 << 20, 1_000_000_007,
		math.MaxInt32, math.MaxInt32 - 1, 1 << 31, 1<<31 + 1, math.MaxUint32, 1 << 32, 1<<32 + 1, 1<<40 + 3, 1 << 62, 1<<62 + 1, math.MaxInt64, math.MaxInt64 - 1,
		math.MinInt32, math.MinInt64}
	for range 60 {
		constants = append(constants, int64(r.Uint64()>>r.IntN(63))|1, int64(r.Uint64()>>(1+r.IntN(60)))<<1|2)
	}
	for _, c := range constants[:len(constants):len(constants)] {
		constants = append(constants, -c)
	}
	for _, typ := range []ir.Type{ir.TI32, ir.TI64} {
		for _, op := range []ir.Op{ir.OpSDiv, ir.OpUDiv, ir.OpSRem, ir.OpURem} {
			for _, c := range constants {
				if c = ir.Canonical(typ.Kind, c); c == 0 {
					continue
				}
				for _, zeros := range []int{0, 1, 7, 31, 32, 40} {
					if zeros < typ.Kind.Bits() {
						divideAll(t, op, typ, c, zeros, dividends(r, typ, c))
					}
				}
			}
		}
	}
}

// divideAll divides dividends, without their last bits, by c.
func divideAll(t *testing.T, op ir.Op, typ ir.Type, c int64, zeros int, dividends []int64) {
	t.Helper()
	name := fmt.Sprintf("%v of %v without %d bits by %d", op, typ, zeros, c)
	mem := map[ir.Type]ir.Mem{ir.TI32: ir.M32, ir.TI64: ir.M64}[typ]
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr, mem)
	p, a := b.Param(0), b.Param(1)
	if zeros > 0 {
		a = b.Op(ir.OpLShr, typ, a, b.I32(int32(zeros)))
	}
	b.Store(mem, p, 0, b.Op(op, typ, a, b.F.Const(typ, c)))
	b.B.Ret()
	text := optimised(t, b.F)
	if left := strings.Contains(text, "div") || strings.Contains(text, "rem"); left && (typ == ir.TI64 || op == ir.OpUDiv || op == ir.OpURem || zeros > 0 && c > 0) {
		t.Errorf("%s: a division is left in\n%s", name, text)
	}
	x := irtest.New(m)
	at := x.Alloc(8)
	for _, v := range dividends {
		v = ir.Canonical(typ.Kind, v)
		if _, err := x.Call(b.F, []int64{at, v}); err != nil {
			t.Fatal(err)
		}
		got := ir.Canonical(typ.Kind, int64(binary.LittleEndian.Uint64(x.Memory[at:])))
		cut := v
		if zeros > 0 {
			cut = int64(uint64(v) << (64 - typ.Kind.Bits()) >> (64 - typ.Kind.Bits() + zeros))
		}
		if want := quotient(op, typ, cut, c); got != want {
			t.Fatalf("%s: of %d it is %d, want %d\n%s", name, cut, got, want, text)
		}
	}
}
