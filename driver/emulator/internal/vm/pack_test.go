package vm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// moves runs a kernel whose body reads 32 bytes at %in and writes up to 32
// bytes at %out, with registers of every width and shape declared.
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

// Loads and stores of the operands in the cases below.
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

// A move between a scalar and its parts, or between vectors, does not change the bytes, whatever
// the form of the two sides.
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
		between  bool // vectors to vectors
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
	// The destination has its own registers, with a different digit.
	other := strings.NewReplacer("1", "5", "2", "6", "3", "7", "4", "0").Replace
	other = func(f func(string) string) func(string) string {
		return func(s string) string {
			for _, r := range []string{"%vh", "%qh", "%vw", "%qw", "%vf", "%vl", "%x", "%f", "%d"} {
				if strings.Contains(s, r) { // of which there are four
					return strings.NewReplacer("1", "3", "2", "0").Replace(s)
				}
			}
			return f(s)
		}
	}(other)
	rename := func(store, operand string) string { return strings.ReplaceAll(store, operand, other(operand)) }
	count := 0
	for _, f := range families {
		var pairs [][2]string // destination, source
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

// An instruction that uses a vector register as a single value is rejected, as ptxas does, instead
// of using the first component.
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
