package emit_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// lines checks how many lines of the emitted PTX contain each text.
func lines(t *testing.T, m *ir.Module, o emit.Options, want map[string]int) {
	t.Helper()
	src := string(text(t, m, o))
	for s, n := range want {
		got := 0
		for line := range strings.Lines(src) {
			if strings.Contains(line, s) {
				got++
			}
		}
		if got != n {
			t.Errorf("%d lines with %q, want %d:\n%s", got, s, n, src)
		}
	}
}

func upperHalf(b *irtest.Builder, x *ir.Value) *ir.Value {
	if x.Type == ir.TI64 {
		return b.Op(ir.OpTrunc, ir.TI32, b.Op(ir.OpLShr, ir.TI64, x, b.I32(32)))
	}
	return b.Op(ir.OpBitcast, ir.TF16, b.Op(ir.OpLShr, ir.TI32, x, b.I32(16)))
}

// One instruction computes both halves of a value, in either order, unless one of them shares a register with a phi.
func TestHalvesOfAValue(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 6)
	x, y, z := b.Load(ir.M64, p, 0), b.Load(ir.M64, p, 8), b.Load(ir.M32, p, 16)
	low := b.Op(ir.OpTrunc, ir.TI32, x)
	b.Store(ir.M32, p, 24, low)
	b.Store(ir.M32, p, 28, upperHalf(b, x))
	b.Store(ir.M32, p, 32, upperHalf(b, y))
	b.Store(ir.M32, p, 36, b.Op(ir.OpTrunc, ir.TI32, y))
	b.Store(ir.MF16, p, 42, upperHalf(b, z))
	b.Store(ir.MF16, p, 40, b.Op(ir.OpBitcast, ir.TF16, z))
	b.B.Ret()
	lines(t, m, emit.Options{}, map[string]int{"mov.b64 {": 2, "mov.b32 {": 1, "cvt.u32.u64": 0, "cvt.u16.u32": 0, "shr.": 0})
	expect(t, m, 1, []uint64{5<<32 | 3, 9<<32 | 7, 0x20001, 0, 0, 0}, []uint64{5<<32 | 3, 9<<32 | 7, 0x20001, 5<<32 | 3, 7<<32 | 9, 0x20001})

	m = &ir.Module{}
	b, p = perThread(m, 2)
	l := loopOf(b, p)
	sum := l.phi(ir.TI32, b.I32(1))
	x = b.Op(ir.OpMul, ir.TI64, l.i, b.I64(3<<32|5))
	low = b.Op(ir.OpTrunc, ir.TI32, x)
	high := upperHalf(b, x)
	l.end(b.Op(ir.OpAdd, ir.TI32, low, b.Op(ir.OpXor, ir.TI32, high, sum)))
	b.Store(ir.M32, p, 8, sum)
	b.B.Ret()
	expect(t, m, 2, []uint64{0, 0, 3, 0}, []uint64{0, 1, 3, 11})

	m = &ir.Module{}
	b, p = perThread(m, 2)
	l = loopOf(b, p)
	last := l.phi(ir.TI32, b.I32(1))
	x = b.Op(ir.OpMul, ir.TI64, b.Op(ir.OpAdd, ir.TI64, l.i, b.I64(1)), b.I64(3<<32|5))
	low = b.Op(ir.OpTrunc, ir.TI32, x)
	b.Store(ir.M32, p, 8, low)
	b.Store(ir.M32, p, 12, last) // is read after the low half is computed
	l.end(upperHalf(b, x))
	b.B.Ret()
	expect(t, m, 1, []uint64{3, 0}, []uint64{3, 6<<32 | 15})
}

// Two numbers of 16 bits become one word with one instruction.
func TestWordsOfTwoHalves(t *testing.T) {
	for _, shared := range []bool{false, true} {
		m := &ir.Module{}
		b, p := perThread(m, 5)
		x, y := b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4)
		number := func(offset int64) *ir.Value { return b.Op(ir.OpBitcast, ir.TI32, b.Load(ir.MF16, p, offset)) }
		shifted := func(v *ir.Value) *ir.Value { return b.Op(ir.OpShl, ir.TI32, v, b.I32(16)) }
		or := func(v, w *ir.Value) *ir.Value { return b.Op(ir.OpOr, ir.TI32, v, w) }
		masked := b.Op(ir.OpAnd, ir.TI32, x, b.I32(0xffff))
		b.Store(ir.M32, p, 8, or(shifted(number(0)), number(4)))
		b.Store(ir.M32, p, 12, or(masked, shifted(y)))
		b.Store(ir.M32, p, 16, or(b.Op(ir.OpAnd, ir.TI32, x, b.I32(-1<<16)), b.Op(ir.OpZExt16, ir.TI32, y)))
		b.Store(ir.M32, p, 20, or(shifted(y), b.Load(ir.MU16, p, 2)))
		b.Store(ir.M32, p, 24, or(shifted(x), y)) // has more than 16 bits
		if shared {
			b.Store(ir.M32, p, 28, masked)
		}
		b.B.Ret()
		want := map[string]int{"mov.b32 %r": 1, "prmt.b32": 3, "or.b32": 1}
		if shared {
			want = map[string]int{"mov.b32 %r": 1, "prmt.b32": 2, "or.b32": 2}
		}
		lines(t, m, emit.Options{}, want)
		results := []uint64{0x66667777_44445555, 0x77775555_55557777, 0x77774444_44447777, 0x7777<<0 | 0x5555<<16 | 0x66660000, 0}
		if shared {
			results[3] |= 0x5555 << 32
		}
		expect(t, m, 1, []uint64{0x66667777_44445555, 0, 0, 0, 0}, results)
	}
}

// The bits of a number that is rounded to bf16 are not moved through a register of 16 bits.
func TestBitsOfBF16(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 1)
	x := b.Op(ir.OpFConv, ir.TBF16, b.Load(ir.MF32, p, 0))
	b.Store(ir.M32, p, 4, b.Op(ir.OpAdd, ir.TI32, b.Op(ir.OpBitcast, ir.TI32, x), b.I32(1)))
	b.B.Ret()
	lines(t, m, emit.Options{}, map[string]int{"cvt.u16": 0, "cvt.u32": 0})
	lines(t, m, emit.Options{Target: "sm_80"}, map[string]int{"cvt.rn.bf16.f32": 1})
	expect(t, m, 3, []uint64{0x3f818000, 0x3f808000, 0x7f800001}, []uint64{0x3f83_3f818000, 0x3f81_3f808000, 0x8000_7f800001})
}

// Four bytes become one word with three instructions, in whatever order they are combined.
func TestWordsOfFourBytes(t *testing.T) {
	shift := func(b *irtest.Builder, x *ir.Value, n int32) *ir.Value { return b.Op(ir.OpShl, ir.TI32, x, b.I32(n)) }
	for _, c := range []struct {
		name string
		make func(b *irtest.Builder, low, x, y *ir.Value) [4]*ir.Value
		last int // of the operands that are combined first
		want uint32
		prmt int
	}{
		{"in order", func(b *irtest.Builder, low, x, y *ir.Value) [4]*ir.Value {
			return [4]*ir.Value{low, shift(b, low, 8), shift(b, b.Op(ir.OpAnd, ir.TI32, y, b.I32(0xff)), 16), shift(b, x, 24)}
		}, 1, 0x44884444, 3},
		{"in pairs", func(b *irtest.Builder, low, x, y *ir.Value) [4]*ir.Value {
			return [4]*ir.Value{shift(b, y, 24), low, shift(b, low, 16), shift(b, low, 8)}
		}, 2, 0x88444444, 3},
		{"more bits", func(b *irtest.Builder, low, x, y *ir.Value) [4]*ir.Value {
			return [4]*ir.Value{low, shift(b, low, 8), shift(b, b.Op(ir.OpAnd, ir.TI32, y, b.I32(0x1ff)), 16), shift(b, x, 24)}
		}, 1, 0x44884444 | 0x01000000, 0},
		{"the same byte twice", func(b *irtest.Builder, low, x, y *ir.Value) [4]*ir.Value {
			return [4]*ir.Value{low, shift(b, low, 8), b.Op(ir.OpZExt8, ir.TI32, y), shift(b, x, 24)}
		}, 1, 0x440044cc, 0},
	} {
		m := &ir.Module{}
		b, p := perThread(m, 2)
		x, y := b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4)
		low := b.Op(ir.OpZExt8, ir.TI32, x)
		v := c.make(b, low, x, y)
		or := func(v, w *ir.Value) *ir.Value { return b.Op(ir.OpOr, ir.TI32, v, w) }
		word := or(or(v[0], v[1]), or(v[2], v[3]))
		if c.last == 1 {
			word = or(v[3], or(v[2], or(v[0], v[1])))
		}
		b.Store(ir.M32, p, 8, word)
		b.B.Ret()
		lines(t, m, emit.Options{}, map[string]int{"prmt.b32": c.prmt})
		expect(t, m, 1, []uint64{0x99887788_11223344, 0}, []uint64{0x99887788_11223344, uint64(c.want)})
	}
}
