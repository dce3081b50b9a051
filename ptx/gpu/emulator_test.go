package gpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// number is a function of this package and the equivalent PTX instructions, whose operands are %a,
// %b and %c.
type number struct {
	name   string
	in, to string // PTX types of the operands and of the result %d
	body   string
	fn     func(a, b, c uint64) uint64 // computes the function on the bits of the operands
}

func of[T any](x uint64) T { return *(*T)(unsafe.Pointer(&x)) }

func bitsOf[T any](v T) (x uint64) {
	*(*T)(unsafe.Pointer(&x)) = v
	return x
}

func one[T, R any](f func(a T) R) func(a, b, c uint64) uint64 {
	return func(a, _, _ uint64) uint64 { return bitsOf(f(of[T](a))) }
}

func two[T, R any](f func(a, b T) R) func(a, b, c uint64) uint64 {
	return func(a, b, _ uint64) uint64 { return bitsOf(f(of[T](a), of[T](b))) }
}

func three[T, R any](f func(a, b, c T) R) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 { return bitsOf(f(of[T](a), of[T](b), of[T](c))) }
}

func field[T any](f func(x T, pos, n uint32) T) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 { return bitsOf(f(of[T](a), uint32(b), uint32(c))) }
}

// modes lists the rounding modes and their PTX names.
var modes = []struct {
	mode gpu.Rounding
	name string
}{{gpu.ToNearestEven, "rn"}, {gpu.ToZero, "rz"}, {gpu.ToNegativeInf, "rm"}, {gpu.ToPositiveInf, "rp"}}

func rounded[T gpu.Float](typ string) (all []number) {
	for _, m := range modes {
		mode := m.mode
		add := func(op, body string, f func(a, b, c uint64) uint64) {
			all = append(all, number{op + "_" + m.name + "_" + typ, typ, typ, strings.ReplaceAll(body, "R", m.name+"."+typ), f})
		}
		add("add", "add.R %d, %a, %b;", two(func(a, b T) T { return gpu.AddRound(a, b, mode) }))
		add("sub", "sub.R %d, %a, %b;", two(func(a, b T) T { return gpu.SubRound(a, b, mode) }))
		add("mul", "mul.R %d, %a, %b;", two(func(a, b T) T { return gpu.MulRound(a, b, mode) }))
		add("div", "div.R %d, %a, %b;", two(func(a, b T) T { return gpu.DivRound(a, b, mode) }))
		add("fma", "fma.R %d, %a, %b, %c;", three(func(a, b, c T) T { return gpu.FMARound(a, b, c, mode) }))
		add("sqrt", "sqrt.R %d, %a;", one(func(a T) T { return gpu.SqrtRound(a, mode) }))
		add("rcp", "rcp.R %d, %a;", one(func(a T) T { return gpu.RcpRound(a, mode) }))
		body := "cvt." + m.name + "i." + typ + "." + typ + " %d, %a;"
		add("round", body, one(func(a T) T { return gpu.RoundInt(a, mode) }))
	}
	return append(all,
		number{"fma_" + typ, typ, typ, "fma.rn." + typ + " %d, %a, %b, %c;", three(gpu.FMA[T])},
		number{"saturate_" + typ, typ, typ, "cvt.sat." + typ + "." + typ + " %d, %a;", one(gpu.Saturate[T])})
}

// converted returns the conversions from one type to all other types.
func converted[F num.Number](from string) (all []number) {
	all = append(all, conversion[int8, F](from, "s8")...)
	all = append(all, conversion[int16, F](from, "s16")...)
	all = append(all, conversion[int32, F](from, "s32")...)
	all = append(all, conversion[int, F](from, "s64")...)
	all = append(all, conversion[uint8, F](from, "u8")...)
	all = append(all, conversion[uint16, F](from, "u16")...)
	all = append(all, conversion[uint32, F](from, "u32")...)
	all = append(all, conversion[uint64, F](from, "u64")...)
	all = append(all, conversion[float32, F](from, "f32")...)
	all = append(all, conversion[float64, F](from, "f64")...)
	all = append(all, conversion[num.F16, F](from, "f16")...)
	return append(all, conversion[num.BF16, F](from, "bf16")...)
}

func conversion[T, F num.Number](from, to string) (all []number) {
	for _, m := range modes {
		mode := m.mode
		mod := "." + m.name
		switch {
		case !isFloat(from) && !isFloat(to):
			// PTX rejects .sat where it would have no effect.
			if mod = ".sat"; from[0] == to[0] && width(to) >= width(from) || to[0] == 's' && width(to) > width(from) {
				mod = ""
			}
		case isFloat(from) && !isFloat(to):
			mod = "." + m.name + "i.sat"
		case !isFloat(from) || from != to && strings.HasSuffix(from, "64") && to != "bf16" || from == "f32" && strings.Contains(to, "16"):
		case from == to || to == "f64" || to == "f32":
			mod = ""
		default:
			continue // the instruction does not exist
		}
		if to == "bf16" && from != "f32" || from == "bf16" && to != "f32" {
			continue
		}
		if mod == "" && from == to && !isFloat(to) {
			continue
		}
		if mod == ".sat" && m.name != "rn" || mod == "" && m.name != "rn" {
			continue
		}
		all = append(all, number{"cvt_" + m.name + "_" + to + "_" + from, from, to,
			"cvt" + mod + "." + to + "." + from + " %d, %a;", one(func(x F) T { return gpu.Convert[T](x, mode) })})
	}
	return all
}

func isFloat(typ string) bool { return strings.Contains(typ, "f") }

func numbers() (all []number) {
	all = append(all, rounded[float32]("f32")...)
	all = append(all, rounded[float64]("f64")...)
	all = append(all, converted[int8]("s8")...)
	all = append(all, converted[uint16]("u16")...)
	all = append(all, converted[int32]("s32")...)
	all = append(all, converted[uint32]("u32")...)
	all = append(all, converted[int64]("s64")...)
	all = append(all, converted[uint64]("u64")...)
	all = append(all, converted[float32]("f32")...)
	all = append(all, converted[float64]("f64")...)
	all = append(all, converted[num.F16]("f16")...)
	all = append(all, converted[num.BF16]("bf16")...)
	all = append(all, integers[int32]("s32")...)
	all = append(all, integers[uint32]("u32")...)
	all = append(all, integers[int64]("s64")...)
	all = append(all, integers[uint64]("u64")...)
	all = append(all, integers[int]("s64")...)
	all = append(all, words[int32]("s32")...)
	all = append(all, words[uint32]("u32")...)
	return append(all,
		number{"addsat", "s32", "s32", "add.sat.s32 %d, %a, %b;", two(gpu.AddSat)},
		number{"subsat", "s32", "s32", "sub.sat.s32 %d, %a, %b;", two(gpu.SubSat)},
		number{"prmt", "b32", "b32", "prmt.b32 %d, %a, %b, %c;", three(gpu.BytePermute)},
		number{"lop3", "b32", "b32", "lop3.b32 %d, %a, %b, %c, 0xe8;", three(func(a, b, c uint32) uint32 { return gpu.Lop3(a, b, c, 0xe8) })},
		number{"lop3b", "b32", "b32", "lop3.b32 %d, %a, %b, %c, 0x1d;", three(func(a, b, c uint32) uint32 { return gpu.Lop3(a, b, c, 0x1d) })},
		number{"shf_l_wrap", "b32", "b32", "shf.l.wrap.b32 %d, %a, %b, %c;", three(gpu.FunnelShiftLeft)},
		number{"shf_r_wrap", "b32", "b32", "shf.r.wrap.b32 %d, %a, %b, %c;", three(gpu.FunnelShiftRight)},
		number{"shf_l_clamp", "b32", "b32", "shf.l.clamp.b32 %d, %a, %b, %c;", three(gpu.FunnelShiftLeftClamp)},
		number{"shf_r_clamp", "b32", "b32", "shf.r.clamp.b32 %d, %a, %b, %c;", three(gpu.FunnelShiftRightClamp)},
		number{"fns", "b32", "b32", "and.b32 %b, %b, 31; max.s32 %c, %c, -33; fns.b32 %d, %a, %b, %c;",
			three(func(mask, base, n uint32) uint32 { return gpu.FindNthSet(mask, base&31, int32(n)) })},
	)
}

func integers[T gpu.Integer](typ string) []number {
	u := "b" + typ[1:]
	name := fmt.Sprintf("%s_%T", typ, *new(T))
	return []number{
		{"mulhi_" + name, typ, typ, "mul.hi." + typ + " %d, %a, %b;", two(gpu.MulHi[T])},
		{"bfe_" + name, typ, typ, ".reg .b32 p, n; cvt.u32." + typ + " p, %b; cvt.u32." + typ + " n, %c; bfe." + typ + " %d, %a, p, n;", field(gpu.Bfe[T])},
		{"bfi_" + name, typ, typ, ".reg .b32 p, n; cvt.u32." + typ + " p, %b; shr.u32 n, p, 8; bfi." + u + " %d, %a, %c, p, n;",
			func(a, b, c uint64) uint64 {
				return bitsOf(gpu.Bfi(of[T](a), of[T](c), uint32(b), uint32(b)>>8))
			}},
	}
}

func words[T ~int32 | ~uint32](typ string) []number {
	return []number{
		{"mul24_" + typ, typ, typ, "mul24.lo." + typ + " %d, %a, %b;", two(gpu.Mul24[T])},
		{"sad_" + typ, typ, typ, "sad." + typ + " %d, %a, %b, %c;", func(a, b, c uint64) uint64 { return uint64(gpu.Sad(T(a), T(b), uint32(c))) }},
		{"dp4a_" + typ, typ, typ, "dp4a." + typ + "." + typ + " %d, %a, %b, %c;", three(gpu.Dp4a[T])},
		{"dp2alo_" + typ, typ, typ, "dp2a.lo." + typ + "." + typ + " %d, %a, %b, %c;", three(gpu.Dp2aLow[T])},
		{"dp2ahi_" + typ, typ, typ, "dp2a.hi." + typ + "." + typ + " %d, %a, %b, %c;", three(gpu.Dp2aHigh[T])},
	}
}

// approximate lists the functions for which the only requirement is that their results equal the
// emulator's.
func approximate() []number {
	return []number{
		{"sin", "f32", "f32", "sin.approx.f32 %d, %a;", one(gpu.ApproxSin)},
		{"cos", "f32", "f32", "cos.approx.f32 %d, %a;", one(gpu.ApproxCos)},
		{"ex2", "f32", "f32", "ex2.approx.f32 %d, %a;", one(gpu.ApproxExp2)},
		{"lg2", "f32", "f32", "lg2.approx.f32 %d, %a;", one(gpu.ApproxLog2)},
		{"rcp", "f32", "f32", "rcp.approx.f32 %d, %a;", one(gpu.ApproxRcp)},
		{"rsqrt", "f32", "f32", "rsqrt.approx.f32 %d, %a;", one(gpu.ApproxRsqrt)},
		{"sqrt", "f32", "f32", "sqrt.approx.f32 %d, %a;", one(gpu.ApproxSqrt)},
		{"tanh", "f32", "f32", "tanh.approx.f32 %d, %a;", one(gpu.ApproxTanh)},
		{"ex2_ftz", "f32", "f32", "ex2.approx.ftz.f32 %d, %a;", one(gpu.ApproxExp2FTZ)},
		{"lg2_ftz", "f32", "f32", "lg2.approx.ftz.f32 %d, %a;", one(gpu.ApproxLog2FTZ)},
		{"rcp_ftz", "f32", "f32", "rcp.approx.ftz.f32 %d, %a;", one(gpu.ApproxRcpFTZ)},
		{"rsqrt_ftz", "f32", "f32", "rsqrt.approx.ftz.f32 %d, %a;", one(gpu.ApproxRsqrtFTZ)},
		{"div", "f32", "f32", "div.approx.f32 %d, %a, %b;", two(gpu.ApproxDiv)},
		{"exp", "f32", "f32", "mul.rn.f32 %a, %a, 0f3fb8aa3b; ex2.approx.f32 %d, %a;", one(gpu.ApproxExp)},
		{"log", "f32", "f32", "lg2.approx.f32 %d, %a; mul.rn.f32 %d, %d, 0f3f317218;", one(gpu.ApproxLog)},
	}
}

// width returns the number of bits of a PTX type.
func width(typ string) int {
	var n int
	fmt.Sscanf(strings.TrimLeft(typ, "bfsu"), "%d", &n)
	return n
}

// module returns PTX with a kernel for each function.
func module(all []number) string {
	var b strings.Builder
	b.WriteString(".version 7.8\n.target sm_90\n.address_size 64\n")
	for i, n := range all {
		in, out := width(n.in), width(n.to)
		reg := func(typ string, w int) string { // returns the register type for a PTX type
			switch {
			case w == 8:
				return "b16"
			case w == 16:
				return "b16"
			case strings.HasPrefix(typ, "bf"):
				return "b16"
			}
			return typ
		}
		fmt.Fprintf(&b, `.visible .entry k%d(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {
	.reg .b32 %%i, %%t, %%m; .reg .b64 %%at, %%p; .reg .%s %%a, %%b, %%c; .reg .%s %%d;
	mov.u32 %%i, %%tid.x; mov.u32 %%t, %%ctaid.x; mov.u32 %%m, %%ntid.x; mad.lo.u32 %%i, %%t, %%m, %%i;
	mul.wide.u32 %%at, %%i, 8;
`, i, reg(n.in, in), reg(n.to, out))
		for _, p := range []string{"a", "b", "c"} {
			fmt.Fprintf(&b, "\tld.param.u64 %%p, [p%s]; add.u64 %%p, %%p, %%at; ld.global.b%d %%%s, [%%p];\n", p, in, p)
		}
		fmt.Fprintf(&b, "\t{ %s }\n\tld.param.u64 %%p, [pd]; add.u64 %%p, %%p, %%at; st.global.b%d [%%p], %%d;\n\tret;\n}\n", n.body, out)
	}
	return b.String()
}

// isNaN reports whether the bits are a NaN in the given type.
func isNaN(typ string, x uint64) bool {
	switch typ {
	case "f32":
		return x&0x7fffffff > 0x7f800000
	case "f64":
		return x&(1<<63-1) > 0x7ff<<52
	case "f16":
		return x&0x7fff > 0x7c00
	case "bf16":
		return x&0x7fff > 0x7f80
	}
	return false
}

// operands returns bit patterns that are random or represent special values of some type.
func operands(r *rand.Rand, n int) []uint64 {
	special := []uint64{0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x3c00, 0x7c00, 0x7bff, 0x3f80, 0x7f80,
		1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, f := range []float64{1, -1, 0.5, 1.5, 2.5, 127.5, 255.5, 32767.5, 65504, 65519, 65520, 1 << 24, 1 << 31, 1<<31 - 0.5, 1 << 53, 1 << 63,
		1e-45, 1e-40, 1e-38, 1e38, 1e300, 1e-300, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)} {
		special = append(special, math.Float64bits(f), uint64(math.Float32bits(float32(f))), uint64(num.To[num.F16](f).Bits()))
	}
	x := make([]uint64, n)
	for i := range x {
		switch r.IntN(6) {
		case 0, 1:
			x[i] = special[r.IntN(len(special))]
		case 2:
			x[i] = math.Float64bits(math.Ldexp(float64(r.Int32()), r.IntN(80)-40))
		case 3:
			x[i] = uint64(math.Float32bits(float32(math.Ldexp(float64(r.Int32N(1<<24)), r.IntN(80)-50))))
		case 4:
			x[i] = r.Uint64() >> r.IntN(64)
		default:
			x[i] = r.Uint64()
		}
	}
	return x
}

func compare(t *testing.T, c *driver.Context, all []number) {
	const blocks, threads = 16, 256
	m, err := c.LoadModule([]byte(module(all)))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(1, 2))
	in := [3][]uint64{operands(r, blocks*threads), operands(r, blocks*threads), operands(r, blocks*threads)}
	var bufs [4]*driver.Buffer[uint64]
	for i := range bufs {
		if bufs[i], err = driver.AllocFrom(c, in[min(i, 2)]); err != nil {
			t.Fatal(err)
		}
		defer bufs[i].Close()
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := make([]uint64, blocks*threads)
	for i, n := range all {
		k, err := m.Kernel(fmt.Sprintf("k%d", i))
		if err == nil {
			err = k.Launch(s, driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(threads)}, bufs[0], bufs[1], bufs[2], bufs[3])
		}
		if err == nil {
			err = s.Wait(t.Context())
		}
		if err == nil {
			err = bufs[3].CopyTo(out)
		}
		if err != nil {
			t.Fatalf("%s: %v", n.name, err)
		}
		bad := 0
		for j := range out {
			a, b, c := in[0][j], in[1][j], in[2][j]
			mask := ^uint64(0) >> (64 - width(n.in))
			got, want := n.fn(a&mask, b&mask, c&mask), out[j]&(^uint64(0)>>(64-width(n.to)))
			if got != want && !(isNaN(n.to, got) && isNaN(n.to, want)) {
				if bad++; bad <= 3 {
					t.Errorf("%s(%#x, %#x, %#x) is %#x, and PTX computes %#x", n.name, a&mask, b&mask, c&mask, got, want)
				}
			}
		}
	}
}

func TestNumbersAreThoseOfTheInstructions(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) { compare(t, c, numbers()) })
}

func TestApproximationsAreThoseOfTheEmulator(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) { compare(t, c, approximate()) })
}
