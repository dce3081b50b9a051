package vm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

func TestPackedIntegers(t *testing.T) {
	a, b := pairs(edges32(101), edges32(102))
	each := func(x, y uint32, f func(x, y int16) int16) uint32 {
		return uint32(uint16(f(int16(x), int16(y)))) | uint32(uint16(f(int16(x>>16), int16(y>>16))))<<16
	}
	for op, f := range map[string]func(x, y int16) int16{
		"add.u16x2":      func(x, y int16) int16 { return x + y },
		"add.s16x2":      func(x, y int16) int16 { return x + y },
		"min.s16x2":      func(x, y int16) int16 { return min(x, y) },
		"max.s16x2":      func(x, y int16) int16 { return max(x, y) },
		"max.u16x2":      func(x, y int16) int16 { return int16(max(uint16(x), uint16(y))) },
		"min.u16x2":      func(x, y int16) int16 { return int16(min(uint16(x), uint16(y))) },
		"min.relu.s16x2": func(x, y int16) int16 { return max(min(x, y), 0) },
	} {
		got := eval2[uint32](t, "u32", "u32", "u32", op+" %d, %a, %b;", a, b)
		for i := range a {
			check(t, op, i, got[i], each(a[i], b[i], f), a[i], b[i])
		}
	}
}

func TestMasksAndFields(t *testing.T) {
	a, b := pairs([]uint32{0, 1, 5, 16, 31, 32, 33, 255}, []uint32{0, 1, 7, 31, 32, 33, 64})
	for _, mode := range []string{"clamp", "wrap"} {
		got := eval2[uint32](t, "u32", "u32", "u32", "bmsk."+mode+".b32 %d, %a, %b;", a, b)
		for i := range a {
			p, n := a[i]&31, b[i]&31
			if mode == "clamp" {
				p, n = min(a[i], 32), min(b[i], 32)
			}
			want := uint32(0)
			for k := range n {
				if p+k < 32 {
					want |= 1 << (p + k)
				}
			}
			check(t, "bmsk."+mode, i, got[i], want, a[i], b[i])
		}
	}
	x, n := pairs(edges32(103), []uint32{0, 1, 8, 16, 31, 32, 40})
	sign := eval2[uint32](t, "u32", "u32", "u32", "szext.clamp.s32 %d, %a, %b;", x, n)
	zero := eval2[uint32](t, "u32", "u32", "u32", "szext.wrap.u32 %d, %a, %b;", x, n)
	for i := range x {
		k := min(n[i], 32)
		want := uint32(0)
		if k > 0 {
			want = uint32(int64(uint64(x[i])<<(64-k)) >> (64 - k))
		}
		check(t, "szext.clamp.s32", i, sign[i], want, x[i], n[i])
		want = uint32(uint64(x[i]) & (1<<(n[i]&31) - 1))
		check(t, "szext.wrap.u32", i, zero[i], want, x[i], n[i])
	}
	nth := eval3[uint32](t, "u32", "u32", "u32", "u32", "fns.b32 %d, %a, %b, %c;",
		[]uint32{0xf0f0, 0xf0f0, 0xf0f0, 0xf0f0, 0xf0f0, 0, 0xf0f0, 0xf0f0}, []uint32{0, 5, 5, 8, 12, 3, 12, 12},
		[]uint32{1, 0, 2, 0, 0xfffffffe, 1, 1 << 31, 1<<31 + 1})
	if want := []uint32{4, 5, 6, ^uint32(0), 7, ^uint32(0), 0, ^uint32(0)}; !slices.Equal(nth, want) {
		t.Errorf("fns: %d, want %d", nth, want)
	}
}

func TestSelectionsBySign(t *testing.T) {
	a, b := pairs(edges32(104), edges32(105))
	c := make([]uint32, len(a))
	f := make([]float32, len(a))
	for i := range c {
		c[i] = a[i] ^ b[i]<<3
		f[i] = f32s(106)[i%len(f32s(106))]
	}
	got := eval3[uint32](t, "u32", "u32", "u32", "u32", "slct.u32.s32 %d, %a, %b, %c;", a, b, c)
	ff := eval3[uint32](t, "u32", "u32", "u32", "f32", "slct.b32.f32 %d, %a, %b, %c;", a, b, f)
	for i := range a {
		want := a[i]
		if int32(c[i]) < 0 {
			want = b[i]
		}
		check(t, "slct.s32", i, got[i], want, c[i])
		want = b[i]
		if f[i] >= 0 {
			want = a[i]
		}
		check(t, "slct.f32", i, ff[i], want, math.Float32bits(f[i]))
	}
}

func TestPackedConversions(t *testing.T) {
	a, b := pairs(edges32(107), edges32(108))
	two := eval2[uint32](t, "u32", "u32", "u32", "cvt.pack.sat.s16.s32 %d, %a, %b;", a, b)
	four := eval3[uint32](t, "u32", "u32", "u32", "u32", "cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", a, b, b)
	for i := range a {
		s := func(x uint32) uint32 {
			return uint32(uint16(min(max(int32(x), math.MinInt16), math.MaxInt16)))
		}
		u := func(x uint32) uint32 { return uint32(min(max(int32(x), 0), 255)) }
		check(t, "cvt.pack.s16", i, two[i], s(a[i])<<16|s(b[i]), a[i], b[i])
		check(t, "cvt.pack.u8", i, four[i], b[i]<<16|u(a[i])<<8|u(b[i]), a[i], b[i])
	}
}

func TestHalfFunctions(t *testing.T) {
	h := halfs()
	for op, f := range map[string]func(x float64) float64{
		"neg.f16": func(x float64) float64 { return -x }, "abs.f16": math.Abs,
		"ex2.approx.f16": math.Exp2, "tanh.approx.f16": math.Tanh,
	} {
		got := eval1[uint16](t, "f16", "f16", op+" %d, %a;", h)
		for i, x := range h {
			if want := halfReference(f(decodeF16(x)), decodeF16); !sameHalf(got[i], want, decodeF16) {
				t.Errorf("%s of %#x is %#x, want %#x", op, x, got[i], want)
			}
		}
	}
	mixed := eval2[float32](t, "f32", "f16", "f32", "add.f32.f16 %d, %a, %b;", h, random32(len(h), 1))
	for i, x := range h {
		if want := float32(decodeF16(x)) + random32(len(h), 1)[i]; !sameF32(mixed[i], want) {
			t.Errorf("add.f32.f16 of %#x: %v, want %v", x, mixed[i], want)
		}
	}
	var packed []uint32
	for i := range h {
		packed = append(packed, uint32(h[i])|uint32(h[len(h)-1-i])<<16)
	}
	set := eval2[uint32](t, "u32", "f16x2", "f16x2", "set.gt.f16x2.f16x2 %d, %a, %b;", packed, reversed(packed))
	for i := range packed {
		want := uint32(0)
		for s := 0; s < 32; s += 16 {
			if decodeF16(uint16(packed[i]>>s)) > decodeF16(uint16(reversed(packed)[i]>>s)) {
				want |= 0x3c00 << s
			}
		}
		check(t, "set.f16x2", i, set[i], want, packed[i])
	}
	cmp := eval2[uint32](t, "u32", "bf16", "bf16", "setp.lt.bf16 %p, %a, %b; selp.b32 %d, 1, 0, %p;", h, reversed(h))
	for i := range h {
		want := uint32(0)
		if decodeBF16(h[i]) < decodeBF16(reversed(h)[i]) {
			want = 1
		}
		check(t, "setp.bf16", i, cmp[i], want, h[i])
	}
	ints := eval1[uint16](t, "f16", "u32", "cvt.rn.f16.s32 %d, %a;", edges32(109))
	for i, x := range edges32(109) {
		if want := halfReference(float64(int32(x)), decodeF16); ints[i] != want {
			t.Errorf("cvt.rn.f16.s32 of %d is %#x, want %#x", int32(x), ints[i], want)
		}
	}
	tf := eval1[uint32](t, "u32", "f32", "cvt.rna.tf32.f32 %d, %a;", f32s(110))
	for i, x := range f32s(110) {
		u := math.Float32bits(x)
		if x != x || u&0x7fffffff > 0x7f7ff000 {
			continue
		}
		if want := (u + 0x1000) &^ 0x1fff; u&0x7f800000 != 0 && tf[i] != want {
			t.Errorf("cvt.rna.tf32 of %x is %#x, want %#x", x, tf[i], want)
		}
	}
}

func TestPairsOfSingles(t *testing.T) {
	a, b := pairs(f32s(111), f32s(112))
	x, y := make([]uint64, len(a)), make([]uint64, len(a))
	for i := range a {
		x[i] = uint64(math.Float32bits(a[i])) | uint64(math.Float32bits(b[i]))<<32
		y[i] = bits.RotateLeft64(x[i], 32)
	}
	sum := eval2[uint64](t, "u64", "u64", "u64", "add.rn.f32x2 %d, %a, %b;", x, y)
	fma := eval3[uint64](t, "u64", "u64", "u64", "u64", "fma.rn.f32x2 %d, %a, %b, %c;", x, y, x)
	for i := range a {
		if got := math.Float32frombits(uint32(sum[i] >> 32)); !sameF32(got, a[i]+b[i]) {
			t.Errorf("add.f32x2: %v, want %v", got, a[i]+b[i])
		}
		want := fusedReference("rn", float64(a[i]), float64(b[i]), float64(b[i]), near32, step32)
		if got := math.Float32frombits(uint32(fma[i] >> 32)); !sameF32(got, want) {
			t.Errorf("fma.f32x2 of %x and %x: %x, want %x", a[i], b[i], got, want)
		}
	}
}

func TestElementsOfArrays(t *testing.T) {
	got := runThreads(t, 32, `
	.shared .u32 v[32];
	st.shared.u32 v[%r0], %r0;
	bar.sync 0;
	xor.b32 %r1, %r0, 5;
	ld.shared.u32 %d, v[%r1];
	ld.shared.u32 %r2, v[3];
	add.u32 %d, %d, %r2;`)
	for i, v := range got {
		if v != uint32(i^5)+3 {
			t.Errorf("thread %d: %d", i, v)
		}
	}
}

func TestVectorReductions(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 p)
{
	.reg .f32 %f<6>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;
	red.global.add.v2.f32 [%rd1], {%f1, %f2};
	atom.global.add.v2.f32 {%f3, %f4}, [%rd1+8], {%f2, %f1};
	ret;
}`)
	p := upload(m, make([]float32, 4))
	m.mustLaunch("k", 64, p)
	if got := download[float32](m, p, 4); !slices.Equal(got, []float32{64, 128, 128, 64}) {
		t.Errorf("sums are %v", got)
	}
}

func TestConstantsAreRecognisedByAddress(t *testing.T) {
	m := load(t, `.const .u32 c = 7;
.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p;
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, c;
	cvta.const.u64 %rd3, %rd2;
	isspacep.const %p, %rd3;
	ld.u32 %r1, [%rd3];
	@%p add.u32 %r1, %r1, 100;
	isspacep.const %p, %rd1;
	@%p add.u32 %r1, %r1, 1000;
	st.global.u32 [%rd1], %r1;
	ret;
}`)
	out := upload(m, []uint32{0})
	m.mustLaunch("k", 1, out)
	if v := download[uint32](m, out, 1)[0]; v != 107 {
		t.Errorf("%d, want 107", v)
	}
}

func TestModuleListsWhatItHolds(t *testing.T) {
	m := load(t, `.global .u32 g[3]; .const .u8 c;
.visible .entry b() .maxntid 32, 2, 1 .minnctapersm 2 { ret; }
.visible .entry a(.param .u64 .ptr .global .align 16 p) { .local .b8 x[40]; .shared .b8 s[100]; ret; }`)
	if got := fmt.Sprint(m.mod.Kernels()); got != "[b a]" {
		t.Errorf("kernels are %s", got)
	}
	if v := m.mod.Variables(); len(v) != 2 || v[0].Name != "g" || v[0].Size != 12 || !v[1].Const {
		t.Errorf("variables are %+v", v)
	}
	a, _ := m.mod.Kernel("a")
	if at := a.Attributes(); at.LocalBytes != 48 || at.MaxThreads != 1024 || at.ConstBytes != 1 || at.PTXVersion != 90 || at.ParamBytes != 8 || at.NumRegs < 8 {
		t.Errorf("attributes of a are %+v", at)
	}
	b, _ := m.mod.Kernel("b")
	if at := b.Attributes(); at.MaxThreads != 64 || at.MaxBlock != (vm.Dim3{X: 32, Y: 2, Z: 1}) {
		t.Errorf("attributes of b are %+v", at)
	}
	if !a.Params()[0].Pointer || a.Name() != "a" || a.Module() != m.mod {
		t.Errorf("kernel a is %+v", a.Params())
	}
}

// A compiler limits registers so that the block size and block count required by the PTX fit on a
// multiprocessor. The emulator's register estimate must apply the same limit.
func TestRegistersLeaveRoomForTheBlocksAskedFor(t *testing.T) {
	held, used := ".reg .b64 %rd<200>; ld.param.u64 %rd0, [p];", ""
	for i := 1; i < 200; i++ {
		held += fmt.Sprintf(" mul.lo.u64 %%rd%d, %%rd%d, %%rd0;", i, i-1)
		used += fmt.Sprintf(" xor.b64 %%rd0, %%rd0, %%rd%d;", i)
	}
	for perf, want := range map[string]int{
		"":                                255,
		".maxntid 512, 1, 1":              128,
		".reqntid 1024":                   64,
		".maxntid 500 .minnctapersm 2":    64,
		".minnctapersm 2 .maxntid 384":    80,
		".minnctapersm 4":                 255,
		".maxntid 256 .minnctapersm 0":    255,
		".maxntid 1024 .minnctapersm 999": 16,
	} {
		m := load(t, ".visible .entry k(.param .u64 p) "+perf+" { "+held+used+" st.global.u64 [%rd0], %rd0; ret; }")
		k, _ := m.mod.Kernel("k")
		if got := k.Attributes().NumRegs; got != want {
			t.Errorf("%q: %d registers, want %d", perf, got, want)
		}
	}
}

func TestBadModules(t *testing.T) {
	for text, want := range map[string]string{
		`.visible .entry k() { .reg .b32 %r; add.f32 %r, %r; ret; }`:                                             "2 operands, want 3",
		`.visible .entry k() { bra NOWHERE; }`:                                                                   "label NOWHERE is not defined here",
		`.visible .entry k() { .reg .b32 %r; .reg .b64 %d; add.u32 %r, %d, 1; }`:                                 "register %d of type .b64 has the wrong width",
		`.visible .entry k() { .reg .b32 %r; @%r ret; }`:                                                         "guard %r is not a predicate",
		`.visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [missing]; }`:                                     "missing is not defined",
		`.global .u64 x = missing; .visible .entry k() { ret; }`:                                                 "initialiser of x: missing has no address here",
		`.visible .entry k() { .reg .b64 %d; mov.u64 %d, missing[2]; }`:                                          "missing is not defined",
		`.visible .entry k() { .reg .b32 %r; call nothing, (%r); }`:                                              "nothing is not defined",
		`.visible .entry k(.param .u32 p) { st.param.u32 [p], 1; }`:                                              "kernel parameters cannot be written",
		`.visible .entry k() { .reg .f32 %f; add.rni.f32 %f, %f, %f; }`:                                          "form is not supported",
		`.visible .entry k() { .reg .b32 %r; wgmma.fence.sync.aligned; }`:                                        "instruction is not supported by the emulator",
		`.shared .u32 s; .visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [s]; }`:                           "variable s is not in space .global",
		`.visible .entry k() { .reg .b64 %d; tensormap.replace.tile.global_address.global.b1024.b64 [%d], %d; }`: "not supported",
	} {
		_, err := tryLoad(t, text)
		var es vm.CompileErrors
		if !errors.As(err, &es) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, want %q", text, err, want)
		}
	}
	_, err := tryLoad(t, ".visible .entry k() { bra A; bra B; bra C; }\n.visible .entry l() { bra D; }")
	if want := regexp.MustCompile("(?s)label A .*label B .*label C .*label D "); !want.MatchString(fmt.Sprint(err)) {
		t.Errorf("the errors are not in the order of the code: %v", err)
	}
	src, err := ptx.Parse("new.ptx", []byte(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }"))
	if err != nil {
		t.Fatal(err)
	}
	mem := vm.NewMemory()
	_, err = vm.Compile(vm.CompileOptions{Memory: mem, ComputeCapability: 80}, src)
	var ce *vm.CompileError
	if !errors.As(err, &ce) || ce.Kind != vm.CompileTarget || !strings.Contains(err.Error(), "target sm_90a is above the device's compute capability 8.0") {
		t.Errorf("target: %v", err)
	}
	if n := len(mem.All()); n != 0 {
		t.Errorf("a module that failed left %d regions", n)
	}
}

func TestPrintfFormats(t *testing.T) {
	for _, c := range []struct{ format, arg, want string }{
		{"%+d|", "42", "+42|"}, {"% d|", "42", " 42|"}, {"%-6d|", "42", "42    |"}, {"%06d|", "-42", "-00042|"}, {"%.4d|", "42", "0042|"},
		{"%x|", "255", "ff|"}, {"%#X|", "255", "0XFF|"}, {"%o|", "8", "10|"}, {"%u|", "-1", "4294967295|"}, {"%hd|", "65535", "-1|"}, {"%hhu|", "511", "255|"},
		{"%c%%|", "66", "B%|"}, {"%5c|", "66", "    B|"}, {"%q|", "66", "%q|"}, {"plain", "0", "plain"}, {"half %", "0", "half %"}, {"%*d|", "4", "   0|"},
	} {
		if got := printed(t, c.format, "st.local.u32 [%SPL], "+c.arg+";"); got != c.want {
			t.Errorf("%q of %s prints %q, want %q", c.format, c.arg, got, c.want)
		}
	}
	for _, c := range []struct{ format, arg, want string }{
		{"%f|", "0d400921FB54442D18", "3.141593|"}, {"%.2e|", "0dC0C81CD6E631F8A1", "-1.23e+04|"}, {"%g|", "0d3F1A36E2EB1C432D", "0.0001|"}, {"%8.3f|", "0d3FE0000000000000", "   0.500|"},
		{"%G|", "0d7FF0000000000000", "INF|"}, {"%5f|", "0dFFF8000000000000", " -nan|"}, {"%a|", "0d3FF8000000000000", "0x1.8p+0|"}, {"%g|", "0d4415AF1D78B58C40", "1e+20|"},
	} {
		if got := printed(t, c.format, "st.local.f64 [%SPL], "+c.arg+";"); got != c.want {
			t.Errorf("%q of %s prints %q, want %q", c.format, c.arg, got, c.want)
		}
	}
	if got := printed(t, "%lld %p|", "st.local.u64 [%SPL], -5; st.local.u64 [%SPL+8], 4096;"); got != "-5 0x1000|" {
		t.Errorf("64-bit values print %q", got)
	}
}

// printed returns the output of vprintf for a format. stores is PTX that stores the arguments.
func printed(t *testing.T, format, stores string) string {
	t.Helper()
	text := ".global .align 1 .b8 fmt[] = {"
	for _, c := range []byte(format) {
		text += fmt.Sprintf("%d, ", c)
	}
	m := load(t, text+`0};
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .entry k()
{
	.reg .b64 %rd<3>, %SP, %SPL;
	.local .align 8 .b8 depot[32];
	mov.u64 %SPL, depot;
	cvta.local.u64 %SP, %SPL;
	st.local.u64 [%SPL], 0;
	st.local.u64 [%SPL+8], 0;
	`+stores+`
	mov.u64 %rd1, fmt;
	{ .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %SP; .param .b32 rv; call.uni (rv), vprintf, (p0, p1); }
	ret;
}`)
	var out strings.Builder
	o := grid(1, 1)
	o.Stdout = &out
	if err := m.launchWith("k", o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

type failingWriter int

func (w *failingWriter) Write([]byte) (int, error) {
	*w++
	return 0, io.ErrClosedPipe
}

// After the writer has failed, a vprintf call must not produce the rest of its output. The kernel
// must continue.
func TestPrintfEndsWhenTheWriterFails(t *testing.T) {
	m := load(t, `.global .align 1 .b8 fmt[] = {37, 57, 57, 57, 57, 57, 57, 100, 0}; // %999999d
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
`+threadOut(`
	.local .align 8 .b8 depot[8];
	mov.u64 %rd2, depot; cvta.local.u64 %rd2, %rd2; mov.u64 %rd1, fmt; cvta.global.u64 %rd1, %rd1;
	{ .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %rd2; .param .b32 rv; call.uni (rv), vprintf, (p0, p1); ld.param.b32 %d, [rv]; }`))
	out, w, o := upload(m, []uint32{0}), failingWriter(0), grid(1, 1)
	o.Stdout = &w
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	if got := download[uint32](m, out, 1)[0]; w != 1 || got != 1 {
		t.Errorf("%d writes, vprintf returned %d, want 1 and 1", w, got)
	}
}

// The emulator does not count performance counters, but each must have the width that its name
// implies: the _64 counters must be 64-bit operands.
func TestCountersHaveTheirWidth(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<2>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [out];
	add.u32 %r1, %pm3, 5; st.global.u32 [%rd1], %r1;
	add.u64 %rd2, %pm3_64, 6; st.global.u64 [%rd1+8], %rd2; ret;
}`)
	out := upload(m, make([]uint64, 2))
	m.mustLaunch("k", 1, out)
	if got := download[uint64](m, out, 2); got[0] != 5 || got[1] != 6 {
		t.Errorf("stored %d", got)
	}
}

func TestUnreachableFunctionsTakeNoSharedMemory(t *testing.T) {
	m := load(t, `.func other() { .reg .b32 %r<2>; .shared .align 4 .b8 big[4096]; mov.u32 %r1, 1; st.shared.u32 [big], %r1; ret; }
.visible .entry lone() { ret; }
.visible .entry direct() { call other, (); ret; }
.visible .entry indirect() { .reg .b64 %rd<2>; mov.u64 %rd1, other; P: .callprototype _ (); call %rd1, (), P; ret; }`)
	for name, want := range map[string]int{"lone": 0, "direct": 4096, "indirect": 4096} {
		k, ok := m.mod.Kernel(name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		if got := k.Attributes().SharedBytes; got != want {
			t.Errorf("%s takes %d bytes of shared memory, want %d", name, got, want)
		}
	}
}

func TestAddressesIntoWiderRegisters(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .shared .align 8 .b32 s[8];
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, -1; mov.u32 %rd2, s+4; mov.u64 %rd3, -1; mov.b32 %rd3, s[2];
	sub.u64 %rd3, %rd3, %rd2; st.global.u64 [%rd1], %rd3; shr.u64 %rd2, %rd2, 32; st.global.u64 [%rd1+8], %rd2; ret;
}`)
	out := upload(m, []uint64{9, 9})
	m.mustLaunch("k", 1, out)
	if got := download[uint64](m, out, 2); got[0] != 4 || got[1] != 0 {
		t.Errorf("the addresses are %d apart, upper half %d", got[0], got[1])
	}
}

// A report of a race with a bulk copy must name the copy, not an earlier instruction of the same
// thread.
func TestRacesWithBulkCopiesNameThem(t *testing.T) {
	text := probe(`
	.shared .align 16 .b8 s[64];
	setp.ne.u32 %p1, %b, 0; @%p1 bra R;
	st.shared.u32 [s], %t;
	st.global.u32 [%p0+64], %t;
	cp.async.bulk.global.shared::cta.bulk_group [%p0], [s], 16;
	cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
	bra E;
R:	ld.global.u32 %r1, [%p0];
E:`)
	m := load(t, text)
	m.mem.Track(vm.CheckGlobalRaces)
	p, err := m.mem.Alloc(4096, vm.AllocOptions{})
	if err != nil {
		t.Fatal(err)
	}
	copied := lineWith(text, "cp.async.bulk.global")
	o := grid(2, 1)
	o.Checks, o.Workers, o.Params = vm.CheckGlobalRaces, 1, params(p, p)
	var found []string
	o.Report = func(f *vm.Fault) { found = append(found, f.Detail) }
	k, _ := m.mod.Kernel("k")
	if err := k.Launch(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0], fmt.Sprintf("at line %d;", copied)) {
		t.Errorf("found %q, the copy is in line %d", found, copied)
	}
}

// lineWith returns the number of the line in which words first occurs in text. The lines of the
// header count as well.
func lineWith(text, words string) int {
	before, _, _ := strings.Cut(header+text, words)
	return 1 + strings.Count(before, "\n")
}

// At its entry, a function fetches the arguments that it receives in registers. Errors in this code
// must be reported at the line of the function's head.
func TestMissingArgumentsAreReportedAtTheFunction(t *testing.T) {
	const text = `.visible .entry k()
{
	.reg .b64 %rd<2>;
	mov.u64 %rd1, store;
P:	.callprototype _ ();
	call %rd1, (), P;
	ret;
}
.func store(.reg .b32 a)
{
	.shared .b32 s;
	st.shared.u32 [s], a;
	ret;
}`
	m := load(t, text)
	o := grid(1, 1)
	o.Checks = vm.CheckUninitialized
	var found []*vm.Fault
	o.Report = func(f *vm.Fault) { found = append(found, f) }
	if err := m.launchWith("k", o); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Line != lineWith(text, ".func store") {
		t.Errorf("found %v, the function is in line %d", found, lineWith(text, ".func store"))
	}
}
