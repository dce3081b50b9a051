package vm_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// Every type of a function parameter, with every way to pass it and to call the function.

// shape is the type of a parameter.
type shape struct {
	typ    string
	vector int
}

func callShapes() []shape {
	var out []shape
	for _, t := range []string{"pred", "b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"} {
		out = append(out, shape{t, 0})
	}
	for _, t := range []string{"b16", "u16", "b32", "s32", "f32", "b64", "f64"} {
		out = append(out, shape{t, 2})
		if ptx.ParseType(t).Size() <= 4 {
			out = append(out, shape{t, 4})
		}
	}
	return out
}

func (s shape) size() int { return ptx.ParseType(s.typ).Size() * max(s.vector, 1) }

func (s shape) decl(name string) string {
	if s.vector > 0 {
		return fmt.Sprintf(".reg .v%d .%s %s", s.vector, s.typ, name)
	}
	return fmt.Sprintf(".reg .%s %s", s.typ, name)
}

// unit returns the untyped element that memory instructions move.
func (s shape) unit() string {
	n := 8 * ptx.ParseType(s.typ).Size()
	if s.vector > 0 {
		return fmt.Sprintf("v%d.b%d", s.vector, n)
	}
	return fmt.Sprintf("b%d", n)
}

// load and store move a register from and to memory. A predicate is a byte.
func (s shape) load(space, reg, at string) string {
	if s.typ == "pred" {
		return fmt.Sprintf("{ .reg .b16 %%l; ld.%s.u8 %%l, [%s]; setp.ne.u16 %s, %%l, 0; }", space, at, reg)
	}
	return fmt.Sprintf("ld.%s.%s %s, [%s];", space, s.unit(), reg, at)
}

func (s shape) store(space, reg, at string) string {
	if s.typ == "pred" {
		return fmt.Sprintf("{ .reg .b16 %%l; selp.u16 %%l, 1, 0, %s; st.%s.u8 [%s], %%l; }", reg, space, at)
	}
	return fmt.Sprintf("st.%s.%s [%s], %s;", space, s.unit(), at, reg)
}

// move copies a register.
func (s shape) move(dst, src string) string {
	switch {
	case s.vector > 0:
		return fmt.Sprintf("mov.v%d.%s %s, %s;", s.vector, s.typ, dst, src)
	case s.size() == 1 && s.typ != "pred": // there is no such move
		return fmt.Sprintf("{ .reg .b16 %%m; cvt.u16.u8 %%m, %s; cvt.u8.u16 %s, %%m; }", src, dst)
	case s.typ == "f16":
		return fmt.Sprintf("mov.b16 %s, %s;", dst, src)
	}
	return fmt.Sprintf("mov.%s %s, %s;", s.typ, dst, src)
}

// value returns the bytes that a lane passes.
func (s shape) value(lane int) []byte {
	b := make([]byte, s.size())
	for i := range b {
		b[i] = byte(1 + 37*lane + 11*i)
	}
	if s.typ == "pred" {
		b[0] = byte(lane * 5 >> 1 & 1)
	}
	return b
}

// clobber writes registers of every bank.
const clobber = `.reg .b32 %x<6>; .reg .b64 %y<6>; .reg .pred %z<6>;
	mov.u32 %x0, 11; mov.u32 %x1, %x0; mov.u32 %x2, %x1; add.u32 %x3, %x1, %x2;
	mov.u64 %y0, 12; mov.u64 %y1, %y0; mov.u64 %y2, %y1; add.u64 %y3, %y1, %y2;
	setp.eq.u32 %z0, %x0, %x3; setp.ne.u32 %z1, %x0, %x3; and.pred %z2, %z0, %z1;
`

// callForm is a way to write a function of type (s, u32, pred) f(u16, s, pred) and a call to it.
// The lead and the trail are parameters of other banks around the one under test.
type callForm struct {
	name string
	fits func(s shape) bool
	// funcs returns the functions, body the call in the kernel.
	funcs, body func(s shape) string
	// called reports which lanes make the call. depth is how often they add to s.
	called func(lane int) bool
	adds   func(lane int) uint32
}

func signature(s shape, name string) string {
	return fmt.Sprintf(".func (%s, .reg .u32 %%s, .reg .pred %%q) %s(.reg .u16 %%lead, %s, .reg .pred %%trail)\n", s.decl("%r"), name, s.decl("%a"))
}

func plainFunction(s shape, name string, add int) string {
	return signature(s, name) + "{\n" + clobber + s.move("%r", "%a") +
		fmt.Sprintf("\ncvt.u32.u16 %%s, %%lead; add.u32 %%s, %%s, %d; not.pred %%q, %%trail;\nret;\n}\n", add)
}

func prototype(s shape) string {
	return fmt.Sprintf("proto: .callprototype (%s, .reg .u32 _, .reg .pred _) _ (.reg .u16 _, %s, .reg .pred _);\n", s.decl("_"), s.decl("_"))
}

func always(int) bool          { return true }
func anyShape(shape) bool      { return true }
func one(int) uint32           { return 1 }
func noPredicate(s shape) bool { return s.typ != "pred" }
func scalarValue(s shape) bool { return s.typ != "pred" && s.vector == 0 }

const otherResults = "\nadd.u32 %s, %id, 1; not.pred %q, %trail;"

func callForms() []callForm {
	call := func(s shape) string { return "call (%r, %s, %q), f, (%lead, %a, %trail);" }
	return []callForm{
		{"direct", anyShape, func(s shape) string { return plainFunction(s, "f", 1) }, call, always, one},
		{"direct, uniform", anyShape, func(s shape) string { return plainFunction(s, "f", 1) },
			func(s shape) string { return "call.uni (%r, %s, %q), f, (%lead, %a, %trail);" }, always, one},
		{"result over the argument", anyShape, func(s shape) string { return plainFunction(s, "f", 1) },
			func(s shape) string {
				return "call (%a, %s, %trail), f, (%lead, %a, %trail);\n" + s.move("%r", "%a") + "\nmov.pred %q, %trail; not.pred %trail, %trail;"
			}, always, one},
		{"guarded", anyShape, func(s shape) string { return plainFunction(s, "f", 1) },
			func(s shape) string { return "@%odd " + call(s) }, func(lane int) bool { return lane%2 == 1 }, one},
		{"branch", anyShape, func(s shape) string { return plainFunction(s, "f", 1) + plainFunction(s, "g", 7) },
			func(s shape) string {
				return "@%odd bra ODD;\n" + call(s) + "\nbra JOIN;\nODD:\n" + strings.Replace(call(s), "f,", "g,", 1) + "\nJOIN:"
			}, always, func(lane int) uint32 { return uint32(1 + lane%2*6) }},
		{"nested", anyShape, func(s shape) string {
			return plainFunction(s, "g", 1) + signature(s, "f") + "{\n" + clobber + s.decl("%u") + "; .reg .u32 %v; .reg .pred %w;\n" +
				"call (%u, %v, %w), g, (%lead, %a, %trail);\n" + s.move("%r", "%u") + "\nmov.u32 %s, %v; mov.pred %q, %w;\nret;\n}\n"
		}, call, always, one},
		{"recursion", anyShape, func(s shape) string { // by lane to another depth
			return ".visible " + signature(s, "f") + "{\n" + clobber + `.reg .u16 %l; .reg .pred %base, %neg; .reg .u32 %v;
	and.b16 %l, %lead, 3; setp.eq.u16 %base, %l, 0;
	@%base bra BASE;
	sub.u16 %l, %lead, 1; not.pred %neg, %trail;
	call (%r, %v, %q), f, (%l, %a, %neg);
	add.u32 %s, %v, 100; not.pred %q, %q;
	ret;
BASE:
	` + s.move("%r", "%a") + `
	cvt.u32.u16 %s, %lead; add.u32 %s, %s, 1; not.pred %q, %trail;
	ret;
}
`
		}, call, always, func(lane int) uint32 { return uint32(1 + lane%4*99) }},
		{"indirect", anyShape, func(s shape) string { return plainFunction(s, "f", 1) },
			func(s shape) string {
				return "{ .reg .b64 %fp;\n" + prototype(s) + "mov.u64 %fp, f;\ncall (%r, %s, %q), %fp, (%lead, %a, %trail), proto; }"
			}, always, one},
		{"indirect, divergent", anyShape, func(s shape) string { return plainFunction(s, "f", 1) + plainFunction(s, "g", 7) },
			func(s shape) string {
				return "{ .reg .b64 %fp, %gp;\n" + prototype(s) + "mov.u64 %fp, f; mov.u64 %gp, g; selp.b64 %fp, %gp, %fp, %odd;\ncall (%r, %s, %q), %fp, (%lead, %a, %trail), proto; }"
			}, always, func(lane int) uint32 { return uint32(1 + lane%2*6) }},
		// A result in .param excludes a second result.
		{"array in .param", noPredicate, func(s shape) string {
			array := fmt.Sprintf(".param .align 16 .b8 %%s[%d]", s.size())
			return fmt.Sprintf(".func ("+array+") f(.reg .u16 %%lead, "+array+")\n{\n", "pr", "pa") +
				clobber + s.decl("%u") + ";\n" + s.load("param", "%u", "pa") + s.store("param", "%u", "pr") + "\nret;\n}\n"
		}, func(s shape) string {
			return fmt.Sprintf("{ .param .align 16 .b8 x[%d], y[%d];\n", s.size(), s.size()) + s.store("param", "%a", "x") +
				"\ncall (y), f, (%lead, x);\n" + s.load("param", "%r", "y") + " }" + otherResults
		}, always, one},
		{"register to .param", scalarValue, func(s shape) string {
			return fmt.Sprintf(".func (.param .%[1]s pr) f(.reg .u16 %%lead, .param .%[1]s pa)\n{\n", s.typ) +
				clobber + s.decl("%u") + ";\n" + s.load("param", "%u", "pa") + s.store("param", "%u", "pr") + "\nret;\n}\n"
		}, func(s shape) string { return "call (%r), f, (%lead, %a);" + otherResults }, always, one},
		{"indirect, register to .param", scalarValue, func(s shape) string {
			return fmt.Sprintf(".func (.param .%[1]s pr) f(.reg .u16 %%lead, .param .%[1]s pa)\n{\n", s.typ) +
				clobber + s.decl("%u") + ";\n" + s.load("param", "%u", "pa") + s.store("param", "%u", "pr") + "\nret;\n}\n"
		}, func(s shape) string {
			return fmt.Sprintf("{ .reg .b64 %%fp;\nproto: .callprototype (.param .%[1]s _) _ (.reg .u16 _, .param .%[1]s _);\n", s.typ) +
				"mov.u64 %fp, f;\ncall (%r), %fp, (%lead, %a), proto; }" + otherResults
		}, always, one},
	}
}

// callKernel makes a call in the given form, with registers of each bank alive across it.
func callKernel(s shape, c callForm) string {
	return ".version 8.4\n.target sm_90\n.address_size 64\n" + c.funcs(s) + `
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 more)
{
	.reg .b64 %in, %out, %more, %off, %kd<3>; .reg .b32 %id, %keep<4>; .reg .pred %odd, %kp<3>;
	.reg .u16 %lead; .reg .u32 %s, %t; .reg .pred %trail, %q;
	` + s.decl("%a") + "; " + s.decl("%r") + `;
	ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %more, [more];
	mov.u32 %id, %tid.x; cvt.u16.u32 %lead, %id;
	and.b32 %t, %id, 1; setp.ne.u32 %odd, %t, 0;
	and.b32 %t, %id, 4; setp.ne.u32 %trail, %t, 0; mov.pred %q, %trail;
	setp.gt.u32 %kp0, %id, 9; setp.lt.u32 %kp1, %id, 20; xor.pred %kp2, %kp0, %trail;
	mad.lo.u32 %keep0, %id, 3, 1; mad.lo.u32 %keep1, %id, 5, 2; mad.lo.u32 %keep2, %id, 7, 3;
	mul.wide.u32 %kd0, %id, 11; mul.wide.u32 %kd1, %id, 13;
	mul.wide.u32 %off, %id, ` + fmt.Sprint(s.size()) + `; add.u64 %in, %in, %off; add.u64 %out, %out, %off;
	mul.wide.u32 %off, %id, 32; add.u64 %more, %more, %off;
	mov.u32 %s, %id;
	` + s.load("global", "%a", "%in") + s.load("global", "%r", "%in") + `
	` + c.body(s) + `
	` + s.store("global", "%r", "%out") + `
	st.global.u32 [%more], %s;
	selp.u32 %t, 1, 0, %q; st.global.u32 [%more+4], %t;
	st.global.u32 [%more+8], %keep0; st.global.u32 [%more+12], %keep1; st.global.u32 [%more+16], %keep2;
	add.u64 %kd0, %kd0, %kd1; st.global.u32 [%more+20], %kd0;
	selp.u32 %t, 1, 0, %kp0; @%kp1 add.u32 %t, %t, 2; @%kp2 add.u32 %t, %t, 4;
	@%trail add.u32 %t, %t, 8; @%odd add.u32 %t, %t, 16; st.global.u32 [%more+24], %t;
	st.global.u32 [%more+28], %id;
	ret;
}
`
}

func TestEveryTypeInEveryFormOfCall(t *testing.T) {
	for _, s := range callShapes() {
		for _, c := range callForms() {
			if !c.fits(s) {
				continue
			}
			t.Run(fmt.Sprintf("v%d.%s/%s", s.vector, s.typ, c.name), func(t *testing.T) { tryCall(t, s, c) })
		}
	}
}

func tryCall(t *testing.T, s shape, c callForm) {
	const n = 48 // a full warp and half of one
	m := load(t, callKernel(s, c))
	var in []byte
	for lane := range n {
		in = append(in, s.value(lane)...)
	}
	out, more := upload(m, make([]byte, len(in))), upload(m, make([]uint32, 8*n))
	m.mustLaunch("k", n, upload(m, in), out, more)
	if got := download[byte](m, out, len(in)); !bytes.Equal(got, in) {
		t.Errorf("returned % x\nwant     % x", got, in)
	}
	b := func(b bool) uint32 {
		if b {
			return 1
		}
		return 0
	}
	rest := download[uint32](m, more, 8*n)
	for i := range n {
		lane, trail := uint32(i), i&4 != 0
		sum, q := lane, trail
		if c.called(i) {
			sum, q = lane+c.adds(i), !trail
		}
		kept := b(i > 9) + 2*b(i < 20) + 4*b((i > 9) != trail) + 8*b(trail) + 16*b(i%2 == 1)
		want := [8]uint32{sum, b(q), 3*lane + 1, 5*lane + 2, 7*lane + 3, 24 * lane, kept, lane}
		if got := [8]uint32(rest[8*i:]); got != want {
			t.Fatalf("lane %d: %d, want %d", i, got, want)
		}
	}
}
