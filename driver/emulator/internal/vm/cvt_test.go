package vm_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
)

type intType struct {
	name   string
	bits   int
	signed bool
}

var intTypes = []intType{{"u8", 8, false}, {"s8", 8, true}, {"u16", 16, false}, {"s16", 16, true},
	{"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}}

// value returns the value that the low bits of x represent in type t.
func (t intType) value(x uint64) *big.Int {
	v := new(big.Int).SetUint64(x << (64 - t.bits) >> (64 - t.bits))
	if t.signed && v.Bit(t.bits-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(t.bits)))
	}
	return v
}

func (t intType) limits() (lo, hi *big.Int) {
	if t.signed {
		hi = new(big.Int).Lsh(big.NewInt(1), uint(t.bits-1))
		lo = new(big.Int).Neg(hi)
		return lo, hi.Sub(hi, big.NewInt(1))
	}
	hi = new(big.Int).Lsh(big.NewInt(1), uint(t.bits))
	return new(big.Int), hi.Sub(hi, big.NewInt(1))
}

func (t intType) saturated(x *big.Int) *big.Int {
	lo, hi := t.limits()
	if x.Cmp(lo) < 0 {
		return lo
	}
	if x.Cmp(hi) > 0 {
		return hi
	}
	return x
}

// reg returns a register that can hold t. The test data has 64-bit elements.
func (t intType) reg() string {
	switch t.bits {
	case 64:
		return "%w0"
	case 32:
		return "%t0"
	}
	return "%h0"
}

func (t intType) dst() string {
	switch t.bits {
	case 64:
		return "%w1"
	case 32:
		return "%t1"
	}
	return "%h1"
}

func (t intType) widthOf() int { return max(t.bits, 16) }

// holds reports whether t can represent every value of from.
func (t intType) holds(from intType) bool {
	fs, ts := from.name[0] == 's', t.name[0] == 's'
	if fs == ts {
		return t.bits >= from.bits
	}
	return ts && t.bits > from.bits
}

func TestIntegerConversions(t *testing.T) {
	a := edges64(91)
	for _, from := range intTypes {
		for _, to := range intTypes {
			for _, sat := range []string{"", ".sat"} {
				if sat != "" && to.holds(from) {
					continue // drivers reject this combination of types
				}
				op := fmt.Sprintf("cvt%s.%s.%s", sat, to.name, from.name)
				// The destination has the width of the type. The test reads it with zero extension.
				got := eval1[uint64](t, "u64", "u64", fmt.Sprintf("cvt.u%d.u64 %s, %%a; %s %s, %s; cvt.u64.u%d %%d, %s;",
					from.widthOf(), from.reg(), op, to.dst(), from.reg(), to.widthOf(), to.dst()), a)
				for i, x := range a {
					v := from.value(x)
					if sat != "" {
						v = to.saturated(v)
					}
					want := low64(to.value(low64(v))) << (64 - to.widthOf()) >> (64 - to.widthOf())
					if to.bits == to.widthOf() {
						want = low64(v) << (64 - to.bits) >> (64 - to.bits)
					}
					check(t, op, i, got[i], want, x)
				}
			}
		}
	}
}

func TestConversionsToWiderRegisters(t *testing.T) {
	a := edges64(92)
	s := eval1[uint64](t, "u64", "u64", "cvt.u32.u64 %t0, %a; cvt.s16.s32 %t1, %t0; cvt.s64.s32 %d, %t1;", a)
	u := eval1[uint64](t, "u64", "u64", "cvt.u32.u64 %t0, %a; cvt.u8.u32 %t1, %t0; cvt.s64.s32 %d, %t1;", a)
	w := eval1[uint64](t, "u64", "u64", "cvt.u32.u64 %t0, %a; cvt.s32.s32 %d, %t0;", a)
	for i, x := range a {
		check(t, "s16 in 32 bits", i, s[i], uint64(int64(int16(x))), x)
		check(t, "u8 in 32 bits", i, u[i], uint64(uint8(x)), x)
		check(t, "s32 in 64 bits", i, w[i], uint64(int64(int32(x))), x)
	}
}

func TestFloatToInteger(t *testing.T) {
	a := append(f32s(93), 0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 128, 255.5, 256, 32767.6, 65535.4, 2147483520, 2147483648, 4294967040, 4294967296, 9.2e18, 1.9e19, -2.2e9)
	round := map[string]func(float64) float64{"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil}
	for _, to := range intTypes {
		for mode, f := range round {
			op := fmt.Sprintf("cvt.%s.%s.f32", mode, to.name)
			got := eval1[uint64](t, "u64", "f32", fmt.Sprintf("%s %s, %%a; cvt.u64.u%d %%d, %s;", op, to.dst(), to.widthOf(), to.dst()), a)
			from64 := eval1[uint64](t, "u64", "f32", fmt.Sprintf("cvt.f64.f32 %%g0, %%a; cvt.%s.%s.f64 %s, %%g0; cvt.u64.u%d %%d, %s;", mode, to.name, to.dst(), to.widthOf(), to.dst()), a)
			for i, x := range a {
				check(t, op, i, got[i], floatToIntReference(to, f, float64(x), false), math.Float32bits(x))
				check(t, op+" from f64", i, from64[i], floatToIntReference(to, f, float64(x), true), math.Float32bits(x))
			}
		}
	}
}

func floatToIntReference(to intType, f func(float64) float64, x float64, f64 bool) uint64 {
	mask := ^uint64(0) >> (64 - to.widthOf())
	lo, hi := to.limits()
	switch {
	case x != x && (f64 || to.bits == 64):
		return low64(to.value(1<<(to.bits-1))) & mask
	case x != x:
		return 0
	case math.IsInf(x, 1):
		return low64(hi) & mask
	case math.IsInf(x, -1):
		return low64(lo) & mask
	}
	v, _ := big.NewFloat(f(x)).Int(nil)
	return low64(to.saturated(v)) & mask
}

func TestIntegerToFloat(t *testing.T) {
	a := append(edges64(94), 0x1000001, 0x1000003, 0x3fffffc0, 0x20000000000001, 0x20000000000003, 0xffffff7fffffffff, 0xffffff8000000000)
	for _, from := range intTypes {
		for _, mode := range []string{"rn", "rz", "rm", "rp"} {
			load := fmt.Sprintf("cvt.u%d.u64 %s, %%a;", from.widthOf(), from.reg())
			single := eval1[float32](t, "f32", "u64", fmt.Sprintf("%s cvt.%s.f32.%s %%d, %s;", load, mode, from.name, from.reg()), a)
			double := eval1[float64](t, "f64", "u64", fmt.Sprintf("%s cvt.%s.f64.%s %%d, %s;", load, mode, from.name, from.reg()), a)
			for i, x := range a {
				v := from.value(x)
				exact := new(big.Float).SetPrec(5000).SetInt(v)
				w32, w64 := float32(0), float64(0)
				if v.Sign() != 0 {
					w32, w64 = rounded(exact, mode, near32, step32), rounded(exact, mode, near64, math.Nextafter)
				}
				if single[i] != w32 || double[i] != w64 {
					t.Errorf("cvt.%s from %s %v is %v and %v, want %v and %v", mode, from.name, v, single[i], double[i], w32, w64)
				}
			}
		}
	}
}

func TestFloatToFloat(t *testing.T) {
	a := append(f64s(95), 1.00000006, 1e-45, 1.5e-45, 0x1.fffffefffffffp127, 0x1.ffffffp127, 0x1.0000010000001p0, 0x1.000001p0, 0x1.000003p0)
	for _, mode := range []string{"rn", "rz", "rm", "rp"} {
		got := eval1[float32](t, "f32", "f64", "cvt."+mode+".f32.f64 %d, %a;", a)
		for i, x := range a {
			want := float32(x)
			if isFinite(x) && x != 0 {
				want = rounded(bigOf(x), mode, near32, step32)
			}
			if !sameF32(got[i], want) {
				t.Errorf("cvt.%s.f32.f64 of %x is %x, want %x", mode, x, got[i], want)
			}
		}
	}
	b := append(f32s(96), 0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388608.5, 1e20)
	for mode, f := range map[string]func(float64) float64{"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil} {
		got := eval1[float32](t, "f32", "f32", "cvt."+mode+".f32.f32 %d, %a;", b)
		for i, x := range b {
			if want := float32(f(float64(x))); !sameF32(got[i], want) {
				t.Errorf("cvt.%s of %v is %v, want %v", mode, x, got[i], want)
			}
		}
	}
	sat := eval1[float32](t, "f32", "f32", "cvt.sat.f32.f32 %d, %a;", b)
	ftz := eval1[float64](t, "f64", "f32", "cvt.ftz.f64.f32 %d, %a;", b)
	for i, x := range b {
		if !sameF32(sat[i], clamp(x)) || !sameF64(ftz[i], float64(flush(x))) {
			t.Errorf("cvt.sat, cvt.ftz of %x are %x, %x", x, sat[i], ftz[i])
		}
	}
}

// halfReference rounds x to the nearest value of a 16-bit format, ties to even. It searches all bit
// patterns.
func halfReference(x float64, decode func(uint16) float64) uint16 {
	if x != x {
		return 0x7fff
	}
	sign := uint16(0)
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	lo, hi := uint16(0), uint16(0x7f80) // the bit pattern hi is an infinity
	if math.IsInf(decode(0x7c00), 1) {
		hi = 0x7c00
	}
	if x >= decode(hi-1) { // x is at least the largest finite number
		top := decode(hi - 1)
		half := (top - decode(hi-2)) / 2
		if x >= top+half {
			return sign | hi
		}
		return sign | (hi - 1)
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; decode(mid) <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	dl, dh := new(big.Float).Sub(bigOf(x), bigOf(decode(lo))), new(big.Float).Sub(bigOf(decode(hi)), bigOf(x))
	switch dl.Cmp(dh) {
	case 1:
		return sign | hi
	case 0:
		return sign | lo + lo&1
	}
	return sign | lo
}

func decodeF16(h uint16) float64 {
	s := 1 - 2*float64(h>>15)
	e, m := int(h>>10&31), float64(h&0x3ff)
	switch {
	case e == 31 && m != 0:
		return math.NaN()
	case e == 31:
		return s * math.Inf(1)
	case e == 0:
		return math.Copysign(m*0x1p-24, s)
	}
	return s * math.Ldexp(1+m/1024, e-15)
}

func decodeBF16(h uint16) float64 { return float64(math.Float32frombits(uint32(h) << 16)) }

func halfs() []uint16 {
	v := []uint16{0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x0200, 0x4248, 0x6400}
	for _, x := range edges32(97)[20:] {
		v = append(v, uint16(x), uint16(x>>16))
	}
	return v
}

func sameHalf(a, b uint16, decode func(uint16) float64) bool {
	return a == b || decode(a) != decode(a) && decode(b) != decode(b)
}

func TestHalfConversions(t *testing.T) {
	a := append(f32s(98), 65504, 65519.9, 65520, 65536, 6e-8, 2.98e-8, 2.99e-8, 1.0004883, 1.0014648, 5.9e-8, 6.1e-5, 3.3e38, 3.39e38)
	for _, f := range []struct {
		name   string
		decode func(uint16) float64
	}{{"f16", decodeF16}, {"bf16", decodeBF16}} {
		got := eval1[uint16](t, "u16", "f32", "cvt.rn."+f.name+".f32 %d, %a;", a)
		for i, x := range a {
			if want := halfReference(float64(x), f.decode); !sameHalf(got[i], want, f.decode) {
				t.Errorf("cvt.rn.%s.f32 of %x is %#x, want %#x", f.name, x, got[i], want)
			}
		}
		back := eval1[float32](t, "f32", f.name, "cvt.f32."+f.name+" %d, %a;", halfs())
		for i, h := range halfs() {
			if want := float32(f.decode(h)); !sameF32(back[i], want) {
				t.Errorf("cvt.f32.%s of %#x is %x, want %x", f.name, h, back[i], want)
			}
		}
	}
	packed := eval2[uint32](t, "u32", "f32", "f32", "cvt.rn.f16x2.f32 %d, %a, %b;", a, a)
	for i, x := range a {
		h := halfReference(float64(x), decodeF16)
		if !sameHalf(uint16(packed[i]), h, decodeF16) || !sameHalf(uint16(packed[i]>>16), h, decodeF16) {
			t.Errorf("cvt.rn.f16x2.f32 of %x is %#x, want twice %#x", x, packed[i], h)
		}
	}
}

// With .ftz, a subnormal operand counts as zero even if the result would be a normal number.
func TestHalfOperandsAreFlushed(t *testing.T) {
	a, b := []uint16{0x0200, 0x8001, 0x0400}, []uint16{0x6400, 0x6400, 0x6400}
	if got := eval2[uint16](t, "f16", "f16", "f16", "mul.ftz.f16 %d, %a, %b;", a, b); !slices.Equal(got, []uint16{0, 0x8000, 0x2c00}) {
		t.Errorf("with .ftz: %#x", got)
	}
	if got := eval2[uint16](t, "f16", "f16", "f16", "mul.f16 %d, %a, %b;", a, b); !slices.Equal(got, []uint16{0x2800, 0x8400, 0x2c00}) {
		t.Errorf("without .ftz: %#x", got)
	}
}

func TestHalfArithmetic(t *testing.T) {
	a, b := pairs(halfs(), halfs())
	for _, f := range []struct {
		name   string
		decode func(uint16) float64
	}{{"f16", decodeF16}, {"bf16", decodeBF16}} {
		for op, fn := range map[string]func(a, b float64) float64{
			"add": func(a, b float64) float64 { return a + b }, "sub": func(a, b float64) float64 { return a - b },
			"mul": func(a, b float64) float64 { return a * b },
		} {
			got := eval2[uint16](t, f.name, f.name, f.name, op+".rn."+f.name+" %d, %a, %b;", a, b)
			for i := range a {
				x, y := f.decode(a[i]), f.decode(b[i])
				v := fn(x, y)
				if isFinite(x, y) && v != 0 { // the exact result, which float64 may be unable to represent
					e := bigOf(x)
					switch op {
					case "add":
						e.Add(e, bigOf(y))
					case "sub":
						e.Sub(e, bigOf(y))
					case "mul":
						e.Mul(e, bigOf(y))
					}
					v = oddOf(e)
				}
				if want := halfReference(v, f.decode); !sameHalf(got[i], want, f.decode) {
					t.Errorf("%s.%s of %#x and %#x is %#x, want %#x", op, f.name, a[i], b[i], got[i], want)
				}
			}
		}
		fma := eval3[uint16](t, f.name, f.name, f.name, f.name, "fma.rn."+f.name+" %d, %a, %b, %c;", a, b, reversed(a))
		for i, c := range reversed(a) {
			x, y, z := f.decode(a[i]), f.decode(b[i]), f.decode(c)
			v := math.FMA(x, y, z)
			if e := new(big.Float).SetPrec(5000); isFinite(x, y, z) && v != 0 {
				v = oddOf(e.Add(e.Mul(bigOf(x), bigOf(y)), bigOf(z)))
			}
			if want := halfReference(v, f.decode); !sameHalf(fma[i], want, f.decode) {
				t.Errorf("fma.%s of %#x, %#x, %#x is %#x, want %#x", f.name, a[i], b[i], c, fma[i], want)
			}
		}
	}
}

func reversed[T any](a []T) []T {
	out := make([]T, len(a))
	for i, x := range a {
		out[len(a)-1-i] = x
	}
	return out
}

// oddOf rounds x to odd in a float64. Rounding this result to a format with far fewer bits gives
// the same value as rounding x itself.
func oddOf(x *big.Float) float64 {
	y, acc := x.Float64()
	if acc != big.Exact && math.Float64bits(y)&1 == 0 {
		if acc == big.Above {
			return math.Nextafter(y, math.Inf(-1))
		}
		return math.Nextafter(y, math.Inf(1))
	}
	return y
}

func TestPackedHalfArithmetic(t *testing.T) {
	h := halfs()
	var a, b []uint32
	for i := range h {
		a = append(a, uint32(h[i])|uint32(h[(i+3)%len(h)])<<16)
		b = append(b, uint32(h[(i+7)%len(h)])|uint32(h[(i+5)%len(h)])<<16)
	}
	got := eval2[uint32](t, "f16x2", "f16x2", "f16x2", "add.rn.f16x2 %d, %a, %b;", a, b)
	low := eval2[uint32](t, "f16x2", "f16x2", "f16x2", "min.f16x2 %d, %a, %b;", a, b)
	relu := eval2[uint32](t, "f16x2", "f16x2", "f16x2", "fma.rn.relu.f16x2 %d, %a, %b, %a;", a, b)
	for i := range a {
		for s := 0; s < 32; s += 16 {
			x, y := decodeF16(uint16(a[i]>>s)), decodeF16(uint16(b[i]>>s))
			if want := halfReference(x+y, decodeF16); !sameHalf(uint16(got[i]>>s), want, decodeF16) {
				t.Errorf("add.f16x2 of %#x and %#x is %#x", a[i], b[i], got[i])
			}
			m := math.Min(x, y)
			if x != x {
				m = y
			} else if y != y {
				m = x
			}
			if want := halfReference(m, decodeF16); !sameHalf(uint16(low[i]>>s), want, decodeF16) {
				t.Errorf("min.f16x2 of %#x and %#x is %#x", a[i], b[i], low[i])
			}
			v := math.FMA(x, y, x)
			if v <= 0 {
				v = 0
			}
			if want := halfReference(v, decodeF16); !sameHalf(uint16(relu[i]>>s), want, decodeF16) {
				t.Errorf("fma.relu.f16x2 of %#x and %#x is %#x, want %#x", a[i], b[i], relu[i]>>s&0xffff, want)
			}
		}
	}
	p := eval2[uint32](t, "u32", "f16x2", "f16x2", "setp.lt.f16x2 %p|%q, %a, %b; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;", a, b)
	for i := range a {
		want := uint32(0)
		for k := range 2 {
			if decodeF16(uint16(a[i]>>(16*k))) < decodeF16(uint16(b[i]>>(16*k))) {
				want |= 1 << k
			}
		}
		check(t, "setp.f16x2", i, p[i], want, a[i], b[i])
	}
	const combined = `.reg .pred %odd; and.b32 %t0, %id, 1; setp.ne.u32 %odd, %t0, 0;
	setp.lt.and.f16x2 %p|%q, %a, %b, !%odd; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;`
	for i, got := range eval2[uint32](t, "u32", "f16x2", "f16x2", combined, a, b) {
		want := p[i]
		if i%2 == 1 {
			want = 0
		}
		check(t, "setp.and.f16x2", i, got, want, a[i], b[i])
	}
}

func TestEightBitFloats(t *testing.T) {
	decode := func(x uint8, e4m3 bool) float64 {
		s, e, m := 1-2*float64(x>>7), int(x>>2&31), float64(x&3)
		if e4m3 {
			e, m = int(x>>3&15), float64(x&7)
			switch {
			case x&0x7f == 0x7f:
				return math.NaN()
			case e == 0:
				return math.Copysign(m/8*0x1p-6, s)
			}
			return s * math.Ldexp(1+m/8, e-7)
		}
		switch {
		case e == 31 && m != 0:
			return math.NaN()
		case e == 31:
			return s * math.Inf(1)
		case e == 0:
			return math.Copysign(m/4*0x1p-14, s)
		}
		return s * math.Ldexp(1+m/4, e-15)
	}
	a := append(f32s(99), 448, 449, 463, 464, 465, 480, 256, 272, 57344, 61440, 0.001, 0.0009, 0.0156, 3.3e-5, 7.7e-6, 17, 18, 19)
	for _, e4m3 := range []bool{true, false} {
		name := map[bool]string{true: "e4m3x2", false: "e5m2x2"}[e4m3]
		got := eval2[uint16](t, "u16", "f32", "f32", "cvt.rn.satfinite."+name+".f32 %d, %a, %b;", a, reversed(a))
		back := eval2[uint32](t, "u32", "f32", "f32", "cvt.rn.satfinite."+name+".f32 %h0, %a, %b; cvt.rn.f16x2."+name+" %d, %h0;", a, reversed(a))
		for i, x := range a {
			best, dist := uint8(0x7f), math.Inf(1)
			top := uint8(0x7b)
			if e4m3 {
				top = 0x7e
			}
			for p := range top + 1 {
				d := math.Abs(min(math.Abs(float64(x)), decode(top, e4m3)) - decode(p, e4m3))
				if d < dist || d == dist && p&1 == 0 {
					best, dist = p, d
				}
			}
			if math.Signbit(float64(x)) && x == x {
				best |= 0x80
			}
			if g := uint8(got[i] >> 8); g != best {
				t.Errorf("%s of %v is %#x, want %#x", name, x, g, best)
			}
			if want := halfReference(decode(best, e4m3), decodeF16); !sameHalf(uint16(back[i]>>16), want, decodeF16) {
				t.Errorf("f16x2 of %s %#x is %#x, want %#x", name, best, back[i]>>16, want)
			}
		}
	}
}

func TestConstantsOf8BitFloatsAreConverted(t *testing.T) {
	a := []uint32{0}
	for _, name := range []string{"e4m3x2", "e5m2x2"} {
		want := eval2[uint32](t, "u32", "u32", "u32", "mov.u16 %h0, 0x3c41; cvt.rn.f16x2."+name+" %d, %h0;", a, a)
		got := eval2[uint32](t, "u32", "u32", "u32", "cvt.rn.f16x2."+name+" %d, 0x3c41;", a, a)
		if got[0] != want[0] || got[0] == 0 {
			t.Errorf("%s: the constant gives %#x, the register %#x", name, got[0], want[0])
		}
	}
}
