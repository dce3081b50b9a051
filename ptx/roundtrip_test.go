package ptx_test

import (
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
)

func TestPrintedTestdataParsesToTheSameTree(t *testing.T) {
	for name, src := range testdata(t) {
		t.Run(name, func(t *testing.T) { ptxtest.RoundTrip(t, parse(t, src)) })
	}
}

func TestPrintIsReadable(t *testing.T) {
	m := parse(t, header+lines(
		"// Adds one.", "// To x.",
		".visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u32 n) .maxntid 32,1,1 {",
		".reg .pred %p; .reg .b32 %r<3>;",
		"@!%p bra L; { add.u32 %r1,%r2,-1; .section .debug_x {.b8 1} } L: st.global.u32 [p+-4],%r1; ret; }",
		".global .align 4 .u32 x[2]={1,0f3F800000};"))
	want := header + lines("",
		"// Adds one.", "// To x.",
		".visible .entry k(",
		"\t.param .u64 .ptr .global .align 4 p,",
		"\t.param .u32 n",
		")",
		".maxntid 32, 1, 1",
		"{",
		"\t.reg .pred %p;",
		"\t.reg .b32 %r<3>;",
		"\t@!%p bra L;",
		"\t{",
		"\t\tadd.u32 %r1, %r2, -1;",
		"\t\t.section .debug_x {.b8 1}",
		"\t}",
		"L:",
		"\tst.global.u32 [p+-4], %r1;",
		"\tret;",
		"}",
		".global .align 4 .u32 x[2] = {1, 0f3F800000};", "")
	if got := m.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}
