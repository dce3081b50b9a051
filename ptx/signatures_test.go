package ptx_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
)

func signatures(t testing.TB, src string) *ptx.ModuleInfo {
	t.Helper()
	info, err := ptx.Signatures([]byte(src))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return info
}

func TestSignature(t *testing.T) {
	info := signatures(t, testdata(t)["features.ptx"])
	if info.Version != (ptx.Version{Major: 8, Minor: 6}) || info.AddressSize != 64 ||
		!slices.Equal(info.Targets, []string{"sm_100a", "debug", "texmode_independent"}) {
		t.Errorf("header: %+v", info)
	}
	want := ptx.Signature{
		Name: "everything", Line: 30, ParamBytes: 72,
		Params: []ptx.Param{
			{Name: "out", Kind: ptx.ParamPointer, Type: ptx.U64, Len: 1, Size: 8, Align: 8, Offset: 0, PtrSpace: ptx.GlobalSpace, PtrAlign: 16},
			{Name: "in", Kind: ptx.ParamPointer, Type: ptx.U64, Len: 1, Size: 8, Align: 8, Offset: 8, PtrSpace: ptx.ConstSpace},
			{Name: "any", Kind: ptx.ParamPointer, Type: ptx.U64, Len: 1, Size: 8, Align: 8, Offset: 16},
			{Name: "aggregate", Kind: ptx.ParamAggregate, Type: ptx.B8, Len: 24, Size: 24, Align: 8, Offset: 24},
			{Name: "four", Type: ptx.F32, Len: 1, Size: 16, Align: 16, Offset: 48},
			{Name: "surface", Kind: ptx.ParamOpaque, Type: ptx.SurfRef, Len: 1, Size: 8, Align: 8, Offset: 64},
			{Name: "open", Kind: ptx.ParamAggregate, Type: ptx.B8, Len: -1, Size: 0, Align: 1, Offset: 72},
		},
		ReqThreads: [3]int{32, 2, 1}, MaxRegs: 64, ReqCluster: [3]int{2, 1, 1}, MaxCluster: 8, ClusterGrid: true,
	}
	if got := info.Kernel("everything"); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("signature\n%+v\nwant\n%+v", got, want)
	}
	if info.Kernel("original") != nil {
		t.Error("a .func is listed as a kernel")
	}
}

func TestParameterLayout(t *testing.T) {
	info := signatures(t, header+".entry k(.param .u8 a, .param .u32 b, .param .u8 c, .param .f64 d, .param .align 2 .b8 e[3], .param .u16 f) { ret; }")
	var got []int
	for _, p := range info.Kernels[0].Params {
		got = append(got, p.Offset)
	}
	if want := []int{0, 4, 8, 16, 24, 28}; !slices.Equal(got, want) || info.Kernels[0].ParamBytes != 30 {
		t.Errorf("offsets %v, %d bytes, want %v, 30", got, info.Kernels[0].ParamBytes, want)
	}
}

func TestLaunchBounds(t *testing.T) {
	s := signatures(t, testdata(t)["compiler.ptx"]).Kernels[0]
	if s.MaxThreads != [3]int{256, 1, 1} || s.MinBlocks != 2 || s.ReqThreads != [3]int{} {
		t.Errorf("%+v", s)
	}
}

func TestSignaturesAgreeWithParser(t *testing.T) {
	for name, src := range testdata(t) {
		t.Run(name, func(t *testing.T) { ptxtest.Agree(t, parse(t, src), signatures(t, src)) })
	}
	src := string(synthetic(100_000))
	ptxtest.Agree(t, parse(t, src), signatures(t, src))
}

func TestBodiesAreNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"unknown":          "frobnicate.v9::x %q := 'c' ~~ \\ 0fXYZ .entry fake(",
		"braces":           "{ { .entry fake() { } } } {a, b}",
		"comment":          "// } .entry fake() {\n/* } .entry fake() { */",
		"string":           `.pragma "} .entry fake() {";`,
		"unclosed string":  "\" }\n",
		"slash":            "a / b",
		"not ASCII":        "é\xff",
		"DWARF line":       "@@DWARF { 1\n@%p bra L;",
		"line marker":      "# 12 { \n",
		"escapes":          `.pragma "\"}";`,
		"nested debugging": ".section .debug_str { .b8 1 // }\n }",
	} {
		src := header + ".entry a(.param .u32 x) {\n" + text + "\n}\n.visible .entry b(.param .u64 y)\n{ ret; }\n"
		info := signatures(t, src)
		if len(info.Kernels) != 2 || info.Kernels[0].Name != "a" || info.Kernels[1].Name != "b" || info.Kernels[1].Params[0].Size != 8 {
			t.Errorf("%s: kernels %+v", name, info.Kernels)
		}
	}
}

func TestOtherDeclarationsArePassedOver(t *testing.T) {
	src := header + lines(
		`.file 1 "a.cu"`,
		"@@DWARF .section .debug_info, \"\", @progbits",
		"@@DWARF .byte 1",
		".extern .func (.param .b32 r) f(.param .b64 x);",
		".func g() { .entry_like; }",
		".global .align 4 .b8 text[3] = {123, 125, 59};",
		".future_directive 5, {a; b}",
		".section .debug_abbrev { .b8 1 }",
		".nv_intermediate_source_section { .source_begin } .entry fake() { .source_end }",
		".alias p, q;",
		`.pragma ".entry fake() {";`,
		".extern .entry later(.param .u32 a);",
		".weak .entry later(.param .u32 b) .future 7 .minnctapersm 3 { ret; }",
		".entry later(.param .u32 c);",
		".entry last() .pragma \"x\"; { ret; }")
	info := signatures(t, src)
	if len(info.Kernels) != 2 || info.Kernels[1].Name != "last" {
		t.Fatalf("kernels %+v", info.Kernels)
	}
	if k := info.Kernels[0]; k.Name != "later" || k.Params[0].Name != "b" || k.MinBlocks != 3 {
		t.Errorf("the definition does not win: %+v", k)
	}
}

func TestCutOffBodyIsNoError(t *testing.T) {
	info := signatures(t, header+".entry a(.param .u32 x) { ret;")
	if len(info.Kernels) != 1 {
		t.Errorf("kernels %+v", info.Kernels)
	}
}

func TestBrokenHeadersAreReported(t *testing.T) {
	src := header + ".entry a(.param .u31 x) { } }\n.entry b(.param .u32 y) { ret; }\n.entry c(.param\n.entry d() { ret; }\n"
	info, err := ptx.Signatures([]byte(src))
	if list := errorsOf(t, err); len(list) != 2 || list[0].Pos.Line != 4 || list[1].Pos.Line != 7 {
		t.Errorf("errors %+v", err)
	}
	if len(info.Kernels) != 2 || info.Kernel("b") == nil || info.Kernel("d") == nil {
		t.Errorf("kernels %+v", info.Kernels)
	}
	info, err = ptx.Signatures([]byte("not PTX at all"))
	if err == nil || len(info.Kernels) != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	info, err = ptx.Signatures([]byte(".visible .entry a(.param .u32 x) { ret; }"))
	if err == nil || info.Kernel("a") == nil {
		t.Errorf("without .version: %+v, %v", info, err)
	}
}

func TestSignaturesDoNotKeepTheSource(t *testing.T) {
	src := []byte(header + ".entry kernel(.param .u32 x) { ret; }")
	info, err := ptx.Signatures(src)
	if err != nil {
		t.Fatal(err)
	}
	for i := range src {
		src[i] = 'z'
	}
	if k := info.Kernels[0]; k.Name != "kernel" || k.Params[0].Name != "x" || info.Targets[0] != "sm_80" {
		t.Errorf("%+v", info)
	}
}

func TestSignatureOfATreeMadeByHand(t *testing.T) {
	f := &ptx.Function{Entry: true, Name: "k",
		Params: []*ptx.Variable{{Space: ptx.ParamSpace, Type: ptx.U32, Name: "n"}, {Space: ptx.ParamSpace, Type: ptx.U64, Name: "p"}},
		Perf:   []ptx.Directive{{Name: "maxnreg"}, {Name: "maxntid"}}}
	s := f.Signature()
	if s.ParamBytes != 16 || s.Params[1].Offset != 8 || s.MaxRegs != 0 || s.MaxThreads != [3]int{1, 1, 1} {
		t.Errorf("%+v", s)
	}
}

// manyKernels returns a module of n kernels as compilers write it.
func manyKernels(n int) []byte {
	var b strings.Builder
	b.WriteString(".version 7.0\n.target sm_70\n.address_size 64\n")
	for k := range n {
		fmt.Fprintf(&b, `.visible .entry kernel%d(
	.param .u64 kernel%[1]d_param_0, .param .u64 .ptr .global .align 4 kernel%[1]d_param_1,
	.param .align 8 .b8 kernel%[1]d_param_2[24], .param .f32 kernel%[1]d_param_3
)
.maxntid 256, 1, 1
.minnctapersm %[2]d
{
	.reg .pred %%p<2>;
	.reg .b32 %%r<9>;
%[3]s	ret;
}
`, k, k%4+1, strings.Repeat("\t@%p1 mad.lo.s32 %r1, %r2, %r3, %r4;\n", 40))
	}
	return []byte(b.String())
}

// A signature must not need a separate allocation. Otherwise loading a module of hundreds
// of kernels would allocate hundreds of times.
func TestSignaturesOfManyKernelsAllocateLittle(t *testing.T) {
	src := manyKernels(100)
	var info *ptx.ModuleInfo
	n := testing.AllocsPerRun(10, func() {
		var err error
		if info, err = ptx.Signatures(src); err != nil {
			t.Fatal(err)
		}
	})
	if n > 50 {
		t.Errorf("%v allocations", n)
	}
	if len(info.Kernels) != 100 {
		t.Fatalf("%d kernels", len(info.Kernels))
	}
	clear(src) // the result must not refer to src
	for i, k := range info.Kernels {
		want := fmt.Sprintf("kernel%d", i)
		if k.Name != want || k.MinBlocks != i%4+1 || k.MaxThreads != [3]int{256, 1, 1} || len(k.Params) != 4 || k.ParamBytes != 44 {
			t.Fatalf("%+v", k)
		}
		for j, p := range k.Params {
			if p.Name != fmt.Sprintf("%s_param_%d", want, j) {
				t.Fatalf("parameter %d of %s is %q", j, want, p.Name)
			}
		}
		if k.Params[1].Kind != ptx.ParamPointer || k.Params[2].Kind != ptx.ParamAggregate || k.Params[2].Len != 24 {
			t.Fatalf("%+v", k.Params)
		}
	}
}

// Errors must copy the text they quote, because the caller may overwrite it.
func TestErrorsOfSignaturesKeepTheirWords(t *testing.T) {
	src := []byte(".version 7.0\n.target sm_70\n.visible .entry bad(.param .wrong p)\n{\n}\n.visible .entry good(.param .u64 q)\n{\n}\n")
	info, err := ptx.Signatures(src)
	if err == nil {
		t.Fatal("a type that does not exist is no error")
	}
	before := err.Error()
	clear(src)
	if err.Error() != before || len(info.Kernels) != 1 || info.Kernels[0].Name != "good" || info.Kernels[0].Params[0].Name != "q" {
		t.Errorf("%q was %q; %+v", err.Error(), before, info)
	}
}

func BenchmarkSignaturesMany(b *testing.B) {
	src := manyKernels(100)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ptx.Signatures(src); err != nil {
			b.Fatal(err)
		}
	}
}
