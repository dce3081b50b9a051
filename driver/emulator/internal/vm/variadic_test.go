package vm_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// sumOf adds the first n words of its argument.
const sumOf = `
.func (.param .b32 ret) NAME(.param .b32 n, .param .align 8 .b8 v[])
{
	.reg .b32 %n, %s, %x; .reg .b64 %a; .reg .pred %p; .local .align 8 .b8 room[32];
	st.local.u32 [room], 99; st.local.u32 [room+28], 99;
	ld.param.b32 %n, [n]; mov.u32 %s, 0; mov.b64 %a, v;
NEXT:
	setp.eq.u32 %p, %n, 0; @%p bra DONE;
	ld.param.u32 %x, [%a]; add.u32 %s, %s, %x; add.u64 %a, %a, 4; sub.u32 %n, %n, 1;
	bra NEXT;
DONE:
	st.param.b32 [ret], %s;
	ret;
}
`

// fill3 and fill20 declare arrays in .param space and fill them.
const fill3 = `.param .align 8 .b8 three[12]; add.u32 %r1, %r0, 10; st.param.b32 [three], %r1; add.u32 %r1, %r0, 20; st.param.b32 [three+4], %r1; add.u32 %r1, %r0, 30; st.param.b32 [three+8], %r1;
`
const fill20 = `.param .align 16 .b8 twenty[80]; st.param.v4.b32 [twenty], {1,2,3,4}; st.param.v4.b32 [twenty+16], {5,6,7,8}; st.param.v4.b32 [twenty+32], {9,10,11,12};
	st.param.v4.b32 [twenty+48], {13,14,15,16}; st.param.v4.b32 [twenty+64], {17,18,19,%r0};
`

func TestVariadicFunctions(t *testing.T) {
	text := func(s, name string) string { return strings.ReplaceAll(s, "NAME", name) }
	got := runText(t, 40, text(sumOf, "sum")+text(sumOf, "sum2")+`
.func (.param .b32 ret) passes(.param .b32 x)
{ // a frame in between, with variables of its own
	.reg .b32 %r<4>; .local .align 8 .b8 own[16];
	ld.param.b32 %r0, [x]; st.local.u32 [own], %r0; st.local.u32 [own+12], %r0;
	{ `+fill20+` .param .b32 n; st.param.b32 [n], 20; .param .b32 s; call (s), sum, (n, twenty); ld.param.b32 %r1, [s]; }
	ld.local.u32 %r2, [own]; ld.local.u32 %r3, [own+12]; sub.u32 %r2, %r2, %r3; add.u32 %r1, %r1, %r2;
	st.param.b32 [ret], %r1;
	ret;
}
`+threadOut(`
	mov.u32 %d, 0;
	{ `+fill3+` .param .b32 n; st.param.b32 [n], 3; .param .b32 s; call (s), sum, (n, three); ld.param.b32 %r2, [s]; add.u32 %d, %d, %r2; }
	{ `+fill20+` .param .b32 s; call (s), sum, (20, twenty); ld.param.b32 %r2, [s]; add.u32 %d, %d, %r2; }
	call (%r2), sum, (0); add.u32 %d, %d, %r2;
	`+callOf("passes", "%r2", "%r0")+` add.u32 %d, %d, %r2;
	{
	.reg .b64 %fp, %gp; .reg .pred %q; `+fill3+` .param .b32 n; st.param.b32 [n], 2; .param .b32 s;
	mov.u64 %fp, sum; mov.u64 %gp, sum2; and.b32 %r1, %r0, 1; setp.ne.u32 %q, %r1, 0; selp.b64 %fp, %gp, %fp, %q;
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]);
	call (s), %fp, (n, three), proto;
	ld.param.b32 %r2, [s]; add.u32 %d, %d, %r2;
	}`))
	for i, v := range got {
		lane := uint32(i)
		if want := 3*lane + 60 + 190 + lane + 190 + lane + 2*lane + 30; v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestArgumentsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct{ function, call string }{
		{".func f(.reg .b32 a)", "call f, (%h1);"},
		{".func f(.reg .b32 a)", "call f, (%l1);"},
		{".func f(.reg .b64 a)", "call f, (%w1);"},
		{".func f(.param .b32 a)", "call f, (%l1);"},
		{".func f(.reg .b64 a)", "call f, (%vh1);"},
		{".func f(.reg .v4 .b32 a)", "call f, (%vw1);"},
		{".func f(.reg .b8 a)", "call f, (%p1);"},
		{".func f(.reg .pred a)", "call f, (%w1);"},
		{".func f(.reg .pred a)", "call f, (1);"},
		{".func f(.reg .pred a)", "call f, (!%p1);"},
		{".func f(.reg .b32 a)", "call f, (%vw1.x);"},
		{".func f(.reg .b32 a)", "call f, (%tid.x);"},
		{".func f(.reg .b32 a)", "call f, (%w1+1);"},
		{".func f(.reg .v2 .b32 a)", "call f, ({%w1,%w2});"},
		{".func f(.param .align 8 .b8 a[8])", "call f, (%l1);"},
		{".func f(.param .align 8 .b8 a[])", "call f, (%l1);"},
		{".func f(.reg .b32 a)", "call f, ();"},
		{".func f(.reg .b32 a, .param .b8 v[])", "call f, ();"},
		{".func f(.reg .b32 a)", "call f, (%w1, %w2);"},
		{".func (.reg .b32 r) f()", "call (%vw1), f;"},
		{".func (.reg .b64 r) f()", "call (%w1), f;"},
		{".func (.reg .b32 r) f()", "call (5), f;"},
		{".func (.reg .pred r) f()", "call (%w1), f;"},
	} {
		_, err := tryLoad(t, c.function+" { ret; }\n"+`.visible .entry k()
{
	.reg .b64 %l<3>; .reg .b32 %w<3>; .reg .b16 %h<3>; .reg .pred %p<3>; .reg .v2 .b32 %vw<3>; .reg .v2 .b16 %vh<3>;
	`+c.call+`
	ret;
}`)
		if e := (vm.CompileErrors{}); !asCompileErrors(err, &e) || e[0].Kind != vm.CompileInvalid || e[0].Line != 8 {
			t.Errorf("%s, %s: %v", c.function, c.call, err)
		}
	}
}
