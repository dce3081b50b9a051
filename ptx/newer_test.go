package ptx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

func TestRangesOfLabels(t *testing.T) {
	list := body(t, "N0: N1: N2: A:\ntab: .branchtargets N<3>, A, M<1>;\nbrx.idx %r1, tab;")
	b := list[4].(*ptx.BranchTargets)
	if want := []string{"N0", "N1", "N2", "A", "M0"}; !slices.Equal(b.Targets, want) {
		t.Errorf("targets %q, want %q", b.Targets, want)
	}
}

// A range of labels, which takes only a few bytes of text, must not create a list of millions of
// labels.
func TestRangesOfLabelsAreBounded(t *testing.T) {
	for _, n := range []string{"0", "1000", "2147483647"} {
		_, err := ptx.Parse("", []byte(header+".entry k() { t: .branchtargets N<"+n+">; }"))
		if err == nil || !strings.Contains(err.Error(), "an empty range of labels, or more labels than the text can define") {
			t.Errorf("N<%s>: %v", n, err)
		}
	}
	many := strings.Repeat("t: .branchtargets N<90>;", 100)
	if _, err := ptx.Parse("", []byte(header+".entry k() { "+many+" }")); err == nil {
		t.Error("9000 labels in a text that has room for a tenth of them")
	}
}

func TestMaskedIntegersAreFolded(t *testing.T) {
	m := parse(t, header+".global .u8 b[6] = {0xFF(1000+546), 0xFF00(131187), 0xFF0000(0x123456), 0xFF00000000000000(-1), 0xff(a), 7};")
	var got []string
	for _, e := range m.Variable("b").Init.Elems {
		got = append(got, shape(e.Value))
	}
	if want := []string{"int 0xa", "int 0x0", "int 0x12", "int 0xff", "sym a + 0", "int 0x7"}; !slices.Equal(got, want) {
		t.Errorf("bytes %q, want %q", got, want)
	}
}

func TestMasksAreIntegers(t *testing.T) {
	for _, mask := range []string{"0", "1.5", "(1-1)"} {
		_, err := ptx.Parse("", []byte(header+".global .u8 b = "+mask+"(a);"))
		if err == nil || !strings.Contains(err.Error(), "a mask must be an integer such as 0xff") {
			t.Errorf("%s(a): %v", mask, err)
		}
	}
}

func TestIntermediatePlaces(t *testing.T) {
	m := parse(t, header+lines(
		".nv_intermediate_source_section {",
		".code_block { .ir_name: \"tile\"",
		".source_begin",
		"} unbalanced { { \" // text",
		".source_end",
		"} }",
		".entry k() { .loc 1 2 3 .loc_intermediate 2 4 5 ret; }"))
	s, ok := m.Decls[0].(*ptx.Section)
	if !ok || s.Name != ".nv_intermediate_source_section" || !strings.Contains(s.Text, "} unbalanced { {") {
		t.Fatalf("section %+v", m.Decls[0])
	}
	list := m.Function("k").Body.Stmts
	first, second := list[0].(*ptx.Loc), list[1].(*ptx.Loc)
	if first.Intermediate || !second.Intermediate || second.File != 2 || second.Line != 4 || second.Col != 5 {
		t.Errorf("places %+v and %+v", first, second)
	}
	for _, bad := range []string{"", " {", " { .source_begin }", " { .source_begin .source_end"} {
		if _, err := ptx.Parse("", []byte(header+".nv_intermediate_source_section"+bad)); err == nil {
			t.Errorf("%q parses", bad)
		}
	}
}

func TestNewerDirectives(t *testing.T) {
	m := parse(t, header+`.entry k() .language "c++", "c", 20 .minperctamemory 2048 { mov.u64 %rd1, %perctamemoryoffset; }`)
	f := m.Function("k")
	if d, ok := f.Directive("language"); !ok || !slices.Equal(d.Text, []string{"c++", "c"}) || !slices.Equal(d.Args, []uint64{20}) {
		t.Errorf("language %+v", d)
	}
	if d, ok := f.Directive("minperctamemory"); !ok || !slices.Equal(d.Args, []uint64{2048}) {
		t.Errorf("minperctamemory %+v", d)
	}
	if got := shapes(f.Body.Stmts[0].(*ptx.Instr).Args); got != "reg %rd1, special %perctamemoryoffset" {
		t.Errorf("operands %s", got)
	}
}

func TestPackedTypes(t *testing.T) {
	for name, size := range map[string]int{
		"e2m1x2": 1, "e2m3x2": 2, "e3m2x2": 2, "ue8m0x2": 2, "s2f6x2": 2, "e4m3x4": 4, "e5m2x4": 4,
		"e2m3x4": 4, "e3m2x4": 4, "e2m1x4": 2, "u8x4": 4, "s8x4": 4, "u16x2": 4, "f32x2": 8,
	} {
		op, ok := ptx.NewOpcode("op." + name)
		if !ok || fmt.Sprint(op.Type()) != name || op.Type().Size() != size || op.Type().Kind() == ptx.KindNone {
			t.Errorf("op.%s has type %q of %d bytes, want %d", name, op.Type(), op.Type().Size(), size)
		}
	}
}

// A comment must document only the first declaration after it, not other declarations on
// that line.
func TestCommentDocumentsOneDeclaration(t *testing.T) {
	m := parse(t, header+"/* x */ .global .u32 a; .global .u32 b;\n.global .u32 c;")
	if a, b, c := m.Variable("a").Doc, m.Variable("b").Doc, m.Variable("c").Doc; a != "x" || b != "" || c != "" {
		t.Errorf("documented as %q, %q, %q", a, b, c)
	}
}
