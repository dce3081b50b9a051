package emit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// The code of an operand is part of another instruction, unless the operand has other uses.
func TestFoldedInstructions(t *testing.T) {
	for _, shared := range []bool{false, true} {
		m := &ir.Module{}
		b, p := perThread(m, 8)
		x, y := b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4)
		product := b.Op(ir.OpMul, ir.TI32, x, y)
		sum := b.Op(ir.OpAdd, ir.TI32, product, x)
		high := b.Op(ir.OpShl, ir.TI64, b.Op(ir.OpZExt32, ir.TI64, y), b.I32(32))
		both := b.Op(ir.OpOr, ir.TI64, high, b.Op(ir.OpZExt32, ir.TI64, x))
		shifted := b.Op(ir.OpLShr, ir.TI64, b.Load(ir.M64, p, 8), b.I32(32))
		upper := b.Op(ir.OpTrunc, ir.TI32, shifted)
		b.Store(ir.M32, p, 16, sum)
		b.Store(ir.M32, p, 20, upper)
		b.Store(ir.M64, p, 24, both)
		if shared {
			b.Store(ir.M32, p, 32, product)
			b.Store(ir.M64, p, 40, high)
			b.Store(ir.M64, p, 48, shifted)
		}
		b.B.Ret()
		want := []uint64{5<<32 | 3, 9<<32 | 7, 9<<32 | 18, 5<<32 | 3, 0, 0, 0, 0}
		if shared {
			want[4], want[5], want[6] = 15, 5<<32, 9
		}
		expect(t, m, 1, []uint64{5<<32 | 3, 9<<32 | 7, 0, 0, 0, 0, 0, 0}, want)
		src := string(text(t, m, emit.Options{}))
		for what, text := range map[string]string{"product": "mad.lo.s32", "halves": ", {%r", "upper half": "mov.b64 {%r"} {
			if folded := strings.Contains(src, text); folded == shared {
				t.Errorf("%s: other uses %t, folded %t:\n%s", what, shared, folded, src)
			}
		}
	}
}

// A product, a shifted number and an extended number are added by the instruction that computes them.
func TestMultiplyAdd(t *testing.T) {
	for _, shared := range []bool{false, true} {
		m := &ir.Module{}
		b, p := perThread(m, 8)
		x, y, w := b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4), b.Load(ir.M64, p, 8)
		shifted := b.Op(ir.OpShl, ir.TI32, x, b.I32(4))
		far := b.Op(ir.OpShl, ir.TI32, x, b.I32(31)) // 1<<31 is negative
		extended := b.Op(ir.OpZExt32, ir.TI64, y)
		product := b.Op(ir.OpMul, ir.TI64, w, w)
		b.Store(ir.M32, p, 16, b.Op(ir.OpAdd, ir.TI32, shifted, y))
		b.Store(ir.M32, p, 20, b.Op(ir.OpAdd, ir.TI32, y, far))
		b.Store(ir.M64, p, 24, b.Op(ir.OpAdd, ir.TI64, extended, w))
		b.Store(ir.M64, p, 32, b.Op(ir.OpAdd, ir.TI64, w, product))
		if shared {
			b.Store(ir.M32, p, 40, shifted)
			b.Store(ir.M64, p, 48, extended)
			b.Store(ir.M64, p, 56, product)
		}
		b.B.Ret()
		want := map[string]int{"mad.lo.s32": 1, "mad.wide.u32": 1, "mad.lo.s64": 2} // and the address
		results := []uint64{0xffffffff_00000003, 1<<40 | 7, 0x7fffffff_0000002f, 1<<40 + 1<<32 + 6, 1<<40 + 7 + 49 + 14<<40, 0, 0, 0}
		if shared {
			want = map[string]int{"mad.lo.s32": 0, "mad.wide.u32": 0, "mad.lo.s64": 1}
			results[5], results[6], results[7] = 0x30, 0xffffffff, 49+14<<40
		}
		lines(t, m, emit.Options{}, want)
		expect(t, m, 1, []uint64{0xffffffff_00000003, 1<<40 | 7, 0, 0, 0, 0, 0, 0}, results)
	}
}

// The address of an element in shared memory is one instruction. In global memory, and if an index has a mask or two
// addresses, it is two.
func TestAddressesInSharedMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		space  ir.Space
		signed bool
		masked bool
		twice  bool
		want   int
	}{
		{"unsigned", ir.Shared, false, false, false, 1},
		{"signed", ir.Shared, true, false, false, 1},
		{"global", ir.Global, false, false, false, 0},
		{"masked", ir.Shared, false, true, false, 0},
		{"twice", ir.Shared, false, false, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &ir.Module{Vars: []*ir.Var{{Name: "tile", Space: c.space, Size: 256, Align: 16}}}
			b, p := perThread(m, 4)
			n := b.Load(ir.M32, p, 0)
			if c.masked {
				n = b.Op(ir.OpAnd, ir.TI32, n, b.I32(7))
			}
			at := func() *ir.Value {
				tile := b.Op(ir.OpGlobal, ir.PtrTo(c.space))
				tile.Var = m.Vars[0]
				op := ir.OpMulWideU
				if c.signed {
					op = ir.OpMulWideS
				}
				start := b.Op(ir.OpPtrAdd, tile.Type, tile, b.Op(ir.OpMulWideU, ir.TI64, b.Load(ir.M32, p, 16), b.I32(4)))
				return b.Op(ir.OpPtrAdd, tile.Type, start, b.Op(op, ir.TI64, n, b.I32(8)))
			}
			q := at()
			b.Store(ir.M32, q, 0, b.Load(ir.M32, p, 4))
			if c.twice {
				q = at()
			}
			b.Store(ir.M32, p, 8, b.Load(ir.M32, q, 0))
			tile := b.Op(ir.OpGlobal, ir.PtrTo(c.space))
			tile.Var = m.Vars[0]
			b.Store(ir.M32, p, 24, b.Load(ir.M32, tile, 104))
			b.B.Ret()
			in, where := uint64(0xfffffffd), uint64(32)
			if !c.signed {
				in, where = 3, 20
			}
			expect(t, m, 1, []uint64{5<<32 | in, 0, where, 0}, []uint64{5<<32 | in, 5, where, 5})
			src := string(text(t, m, emit.Options{}))
			if got := strings.Count(src, ", 8, %rd"); got != c.want {
				t.Errorf("%d instructions for the product and the sum, want %d:\n%s", got, c.want, src)
			}
		})
	}
}

// A block that compares for equality and for inequality compares once.
func TestComplementsShareAComparison(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 5)
	x := b.Load(ir.M64, p, 0)
	list := []*ir.Value{b.Cmp(ir.Eq, x, b.I64(7)), b.Cmp(ir.Ne, x, b.I64(7)), b.Cmp(ir.Ne, x, b.I64(8)), b.Cmp(ir.Eq, x, b.I64(7))}
	for i, c := range list {
		b.Store(ir.M64, p, int64(8*i+8), b.Op(ir.OpSelect, ir.TI64, c, b.I64(1), b.I64(2)))
	}
	b.B.Ret()
	expect(t, m, 2, []uint64{7, 0, 0, 0, 0, 8, 0, 0, 0, 0}, []uint64{7, 1, 2, 1, 1, 8, 2, 1, 2, 2})
	if n := strings.Count(string(text(t, m, emit.Options{})), "setp."); n != 3 {
		t.Errorf("%d comparisons:\n%s", n, text(t, m, emit.Options{}))
	}
}

// So does one that compares with < and >=, or with <= and >, signed or not.
func TestOppositeOrdersShareAComparison(t *testing.T) {
	for _, c := range [][2]ir.Cond{{ir.SLt, ir.SGe}, {ir.SGe, ir.SLt}, {ir.SLe, ir.SGt}, {ir.SGt, ir.SLe}, {ir.ULt, ir.UGe}, {ir.UGe, ir.ULt}, {ir.ULe, ir.UGt}, {ir.UGt, ir.ULe}} {
		for _, k := range []ir.Type{ir.TI32, ir.TI64} {
			for _, plain := range []bool{false, true} {
				m := &ir.Module{}
				b, p := perThread(m, 3)
				x := b.Load(ir.M64, p, 0)
				if k == ir.TI32 {
					x = b.Load(ir.M32, p, 0)
				}
				one, other := b.Cmp(c[0], x, b.F.Const(k, 7)), b.Cmp(c[1], x, b.F.Const(k, 7))
				if plain {
					r := b.Cmp(ir.Eq, b.Load(ir.M32, p, 4), b.I32(0))
					one, other = b.Op(ir.OpXor, ir.TBool, one, r), b.Op(ir.OpXor, ir.TBool, other, r)
				}
				b.Store(ir.M64, p, 8, b.Op(ir.OpSelect, ir.TI64, one, b.I64(1), b.I64(2)))
				b.Store(ir.M64, p, 16, b.Op(ir.OpSelect, ir.TI64, other, b.I64(1), b.I64(2)))
				b.B.Ret()
				in := []uint64{6, 0, 0, 7, 0, 0, 8, 0, 0}
				want := slices.Clone(in)
				for i := 0; i < len(in); i += 3 {
					n := in[i]
					holds := map[ir.Cond]bool{ir.SLt: n < 7, ir.SLe: n <= 7, ir.SGt: n > 7, ir.SGe: n >= 7, ir.ULt: n < 7, ir.ULe: n <= 7, ir.UGt: n > 7, ir.UGe: n >= 7}
					want[i+1], want[i+2] = 2, 1
					if holds[c[0]] != plain {
						want[i+1], want[i+2] = 1, 2
					}
				}
				expect(t, m, 3, in, want)
				most := 1
				if plain {
					most = map[ir.Type]int{ir.TI32: 2, ir.TI64: 3}[k] // with the one of r
				}
				if n := strings.Count(string(text(t, m, emit.Options{})), "setp."); n != most {
					t.Errorf("%s and %s, plain %t: %d comparisons, want %d:\n%s", c[0], c[1], plain, n, most, text(t, m, emit.Options{}))
				}
			}
		}
	}
}

// A number whose bits are inverted under a condition stays in its register, unless it is used as it is, too.
func TestInvertedNumbers(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 6)
	q := b.Cmp(ir.SGt, b.Load(ir.M64, p, 0), b.I64(5))
	not := func(x *ir.Value) *ir.Value { return b.Op(ir.OpNot, x.Type, x) }
	x, y, z := b.Load(ir.M64, p, 8), b.Load(ir.M64, p, 16), b.Load(ir.M64, p, 24)
	b.Store(ir.M64, p, 8, b.Op(ir.OpSelect, ir.TI64, q, x, not(x)))
	b.Store(ir.M64, p, 16, b.Op(ir.OpSelect, ir.TI64, not(q), y, not(y)))
	b.Store(ir.M64, p, 24, b.Op(ir.OpSelect, ir.TI64, q, not(z), z))
	b.Store(ir.M64, p, 32, b.Op(ir.OpXor, ir.TI64, z, b.I64(1)))
	b.B.Ret()
	src := string(text(t, m, emit.Options{}))
	if n := strings.Count(src, "selp"); n != 1 {
		t.Errorf("%d selections, want 1:\n%s", n, src)
	}
	expect(t, m, 2, []uint64{5, 1, 2, 3, 0, 0, 6, 1, 2, 3, 0, 0}, []uint64{5, ^uint64(1), 2, 3, 2, 0, 6, 1, ^uint64(2), ^uint64(3), 2, 0})
}

// A selection of a number or of one computed from it is an instruction with a predicate, which changes the number,
// unless that is used otherwise, is not the first operand of a difference, or the instruction is part of another.
func TestChangedNumbers(t *testing.T) {
	for _, c := range []struct {
		op      ir.Op
		swapped bool
		want    uint64 // for 12 and 10
		folded  bool
	}{
		{ir.OpAdd, false, 22, true}, {ir.OpAdd, true, 22, true}, {ir.OpSub, false, 2, true}, {ir.OpSub, true, 1<<64 - 2, false},
		{ir.OpAnd, false, 8, true}, {ir.OpOr, true, 14, true}, {ir.OpXor, false, 6, true}, {ir.OpMul, false, 120, false},
	} {
		for _, shared := range []bool{false, true} {
			m := &ir.Module{}
			b, p := perThread(m, 5)
			q := b.Cmp(ir.SGt, b.Load(ir.M64, p, 0), b.I64(5))
			x, y := b.Load(ir.M64, p, 8), b.Load(ir.M64, p, 16)
			changed := b.Op(c.op, ir.TI64, x, y)
			if c.swapped {
				changed.Args[0], changed.Args[1] = y, x
			}
			b.Store(ir.M64, p, 24, b.Op(ir.OpSelect, ir.TI64, q, changed, x))
			b.Store(ir.M64, p, 32, y)
			if shared {
				b.Store(ir.M64, p, 8, b.Op(ir.OpAdd, ir.TI64, x, b.I64(1)))
			}
			b.B.Ret()
			src := string(text(t, m, emit.Options{}))
			if folded := !strings.Contains(src, "selp"); folded != (c.folded && !shared) {
				t.Errorf("%s, other uses %t: folded %t:\n%s", c.op, shared, folded, src)
			}
			first := uint64(12)
			if shared {
				first = 13
			}
			expect(t, m, 2, []uint64{5, 12, 10, 0, 0, 6, 12, 10, 0, 0}, []uint64{5, first, 10, 12, 10, 6, first, 10, c.want, 10})
		}
	}
}

// The number and the result are values of a loop.
func TestInvertedNumbersInLoops(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 2)
	l := loopOf(b, p)
	x := l.phi(ir.TI64, b.I64(1))
	y := b.Op(ir.OpAdd, ir.TI64, x, b.I64(2))
	l.end(b.Op(ir.OpSelect, ir.TI64, b.Cmp(ir.Eq, l.i, b.I64(1)), b.Op(ir.OpNot, ir.TI64, y), y))
	b.Store(ir.M64, p, 8, x)
	b.B.Ret()
	expect(t, m, 4, []uint64{0, 0, 1, 0, 2, 0, 3, 0}, []uint64{0, 1, 1, 3, 2, ^uint64(5), 3, ^uint64(3)})
}
