package ptx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
)

func variableNamed(t *testing.T, m *ptx.Module, name string) *ptx.Variable {
	t.Helper()
	v := m.Variable(name)
	if v == nil {
		t.Fatalf("no variable %s", name)
	}
	return v
}

func TestHeader(t *testing.T) {
	m := parse(t, ".version 7.8\n.target sm_90a, debug\n.target texmode_unified\n.address_size 32\n")
	if m.Version != (ptx.Version{Major: 7, Minor: 8}) || m.AddressSize != 32 ||
		!slices.Equal(m.Targets, []string{"sm_90a", "debug", "texmode_unified"}) {
		t.Errorf("%+v", m)
	}
	if !m.Version.AtLeast(7, 8) || !m.Version.AtLeast(6, 9) || m.Version.AtLeast(7, 9) || m.Version.AtLeast(8, 0) {
		t.Error("AtLeast compares wrongly")
	}
}

func TestTextEndsAtNUL(t *testing.T) {
	m := parse(t, header+".global .u32 a;\x00 this is no PTX {")
	if len(m.Decls) != 1 {
		t.Errorf("%d declarations, want 1", len(m.Decls))
	}
}

func TestVariables(t *testing.T) {
	m := parse(t, testdata(t)["features.ptx"])
	if v := variableNamed(t, m, "matrix"); v.Linkage != ptx.Weak || v.Space != ptx.GlobalSpace || v.Type != ptx.S16 ||
		!slices.Equal(v.Dims, []int64{2, 3}) || v.Len() != 6 || v.Size() != 12 || v.Alignment() != 2 {
		t.Errorf("matrix: %+v", v)
	} else if row := v.Init.Elems[1]; !v.Init.List || !row.List || shape(row.Elems[2].Value) != "int 0x7fff" {
		t.Errorf("matrix initialiser: %+v", v.Init)
	}
	if v := variableNamed(t, m, "vec"); v.Vector != 4 || v.Size() != 16 || v.Alignment() != 16 || v.Linkage != ptx.Visible {
		t.Errorf("vec: %+v", v)
	}
	if v := variableNamed(t, m, "bank2"); v.Bank != 2 || v.Align != 8 || v.Space != ptx.ConstSpace || v.Linkage != ptx.Extern {
		t.Errorf("bank2: %+v", v)
	}
	if v := variableNamed(t, m, "shared_between"); v.Len() != -1 || v.Size() != 0 || v.Linkage != ptx.Common {
		t.Errorf("shared_between: %+v", v)
	}
	if v := variableNamed(t, m, "unified"); len(v.Attributes) != 1 || v.Attributes[0].Name != "unified" ||
		!slices.Equal(v.Attributes[0].Args, []uint64{17, 42}) {
		t.Errorf("unified: %+v", v)
	}
	if v := variableNamed(t, m, "sampler"); v.Init.Elems[0].Field != "addr_mode_0" || shape(v.Init.Elems[0].Value) != "sym clamp_to_border + 0" {
		t.Errorf("sampler: %+v", v.Init)
	}
	if v := variableNamed(t, m, "%odd"); v.Count != 3 {
		t.Errorf("%%odd: %+v", v)
	}
}

func TestAddressInitialisers(t *testing.T) {
	m := parse(t, testdata(t)["features.ptx"])
	want := []ptx.Sym{{Name: "managed"}, {Name: "managed", Offset: 8}, {Name: "managed", Generic: true}, {Name: "matrix", Generic: true, Offset: 4}}
	check := func(name string, want []ptx.Sym) {
		for i, e := range variableNamed(t, m, name).Init.Elems {
			got := *e.Value.(*ptx.Sym)
			got.Pos = ptx.Pos{}
			if got != want[i] {
				t.Errorf("%s[%d] = %+v, want %+v", name, i, got, want[i])
			}
		}
	}
	check("pointers", want)
	check("bytes", []ptx.Sym{{Name: "managed", Mask: 0xff}, {Name: "managed", Offset: 4, Mask: 0xff00}, {Name: "matrix", Generic: true, Mask: 0xff0000}})
	folded := []string{"int 0x7", "int 0x13", "int 0x3", "int 0xa", "uint 0xffffffffffffffff", "uint 0xffffffffffffffff"}
	for i, e := range variableNamed(t, m, "folded").Init.Elems {
		if got := shape(e.Value); got != folded[i] {
			t.Errorf("folded[%d] = %s, want %s", i, got, folded[i])
		}
	}
}

func TestFunctions(t *testing.T) {
	m := parse(t, testdata(t)["features.ptx"])
	f := m.Function("regArgs")
	if f.Entry || len(f.Return) != 1 || f.Return[0].Space != ptx.RegSpace || len(f.Params) != 2 || f.Params[1].Vector != 2 || f.Body == nil {
		t.Errorf("regArgs: %+v", f)
	}
	if got := shapes(f.Body.Stmts[0].(*ptx.Instr).Args); got != "reg result, reg a" {
		t.Errorf("register parameters in a body are %s", got)
	}
	f = m.Function("structs")
	if f.Body != nil || f.Linkage != ptx.Weak || f.Return[0].Align != 16 || f.Params[0].Size() != 12 {
		t.Errorf("structs: %+v", f)
	}
	f = m.Function("everything")
	if f.Doc != "Aggregates.\nTwo lines." {
		t.Errorf("doc %q", f.Doc)
	}
	for name, args := range map[string][]uint64{
		"reqntid": {32, 2}, "maxnreg": {64}, "reqnctapercluster": {2, 1, 1}, "maxclusterrank": {8}, "blocksareclusters": nil, "explicitcluster": nil,
	} {
		if d, ok := f.Directive(name); !ok || !slices.Equal(d.Args, args) {
			t.Errorf(".%s: %+v, %v", name, d, ok)
		}
	}
	if d, ok := f.Directive("pragma"); !ok || !slices.Equal(d.Text, []string{"header"}) {
		t.Errorf(".pragma: %+v, %v", d, ok)
	}
	if p := f.Params[0].Ptr; p == nil || *p != (ptx.Pointer{Space: ptx.GlobalSpace, Align: 16}) {
		t.Errorf("pointer parameter: %+v", p)
	}
	if p := f.Params[2].Ptr; p == nil || *p != (ptx.Pointer{}) {
		t.Errorf("generic pointer parameter: %+v", p)
	}
}

func TestDefinitionsComeBeforeDeclarations(t *testing.T) {
	m := parse(t, header+".extern .func f(); .func f() { ret; } .func f(); .extern .global .u32 v; .global .u32 v; .extern .global .u32 v;")
	if m.Function("f").Body == nil || m.Variable("v").Linkage != ptx.NoLinkage {
		t.Error("a declaration is returned in place of the definition")
	}
	if m.Function("g") != nil || m.Variable("g") != nil || len(m.Kernels()) != 0 {
		t.Error("something that is not there is found")
	}
}

func TestDocComments(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"// One.\n// Two.\n", "One.\nTwo."},
		{"/// One.\n//\n//   Two.\n", "One.\n\nTwo."},
		{"/* One. */\n", "One."},
		{"/**\n * One.\n * Two.\n */\n", "One.\nTwo."},
		{"/* One. */ ", "One."},
		{"// A heading.\n\n// One.\n", "One."},
		{"// One.\n\n", ""},
		{"// One.\n\t// .globl\tk\n", "One."},
		{"\t// .globl\tk\n", ""},
		{"\t// .weak\tk\n", ""},
		{"// One.\n\t// .weak\tk\n", "One."},
		{".global .u32 a; // about a\n", ""},
		{".global .u32 a; // about a\n// One.\n", "One."},
		{"/* x */ .global .u32 a;\n", ""},
		{"/**/\n", ""},
		{"", ""},
	} {
		m := parse(t, header+"\n"+c.in+".entry k() { ret; }\n")
		if got := m.Function("k").Doc; got != c.want {
			t.Errorf("doc of %q is %q, want %q", c.in, got, c.want)
		}
		ptxtest.RoundTrip(t, m)
	}
}

func TestTypesAndSpacesByName(t *testing.T) {
	for ty := ptx.Pred; ty.String() != ""; ty++ {
		if ptx.ParseType(ty.String()) != ty || ty.Size() == 0 || ty.Kind() == ptx.KindNone {
			t.Errorf("type %s: size %d, kind %d", ty, ty.Size(), ty.Kind())
		}
	}
	if ptx.ParseType("x32") != ptx.NoType || ptx.Type(200).String() != "" || ptx.Type(200).Size() != 0 {
		t.Error("something that is no type passes for one")
	}
	for s := ptx.RegSpace; s.String() != ""; s++ {
		if got, ok := ptx.ParseSpace(s.String()); !ok || got != s {
			t.Errorf("space %s", s)
		}
	}
	if s, ok := ptx.ParseSpace("shared::cluster"); !ok || s != ptx.SharedSpace {
		t.Errorf("shared::cluster is %v", s)
	}
	if _, ok := ptx.ParseSpace("heap"); ok {
		t.Error("heap is a space")
	}
}

func TestPragmaEndsADeclaration(t *testing.T) {
	m := parse(t, header+`.extern .func f() .pragma "x"; .extern .func g() .noreturn .pragma "y", "z";; .global .u32 v;`)
	if m.Function("f") == nil || m.Variable("v") == nil {
		t.Fatal("declarations are missing")
	}
	if d, ok := m.Function("g").Directive("pragma"); !ok || !slices.Equal(d.Text, []string{"y", "z"}) {
		t.Errorf("pragma %+v, %v", d, ok)
	}
	if _, ok := m.Function("g").Directive("maxntid"); ok {
		t.Error("a directive that is not there is found")
	}
	ptxtest.RoundTrip(t, m)
}

func TestStringsKeepTheirEscapes(t *testing.T) {
	m := parse(t, header+`.file 1 "C:\\a \"b\".cu"`+"\n")
	if f := m.Decls[0].(*ptx.File); f.Name != `C:\\a \"b\".cu` {
		t.Errorf("name %q", f.Name)
	}
	ptxtest.RoundTrip(t, m)
}

func TestLineEndsOfWindows(t *testing.T) {
	src := testdata(t)["compiler.ptx"]
	unix, windows := parse(t, src), parse(t, strings.ReplaceAll(src, "\n", "\r\n"))
	if unix.String() != windows.String() {
		t.Error("CR LF changes the tree")
	}
	if got := windows.Line(6); got != ".target sm_80" {
		t.Errorf("line 6 is %q", got)
	}
}

// Compilers up to CUDA 3.0 wrote prototypes without a semicolon, so the parser must
// accept them.
func TestPrototypesNeedNoSemicolon(t *testing.T) {
	m := parse(t, `.version 1.4
.target sm_13
	.visible .func (.param .s32 r) first (.param .s32 a, .param .f32 b)

	.visible .func second ()
	.file	1	"a.cu"
	.func third
	.global .u32 word;
	.visible .func (.param .s32 r) first (.param .s32 a, .param .f32 b)
	{
		ret;
	}
	.entry k
	{
		exit;
	}
	.extern .func last (.param .u64 p)`)
	var got []string
	for _, d := range m.Decls {
		if f, ok := d.(*ptx.Function); ok {
			got = append(got, fmt.Sprintf("%s:%d:%t", f.Name, len(f.Params), f.Body != nil))
		}
	}
	if want := "[first:2:false second:0:false third:0:false first:2:true k:0:true last:1:false]"; fmt.Sprint(got) != want {
		t.Errorf("functions %v, want %v", got, want)
	}
	info, err := ptx.Signatures([]byte(m.Source))
	if err != nil || len(info.Kernels) != 1 || info.Kernels[0].Name != "k" {
		t.Errorf("the kernels are %v, %v", info.Kernels, err)
	}
	if _, err := ptx.Parse("", []byte(".version 1.4\n.target sm_13\n.entry a ()\n.entry b () { exit; }")); err == nil {
		t.Error("a kernel's declaration without a semicolon is taken")
	}
}
