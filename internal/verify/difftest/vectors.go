package difftest

import "fmt"

// This file covers moves of vectors and sums of a register and a constant, in forms that compilers
// do not emit.

func vectorForms() []Form {
	t := &table{}
	decl := ".reg .v2 .b16 %vh; .reg .v4 .b16 %qh; .reg .v2 .b32 %vw, %vv; .reg .v4 .b32 %qw; .reg .v2 .f32 %vf; .reg .v2 .b64 %vl; .reg .b128 %v; "
	add := func(out, in, body string) { t.add(body, out, in, decl+body) }
	add("b32", "b32", "mov.b32 %vh, %a; mov.b32 %d, %vh;")
	add("b16 b16", "b32", "mov.b32 %vh, %a; mov.b16 %d, %vh.y; mov.b16 %x, %vh.x;")
	add("b32", "b16 b16", "mov.b16 %vh.x, %b; mov.b16 %vh.y, %a; mov.b32 %d, %vh;")
	add("b64", "b64", "mov.b64 %vw, %a; mov.b64 %d, %vw;")
	add("b32 b32", "b64", "mov.b64 %vw, %a; mov.b32 %d, %vw.y; mov.b32 %x, %vw.x;")
	add("b64", "b64", "mov.b64 %qh, %a; mov.b64 %d, %qh;")
	add("b64", "b64", "mov.b64 %vf, %a; mov.b64 %d, %vf;")
	add("b64 b64", "b64 b64", "mov.b128 %v, {%a, %b}; mov.b128 %vl, %v; mov.v2.b64 {%x, %d}, %vl;")
	add("b32 b32 b32 b32", "b64 b64", "mov.v2.b64 %vl, {%a, %b}; mov.b128 %v, %vl; mov.b128 %qw, %v; mov.v4.b32 {%z, %y, %x, %d}, %qw;")
	add("b64 b64", "b32 b32 b32 b32", "mov.v4.b32 %qw, {%a, %b, %c, %e}; mov.b128 %v, %qw; mov.b128 {%d, %x}, %v;")
	add("b32 b32", "b32 b32", "mov.v2.b32 %vw, {%a, %b}; mov.v2.b32 %vv, %vw; mov.v2.b32 {%x, %d}, %vv;")
	add("b32 b32", "b32 b32", "mov.v2.b32 {%d, %x}, {%b, %a};")
	add("b32 b32", "b32 b32", "mov.v2.b32 {%d, %x}, {%a, %b}; mov.v2.b32 {%d, %x}, {%x, %d};")
	add("b32 b32", "b32", "mov.v2.b32 {%d, %x}, %a;")
	add("b64 b64", "b64", "mov.v2.b64 {%d, %x}, %a;")
	add("b32 b32 b32 b32", "b32", "mov.v4.b32 {%d, %x, %y, %z}, %a;")
	add("b32 b32", "b32", "mov.v2.b32 %vw, 7; mov.v2.b32 {%d, %x}, %vw;")
	add("b32 b32", "b32", "mov.b64 %vw, 0x123456789abcdef0; mov.v2.b32 {%d, %x}, %vw;")
	add("b32 b32", "b32", "mov.v2.b32 %vw, {%a, 7}; mov.v2.b32 {%d, %x}, %vw;")
	add("b64 b64", "b32", "mov.b128 %v, 5; mov.b128 {%d, %x}, %v;")
	add("b64 b64", "b32", "mov.b128 %v, -5; mov.b128 {%d, %x}, %v;")
	for _, n := range []string{"7", "-7", "0x7fffffff", "0x100000007"} {
		add("b32", "b32", fmt.Sprintf("mov.b32 %%d, %%a+%s;", n))
		add("b64", "b64", fmt.Sprintf("mov.b64 %%d, %%a+%s;", n))
		add("u32", "u32 u32", fmt.Sprintf("add.u32 %%d, %%a+%s, %%b+%s;", n, n))
		add("u32", "u16 u16", fmt.Sprintf("mul.wide.u16 %%d, %%a+%s, %%b;", n))
		add("s64", "s32", fmt.Sprintf("cvt.s64.s32 %%d, %%a+%s;", n))
		add("pred", "s32 s32", fmt.Sprintf("setp.lt.s32 %%d, %%a+%s, %%b;", n))
	}
	return t.forms
}
