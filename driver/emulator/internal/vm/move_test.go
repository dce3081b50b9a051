package vm_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

// moves runs a kernel with the given body, which reads 32 bytes at %in and writes up to 32 bytes at
// %out. The kernel declares registers of every width and shape.
func moves(t *testing.T, body string, in []byte) ([]byte, error) {
	t.Helper()
	m, err := tryLoad(t, ".version 8.4\n.target sm_90\n.address_size 64\n"+`.visible .entry k(.param .u64 pin, .param .u64 pout)
{
	.reg .b64 %in, %out, %l<8>; .reg .b32 %w<8>; .reg .b16 %h<8>; .reg .b8 %b<8>; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .pred %p<4>;
	.reg .v2 .b16 %vh<4>; .reg .v4 .b16 %qh<4>; .reg .v2 .b32 %vw<4>; .reg .v4 .b32 %qw<4>; .reg .v2 .f32 %vf<4>; .reg .v2 .b64 %vl<4>; .reg .b128 %x<4>;
	ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];
	`+body+`
	ret;
}`)
	if err != nil {
		return nil, err
	}
	a, b := upload(m, in), upload(m, make([]byte, 32))
	m.mustLaunch("k", 1, a, b)
	return download[byte](m, b, 32), nil
}

var moveOperands = map[string][2]string{
	"%h1":               {"ld.global.b16 %h1, [%in];", "st.global.b16 [%out], %h1;"},
	"%w1":               {"ld.global.b32 %w1, [%in];", "st.global.b32 [%out], %w1;"},
	"%l1":               {"ld.global.b64 %l1, [%in];", "st.global.b64 [%out], %l1;"},
	"%d1":               {"ld.global.f64 %d1, [%in];", "st.global.f64 [%out], %d1;"},
	"%f1":               {"ld.global.f32 %f1, [%in];", "st.global.f32 [%out], %f1;"},
	"%x1":               {"ld.global.b128 %x1, [%in];", "st.global.b128 [%out], %x1;"},
	"%vh1":              {"ld.global.v2.b16 %vh1, [%in];", "st.global.v2.b16 [%out], %vh1;"},
	"%qh1":              {"ld.global.v4.b16 %qh1, [%in];", "st.global.v4.b16 [%out], %qh1;"},
	"%vw1":              {"ld.global.v2.b32 %vw1, [%in];", "st.global.v2.b32 [%out], %vw1;"},
	"%qw1":              {"ld.global.v4.b32 %qw1, [%in];", "st.global.v4.b32 [%out], %qw1;"},
	"%vf1":              {"ld.global.v2.f32 %vf1, [%in];", "st.global.v2.f32 [%out], %vf1;"},
	"%vl1":              {"ld.global.v2.b64 %vl1, [%in];", "st.global.v2.b64 [%out], %vl1;"},
	"{%b1,%b2}":         {"ld.global.v2.b8 {%b1,%b2}, [%in];", "st.global.v2.b8 [%out], {%b1,%b2};"},
	"{%b1,%b2,%b3,%b4}": {"ld.global.v4.b8 {%b1,%b2,%b3,%b4}, [%in];", "st.global.v4.b8 [%out], {%b1,%b2,%b3,%b4};"},
	"{%h1,%h2}":         {"ld.global.v2.b16 {%h1,%h2}, [%in];", "st.global.v2.b16 [%out], {%h1,%h2};"},
	"{%h1,%h2,%h3,%h4}": {"ld.global.v4.b16 {%h1,%h2,%h3,%h4}, [%in];", "st.global.v4.b16 [%out], {%h1,%h2,%h3,%h4};"},
	"{%w1,%w2}":         {"ld.global.v2.b32 {%w1,%w2}, [%in];", "st.global.v2.b32 [%out], {%w1,%w2};"},
	"{%f1,%f2}":         {"ld.global.v2.f32 {%f1,%f2}, [%in];", "st.global.v2.f32 [%out], {%f1,%f2};"},
	"{%w1,%w2,%w3,%w4}": {"ld.global.v4.b32 {%w1,%w2,%w3,%w4}, [%in];", "st.global.v4.b32 [%out], {%w1,%w2,%w3,%w4};"},
	"{%l1,%l2}":         {"ld.global.v2.b64 {%l1,%l2}, [%in];", "st.global.v2.b64 [%out], {%l1,%l2};"},
	"{%vw1.x,%vw1.y}":   {"ld.global.v2.b32 {%vw1.x,%vw1.y}, [%in];", "st.global.v2.b32 [%out], {%vw1.x,%vw1.y};"},
	"{%vh1.x,%vh1.y}":   {"ld.global.v2.b16 {%vh1.x,%vh1.y}, [%in];", "st.global.v2.b16 [%out], {%vh1.x,%vh1.y};"},
}

// A move between a scalar and its parts, or between two vectors, must preserve every byte for all
// combinations of operand forms.
func TestMovesOfVectorsKeepEveryByte(t *testing.T) {
	in := make([]byte, 32)
	for i := range in {
		in[i] = byte(200 + 17*i)
	}
	families := []struct {
		op       string
		bytes    int
		scalars  []string
		vectors  []string
		between  bool // also try moves between two vectors
		noScalar bool
	}{
		{"mov.b16", 2, []string{"%h1"}, []string{"{%b1,%b2}"}, false, false},
		{"mov.b32", 4, []string{"%w1", "%f1"}, []string{"%vh1", "{%h1,%h2}", "{%vh1.x,%vh1.y}", "{%b1,%b2,%b3,%b4}"}, false, false},
		{"mov.b64", 8, []string{"%l1", "%d1"}, []string{"%vw1", "%vf1", "%qh1", "{%w1,%w2}", "{%f1,%f2}", "{%vw1.x,%vw1.y}", "{%h1,%h2,%h3,%h4}"}, false, false},
		{"mov.b128", 16, []string{"%x1"}, []string{"%vl1", "%qw1", "{%l1,%l2}", "{%w1,%w2,%w3,%w4}"}, false, false},
		{"mov.v2.b16", 4, nil, []string{"%vh1", "{%h1,%h2}"}, true, true},
		{"mov.v4.b16", 8, nil, []string{"%qh1", "{%h1,%h2,%h3,%h4}"}, true, true},
		{"mov.v2.b32", 8, nil, []string{"%vw1", "%vf1", "{%w1,%w2}"}, true, true},
		{"mov.v2.f32", 8, nil, []string{"%vf1", "{%f1,%f2}"}, true, true},
		{"mov.v4.u32", 16, nil, []string{"%qw1", "{%w1,%w2,%w3,%w4}"}, true, true},
		{"mov.v2.b64", 16, nil, []string{"%vl1", "{%l1,%l2}"}, true, true},
	}
	// The destination uses different registers, whose names end in another digit.
	other := strings.NewReplacer("1", "5", "2", "6", "3", "7", "4", "0").Replace
	other = func(f func(string) string) func(string) string {
		return func(s string) string {
			for _, r := range []string{"%vh", "%qh", "%vw", "%qw", "%vf", "%vl", "%x", "%f", "%d"} {
				if strings.Contains(s, r) { // only four registers of this kind exist
					return strings.NewReplacer("1", "3", "2", "0").Replace(s)
				}
			}
			return f(s)
		}
	}(other)
	rename := func(store, operand string) string { return strings.ReplaceAll(store, operand, other(operand)) }
	count := 0
	for _, f := range families {
		var pairs [][2]string // destination and source
		for _, v := range f.vectors {
			for _, s := range f.scalars {
				pairs = append(pairs, [2]string{s, v}, [2]string{v, s})
			}
			for _, u := range f.vectors {
				if f.between {
					pairs = append(pairs, [2]string{u, v})
				}
			}
		}
		if len(f.scalars) > 0 {
			pairs = append(pairs, [2]string{f.scalars[0], f.scalars[0]})
		}
		for _, p := range pairs {
			count++
			body := moveOperands[p[1]][0] + f.op + " " + other(p[0]) + ", " + p[1] + "; " + rename(moveOperands[p[0]][1], p[0])
			got, err := moves(t, body, in)
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			if want := append(bytes.Clone(in[:f.bytes]), make([]byte, 32-f.bytes)...); !bytes.Equal(got, want) {
				t.Errorf("%s\n got % x\nwant % x", body, got, want)
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d moves were tried", count)
	}
}

func TestMovesOfVectorsOverThemselves(t *testing.T) {
	in := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
	for _, c := range []struct {
		body string
		want []byte
	}{
		{"ld.global.v2.b32 {%w1,%w2}, [%in]; mov.v2.b32 {%w1,%w2}, {%w2,%w1}; st.global.v2.b32 [%out], {%w1,%w2};", []byte{5, 6, 7, 8, 1, 2, 3, 4}},
		{"ld.global.v4.b32 {%w1,%w2,%w3,%w4}, [%in]; mov.v4.b32 {%w1,%w2,%w3,%w4}, {%w2,%w3,%w4,%w1}; st.global.v4.b32 [%out], {%w1,%w2,%w3,%w4};",
			[]byte{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4}},
		{"ld.global.v2.b64 {%l1,%l2}, [%in]; mov.v2.u64 {%l2,%l1}, {%l1,%l2}; st.global.v2.b64 [%out], {%l1,%l2};", []byte{9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"ld.global.b32 %w1, [%in]; mov.b32 {%w1,%w2}, %w1; st.global.v2.b32 [%out], {%w1,%w2};", []byte{1, 2, 0, 0, 3, 4}},
		{"ld.global.b32 %w1, [%in]; mov.b32 {%w2,%w1}, %w1; st.global.v2.b32 [%out], {%w1,%w2};", []byte{3, 4, 0, 0, 1, 2}},
		{"ld.global.v2.b16 {%h1,%h2}, [%in]; mov.b32 %w1, {%h2,%h1}; st.global.b32 [%out], %w1;", []byte{3, 4, 1, 2}},
		{"ld.global.b64 %l1, [%in]; mov.b64 {%w1,_}, %l1; mov.b64 {_,%w2}, %l1; st.global.v2.b32 [%out], {%w2,%w1};", []byte{5, 6, 7, 8, 1, 2, 3, 4}},
		{"ld.global.v4.b32 %qw1, [%in]; mov.v4.b32 {%w1,_,_,%w2}, %qw1; st.global.v2.b32 [%out], {%w1,%w2};", []byte{1, 2, 3, 4, 13, 14, 15, 16}},
		{"mov.b64 {%vw1.x,%vw1.y}, 0x0102030405060708; mov.b64 %l1, %vw1; st.global.b64 [%out], %l1;", []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{"mov.b64 %vw1, 0x0102030405060708; st.global.v2.b32 [%out], %vw1;", []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{"mov.b32 %vh1, 0f3f810203; st.global.v2.b16 [%out], %vh1;", []byte{3, 2, 0x81, 0x3f}},
		{"mov.v2.b32 %vw1, 7; st.global.v2.b32 [%out], %vw1;", []byte{7}},
		{"mov.v2.b32 %vw1, {3,4}; st.global.v2.b32 [%out], %vw1;", []byte{3, 0, 0, 0, 4}},
		{"ld.global.b32 %w1, [%in]; mov.v2.b32 %vw1, %w1; st.global.v2.b32 [%out], %vw1;", []byte{1, 2, 0, 0, 3, 4}},
		{"mov.b128 %x1, 5; st.global.b128 [%out], %x1;", []byte{5}},
		{"mov.b128 %x1, -5; st.global.b128 [%out], %x1;", []byte{0xfb, 255, 255, 255, 255, 255, 255, 255}},
		{"mov.v4.u32 %qw1, %ntid; st.global.v4.b32 [%out], %qw1;", []byte{1, 0, 0, 0, 1, 0, 0, 0, 1}},
		{"mov.b128 %x1, %ntid; st.global.b128 [%out], %x1;", []byte{1, 0, 0, 0, 1, 0, 0, 0, 1}},
		{"mov.v4.u16 {%h1,%h2,%h3,_}, %ntid; st.global.v2.b16 [%out], {%h3,%h1};", []byte{1, 0, 1}},
	} {
		got, err := moves(t, c.body, in)
		if want := append(c.want, make([]byte, 32-len(c.want))...); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s\n got % x, %v\nwant % x", c.body, got, err, want)
		}
	}
}

func TestAConstantIsAddedToARegister(t *testing.T) {
	in := []byte{250, 255, 255, 255, 255, 255, 255, 255}
	for _, c := range []struct {
		body string
		want []byte
	}{
		{"ld.global.b32 %w1, [%in]; mov.b32 %w2, %w1 + 7; st.global.b64 [%out], %w2;", []byte{1}},
		{"ld.global.b32 %w1, [%in]; add.u32 %w2, %w1+7, %w1+8; st.global.b32 [%out], %w2;", []byte{3}},
		{"ld.global.b32 %w1, [%in]; mov.b32 %w2, %w1+-1; st.global.b32 [%out], %w2;", []byte{249, 255, 255, 255}},
		{"ld.global.b32 %w1, [%in]; cvt.u64.u32 %l1, %w1+7; st.global.b64 [%out], %l1;", []byte{1}},
		{"ld.global.b64 %l1, [%in]; mov.b64 %l2, %l1+7; st.global.b64 [%out], %l2;", []byte{1}},
		{"ld.global.b16 %h1, [%in]; mul.wide.u16 %w1, %h1+8, %h1; st.global.b32 [%out], %w1;", []byte{0xf4, 0xff, 1}},
		{"ld.global.b32 %w1, [%in]; st.global.b32 [%out], %w1+7;", []byte{1}},
		{"ld.global.b32 %w1, [%in]; setp.lt.u32 %p1, %w1+7, 2; selp.b32 %w2, %w1+9, 0, %p1; st.global.b32 [%out], %w2;", []byte{3}},
		{"ld.global.b32 %w1, [%in]; add.u32 %w2, %w1+0x100000007, 0; st.global.b32 [%out], %w2;", []byte{1}},
		{"atom.global.add.u32 %w1, [%out], %w0+0; mov.b32 %w1, 3; atom.global.add.u32 %w2, [%out], %w1+2;", []byte{5}},
	} {
		got, err := moves(t, strings.Replace(c.body, "atom", "mov.b32 %w0, 0; atom", 1), in)
		if want := append(c.want, make([]byte, 32-len(c.want))...); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s\n got % x, %v\nwant % x", c.body, got, err, want)
		}
	}
}

// An instruction that uses a vector register as a single value must be rejected, as ptxas does. It
// must not use the first component instead.
func TestVectorsWhereOneValueIsExpected(t *testing.T) {
	for _, body := range []string{
		"add.u32 %w1, %vw1, %w2;", "add.u32 %vw1, %w1, %w2;", "and.b32 %w1, %vh1, %w1;", "prmt.b32 %w1, %vh1, %w1, 0;",
		"mov.b64 %vw1, %vw2;", "mov.b32 %vw1, %w1;", "mov.b64 %l1, %vh1;", "mov.u32 %vw1, %vw2;", "mov.v2.u32 %qw1, %qw2;", "mov.v4.u32 %vw1, %tid;",
		"mov.v2.b32 %vw1, %l1;", "mov.v2.b32 %vw1, {%w1,%w2,%w3,%w4};", "mov.b64 %l1, {%w1,%w2,%w3};", "mov.v4.b64 {%l1,%l2,%l3,%l4}, {%l4,%l3,%l2,%l1};",
		"ld.global.b64 %vw1, [%in];", "st.global.b64 [%out], %vw1;", "ld.global.v4.b32 %vw1, [%in];", "cvt.u64.u32 %l1, %vw1;", "ld.global.b32 %w1, [%vl1];",
		"add.u64 %x1, %x1, %l1;", "mov.b64 %l1, %x1;", "mov.b128 %x1, %l1;", "st.global.b64 [%out], %x1;", "shfl.sync.idx.b32 %vh1, %w1, 0, 31, -1;",
		"mov.f32 %f1, %f2+1;", "mov.pred %p1, %p2+1;", "mov.b64 %l1, {%w1+1,%w2};",
	} {
		if _, err := moves(t, body, make([]byte, 32)); err == nil {
			t.Errorf("%s is accepted", body)
		} else if e := (vm.CompileErrors{}); !asCompileErrors(err, &e) || e[0].Kind != vm.CompileInvalid || e[0].Line != 9 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func asCompileErrors(err error, to *vm.CompileErrors) bool {
	e, ok := err.(vm.CompileErrors)
	*to = e
	return ok && len(e) > 0
}

// These bodies run in one thread. Each expected result follows from the instruction's definition.
func TestInstructionsOfOneThread(t *testing.T) {
	for _, c := range []struct {
		body string
		want uint32
	}{
		{"mov.s16 %h1, -5; mov.s16 %h2, 7; mov.s16 %h3, 100; sad.s16 %h4, %h1, %h2, %h3; cvt.u32.u16 %d, %h4;", 112},
		{"mov.u16 %h1, 5; mov.u16 %h2, 7; mov.u16 %h3, 65535; sad.u16 %h4, %h1, %h2, %h3; cvt.u32.u16 %d, %h4;", 1},
		{"mov.s32 %r1, -5; mov.s32 %r2, 7; sad.s32 %d, %r1, %r2, 1;", 13},
		{"mov.u32 %r1, 0x00ff00ff; mov.u32 %r2, 0x0f0f0f0f; lop3.b32 %d, %r1, %r2, 0, 0xc0;", 0x000f000f},
		{"mov.u32 %r1, 0x00ff00ff; mov.u32 %r2, 0x0f0f0f0f; setp.ne.u32 %p1, %r1, %r1; lop3.or.b32 %r3|%p2, %r1, %r2, 0, 0xc0, %p1; selp.u32 %r4, 1, 0, %p2; add.u32 %d, %r3, %r4;", 0x000f0010},
		{"mov.u32 %r1, 0xf0f0f0f0; mov.u32 %r2, 0x0f0f0f0f; setp.eq.u32 %p1, %r1, %r1; lop3.and.b32 %r3|%p2, %r1, %r2, 0, 0xc0, %p1; selp.u32 %r4, 1, 0, %p2; add.u32 %d, %r3, %r4;", 0},
		{"mov.u32 %r1, -7; st.volatile.global.u32 [%out], %r1; ld.volatile.global.s32 %rd5, [%out]; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %d, %rd5;", 0xffffffff},
		{"mov.u32 %r1, -7; st.volatile.global.u32 [%out], %r1; ld.volatile.global.u32 %rd5, [%out]; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %d, %rd5;", 0},
		// If rounding raises a product to the smallest normal number, and the product would be
		// smaller with an unlimited exponent, .ftz flushes it. A product that is exactly equal to
		// that number is kept.
		{"mov.f32 %f1, 0f3F7FFFFF; mov.f32 %f2, 0f00800000; mul.rn.ftz.f32 %f3, %f1, %f2; mov.b32 %d, %f3;", 0},
		{"mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f00800000; mul.rn.ftz.f32 %f3, %f1, %f2; mov.b32 %d, %f3;", 0x00800000},
		{"mov.u32 %r1, 0x00070008; mov.u32 %r2, 0xffff0003; add.u16x2 %d, %r1, %r2;", 0x0006000b},
		{"mov.u32 %r1, 300; mov.s32 %r2, -300; cvt.pack.sat.s8.s32.b32 %d, %r2, %r1, 0x1234;", 0x1234807f},
		{"mov.u32 %r1, 300; mov.s32 %r2, -300; cvt.pack.sat.u8.s32.b32 %d, %r2, %r1, 0;", 0x000000ff},
		{"mov.s32 %r1, 9; mov.s32 %r2, -9; cvt.pack.sat.s4.s32.b32 %d, %r2, %r1, 1;", 0x187},
		{"mov.s32 %r1, 19; mov.s32 %r2, -9; cvt.pack.sat.u4.s32.b32 %d, %r2, %r1, 1;", 0x10f},
		{"mov.s32 %r1, 9; mov.s32 %r2, -9; cvt.pack.sat.s2.s32.b32 %d, %r2, %r1, 1;", 0x19},
		{"mov.u32 %r1, %pm0; mov.u64 %rd5, %pm7_64; cvt.u32.u64 %r2, %rd5; or.b32 %d, %r1, %r2;", 0},
	} {
		text := strings.Replace(threadOut(c.body), ".reg .f32 %f<8>;", ".reg .f32 %f<8>; .reg .b16 %h<8>;", 1)
		m, err := tryLoad(t, text)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		out := upload(m, []uint32{0})
		if err := m.launch("k", 1, out); err != nil {
			t.Errorf("%s: %v", c.body, err)
		} else if got := download[uint32](m, out, 1)[0]; got != c.want {
			t.Errorf("%s: %#x, want %#x", c.body, got, c.want)
		}
	}
}

func TestFormsThatAreNoneAreRefused(t *testing.T) {
	for _, body := range []string{
		"testp.finite.u32 %p0, %r1;",
		"testp.finite.f16 %p0, %r1;",
		"vote.sync.all.b32 %r1, %p0, -1;",
		"vote.sync.ballot.pred %p1, %p0, -1;",
		"vote.sync.some.pred %p1, %p0, -1;",
		"vote.sync.any.pred %p1, %p0;",
		"activemask.b32 %r1, %r2;",
		"activemask.b32;",
		"cvt.pack.sat.u5.s32.b32 %r1, %r2, %r3, %r4;",
		"cvt.pack.u8.s32.b32 %r1, %r2, %r3, %r4;",
		"add.sat.u32 %r1, %r2, %r3;",
		"sub.sat.u32 %r1, %r2, %r3;",
		"add.sat.s64 %rd1, %rd2, %rd3;",
		"sub.u16x2 %r1, %r2, %r3;",
		"rcp.rn.f32 %f1, %f2, %f3;",
		"sqrt.rni.f32 %f1, %f2;",
		"sqrt.rn.sat.f32 %f1, %f2;",
		"elect.sync %r1;",
		"lop3.xor.b32 %r1, %r2, %r3, %r4, 0xc0, %p1;",
		"lop3.b32 %r1, %r2, %r3, %r4, %r5;",
		"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.add.min.u32 [%r4], %r5, [%r6];",
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.min.u32 [%r4], %r5, [%r6];",
	} {
		if _, err := tryLoad(t, threadOut(body)); err == nil {
			t.Errorf("%s: accepted", body)
		}
	}
}

// elect.sync must elect exactly one participating thread per warp and return its lane to every
// participant.
func TestElectedThreads(t *testing.T) {
	got := runThreads(t, 64, `
	and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 1; mov.u32 %d, 99;
	@!%p0 bra END;
	mov.u32 %r2, 0xaaaaaaaa;
	elect.sync %r3|%p1, %r2;
	selp.u32 %r4, 100, 0, %p1;
	add.u32 %d, %r3, %r4;
END:`)
	// Lanes that execute elect.sync at different instructions must elect one lane among all of
	// them.
	for i, v := range runThreads(t, 32, `
	setp.lt.u32 %p0, %r0, 12; mov.u32 %r3, 77;
	@%p0 bra A;
	elect.sync %r3|%p1, -1;
	bra JOIN;
A:	elect.sync %r3|%p1, -1;
JOIN:	selp.u32 %r4, 100, 0, %p1; add.u32 %d, %r3, %r4;`) {
		leader, elected := v%100, v >= 100
		if leader > 31 || elected != (int(leader) == i) {
			t.Errorf("at two places: thread %d: leader %d, elected %v", i, leader, elected)
		}
	}
	leaders := 0
	for i, v := range got {
		switch {
		case i%2 == 0 && v != 99:
			t.Errorf("thread %d did not take part and has %d", i, v)
		case i%2 == 1:
			leader, elected := v%100, v >= 100
			if leader%2 != 1 || leader > 31 || elected != (int(leader) == i%32) {
				t.Errorf("thread %d: leader %d, elected %v", i, leader, elected)
			}
			if elected {
				leaders++
			}
		}
	}
	if leaders != 2 {
		t.Errorf("%d threads of 2 warps were elected", leaders)
	}
}

// redux must return the minimum or maximum of the numbers in a warp, by value or by magnitude.
func TestReductionsOfFloatsOverAWarp(t *testing.T) {
	for op, want := range map[string]float32{"min": -30, "max": 31, "min.abs": 1.5, "max.abs": 31} {
		text := ".version 8.6\n.target sm_100a\n.address_size 64\n" + threadOut(`
	cvt.rn.f32.u32 %f1, %r0;
	setp.eq.u32 %p0, %r0, 0; @%p0 mov.f32 %f1, 0fC0000000;
	setp.eq.u32 %p0, %r0, 1; @%p0 mov.f32 %f1, 0fBFC00000;
	setp.eq.u32 %p0, %r0, 30; @%p0 neg.f32 %f1, %f1;
	redux.sync.`+op+`.f32 %f2, %f1, -1;
	mov.b32 %d, %f2;`)
		m := load(t, text)
		o := grid(1, 32)
		o.Device = vm.DeviceInfo{ComputeCapability: 100, SMs: 4}
		out := upload(m, make([]float32, 32))
		if err := m.launchWith("k", o, out); err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		for i, v := range download[float32](m, out, 32) {
			if v != want {
				t.Errorf("%s: thread %d has %v, want %v", op, i, v, want)
				break
			}
		}
	}
}

// A fused product must return the first NaN among the second factor, the summand and the first
// factor, in this order and made quiet.
func TestNaNOfFusedProducts(t *testing.T) {
	const x, y, z, quiet = 0x7ff0_0000_0000_1111, 0xfff8_0000_0000_2222, 0x7ff4_0000_0000_3333, 1 << 51
	one := math.Float64bits(1)
	cases := [][4]uint64{{x, one, one, x}, {one, y, one, y}, {one, one, z, z}, {x, y, one, y}, {x, one, z, z}, {one, y, z, y}, {x, y, z, y}}
	var a, b, c []uint64
	for _, k := range cases {
		a, b, c = append(a, k[0]), append(b, k[1]), append(c, k[2])
	}
	got := eval3[uint64](t, "f64", "f64", "f64", "f64", "fma.rn.f64 %d, %a, %b, %c;", a, b, c)
	for i, k := range cases {
		if got[i] != k[3]|quiet {
			t.Errorf("fma of %#x: %#x, want %#x", k[:3], got[i], k[3]|quiet)
		}
	}
}

func TestAFunctionIsDefinedOnce(t *testing.T) {
	text := header + ".visible .func (.param .b32 r) f()\n{\n.reg .b32 %r1; mov.u32 %r1, 1; st.param.b32 [r], %r1; ret;\n}\n"
	parse := func(name, text string) *ptx.Module {
		m, err := ptx.Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	kernel := header + ".visible .entry k()\n{\nret;\n}\n"
	_, err := vm.Compile(vm.CompileOptions{Memory: vm.NewMemory(), ComputeCapability: 90}, parse("a", text), parse("b", text), parse("c", kernel))
	if err == nil || !strings.Contains(err.Error(), "function f is defined in two modules") {
		t.Errorf("got %v", err)
	}
	weak := strings.Replace(text, ".visible", ".weak", 1)
	if _, err := vm.Compile(vm.CompileOptions{Memory: vm.NewMemory(), ComputeCapability: 90}, parse("a", weak), parse("b", weak), parse("c", kernel)); err != nil {
		t.Errorf("weak ones: %v", err)
	}
}

// Spans must visit a range over several mappings piece by piece, from the middle of one mapping to
// the middle of another.
func TestPiecesOfMemory(t *testing.T) {
	m := vm.NewMemory()
	va, err := m.Reserve(0, 3<<21, 2<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2) {
		b, err := vm.NewBuffer(2 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Map(va+i<<21, b, vm.AllocOptions{Kind: vm.RegionMapped}); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	if err := m.Spans(va+1<<20, 2<<20, func(b []byte) { sizes = append(sizes, len(b)) }); err != nil || len(sizes) != 2 || sizes[0] != 1<<20 || sizes[1] != 1<<20 {
		t.Errorf("pieces %v, %v", sizes, err)
	}
	sizes = nil
	if err := m.Spans(va+1<<20, 3<<20+1, func(b []byte) { sizes = append(sizes, len(b)) }); err == nil || len(sizes) != 0 {
		t.Errorf("a byte too many: pieces %v, %v", sizes, err)
	}
	if err := m.Spans(va+3<<20, 1<<20, func(b []byte) { sizes = append(sizes, len(b)) }); err != nil || len(sizes) != 1 {
		t.Errorf("the last piece: %v, %v", sizes, err)
	}
}

// If every block in a cluster waits, some threads for the cluster and others for their own block, a
// deadlock must be reported.
func TestClustersOfWhichEveryBlockWaits(t *testing.T) {
	m := load(t, clusterKernel(`setp.lt.u32 %p2, %me, 32; @%p2 bra ALL;
	bar.sync 1, 64; bra END;
ALL: barrier.cluster.arrive; barrier.cluster.wait;
END:`))
	o := grid(2, 64)
	o.Cluster = vm.Dim3{X: 2, Y: 1, Z: 1}
	if f := faultOf(t, m.launchWith("k", o, upload(m, make([]uint32, 64)))); f.Kind != vm.FaultDeadlock {
		t.Errorf("fault is %v", f)
	}
}

// red.async must perform a 64-bit reduction in a cluster block's memory and signal the block's
// mbarrier object.
func TestReductionsOfWideWords(t *testing.T) {
	m := load(t, clusterKernel(`
	.reg .u64 %v; .reg .pred %w;
	@%p1 st.shared.u64 [s], 0x100000002; bar.sync 0;
	@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;
	mov.u32 %r5, s; mov.u32 %r6, bar; mov.u64 %v, 0x700000003;
	mapa.shared::cluster.u32 %r7, %r5, 0; mapa.shared::cluster.u32 %r8, %r6, 0;
	@%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r7], %v, [%r8];
W:	mbarrier.try_wait.parity.shared.b64 %w, [bar], 0; @!%w bra W;
	ld.shared.u64 %v, [s]; @%p1 st.global.u64 [%out], %v;`))
	out := upload(m, []uint64{0})
	o := grid(1, 32)
	o.Cluster = vm.Dim3{X: 1, Y: 1, Z: 1}
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	if got := download[uint64](m, out, 1)[0]; got != 0x800000005 {
		t.Errorf("%#x, want 0x800000005", got)
	}
}

// Each launch must get its own heap. If the launches shared one heap of 8 MiB, the second
// allocation of 5 MiB would fail.
func TestHeapsEndWithTheirLaunch(t *testing.T) {
	m := load(t, `
.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, 5242880;
	{ .param .b64 p0; st.param.b64 [p0], %rd2; .param .b64 rv; call.uni (rv), malloc, (p0); ld.param.b64 %rd3, [rv]; }
	st.global.u64 [%rd1], %rd3;
	ret;
}`)
	for round, limit := range []uint64{0, 0, 0, 0, 1 << 20, 16 << 20, 1 << 20} {
		out := upload(m, []uint64{0})
		o := grid(1, 1)
		o.HeapLimit = limit
		if err := m.launchWith("k", o, out); err != nil {
			t.Fatal(err)
		}
		if p := download[uint64](m, out, 1)[0]; (p == 0) != (limit == 1<<20) {
			t.Errorf("launch %d with a limit of %d: 5 MiB are at %#x", round, limit, p)
		}
	}
}

func TestPrintfOfStringsAndOfNothing(t *testing.T) {
	m := load(t, `
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 fmt[] = {91, 37, 46, 50, 115, 93, 91, 37, 53, 46, 49, 115, 93, 91, 37, 46, 57, 115, 93, 0};
.global .align 1 .b8 str[] = {97, 98, 99, 0};
.visible .entry k(.param .u64 out)
{
	.local .align 8 .b8 args[24];
	.reg .b32 %r<4>; .reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, str; cvta.global.u64 %rd3, %rd3; mov.u64 %rd4, fmt; cvta.global.u64 %rd4, %rd4;
	st.u64 [%rd2], %rd3; st.u64 [%rd2+8], %rd3; st.u64 [%rd2+16], %rd3;
	{ .param .b64 p0; st.param.b64 [p0], %rd4; .param .b64 p1; st.param.b64 [p1], %rd2; .param .b32 rv; call.uni (rv), vprintf, (p0, p1); ld.param.b32 %r1, [rv]; }
	mov.u64 %rd4, 0;
	{ .param .b64 p0; st.param.b64 [p0], %rd4; .param .b64 p1; st.param.b64 [p1], %rd2; .param .b32 rv; call.uni (rv), vprintf, (p0, p1); ld.param.b32 %r2, [rv]; }
	st.global.v2.u32 [%rd1], {%r1, %r2};
	ret;
}`)
	var text strings.Builder
	o := grid(1, 1)
	o.Stdout = &text
	out := upload(m, []uint32{0, 0})
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	if got := download[int32](m, out, 2); got[0] != 3 || got[1] != -1 || text.String() != "[ab][    a][abc]" {
		t.Errorf("printed %q, results %d", text.String(), got)
	}
}

// One block in the cluster ends, and the threads in the other block wait at different barriers. The
// fault must name the waiting block.
func TestClustersThatWaitInVain(t *testing.T) {
	m := load(t, clusterKernel(`setp.eq.u32 %p2, %rank, 0; @%p2 exit;
	setp.eq.u32 %p3, %me, 0; @%p3 bra OTHER;
	bar.sync 1; bra END;
OTHER: bar.sync 2;
END:`))
	o := grid(2, 64)
	o.Cluster = vm.Dim3{X: 2, Y: 1, Z: 1}
	f := faultOf(t, m.launchWith("k", o, upload(m, make([]uint32, 64))))
	if f.Kind != vm.FaultDeadlock || f.Block.X != 1 || !strings.Contains(f.Instr, "bar.sync") {
		t.Errorf("fault is %v", f)
	}
}
