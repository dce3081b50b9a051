package vm_test

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// edges32 returns random operands, and operands that are likely to reveal errors in integer
// instructions.
func edges32(seed uint64) []uint32 {
	e := []uint32{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000,
		0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0xdeadbeef}
	r := rand.New(rand.NewPCG(seed, 7))
	for range 7 {
		e = append(e, r.Uint32(), r.Uint32()>>r.IntN(32))
	}
	return e
}

func edges64(seed uint64) []uint64 {
	e := []uint64{0, 1, 2, 3, 63, 64, 65, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0), ^uint64(0) - 1}
	r := rand.New(rand.NewPCG(seed, 9))
	for range 8 {
		e = append(e, r.Uint64(), r.Uint64()>>r.IntN(64))
	}
	return e
}

func pairs[A, B any](a []A, b []B) (x []A, y []B) {
	for _, p := range a {
		for _, q := range b {
			x, y = append(x, p), append(y, q)
		}
	}
	return x, y
}

func triples[A any](a []A, n int) (x, y, z []A) {
	r := rand.New(rand.NewPCG(5, uint64(n)))
	for range n {
		x, y, z = append(x, a[r.IntN(len(a))]), append(y, a[r.IntN(len(a))]), append(z, a[r.IntN(len(a))])
	}
	return x, y, z
}

func check[D comparable](t *testing.T, what string, i int, got, want D, in ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s, case %d: %#x, want %#x (operands %#x)", what, i, any(got), any(want), in)
	}
}

func TestInteger32Binary(t *testing.T) {
	a, b := pairs(edges32(1), edges32(2))
	for _, c := range []struct {
		op   string
		want func(a, b uint32) uint32
	}{
		{"add.u32", func(a, b uint32) uint32 { return a + b }},
		{"add.s32", func(a, b uint32) uint32 { return a + b }},
		{"sub.s32", func(a, b uint32) uint32 { return a - b }},
		{"add.sat.s32", func(a, b uint32) uint32 {
			return uint32(int32(min(max(int64(int32(a))+int64(int32(b)), math.MinInt32), math.MaxInt32)))
		}},
		{"sub.sat.s32", func(a, b uint32) uint32 {
			return uint32(int32(min(max(int64(int32(a))-int64(int32(b)), math.MinInt32), math.MaxInt32)))
		}},
		{"mul.lo.u32", func(a, b uint32) uint32 { return a * b }},
		{"mul.lo.s32", func(a, b uint32) uint32 { return a * b }},
		{"mul.hi.u32", func(a, b uint32) uint32 { h, _ := bits.Mul32(a, b); return h }},
		{"mul.hi.s32", func(a, b uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) }},
		{"mul24.lo.u32", func(a, b uint32) uint32 { return (a & 0xffffff) * (b & 0xffffff) }},
		{"mul24.hi.u32", func(a, b uint32) uint32 { return uint32(uint64(a&0xffffff) * uint64(b&0xffffff) >> 16) }},
		{"mul24.lo.s32", func(a, b uint32) uint32 { return uint32(int32(a) << 8 >> 8 * (int32(b) << 8 >> 8)) }},
		{"min.u32", func(a, b uint32) uint32 { return min(a, b) }},
		{"max.u32", func(a, b uint32) uint32 { return max(a, b) }},
		{"min.s32", func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }},
		{"max.s32", func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }},
		{"max.relu.s32", func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b), 0)) }},
		{"and.b32", func(a, b uint32) uint32 { return a & b }},
		{"or.b32", func(a, b uint32) uint32 { return a | b }},
		{"xor.b32", func(a, b uint32) uint32 { return a ^ b }},
		{"shl.b32", func(a, b uint32) uint32 { return uint32(uint64(a) << min(b, 40)) }},
		{"shr.u32", func(a, b uint32) uint32 { return uint32(uint64(a) >> min(b, 40)) }},
		{"shr.b32", func(a, b uint32) uint32 { return uint32(uint64(a) >> min(b, 40)) }},
		{"shr.s32", func(a, b uint32) uint32 { return uint32(int64(int32(a)) >> min(b, 40)) }},
	} {
		got := eval2[uint32](t, "u32", "u32", "u32", c.op+" %d, %a, %b;", a, b)
		for i := range a {
			check(t, c.op, i, got[i], c.want(a[i], b[i]), a[i], b[i])
		}
	}
}

func nonZero[T uint32 | uint64](a, b []T) (x, y []T) {
	for i := range a {
		if b[i] != 0 {
			x, y = append(x, a[i]), append(y, b[i])
		}
	}
	return x, y
}

func TestIntegerDivision(t *testing.T) {
	a, b := nonZero(pairs(edges32(1), edges32(2)))
	for op, want := range map[string]func(a, b uint32) uint32{
		"div.u32": func(a, b uint32) uint32 { return a / b },
		"rem.u32": func(a, b uint32) uint32 { return a % b },
		"div.s32": func(a, b uint32) uint32 { return uint32(int64(int32(a)) / int64(int32(b))) },
		"rem.s32": func(a, b uint32) uint32 { return uint32(int64(int32(a)) % int64(int32(b))) },
	} {
		got := eval2[uint32](t, "u32", "u32", "u32", op+" %d, %a, %b;", a, b)
		for i := range a {
			check(t, op, i, got[i], want(a[i], b[i]), a[i], b[i])
		}
	}
	c, d := nonZero(pairs(edges64(1), edges64(2)))
	for op, want := range map[string]func(a, b *big.Int) *big.Int{
		"div": func(a, b *big.Int) *big.Int { return a.Quo(a, b) },
		"rem": func(a, b *big.Int) *big.Int { return a.Rem(a, b) },
	} {
		u := eval2[uint64](t, "u64", "u64", "u64", op+".u64 %d, %a, %b;", c, d)
		s := eval2[uint64](t, "u64", "u64", "u64", op+".s64 %d, %a, %b;", c, d)
		for i := range c {
			w := want(new(big.Int).SetUint64(c[i]), new(big.Int).SetUint64(d[i]))
			check(t, op+".u64", i, u[i], w.Uint64(), c[i], d[i])
			w = want(big.NewInt(int64(c[i])), big.NewInt(int64(d[i])))
			check(t, op+".s64", i, s[i], low64(w), c[i], d[i])
		}
	}
}

func low64(x *big.Int) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), 64)
	return new(big.Int).Mod(x, m).Uint64()
}

func TestInteger64Binary(t *testing.T) {
	a, b := pairs(edges64(3), edges64(4))
	u := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
	s := func(x uint64) *big.Int { return big.NewInt(int64(x)) }
	for _, c := range []struct {
		op   string
		want func(a, b uint64) uint64
	}{
		{"add.u64", func(a, b uint64) uint64 { return low64(u(a).Add(u(a), u(b))) }},
		{"sub.s64", func(a, b uint64) uint64 { return low64(s(a).Sub(s(a), s(b))) }},
		{"mul.lo.s64", func(a, b uint64) uint64 { return low64(s(a).Mul(s(a), s(b))) }},
		{"mul.hi.u64", func(a, b uint64) uint64 { return low64(new(big.Int).Rsh(u(a).Mul(u(a), u(b)), 64)) }},
		{"mul.hi.s64", func(a, b uint64) uint64 { return low64(new(big.Int).Rsh(s(a).Mul(s(a), s(b)), 64)) }},
		{"min.s64", func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) }},
		{"max.u64", func(a, b uint64) uint64 { return max(a, b) }},
		{"xor.b64", func(a, b uint64) uint64 { return a ^ b }},
		{"and.b64", func(a, b uint64) uint64 { return a & b }},
		{"or.b64", func(a, b uint64) uint64 { return a | b }},
	} {
		got := eval2[uint64](t, "u64", "u64", "u64", c.op+" %d, %a, %b;", a, b)
		for i := range a {
			check(t, c.op, i, got[i], c.want(a[i], b[i]), a[i], b[i])
		}
	}
	c, n := pairs(edges64(5), edges32(6))
	for op, want := range map[string]func(a uint64, n uint32) uint64{
		"shl.b64": func(a uint64, n uint32) uint64 { return low64(u(a).Lsh(u(a), uint(min(n, 64)))) },
		"shr.u64": func(a uint64, n uint32) uint64 { return low64(u(a).Rsh(u(a), uint(min(n, 64)))) },
		"shr.s64": func(a uint64, n uint32) uint64 { return low64(s(a).Rsh(s(a), uint(min(n, 64)))) },
	} {
		got := eval2[uint64](t, "u64", "u64", "u32", op+" %d, %a, %b;", c, n)
		for i := range c {
			check(t, op, i, got[i], want(c[i], n[i]), c[i], n[i])
		}
	}
}

func TestInteger16(t *testing.T) {
	var e []uint16
	for _, x := range edges32(8) {
		e = append(e, uint16(x))
	}
	a, b := pairs(e, e)
	s := func(x uint16) int32 { return int32(int16(x)) }
	for op, want := range map[string]func(a, b uint16) uint16{
		"add.u16":    func(a, b uint16) uint16 { return a + b },
		"sub.s16":    func(a, b uint16) uint16 { return a - b },
		"mul.lo.s16": func(a, b uint16) uint16 { return a * b },
		"mul.hi.u16": func(a, b uint16) uint16 { return uint16(uint32(a) * uint32(b) >> 16) },
		"mul.hi.s16": func(a, b uint16) uint16 { return uint16(s(a) * s(b) >> 16) },
		"min.s16":    func(a, b uint16) uint16 { return uint16(min(s(a), s(b))) },
		"max.u16":    func(a, b uint16) uint16 { return max(a, b) },
		"and.b16":    func(a, b uint16) uint16 { return a & b },
		"xor.b16":    func(a, b uint16) uint16 { return a ^ b },
	} {
		got := eval2[uint16](t, "u16", "u16", "u16", op+" %d, %a, %b;", a, b)
		for i := range a {
			check(t, op, i, got[i], want(a[i], b[i]), a[i], b[i])
		}
	}
	for op, want := range map[string]func(a, b uint16) uint32{
		"mul.wide.u16": func(a, b uint16) uint32 { return uint32(a) * uint32(b) },
		"mul.wide.s16": func(a, b uint16) uint32 { return uint32(s(a) * s(b)) },
	} {
		got := eval2[uint32](t, "u32", "u16", "u16", op+" %d, %a, %b;", a, b)
		for i := range a {
			check(t, op, i, got[i], want(a[i], b[i]), a[i], b[i])
		}
	}
	got := eval1[uint16](t, "u16", "u16", "neg.s16 %d, %a; not.b16 %d, %d;", e)
	abs := eval1[uint16](t, "u16", "u16", "abs.s16 %d, %a;", e)
	shr := eval1[uint16](t, "u16", "u16", "shr.s16 %d, %a, 3;", e)
	for i, x := range e {
		check(t, "neg, not", i, got[i], ^-x, x)
		check(t, "abs.s16", i, abs[i], uint16(max(int16(x), -int16(x))), x)
		check(t, "shr.s16", i, shr[i], uint16(int16(x)>>3), x)
	}
}

func TestMultiplyAdd(t *testing.T) {
	a, b, c := triples(edges32(11), 400)
	for op, want := range map[string]func(a, b, c uint32) uint32{
		"mad.lo.s32":   func(a, b, c uint32) uint32 { return a*b + c },
		"mad.hi.u32":   func(a, b, c uint32) uint32 { h, _ := bits.Mul32(a, b); return h + c },
		"mad.hi.s32":   func(a, b, c uint32) uint32 { return uint32(int64(int32(a))*int64(int32(b))>>32) + c },
		"mad24.lo.u32": func(a, b, c uint32) uint32 { return a&0xffffff*(b&0xffffff) + c },
		"sad.u32":      func(a, b, c uint32) uint32 { return max(a, b) - min(a, b) + c },
		"sad.s32":      func(a, b, c uint32) uint32 { return uint32(max(int32(a), int32(b))-min(int32(a), int32(b))) + c },
		"mad.hi.sat.s32": func(a, b, c uint32) uint32 {
			return uint32(int32(min(max(int64(int32(a))*int64(int32(b))>>32+int64(int32(c)), math.MinInt32), math.MaxInt32)))
		},
	} {
		got := eval3[uint32](t, "u32", "u32", "u32", "u32", op+" %d, %a, %b, %c;", a, b, c)
		for i := range a {
			check(t, op, i, got[i], want(a[i], b[i], c[i]), a[i], b[i], c[i])
		}
	}
	wide := make([]uint64, len(a))
	for i := range wide {
		wide[i] = uint64(c[i])<<29 ^ uint64(b[i])
	}
	for op, want := range map[string]func(a, b uint32, c uint64) uint64{
		"mad.wide.u32": func(a, b uint32, c uint64) uint64 { return uint64(a)*uint64(b) + c },
		"mad.wide.s32": func(a, b uint32, c uint64) uint64 { return uint64(int64(int32(a))*int64(int32(b))) + c },
	} {
		got := eval3[uint64](t, "u64", "u32", "u32", "u64", op+" %d, %a, %b, %c;", a, b, wide)
		for i := range a {
			check(t, op, i, got[i], want(a[i], b[i], wide[i]), a[i], b[i], wide[i])
		}
	}
}

func TestCarryChains(t *testing.T) {
	a, b := pairs(edges64(21), edges64(22))
	const split = "mov.b64 {%t0, %t1}, %a; mov.b64 {%t2, %t3}, %b;"
	add := eval2[uint64](t, "u64", "u64", "u64", split+"add.cc.u32 %t0, %t0, %t2; addc.u32 %t1, %t1, %t3; mov.b64 %d, {%t0, %t1};", a, b)
	sub := eval2[uint64](t, "u64", "u64", "u64", split+"sub.cc.u32 %t0, %t0, %t2; subc.cc.u32 %t1, %t1, %t3; mov.b64 %d, {%t0, %t1};", a, b)
	high := eval2[uint64](t, "u64", "u64", "u64", `
		mov.b64 {%t0, %t1}, %a; mov.b64 {%t2, %t3}, %b;
		mul.hi.u32 %t4, %t0, %t2;
		mad.lo.cc.u32 %t4, %t0, %t3, %t4;
		madc.hi.u32 %t5, %t0, %t3, 0;
		mad.lo.cc.u32 %t4, %t1, %t2, %t4;
		madc.hi.cc.u32 %t5, %t1, %t2, %t5;
		addc.u32 %t6, 0, 0;
		mad.lo.cc.u32 %t5, %t1, %t3, %t5;
		madc.hi.u32 %t6, %t1, %t3, %t6;
		mov.b64 %d, {%t5, %t6};`, a, b)
	wide := eval2[uint64](t, "u64", "u64", "u64", "add.cc.u64 %w0, %a, %b; addc.u64 %d, %a, %b;", a, b)
	for i := range a {
		check(t, "add.cc", i, add[i], a[i]+b[i], a[i], b[i])
		check(t, "sub.cc", i, sub[i], a[i]-b[i], a[i], b[i])
		h, _ := bits.Mul64(a[i], b[i])
		check(t, "madc", i, high[i], h, a[i], b[i])
		s, c := bits.Add64(a[i], b[i], 0)
		check(t, "addc.u64", i, wide[i], s+c, a[i], b[i])
	}
}

func TestBitOperations(t *testing.T) {
	a := edges32(31)
	msb := func(x uint32) uint32 { return uint32(31 - bits.LeadingZeros32(x)) }
	for op, want := range map[string]func(a uint32) uint32{
		"popc.b32":           func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) },
		"clz.b32":            func(a uint32) uint32 { return uint32(bits.LeadingZeros32(a)) },
		"brev.b32":           bits.Reverse32,
		"not.b32":            func(a uint32) uint32 { return ^a },
		"cnot.b32":           func(a uint32) uint32 { return map[bool]uint32{true: 1}[a == 0] },
		"neg.s32":            func(a uint32) uint32 { return -a },
		"abs.s32":            func(a uint32) uint32 { return uint32(max(int32(a), -int32(a))) },
		"bfind.u32":          msb,
		"bfind.shiftamt.u32": func(a uint32) uint32 { return map[bool]uint32{true: ^uint32(0), false: 31 - msb(a)}[a == 0] },
		"bfind.s32": func(a uint32) uint32 {
			if int32(a) < 0 {
				a = ^a
			}
			return msb(a)
		},
	} {
		got := eval1[uint32](t, "u32", "u32", op+" %d, %a;", a)
		for i := range a {
			check(t, op, i, got[i], want(a[i]), a[i])
		}
	}
	b := edges64(32)
	for op, want := range map[string]func(a uint64) uint32{
		"popc.b64":  func(a uint64) uint32 { return uint32(bits.OnesCount64(a)) },
		"clz.b64":   func(a uint64) uint32 { return uint32(bits.LeadingZeros64(a)) },
		"bfind.u64": func(a uint64) uint32 { return uint32(63 - bits.LeadingZeros64(a)) },
	} {
		got := eval1[uint32](t, "u32", "u64", op+" %d, %a;", b)
		for i := range b {
			check(t, op, i, got[i], want(b[i]), b[i])
		}
	}
}

func TestBitFields(t *testing.T) {
	var a, pos, length []uint32
	for _, x := range edges32(41) {
		for _, p := range []uint32{0, 1, 5, 16, 31, 32, 40, 255} {
			for _, n := range []uint32{0, 1, 4, 16, 31, 32, 33, 255, 256} {
				a, pos, length = append(a, x), append(pos, p), append(length, n)
			}
		}
	}
	u := eval3[uint32](t, "u32", "u32", "u32", "u32", "bfe.u32 %d, %a, %b, %c;", a, pos, length)
	s := eval3[uint32](t, "u32", "u32", "u32", "u32", "bfe.s32 %d, %a, %b, %c;", a, pos, length)
	ins := eval3[uint32](t, "u32", "u32", "u32", "u32", "bfi.b32 %d, 0x5aa5c33c, %a, %b, %c;", a, pos, length)
	for i := range a {
		p, n := pos[i]&0xff, length[i]&0xff
		field := new(big.Int).Rsh(new(big.Int).SetUint64(uint64(a[i])), uint(p))
		mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(n)), big.NewInt(1))
		wantU := uint32(low64(field.And(field, mask)))
		check(t, "bfe.u32", i, u[i], wantU, a[i], p, n)
		// The sign is the highest bit of the field that lies within the value.
		x := new(big.Int).Rsh(big.NewInt(int64(int32(a[i]))), uint(p))
		wantS := uint32(0)
		if n > 0 {
			v := x.And(x, mask)
			if v.Bit(int(n)-1) == 1 {
				v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(n)))
			}
			wantS = uint32(low64(v))
		}
		check(t, "bfe.s32", i, s[i], wantS, a[i], p, n)
		want := a[i]
		for k := uint32(0); k < n && p+k < 32; k++ {
			want = want&^(1<<(p+k)) | uint32(0x5aa5c33c)>>k&1<<(p+k)
		}
		check(t, "bfi.b32", i, ins[i], want, a[i], p, n)
	}
}

func TestPermutationsAndLogicTables(t *testing.T) {
	a, b, c := triples(edges32(51), 200)
	got := eval3[uint32](t, "u32", "u32", "u32", "u32", "prmt.b32 %d, %a, %b, %c;", a, b, c)
	for i := range a {
		all := [8]byte{byte(a[i]), byte(a[i] >> 8), byte(a[i] >> 16), byte(a[i] >> 24), byte(b[i]), byte(b[i] >> 8), byte(b[i] >> 16), byte(b[i] >> 24)}
		var want uint32
		for k := range 4 {
			s := c[i] >> (4 * k) & 15
			v := all[s&7]
			if s&8 != 0 {
				v = map[bool]byte{true: 0xff}[v&0x80 != 0]
			}
			want |= uint32(v) << (8 * k)
		}
		check(t, "prmt", i, got[i], want, a[i], b[i], c[i])
	}
	for _, table := range []int{0x00, 0x96, 0xe8, 0xca, 0x80, 0xfe, 0xf8, 0xea, 0x1b, 0x3c, 0xff, 0x78} {
		got := eval3[uint32](t, "u32", "u32", "u32", "u32", fmt.Sprintf("lop3.b32 %%d, %%a, %%b, %%c, %d;", table), a, b, c)
		for i := range a {
			var want uint32
			for k := range 32 {
				idx := a[i]>>k&1<<2 | b[i]>>k&1<<1 | c[i]>>k&1
				want |= uint32(table) >> idx & 1 << k
			}
			check(t, fmt.Sprintf("lop3 %#x", table), i, got[i], want, a[i], b[i], c[i])
		}
	}
	for _, form := range []string{"l.wrap", "l.clamp", "r.wrap", "r.clamp"} {
		got := eval3[uint32](t, "u32", "u32", "u32", "u32", "shf."+form+".b32 %d, %a, %b, %c;", a, b, c)
		for i := range a {
			n := c[i] & 31
			if form[2:] == "clamp" {
				n = min(c[i], 32)
			}
			x := new(big.Int).SetUint64(uint64(b[i])<<32 | uint64(a[i]))
			want := uint32(low64(new(big.Int).Rsh(x, uint(n))))
			if form[0] == 'l' {
				want = uint32(low64(new(big.Int).Rsh(new(big.Int).Lsh(x, uint(n)), 32)))
			}
			check(t, "shf."+form, i, got[i], want, a[i], b[i], c[i])
		}
	}
}

func TestPackedMoves(t *testing.T) {
	a, b := pairs(edges32(61), edges32(62))
	got := eval2[uint64](t, "u64", "u32", "u32", "mov.b64 %d, {%a, %b};", a, b)
	swap := eval2[uint32](t, "u32", "u32", "u32", "mov.b32 {%h0, %h1}, %a; mov.b32 {%h2, %h3}, %b; mov.b32 %d, {%h1, %h2};", a, b)
	hi := eval2[uint32](t, "u32", "u32", "u32", "mov.b64 %w0, {%a, %b}; mov.b64 {_, %d}, %w0;", a, b)
	quad := eval2[uint64](t, "u64", "u32", "u32", "mov.b32 {%h0, %h1}, %a; mov.b32 {%h2, %h3}, %b; mov.b64 %d, {%h3, %h2, %h1, %h0};", a, b)
	for i := range a {
		check(t, "mov.b64", i, got[i], uint64(b[i])<<32|uint64(a[i]), a[i], b[i])
		check(t, "mov.b32", i, swap[i], a[i]>>16|b[i]<<16, a[i], b[i])
		check(t, "mov with sink", i, hi[i], b[i], a[i], b[i])
		check(t, "mov of four", i, quad[i], uint64(bits.RotateLeft32(a[i], 16))<<32|uint64(bits.RotateLeft32(b[i], 16)), a[i], b[i])
	}
}

func TestComparisons(t *testing.T) {
	a, b := pairs(edges32(71), edges32(72))
	for _, c := range []struct {
		op   string
		want func(a, b uint32) bool
	}{
		{"eq.u32", func(a, b uint32) bool { return a == b }}, {"ne.s32", func(a, b uint32) bool { return a != b }},
		{"lt.u32", func(a, b uint32) bool { return a < b }}, {"lt.s32", func(a, b uint32) bool { return int32(a) < int32(b) }},
		{"le.u32", func(a, b uint32) bool { return a <= b }}, {"ge.s32", func(a, b uint32) bool { return int32(a) >= int32(b) }},
		{"gt.u32", func(a, b uint32) bool { return a > b }}, {"lo.u32", func(a, b uint32) bool { return a < b }},
		{"hs.u32", func(a, b uint32) bool { return a >= b }}, {"hi.u32", func(a, b uint32) bool { return a > b }},
		{"ls.u32", func(a, b uint32) bool { return a <= b }}, {"eq.b32", func(a, b uint32) bool { return a == b }},
	} {
		got := eval2[uint32](t, "u32", "u32", "u32", "setp."+c.op+" %p, %a, %b; selp.b32 %d, 17, 4, %p;", a, b)
		both := eval2[uint32](t, "u32", "u32", "u32", "setp.gt.u32 %q, %b, 31; setp."+c.op[:2]+".and."+c.op[3:]+" %p|%q, %a, %b, %q; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;", a, b)
		set := eval2[uint32](t, "u32", "u32", "u32", "set."+c.op[:2]+".u32."+c.op[3:]+" %d, %a, %b;", a, b)
		for i := range a {
			w := c.want(a[i], b[i])
			check(t, "setp."+c.op, i, got[i], map[bool]uint32{true: 17, false: 4}[w], a[i], b[i])
			q := b[i] > 31
			want := map[bool]uint32{true: 1}[w && q] + map[bool]uint32{true: 2}[!w && q]
			check(t, "setp.and."+c.op, i, both[i], want, a[i], b[i])
			check(t, "set."+c.op, i, set[i], map[bool]uint32{true: 0xffffffff}[w], a[i], b[i])
		}
	}
}

func TestDotProducts(t *testing.T) {
	a, b, c := triples(edges32(81), 200)
	ss := eval3[uint32](t, "u32", "u32", "u32", "u32", "dp4a.s32.s32 %d, %a, %b, %c;", a, b, c)
	us := eval3[uint32](t, "u32", "u32", "u32", "u32", "dp4a.u32.s32 %d, %a, %b, %c;", a, b, c)
	two := eval3[uint32](t, "u32", "u32", "u32", "u32", "dp2a.hi.s32.u32 %d, %a, %b, %c;", a, b, c)
	for i := range a {
		w1, w2, w3 := c[i], c[i], c[i]
		for k := range 4 {
			x, y := a[i]>>(8*k), b[i]>>(8*k)
			w1 += uint32(int32(int8(x)) * int32(int8(y)))
			w2 += uint32(int32(uint8(x)) * int32(int8(y)))
		}
		for k := range 2 {
			w3 += uint32(int32(int16(a[i]>>(16*k))) * int32(uint8(b[i]>>(16+8*k))))
		}
		check(t, "dp4a.s32.s32", i, ss[i], w1, a[i], b[i], c[i])
		check(t, "dp4a.u32.s32", i, us[i], w2, a[i], b[i], c[i])
		check(t, "dp2a.hi", i, two[i], w3, a[i], b[i], c[i])
	}
}

// After a subtraction without a borrow, the condition code must be 1, as on an H200. A chain of
// subtractions cannot show this, because its result is the same under either convention.
func TestConditionCodeOfASubtractionIsNoBorrow(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .reg .b32 %r<9>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, 5;
	mov.u32 %r2, 7;
	sub.cc.u32 %r3, %r1, %r2;
	addc.u32 %r4, 0, 0;
	sub.cc.u32 %r3, %r2, %r1;
	addc.u32 %r5, 0, 0;
	add.cc.u32 %r3, %r1, %r2;
	subc.u32 %r6, %r2, %r1;
	sub.cc.u32 %r3, %r1, %r2;
	subc.u32 %r7, %r2, %r1;
	st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};
	sub.cc.u64 %rd2, 5, 7;
	addc.cc.u64 %rd3, 0, 0;
	st.global.u64 [%rd1+16], %rd3;
	ret;
}`)
	out := upload(m, make([]uint32, 6))
	m.mustLaunch("k", 1, out)
	want := []uint32{0, 1, 1, 1, 0, 0}
	for i, got := range download[uint32](m, out, 6) {
		if got != want[i] {
			t.Errorf("result %d is %d, want %d", i, got, want[i])
		}
	}
}

func TestConstantsAreNotGlobal(t *testing.T) {
	m := load(t, `.const .u32 c = 7;
.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, c;
	cvta.const.u64 %rd3, %rd2;
	isspacep.global %p1, %rd3;
	isspacep.global %p2, %rd1;
	selp.u32 %r1, 1, 0, %p1;
	@%p2 add.u32 %r1, %r1, 2;
	st.global.u32 [%rd1], %r1;
	ret;
}`)
	out := upload(m, []uint32{0})
	m.mustLaunch("k", 1, out)
	if v := download[uint32](m, out, 1)[0]; v != 2 {
		t.Errorf("%d, want 2: the buffer is global, the constant is not", v)
	}
}

func TestVideoInstructions(t *testing.T) {
	for _, k := range []struct {
		instr   string
		a, b, c uint32
		want    uint32
	}{
		{"vadd4.u32.u32.u32 %d, %a, %b, %c", 0x01ff7f80, 0x01010101, 0, 0x02008081},
		{"vadd4.u32.u32.u32.sat %d, %a, %b, %c", 0x01ff7f80, 0x01010101, 0, 0x02ff8081},
		{"vadd4.s32.s32.s32.sat %d, %a, %b, %c", 0x01ff7f80, 0x010101ff, 0, 0x02007f80},
		{"vsub2.u32.u32.u32.sat %d, %a, %b, %c", 0x00050009, 0x00060001, 0, 0x00000008},
		{"vabsdiff4.u32.u32.u32 %d, %a, %b, %c", 0x10ff0005, 0x20000105, 0, 0x10ff0100},
		{"vabsdiff4.u32.u32.u32.add %d, %a, %b, %c", 0x10ff0005, 0x20000105, 7, 7 + 0x10 + 0xff + 1},
		{"vabsdiff4.s32.s32.s32 %d, %a, %b, %c", 0x80ff0005, 0x7f0001fb, 0, 0xff01010a},
		{"vavrg4.u32.u32.u32 %d, %a, %b, %c", 0x01ff0005, 0x02ff0106, 0, 0x02ff0106},
		{"vavrg2.s32.s32.s32 %d, %a, %b, %c", 0xfffd0003, 0x00000004, 0, 0xfffe0004},
		{"vmin2.s32.s32.s32 %d, %a, %b, %c", 0xffff0003, 0x00000002, 0, 0xffff0002},
		{"vmax2.u32.u32.u32 %d, %a, %b, %c", 0xffff0003, 0x00000002, 0, 0xffff0003},
		{"vmax4.u32.u32.u32 %d.b20, %a, %b, %c", 0x01020304, 0x04030201, 0xaabbccdd, 0xaa03cc04},
		{"vadd4.u32.u32.u32 %d, %a.b0123, %b.b7654, %c", 0x01020304, 0x10203040, 0, 0x14233241},
		{"vshr.u32.u32.u32.clamp %d, %a, %b", 0x80000001, 4, 0, 0x08000000},
		{"vshr.u32.u32.u32.clamp %d, %a, %b", 0x80000001, 36, 0, 0},
		{"vshr.s32.s32.u32.clamp %d, %a, %b", 0x80000001, 36, 0, 0xffffffff},
		{"vshr.u32.u32.u32.wrap %d, %a, %b", 0x80000001, 36, 0, 0x08000000},
		{"vshr.s32.u32.u32.sat.wrap %d, %a, %b", 0xfffffff0, 0, 0, 0x7fffffff},
		{"vshr.u32.s32.u32.sat.clamp %d, %a, %b", 0xfffffff0, 1, 0, 0},
		{"vshr.u32.s32.u32.clamp.add %d, %a, %b, %c", 0xfffffff0, 1, 10, 2},
		{"vset4.u32.u32.gt %d, %a, %b, %c", 0x01020304, 0x04030201, 0, 0x00000101},
		{"vset2.s32.s32.ne.add %d, %a, %b, %c", 0x00010002, 0x00010003, 40, 41},
	} {
		m := load(t, kernelText("u32", []string{"u32", "u32", "u32"}, k.instr+";"))
		out := upload(m, make([]uint32, 1))
		m.mustLaunch("test", 1, out, upload(m, []uint32{k.a}), upload(m, []uint32{k.b}), upload(m, []uint32{k.c}))
		if got := download[uint32](m, out, 1)[0]; got != k.want {
			t.Errorf("%s: %#x, want %#x", k.instr, got, k.want)
		}
	}
}

// The emulator must reject those scalar video instructions whose results on devices differ from the
// ISA.
func TestScalarVideoInstructionsThatAreNotThere(t *testing.T) {
	for _, instr := range []string{"vadd.u32.u32.u32.sat %d, %a, %b", "vmad.u32.u32.u32 %d, %a, %b, %c", "vshr.u32.u32.u32.clamp.min %d, %a, %b, %c", "vshr.u32.u32.u32.clamp %d, %a.h0, %b", "vshr.u32.u32.u32.wrap %d.b1, %a, %b, %c"} {
		_, err := tryLoad(t, kernelText("u32", []string{"u32", "u32", "u32"}, instr+";"))
		if e := (vm.CompileErrors{}); !asCompileErrors(err, &e) || e[0].Kind != vm.CompileUnsupported {
			t.Errorf("%s: %v", instr, err)
		}
	}
}
