package vm_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

// These tests cover every type of function parameter with every way to pass it and every way to
// call the function.

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

// unit returns the untyped element type that memory instructions use for s.
func (s shape) unit() string {
	n := 8 * ptx.ParseType(s.typ).Size()
	if s.vector > 0 {
		return fmt.Sprintf("v%d.b%d", s.vector, n)
	}
	return fmt.Sprintf("b%d", n)
}

// load moves a register from memory, and store moves it to memory. A predicate occupies one byte.
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

func (s shape) move(dst, src string) string {
	switch {
	case s.vector > 0:
		return fmt.Sprintf("mov.v%d.%s %s, %s;", s.vector, s.typ, dst, src)
	case s.size() == 1 && s.typ != "pred": // mov has no 8-bit form
		return fmt.Sprintf("{ .reg .b16 %%m; cvt.u16.u8 %%m, %s; cvt.u8.u16 %s, %%m; }", src, dst)
	case s.typ == "f16":
		return fmt.Sprintf("mov.b16 %s, %s;", dst, src)
	}
	return fmt.Sprintf("mov.%s %s, %s;", s.typ, dst, src)
}

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

const clobber = `.reg .b32 %x<6>; .reg .b64 %y<6>; .reg .pred %z<6>;
	mov.u32 %x0, 11; mov.u32 %x1, %x0; mov.u32 %x2, %x1; add.u32 %x3, %x1, %x2;
	mov.u64 %y0, 12; mov.u64 %y1, %y0; mov.u64 %y2, %y1; add.u64 %y3, %y1, %y2;
	setp.eq.u32 %z0, %x0, %x3; setp.ne.u32 %z1, %x0, %x3; and.pred %z2, %z0, %z1;
`

// callForm is one way to write a function of type (s, u32, pred) f(u16, s, pred) and a call to it.
// The u16 parameter lead and the pred parameter trail surround the parameter under test with
// parameters from other banks.
type callForm struct {
	name string
	fits func(s shape) bool
	// funcs returns the PTX of the functions, and body returns the PTX of the call.
	funcs, body func(s shape) string
	// called reports whether a lane makes the call. adds returns the number that the call adds to
	// the u32 result.
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
		{"recursion", anyShape, func(s shape) string { // the recursion depth depends on the lane
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
		// A function with a result in .param cannot have a second result.
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

// callKernel returns a kernel that makes a call in the given form while registers in every bank are
// live.
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
	const n = 48 // one and a half warps
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

// wantStackFault fails the test unless err is a stack fault whose message contains word.
func wantStackFault(t *testing.T, err error, word string) {
	t.Helper()
	var f *vm.Fault
	if !errors.As(err, &f) || f.Kind != vm.FaultStack || !strings.Contains(f.Error(), word) {
		t.Errorf("the kernel ends with %v, want a fault of the stack that says %q", err, word)
	}
}

// The stacks of all running threads together have a limit. Deep recursion in many threads must
// fault.
func TestStacksOfAllThreadsAreBounded(t *testing.T) {
	m := load(t, `.func f(.reg .u32 n)
{
	.reg .pred %p;
	.reg .b32 %r;
	.local .align 8 .b8 l[4096];
	st.local.u32 [l], n;
	setp.eq.u32 %p, n, 0;
	@%p ret;
	sub.u32 %r, n, 1;
	call f, (%r);
	ret;
}
.visible .entry k(.param .u32 n)
{
	.reg .b32 %r;
	ld.param.u32 %r, [n];
	call f, (%r);
	ret;
}`)
	o := grid(1, 512)
	o.BlockMemory = 64 << 20
	few, many := uint32(10), uint32(110)
	if err := m.launchWith("k", o, few); err != nil {
		t.Error(err)
	}
	wantStackFault(t, m.launchWith("k", o, many), "the blocks that run take more than 67108864 bytes")
	o.BlockMemory = 0
	if err := m.launchWith("k", o, many); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

func TestAllocaIsBoundedForAllThreads(t *testing.T) {
	m := load(t, `.visible .entry k()
{
	.reg .b64 %d;
	alloca.u64 %d, 262144;
	ret;
}`)
	o := grid(1, 64)
	o.BlockMemory = 8 << 20
	wantStackFault(t, m.launchWith("k", o), "8388608 bytes")
	o.BlockMemory = 32 << 20
	if err := m.launchWith("k", o); err != nil {
		t.Error(err)
	}
}

// stackrestore must reject a pointer that stacksave did not return. Otherwise, memory outside the
// stack would seem to belong to it.
func TestStackPointersAreChecked(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 n)
{
	.reg .b64 %d<4>;
	ld.param.u64 %d1, [n];
	alloca.u64 %d2, 64;
	stackrestore.u64 %d1;
	add.u64 %d2, %d2, 60;
	st.local.u64 [%d2], 5;
	ret;
}`)
	for _, n := range []uint64{65, 1 << 40, 1<<64 - 1} {
		o := grid(1, 1)
		wantStackFault(t, m.launchWith("k", o, n), "stackrestore of")
	}
}

func TestAllocaIsPerThreadAndEndsWithTheFunction(t *testing.T) {
	m := load(t, `
.func (.param .b32 ret) sum(.param .b32 n)
{
	.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;
	ld.param.u32 %r1, [n];
	mul.wide.u32 %rd1, %r1, 4;
	alloca.u64 %rd2, %rd1, 16;
	mov.u32 %r2, 0;
	mov.u32 %r4, 0;
	setp.eq.u32 %p, %r1, 0;
	@%p bra END;
FILL:
	mul.wide.u32 %rd3, %r2, 4;
	add.u64 %rd3, %rd3, %rd2;
	st.local.u32 [%rd3], %r2;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p, %r2, %r1;
	@%p bra FILL;
	cvta.local.u64 %rd4, %rd2;
SUM:
	sub.u32 %r2, %r2, 1;
	mul.wide.u32 %rd3, %r2, 4;
	add.u64 %rd3, %rd3, %rd4;
	ld.u32 %r3, [%rd3];
	add.u32 %r4, %r4, %r3;
	setp.ne.u32 %p, %r2, 0;
	@%p bra SUM;
END:
	st.param.b32 [ret], %r4;
	ret;
}
`+threadOut(`
	stacksave.u64 %rd4;
	mov.u32 %r5, 0;
AGAIN: // each call must leave the stack as it was
	`+callOf("sum", "%d", "%r0")+`
	add.u32 %r5, %r5, 1;
	setp.lt.u32 %p0, %r5, 1000;
	@%p0 bra AGAIN;
	stacksave.u64 %rd1;
	alloca.u64 %rd2, 128;
	stackrestore.u64 %rd1;
	alloca.u64 %rd3, 128;
	setp.ne.u64 %p1, %rd2, %rd3;
	@%p1 mov.u32 %d, 7777;
	setp.ne.u64 %p1, %rd1, %rd4;
	@%p1 mov.u32 %d, 8888;`))
	out := upload(m, make([]uint32, 64))
	o := grid(1, 64)
	o.StackLimit = 1 << 20
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 64) {
		if want := uint32(i*(i-1)) / 2; v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
	big := load(t, `.visible .entry k() { .reg .b64 %rd<3>; mov.u64 %rd1, 600000; alloca.u64 %rd2, %rd1; ret; }`)
	if f := faultOf(t, big.launch("k", 1)); f.Kind != vm.FaultStack {
		t.Errorf("fault is %v", f)
	}
}

func TestAsynchronousCopies(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 in, .param .u64 out)
{
	.reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %p;
	.shared .align 16 .b8 buf[1024];
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd3, %r0, 16;
	add.u64 %rd4, %rd1, %rd3;
	mov.u32 %r1, buf;
	mad.lo.u32 %r1, %r0, 32, %r1;
	cp.async.cg.shared.global.L2::128B [%r1], [%rd4], 16;
	mov.u32 %r2, 3;
	cp.async.ca.shared.global [%r1+16], [%rd4+4], 4, %r2;
	setp.lt.u32 %p, %r0, 16;
	cp.async.ca.shared.global [%r1+24], [%rd4+8], 8, %p;
	cp.async.commit_group;
	cp.async.wait_group 0;
	cp.async.wait_all;
	bar.sync 0;
	ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1];
	ld.shared.u32 %r7, [%r1+16];
	ld.shared.v2.u32 {%r8, %r9}, [%r1+24];
	mul.wide.u32 %rd5, %r0, 32;
	add.u64 %rd2, %rd2, %rd5;
	st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
	st.global.u32 [%rd2+16], %r7;
	st.global.v2.u32 [%rd2+24], {%r8, %r9};
	ret;
}`)
	in := make([]uint32, 4*32)
	for i := range in {
		in[i] = 0x01020304 * uint32(i+1)
	}
	out := upload(m, make([]uint32, 8*32))
	m.mustLaunch("k", 32, upload(m, in), out)
	got := download[uint32](m, out, 8*32)
	for i := range 32 {
		x := in[4*i : 4*i+4]
		want := []uint32{x[0], x[1], x[2], x[3], x[1] & 0xffffff, 0, x[2], x[3]}
		if i < 16 {
			want[6], want[7] = 0, 0
		}
		if !slices.Equal(got[8*i:8*i+8], want) {
			t.Errorf("thread %d: %#x, want %#x", i, got[8*i:8*i+8], want)
		}
	}
}

// A copy reads only the bytes of the source size, so the rest may be outside of the allocation.
func TestAsynchronousCopiesOfPartsOfAPack(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 size)
{
	.reg .b32 %r<6>; .reg .b64 %rd<3>;
	.shared .align 16 .b8 buf[16];
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	ld.param.u32 %r0, [size];
	mov.u32 %r1, buf;
	cp.async.cg.shared.global [%r1], [%rd1], 16, %r0;
	cp.async.wait_all;
	ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];
	st.global.v4.u32 [%rd2], {%r2, %r3, %r4, %r5};
	ret;
}`)
	in, out := upload(m, []uint16{1, 2, 3}), upload(m, make([]uint16, 8))
	for size, want := range map[uint32][]uint16{6: {1, 2, 3, 0, 0, 0, 0, 0}, 3: {1, 2, 0, 0, 0, 0, 0, 0}, 0: make([]uint16, 8)} {
		m.mustLaunch("k", 1, in, out, size)
		if got := download[uint16](m, out, 8); !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, want %v", size, got, want)
		}
	}
	if f := faultOf(t, m.launch("k", 1, in, out, uint32(7))); f.Kind != vm.FaultIllegal {
		t.Errorf("7 bytes: fault is %v", f)
	}
	if f := faultOf(t, m.launch("k", 1, in+4, out, uint32(2))); f.Kind != vm.FaultMisaligned {
		t.Errorf("misaligned: fault is %v", f)
	}
}
